//! The names that the macro declares, found by name; duplicates and fields without use are reported here.

use super::ast::*;
use super::statics::{self, Names, Wanted};
use crate::diag::{Diagnostic, Diags, closest};
use proc_macro2::Ident;
use std::collections::{BTreeMap, BTreeSet};

/// All declarations.
pub(super) struct Declared<'p> {
    pub(super) program: &'p Program,
    pub(super) consts: Names,
    pub(super) structs: BTreeMap<String, &'p Struct>,
    /// By struct, then by name.
    pub(super) methods: BTreeMap<String, BTreeMap<String, &'p Fn>>,
    pub(super) fns: BTreeMap<String, &'p Fn>,
}

impl<'p> Declared<'p> {
    /// Collects the declarations.
    pub(super) fn new(program: &'p Program, diags: &mut Diags) -> Declared<'p> {
        let mut all = Declared {
            program,
            consts: Names::new(),
            structs: BTreeMap::new(),
            methods: BTreeMap::new(),
            fns: BTreeMap::new(),
        };
        for one in &program.consts {
            let value = statics::eval(&one.value, &all.consts, Wanted::Value, diags);
            if all.consts.insert(one.name.to_string(), value).is_some() {
                duplicate("constant", &one.name, program.consts.iter().map(|c| &c.name), diags);
            }
        }
        for one in &program.structs {
            if all.structs.insert(one.name.to_string(), one).is_some() {
                duplicate("struct", &one.name, program.structs.iter().map(|s| &s.name), diags);
            }
            all_distinct("field", one.fields.iter().map(|f| &f.name), diags);
            all_distinct("parameter", one.params.iter().map(|(name, _)| name), diags);
        }
        for one in &program.fns {
            all.fns.insert(one.name.to_string(), one);
        }
        all_distinct("function", program.fns.iter().map(|f| &f.name), diags);
        all.collect_methods(diags);
        all.report_unused_fields(diags);
        all
    }

    fn collect_methods(&mut self, diags: &mut Diags) {
        for block in &self.program.impls {
            let name = block.name.to_string();
            if !self.structs.contains_key(&name) {
                let near = closest(&name, self.structs.keys().map(String::as_str));
                let mut report =
                    Diagnostic::new("unknown-struct", block.name.span(), format!("there is no struct `{name}` here"));
                report.help = near.map(|near| format!("write `impl {near}`"));
                diags.push(report);
                continue;
            }
            let methods = self.methods.entry(name).or_default();
            for one in &block.fns {
                if let Some(first) = methods.insert(one.name.to_string(), one) {
                    duplicate("function", &one.name, [&first.name, &one.name], diags);
                }
            }
        }
        for one in self.every_fn() {
            let mut names = vec![];
            one.params.iter().for_each(|(pat, _)| pattern_names(pat, &mut names));
            all_distinct("argument", names, diags);
            report_reserved(one, diags);
        }
    }

    fn every_fn(&self) -> impl Iterator<Item = &'p Fn> {
        self.program.impls.iter().flat_map(|i| &i.fns).chain(&self.program.fns)
    }

    /// A field counts as used where any function names it behind a dot.
    fn report_unused_fields(&self, diags: &mut Diags) {
        let mut used = BTreeSet::new();
        self.every_fn().for_each(|f| members_of_block(&f.body, &mut used));
        for one in &self.program.structs {
            if !self.methods.contains_key(&one.name.to_string()) {
                continue;
            }
            for field in one.fields.iter().filter(|f| !used.contains(&f.name.to_string())) {
                if matches!(field.ty, FieldType::Error) {
                    continue;
                }
                let message = format!("`{}` takes part in no function of `{}`", field.name, one.name);
                diags.push(
                    Diagnostic::new("unused-field", field.name.span(), message)
                        .help(format!("remove `{}`, or use it as `self.{}`", field.name, field.name)),
                );
            }
        }
    }

    /// The function of a struct.
    pub(super) fn method(&self, of: &str, name: &str) -> Option<&'p Fn> {
        self.methods.get(of)?.get(name).copied()
    }
}

fn pattern_names<'a>(pat: &'a Pat, names: &mut Vec<&'a Ident>) {
    match pat {
        Pat::Name { name, .. } => names.push(name),
        Pat::Tuple(items, _) => items.iter().for_each(|item| pattern_names(item, names)),
        Pat::Ignore(_) => {}
    }
}

fn all_distinct<'a>(what: &str, names: impl IntoIterator<Item = &'a Ident>, diags: &mut Diags) {
    let names: Vec<&Ident> = names.into_iter().collect();
    for (i, name) in names.iter().enumerate() {
        if names[..i].contains(name) {
            duplicate(what, name, names.iter().copied(), diags);
        }
    }
}

/// Methods of every model, whose names its functions cannot have.
const RESERVED: [&str; 17] = [
    "init",
    "load",
    "load_async",
    "on",
    "on_async",
    "open",
    "open_async",
    "open_bytes",
    "parameter",
    "parameter_mut",
    "save",
    "session",
    "shared_session",
    "to_cpu",
    "trainer",
    "write",
    "write_async",
];

fn report_reserved(one: &Fn, diags: &mut Diags) {
    if one.is_pub() && RESERVED.iter().any(|name| one.name == name) {
        let message = format!("every model has a method `{}` of its own", one.name);
        let report = Diagnostic::new("reserved-name", one.name.span(), message);
        diags.push(report.help(format!("rename this one, for example to `{}_of`", one.name)));
    }
}

/// Reports the later of two declarations.
pub(super) fn duplicate<'a>(what: &str, later: &Ident, all: impl IntoIterator<Item = &'a Ident>, diags: &mut Diags) {
    let mut report = Diagnostic::new("duplicate-name", later.span(), format!("there are two {what}s named `{later}`"));
    if let Some(first) = all.into_iter().find(|name| *name == later) {
        report = report.note(format!("the first is on line {}", first.span().start().line));
    }
    diags.push(report.help(format!("rename this one, for example to `{later}2`")));
}

/// Every name behind a dot.
fn members_of_block(block: &Block, used: &mut BTreeSet<String>) {
    for stmt in &block.stmts {
        match stmt {
            Stmt::Let { value, .. } => members(value, used),
            Stmt::Assign { target, value, .. } => {
                members(target, used);
                members(value, used);
            }
            Stmt::For { over, body, .. } => {
                match over {
                    Iter::Range { start, end, .. } => {
                        members(start, used);
                        members(end, used);
                    }
                    Iter::Field(expr) => members(expr, used),
                }
                members_of_block(body, used);
            }
            Stmt::Expr(expr) => members(expr, used),
        }
    }
    block.tail.iter().for_each(|tail| members(tail, used));
}

fn members(expr: &Expr, used: &mut BTreeSet<String>) {
    match &expr.kind {
        ExprKind::Field(_, name) | ExprKind::Method(_, name, _) => {
            used.insert(name.to_string());
        }
        // A call without `self.` is a mistake of its own.
        ExprKind::Call(of, _) => {
            if let ExprKind::Name(name) = &of.kind {
                used.insert(name.to_string());
            }
        }
        _ => {}
    }
    let (exprs, blocks) = expr.inside();
    exprs.into_iter().for_each(|e| members(e, used));
    blocks.into_iter().for_each(|b| members_of_block(b, used));
}
