//! What editors can show of a text: its structs with their fields, and where layers, functions and fields are named. In: the
//! syntax tree. Always: a name is mentioned only where it means what the reference, or the text, declares.

use super::ast::*;
use super::words;
use crate::ir::mention::{Fields, Mentions};
use crate::ops;
use proc_macro2::Ident;
use std::collections::BTreeSet;

/// The mentions of a text.
pub(super) fn of(program: &Program) -> Mentions {
    let own = program.fns.iter().map(|one| one.name.to_string());
    let own: BTreeSet<String> = own.chain(program.externs.iter().map(|one| one.name.to_string())).collect();
    let mut found = Found { own, names: vec![], this: None, all: Mentions::default() };
    let mut known = BTreeSet::new();
    let structs: Vec<&Struct> = program.structs.iter().filter(|one| known.insert(one.name.to_string())).collect();
    found.all.structs = structs.iter().map(|one| fields(one)).collect();
    let names = |of: &&Struct| of.fields.iter().map(|field| field.name.to_string()).collect();
    found.names = structs.iter().map(names).collect();
    structs.iter().flat_map(|one| &one.fields).for_each(|field| found.field(&field.ty));
    program.fns.iter().for_each(|one| found.block(&one.body));
    for block in &program.impls {
        found.this = structs.iter().position(|one| one.name == block.name);
        block.fns.iter().for_each(|one| found.block(&one.body));
    }
    found.all
}

fn fields(of: &Struct) -> Fields {
    let mut names = BTreeSet::new();
    let layer = |ty: &FieldType| match ty {
        FieldType::One { name, .. } => ops::layer(&name.to_string()).map(|_| name.clone()),
        _ => None,
    };
    let fields = of.fields.iter().filter(|field| names.insert(field.name.to_string()));
    let fields = fields.map(|field| (field.name.clone(), words::field_text(&field.ty), layer(&field.ty)));
    Fields { name: of.name.clone(), fields: fields.collect(), uses: vec![] }
}

struct Found {
    /// Functions of the text, which hide those of the language.
    own: BTreeSet<String>,
    /// The names of the fields of each struct.
    names: Vec<BTreeSet<String>>,
    /// The number of the struct whose functions are looked through.
    this: Option<usize>,
    all: Mentions,
}

impl Found {
    fn field(&mut self, ty: &FieldType) {
        for name in ty.blocks() {
            if self.all.structs.iter().any(|one| one.name == *name) {
                self.all.blocks.push(name.clone());
            } else if ops::layer(&name.to_string()).is_some() {
                self.all.layers.push(name.clone());
            }
        }
        for function in ty.functions() {
            match &function.kind {
                ExprKind::Name(name) => self.function(name),
                _ => self.expr(function),
            }
        }
    }

    fn function(&mut self, name: &Ident) {
        let text = name.to_string();
        if !self.own.contains(&text) && ops::op(&text).is_some() {
            self.all.functions.push(name.clone());
        }
    }

    /// A name behind `self.`; whether it is a field.
    fn member(&mut self, of: &Expr, name: &Ident) -> bool {
        let (ExprKind::SelfValue, Some(this)) = (&of.kind, self.this) else { return false };
        let is_field = self.names[this].contains(&name.to_string());
        self.all.structs[this].uses.extend(is_field.then(|| name.clone()));
        is_field
    }

    fn block(&mut self, block: &Block) {
        let (exprs, blocks) = block.inside();
        exprs.into_iter().for_each(|expr| self.expr(expr));
        blocks.into_iter().for_each(|block| self.block(block));
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Call(callee, _) => {
                if let ExprKind::Name(name) = &callee.kind {
                    self.function(name);
                }
            }
            ExprKind::Method(of, name, _) if !self.member(of, name) => self.function(name),
            ExprKind::Field(of, name) => _ = self.member(of, name),
            _ => {}
        }
        let (exprs, blocks) = expr.inside();
        exprs.into_iter().for_each(|expr| self.expr(expr));
        blocks.into_iter().for_each(|block| self.block(block));
    }
}
