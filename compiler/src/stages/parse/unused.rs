//! What a text declares and nothing uses: fields that take part in no function, foreign functions that nothing calls,
//! and states that nothing assigns.

use super::ast::*;
use crate::diag::{Code, Diagnostic, Diags, closest};
use proc_macro2::Ident;
use std::collections::BTreeSet;

/// What the functions of a text name.
#[derive(Default)]
struct Used {
    /// Behind a dot, or called.
    members: BTreeSet<String>,
    /// By themselves.
    names: BTreeSet<String>,
    /// Behind a dot, on the left of an assignment.
    assigned: BTreeSet<String>,
}

/// Reports fields that no function names.
pub(super) fn report_fields(program: &Program, diags: &mut Diags) {
    let used = Used::of(program);
    let declared: BTreeSet<String> = members(program).map(Ident::to_string).collect();
    // A name that is written wrong is the mistake, not that the field is unused.
    let misspelt = |name: &Ident, used: &Used| {
        let mut unknown = used.members.difference(&declared);
        unknown.any(|member| closest(member, [name.to_string().as_str()]).is_some())
    };
    for (one, field) in fields(program) {
        let name = &field.name;
        if matches!(field.ty, FieldType::Error) || used.members.contains(&name.to_string()) || misspelt(name, &used) {
            continue;
        }
        let message = format!("`{name}` takes part in no function of `{}`", one.name);
        let report = Diagnostic::new(Code::UnusedField, name.span(), message);
        diags.push_about(name, report.help(format!("remove `{name}`, or use it as `self.{name}`")));
    }
}

/// Reports states that nothing assigns and foreign functions that nothing calls, in a text without mistakes: a name
/// that is written wrong is one.
pub(super) fn report_uncalled(program: &Program, diags: &mut Diags) {
    let used = Used::of(program);
    for (_, field) in fields(program) {
        let name = &field.name;
        if matches!(field.ty, FieldType::State(_)) && !used.assigned.contains(&name.to_string()) {
            let message = format!("no function assigns the state `{name}`, so it stays zero for ever");
            let report = Diagnostic::new(Code::UnassignedState, name.span(), message);
            diags.push(report.help(format!("assign it in a function with `&mut self`: `self.{name} = …;`")));
        }
    }
    for one in program.externs.iter().filter(|one| !used.names.contains(&one.name.to_string())) {
        let message = format!("nothing calls the foreign function `{}`", one.name);
        let report = Diagnostic::new(Code::UnusedForeign, one.name.span(), message);
        diags.push(report.help(format!("remove `extern fn {}`, or call it", one.name)));
    }
}

/// What can stand behind a dot.
fn members(program: &Program) -> impl Iterator<Item = &Ident> {
    let fields = program.structs.iter().flat_map(|one| one.fields.iter().map(|field| &field.name));
    fields.chain(program.impls.iter().flat_map(|block| block.fns.iter().map(|one| &one.name)))
}

/// Reports structs and models of files of which nothing is made, in a text without mistakes: no other struct has a field of them, and they are
/// no model. A public struct with a parameter or a function `forward` may be a block of other macros.
pub(super) fn report_structs(program: &Program, diags: &mut Diags) {
    let mut named = BTreeSet::new();
    program.aliases.iter().for_each(|alias| _ = named.insert(alias.target.to_string()));
    for one in &program.structs {
        let of_others = one.fields.iter().flat_map(|field| field.ty.blocks()).map(Ident::to_string);
        let of_others = of_others.filter(|name| one.name != name);
        named.extend(of_others);
    }
    let imports = program.imports.iter().filter(|one| !super::is_pub(&one.vis));
    for one in imports.filter(|one| !named.contains(&one.name.to_string())) {
        let name = &one.name;
        let report = Diagnostic::new(Code::UnusedImport, name.span(), format!("nothing here uses `{name}`"));
        diags.push(report.help(format!("declare it as `pub struct {name}`, or declare a field of it")));
    }
    for one in program.structs.iter().filter(|one| !named.contains(&one.name.to_string())) {
        let fns = || program.impls.iter().filter(|block| block.name == one.name).flat_map(|block| &block.fns);
        let Some(first) = fns().next() else { continue };
        let is_block = !one.params.is_empty() || fns().any(|f| f.is_pub() || f.name == "forward");
        if super::is_pub(&one.vis) && !is_block {
            let name = &one.name;
            let message = format!("`{name}` has no public function and is no block here, so nothing is made of it");
            let report = Diagnostic::new(Code::UnusedStruct, first.name.span(), message);
            diags.push(report.help(format!("declare it as `pub fn {}`", first.name)));
        }
    }
}

/// The fields of the structs that have functions.
fn fields(program: &Program) -> impl Iterator<Item = (&Struct, &Field)> {
    let first = |one: &Struct| program.structs.iter().find(|other| other.name == one.name);
    let first = move |one: &&Struct| first(one).is_some_and(|first| std::ptr::eq(first, *one));
    let structs = program.structs.iter().filter(first);
    let structs = structs.filter(|one| program.impls.iter().any(|block| block.name == one.name));
    structs.flat_map(|one| one.fields.iter().map(move |field| (one, field)))
}

impl Used {
    fn of(program: &Program) -> Used {
        let mut used = Used::default();
        program.impls.iter().flat_map(|block| &block.fns).chain(&program.fns).for_each(|f| used.block(&f.body));
        let gradients = program.externs.iter().filter_map(|one| match &one.gradient {
            Some(ExternGradient::Named(name)) => Some(name.to_string()),
            Some(ExternGradient::Declared { .. }) | None => None,
        });
        used.names.extend(gradients);
        let fields = program.structs.iter().flat_map(|one| &one.fields);
        fields.flat_map(|field| field.ty.functions()).for_each(|function| used.expr(function));
        used
    }

    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            if let Stmt::Assign { target, .. } = stmt {
                target.all().into_iter().for_each(|one| self.target(one));
            }
        }
        let (exprs, blocks) = block.inside();
        exprs.into_iter().for_each(|expr| self.expr(expr));
        blocks.into_iter().for_each(|block| self.block(block));
    }

    fn target(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Field(_, name) => _ = self.assigned.insert(name.to_string()),
            ExprKind::Index(of, _) => self.target(of),
            _ => {}
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Field(_, name) | ExprKind::Method(_, name, _) => _ = self.members.insert(name.to_string()),
            ExprKind::Name(name) => _ = self.names.insert(name.to_string()),
            // A call without `self.` is a mistake of its own.
            ExprKind::Call(of, _) => {
                if let ExprKind::Name(name) = &of.kind {
                    self.members.insert(name.to_string());
                }
            }
            _ => {}
        }
        if let ExprKind::Method(_, name, _) = &expr.kind {
            // `x.simulate()` is `simulate(x)`.
            self.names.insert(name.to_string());
        }
        let (exprs, blocks) = expr.inside();
        exprs.into_iter().for_each(|e| self.expr(e));
        blocks.into_iter().for_each(|b| self.block(b));
    }
}
