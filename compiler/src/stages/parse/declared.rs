//! The names that the macro declares, found by name; duplicates are reported here.

use super::ast::*;
use super::foreign::{self, Declaration};
use super::names::Names;
use super::reserved;
use super::statics::{self, Wanted};
use super::syntax::has_unreadable;
use super::travel::Source;
use super::unused;
use crate::diag::{Code, Diagnostic, Diags, closest};
use crate::ir::Model;
use proc_macro2::{Ident, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// All declarations of all texts.
pub(super) struct Declared<'p> {
    pub(super) sources: &'p [Source],
    /// By text.
    consts: Vec<Names>,
    /// By key.
    structs: BTreeMap<String, &'p Struct>,
    /// By the key of the struct, then by name.
    pub(super) methods: BTreeMap<String, BTreeMap<String, &'p Fn>>,
    /// By key.
    fns: BTreeMap<String, &'p Fn>,
    /// Functions of the macro's own text that emitted methods would meet, with their struct.
    reserved: BTreeSet<(String, String)>,
    /// The models of files that the macro's own text imports; none for one that cannot be.
    imports: &'p [(&'p Ident, Option<Rc<Model>>)],
    /// Of the macro's own text.
    pub(super) foreign: Vec<Declaration<'p>>,
}

/// What a name of a block stands for.
pub(super) enum Named<'p> {
    Struct(&'p Struct),
    Alias(&'p Alias),
    /// The model of a file.
    Import(Rc<Model>),
    /// Nothing is known of it, which has been reported.
    Unknown,
}

/// What the tables call an item. Messages leave out the number of the text.
pub(super) fn key(source: usize, name: impl std::fmt::Display) -> String {
    if source == 0 { name.to_string() } else { format!("{name}#{source}") }
}

impl<'p> Declared<'p> {
    /// Collects the declarations. What is wrong with those that travelled has been reported where they come from.
    pub(super) fn new(
        sources: &'p [Source],
        imports: &'p [(&'p Ident, Option<Rc<Model>>)],
        diags: &mut Diags,
    ) -> Declared<'p> {
        let mut all = Declared {
            sources,
            consts: vec![],
            structs: BTreeMap::new(),
            methods: BTreeMap::new(),
            fns: BTreeMap::new(),
            reserved: BTreeSet::new(),
            imports,
            foreign: vec![],
        };
        for (number, source) in sources.iter().enumerate() {
            let silent = &mut Diags::default();
            let diags = if number == 0 { &mut *diags } else { silent };
            all.collect(number, diags);
            all.collect_methods(number, diags);
            let reserved = reserved::report(&source.program, diags);
            if number == 0 {
                all.reserved = reserved;
            }
        }
        let program = &sources[0].program;
        all.foreign = foreign::read(&program.externs, &program.fns, &all.consts[0], diags);
        // What could not be read may have used anything.
        if !fns_of(&sources[0]).any(|one| has_unreadable(&one.body)) {
            unused::report_fields(&sources[0].program, diags);
        }
        all
    }

    fn collect(&mut self, number: usize, diags: &mut Diags) {
        let program = &self.sources[number].program;
        let mut consts = Names::default();
        for one in &program.consts {
            let value = statics::eval(&one.value, &consts, Wanted::Value, diags);
            if consts.give(one.name.to_string(), value, one.value.place).is_some() {
                duplicate("constant", &one.name, program.consts.iter().map(|c| &c.name), diags);
            }
        }
        self.consts.push(consts);
        for one in &program.structs {
            // The first counts: what follows from it is said of one.
            let first = *self.structs.entry(key(number, &one.name)).or_insert(one);
            if !std::ptr::eq(first, one) {
                // Which of the two their functions mean is not known.
                let fields = first.fields.iter().chain(&one.fields);
                diags.lose(fields.map(|field| TokenTree::from(field.name.clone())).collect());
            }
            all_distinct("field", one.fields.iter().map(|f| &f.name), diags);
            all_distinct("parameter", one.params.iter().map(|(name, _)| name), diags);
        }
        for one in &program.fns {
            self.fns.insert(key(number, &one.name), one);
        }
        let aliases = program.aliases.iter().map(|a| &a.name).chain(program.imports.iter().map(|i| &i.name));
        all_distinct("struct", program.structs.iter().map(|s| &s.name).chain(aliases), diags);
        all_distinct("function", program.fns.iter().map(|f| &f.name), diags);
    }

    fn collect_methods(&mut self, number: usize, diags: &mut Diags) {
        let source = &self.sources[number];
        for block in &source.program.impls {
            let name = key(number, &block.name);
            if !self.structs.contains_key(&name) {
                diags.push_about(&block.name, self.unknown_owner(number, &block.name));
                continue;
            }
            let methods = self.methods.entry(name).or_default();
            for one in &block.fns {
                let first = methods.entry(one.name.to_string()).or_insert(one);
                if !std::ptr::eq(*first, one) {
                    duplicate("function", &one.name, [&first.name, &one.name], diags);
                }
            }
        }
        for one in fns_of(source) {
            let mut names = vec![];
            one.params.iter().for_each(|(pat, _)| pattern_names(pat, &mut names));
            all_distinct("argument", names, diags);
        }
    }

    fn unknown_owner(&self, number: usize, name: &Ident) -> Diagnostic {
        let text = name.to_string();
        if self.sources[number].imports.contains_key(&text) {
            let message = format!("`{text}` is declared elsewhere, and its functions with it");
            let report = Diagnostic::new(Code::UnknownStruct, name.span(), message);
            return report.help(format!("declare a struct with a field `inner: {text}`, or write a plain `fn`"));
        }
        if self.sources[number].program.imports.iter().any(|import| import.name == *name) {
            let message = format!("`{text}` is imported from a file, which says what its functions are");
            let report = Diagnostic::new(Code::UnknownStruct, name.span(), message);
            return report.help(format!("declare a struct with a field `inner: {text}`, or write a plain `fn`"));
        }
        let known = self.sources[number].program.structs.iter().map(|s| s.name.to_string()).collect::<Vec<_>>();
        let near = closest(&text, known.iter().map(String::as_str));
        let mut report = Diagnostic::new(Code::UnknownStruct, name.span(), format!("there is no struct `{text}` here"));
        report.help = near.map(|near| format!("write `impl {near}`"));
        report
    }

    /// Whether emitted code can have a function of the struct as a method: it is the first of its name, which is free.
    pub(super) fn is_method(&self, of: &Struct, function: &Fn) -> bool {
        let (owner, name) = (key(of.source, &of.name), function.name.to_string());
        let first = self.methods.get(&owner).and_then(|all| all.get(&name));
        first.is_some_and(|first| std::ptr::eq(*first, function)) && !self.reserved.contains(&(owner, name))
    }

    /// Whether a text is about images: it has a layer for them, or an argument with four axes.
    pub(super) fn has_images(&self, source: usize) -> bool {
        let program = &self.sources[source].program;
        let is_layer = |field: &Field| field.ty.blocks().iter().any(|name| name.to_string().ends_with("2d"));
        let is_image = |ty: &TypeExpr| matches!(ty, TypeExpr::Tensor { axes, .. } if axes.len() == 4);
        program.structs.iter().flat_map(|one| &one.fields).any(is_layer)
            || fns_of(&self.sources[source]).flat_map(|one| &one.params).any(|(_, ty)| is_image(ty))
    }

    /// The constants of a text.
    pub(super) fn consts(&self, source: usize) -> &Names {
        &self.consts[source]
    }

    /// What a text calls by that name.
    pub(super) fn block(&self, source: usize, name: &str) -> Option<Named<'p>> {
        let here = |source: usize, name: &str| {
            let aliases = &self.sources[source].program.aliases;
            let alias = || aliases.iter().find(|alias| alias.name == name).map(Named::Alias);
            let import = || self.imports.iter().find(|(known, _)| source == 0 && *known == name);
            let import = || import().map(|(_, model)| model.clone().map_or(Named::Unknown, Named::Import));
            self.structs.get(&key(source, name)).map(|&one| Named::Struct(one)).or_else(alias).or_else(import)
        };
        here(source, name).or_else(|| {
            if self.sources[source].failed.contains(name) {
                return Some(Named::Unknown);
            }
            let (other, name) = self.sources[source].imports.get(name)?;
            here(*other, name)
        })
    }

    /// The names by which a text knows blocks.
    pub(super) fn blocks(&self, source: usize) -> Vec<&'p str> {
        let source = &self.sources[source];
        source.names.iter().chain(source.imports.keys()).map(String::as_str).collect()
    }

    /// The fields of a struct, which is named by its key, in their order.
    pub(super) fn fields(&self, of: &str) -> &'p [Field] {
        self.structs.get(of).map_or(&[], |one| &one.fields)
    }

    /// The parameters of a struct, which is named by its key.
    pub(super) fn params(&self, of: &str) -> &'p [(Ident, Option<Expr>)] {
        self.structs.get(of).map_or(&[], |one| &one.params)
    }

    /// The function of a text that belongs to no struct.
    pub(super) fn function(&self, source: usize, name: &str) -> Option<&'p Fn> {
        self.fns.get(&key(source, name)).copied()
    }

    /// The names of such functions.
    pub(super) fn functions(&self, source: usize) -> impl Iterator<Item = String> + use<'p> {
        self.sources[source].program.fns.iter().map(|one| one.name.to_string())
    }

    /// The function of a struct, which is named by its key.
    pub(super) fn method(&self, of: &str, name: &str) -> Option<&'p Fn> {
        self.methods.get(of)?.get(name).copied()
    }
}

fn fns_of(source: &Source) -> impl Iterator<Item = &Fn> {
    source.program.impls.iter().flat_map(|i| &i.fns).chain(&source.program.fns)
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

/// Reports the later of two declarations.
pub(super) fn duplicate<'a>(what: &str, later: &Ident, all: impl IntoIterator<Item = &'a Ident>, diags: &mut Diags) {
    let mut report =
        Diagnostic::new(Code::DuplicateName, later.span(), format!("there are two {what}s named `{later}`"));
    if let Some(first) = all.into_iter().find(|name| *name == later) {
        report = report.note(format!("the first is on line {}", first.span().start().line));
    }
    diags.push(report.help(format!("rename this one, for example to `{later}2`")));
}
