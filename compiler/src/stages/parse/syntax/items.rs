//! Items: constants, structs, aliases, impls and functions.

use super::super::ast::*;
use super::super::import;
use super::function::Outer;
use super::heads::is_class;
use super::items_elsewhere::Number;
use super::{Syntax, between, starts_item};
use crate::diag::{Code, Diagnostic, Place};
use proc_macro2::{Ident, TokenStream, TokenTree};
use std::cell::RefCell;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Token, UseTree, Visibility, braced, parenthesized, token};

impl Syntax {
    /// All items; an unreadable one is reported and skipped.
    pub(super) fn program(&self, input: ParseStream, program: &mut Program) {
        while !input.is_empty() {
            if self.surplus_semicolon(input) {
                continue;
            }
            let start = input.cursor();
            if let Err(error) = self.item(input, program) {
                self.syntax_error(&error);
                if start == input.cursor() {
                    let _ = input.parse::<TokenTree>();
                }
                self.skip_item(input);
                self.lose(start, input);
                continue;
            }
            let tokens = between(start, input.cursor());
            if let Some(name) = declared_name(&tokens) {
                program.items.push(Item { name, tokens });
            }
        }
    }

    fn item(&self, input: ParseStream, program: &mut Program) -> syn::Result<()> {
        let mut outer = self.attributes(input);
        if input.peek(Token![use]) {
            let (absolute, tree) = imported(input)?;
            match uses(absolute, &tree) {
                Ok(uses) => program.uses.extend(uses),
                Err(error) => self.syntax_error(&error),
            }
            self.end_of_item(input);
            return Ok(());
        }
        if self.python_import(input, program)? {
            return Ok(());
        }
        let vis: Visibility = input.parse()?;
        if input.peek(Token![use]) {
            let message = "blocks are imported for this macro alone";
            return Err(syn::Error::new(input.span(), message));
        }
        if !input.peek(Token![struct]) && !is_class(input) && !input.peek(Token![fn]) {
            self.misplaced(&mut outer.attrs, &["model", "train", "remat"], "this item");
        }
        if input.peek(Token![const]) {
            program.consts.push(self.constant(input)?);
        } else if input.peek(Token![struct]) || is_class(input) {
            self.structure(input, outer.attrs, vis, program)?;
        } else if input.peek(Token![impl]) {
            let block = self.implementation(input, &mut program.externs)?;
            program.impls.push(block);
        } else if input.peek(Token![fn]) {
            let function = self.function(input, outer, vis)?;
            match self.without_impl(&function, &program.structs) {
                Some(name) => program.impls.push(Impl { name, fns: vec![function] }),
                None => program.fns.push(function),
            }
        } else if input.peek(Token![extern]) {
            program.externs.push(self.foreign(input)?);
        } else if let Some(constant) = self.loose_constant(input)? {
            program.consts.push(constant);
        } else if !self.type_alias(input)? && !self.other_item(input) {
            return Err(input.error("expected `struct`, `impl`, `fn`, `const` or `use`"));
        }
        Ok(())
    }

    /// The `;` behind an item; where it is missing, the next item is read all the same.
    fn end_of_item(&self, input: ParseStream) {
        let start = input.cursor();
        if let Err(error) = input.parse::<Token![;]>() {
            self.syntax_error(&error);
            self.skip_item(input);
            self.lose(start, input);
        }
    }

    fn constant(&self, input: ParseStream) -> syn::Result<Const> {
        input.parse::<Token![const]>()?;
        let name = input.parse()?;
        if input.parse::<Option<Token![:]>>()?.is_some() {
            let _: syn::Type = input.parse()?;
        }
        input.parse::<Token![=]>()?;
        let value = self.expr(input)?;
        self.end_of_item(input);
        Ok(Const { name, value })
    }

    fn structure(
        &self,
        input: ParseStream,
        mut attrs: Vec<Attribute>,
        mut vis: Visibility,
        to: &mut Program,
    ) -> syn::Result<()> {
        let name = self.struct_name(input, &mut vis)?;
        self.misplaced(&mut attrs, &["train", "remat", "derive"], &format!("the struct `{name}`"));
        if matches!(vis, Visibility::Inherited) {
            self.misplaced(&mut attrs, &["model"], &format!("`{name}`, which is not public"));
        }
        if input.parse::<Option<Token![=]>>()?.is_some() {
            let target: Ident = input.parse()?;
            if target == "onnx" {
                let (file, args) = import::file_and_args(input)?;
                self.end_of_item(input);
                to.imports.push(Import { attrs, vis, name, file, args });
                return Ok(());
            }
            let args = if input.peek(syn::token::Paren) { self.args(input)?.0 } else { vec![] };
            self.end_of_item(input);
            to.aliases.push(Alias { source: self.source, attrs, vis, name, target, args });
            return Ok(());
        }
        if let Some(fields) = self.tuple_fields(input, &name)? {
            to.structs.push(Struct { source: self.source, attrs, vis, name, params: vec![], fields });
            return Ok(());
        }
        let mut params = self.struct_params(input, &name)?;
        let (fields, numbers) = self.fields(input, &name)?;
        self.number_fields(&name, &vis, numbers, &mut params);
        to.structs.push(Struct { source: self.source, attrs, vis, name, params, fields });
        Ok(())
    }

    /// The fields in braces, and numbers among them; what stands before the braces is reported and passed.
    fn fields(&self, input: ParseStream, owner: &Ident) -> syn::Result<(Vec<Field>, Vec<Number>)> {
        if !input.peek(token::Brace) {
            let start = input.cursor();
            self.syntax_error(&input.error("expected the fields in braces"));
            while !input.is_empty() && !input.peek(token::Brace) && !starts_item(input) {
                input.parse::<TokenTree>()?;
            }
            self.lose(start, input);
            if !input.peek(token::Brace) {
                return Ok((vec![], vec![]));
            }
        }
        let content;
        braced!(content in input);
        let numbers = RefCell::new(vec![]);
        let fields = self.list(&content, |input| match self.number_field(input)? {
            Some(number) => {
                numbers.borrow_mut().push(number);
                Ok(None)
            }
            None => self.field(input, owner),
        });
        Ok((fields.into_iter().flatten().collect(), numbers.into_inner()))
    }

    /// Takes out `#[name = "features.0"]`, which says what files call a field.
    fn file_name(&self, attrs: &mut Vec<Attribute>) -> Option<String> {
        let mut found = None;
        attrs.retain(|attr| {
            if !attr.path().is_ident("name") {
                return true;
            }
            let place = Place::from(attr.bracket_token.span.join());
            match written_name(attr) {
                Some(text) if found.is_none() => found = Some(text),
                Some(_) => {
                    let report =
                        Diagnostic::new(Code::DuplicateAttribute, place, "the field has a name in files already");
                    self.report(report.help("remove it"));
                }
                None => {
                    let message = "a name in files is words of letters, digits, `_` and `-` with dots between them";
                    let report = Diagnostic::new(Code::WrongAttribute, place, message);
                    self.report(report.help("write it as a text: `#[name = \"features.0\"]`"));
                }
            }
            false
        });
        found
    }

    fn field(&self, input: ParseStream, owner: &Ident) -> syn::Result<Option<Field>> {
        let Outer { mut attrs, .. } = self.attributes(input);
        let _: Visibility = input.parse()?;
        if input.peek(Token![fn]) && input.peek2(syn::Ident) {
            self.function_among_fields(input, owner);
            return Ok(None);
        }
        self.misplaced(&mut attrs, &["model", "train", "remat"], "a field");
        let file = self.file_name(&mut attrs);
        self.meaningless(&attrs);
        let name = input.call(Ident::parse_any)?;
        self.unnameable(&name);
        if name == "state" && !input.peek(Token![:]) {
            let name: Ident = input.parse()?;
            input.parse::<Token![:]>()?;
            let ty = FieldType::State(self.state(input, &name)?);
            return Ok(Some(Field { name, file, ty }));
        }
        if let Err(error) = input.parse::<Token![:]>() {
            let report = Diagnostic::new(Code::Syntax, error.span(), error.to_string());
            self.report(report.help(format!("write `{name}:` and what it is")));
            input.parse::<Option<Token![=]>>()?;
        }
        if let Some(ty) = self.state_behind_name(input, &name)? {
            return Ok(Some(Field { name, file, ty }));
        }
        let ty = match self.field_type(input, &name) {
            Ok(ty) => ty,
            Err(error) => {
                let start = input.cursor();
                self.syntax_error(&error);
                while !input.is_empty() && !input.peek(Token![,]) && !input.peek(Token![;]) {
                    input.parse::<TokenTree>()?;
                }
                self.lose(start, input);
                FieldType::Error
            }
        };
        Ok(Some(Field { name, file, ty }))
    }

    /// The type of a state.
    pub(super) fn state(&self, input: ParseStream, name: &Ident) -> syn::Result<TypeExpr> {
        let ty = self.type_or_error(input)?;
        self.state_start(input, name, &ty)?;
        Ok(ty)
    }

    pub(super) fn field_type(&self, input: ParseStream, field: &Ident) -> syn::Result<FieldType> {
        if input.peek(syn::token::Bracket) {
            return self.blocks(input, field);
        }
        let name = input.parse()?;
        let path = self.path(input, name, true)?;
        if path.meant == "Sequential" && input.peek(syn::token::Paren) {
            let content;
            parenthesized!(content in input);
            _ = self.path_of_field(path, field, &[]);
            return Ok(FieldType::List { entries: self.entries(&content, field)?, is_chain: true });
        }
        if self.field_of_type(input, &path.meant, field)? {
            return Ok(FieldType::Error);
        }
        let mut args = vec![];
        let mut last = path.meant.span();
        if input.peek(syn::token::Paren) {
            (args, last) = self.args(input)?;
        }
        let Some(name) = self.path_of_field(path, field, &args) else { return Ok(FieldType::Error) };
        let place = Place { first: name.span(), last };
        Ok(FieldType::One { name, args, place })
    }

    /// What is declared foreign inside is reported, and then as good as outside.
    fn implementation(&self, input: ParseStream, externs: &mut Vec<Extern>) -> syn::Result<Impl> {
        input.parse::<Token![impl]>()?;
        let name = self.implemented(input)?;
        let content;
        braced!(content in input);
        let mut fns = vec![];
        while !content.is_empty() {
            if self.surplus_semicolon(&content) {
                continue;
            }
            let start = content.cursor();
            let one = (|| {
                let outer = self.attributes(&content);
                let vis = content.parse()?;
                self.function_words(&content)?;
                if self.constructor(&content, &name)? {
                    return Ok(None);
                }
                if !content.peek(Token![fn]) && self.nested_item(&content, "an `impl`") {
                    return Ok(None);
                }
                if content.peek(Token![extern]) {
                    let message = "a foreign function belongs to no struct";
                    self.foreign_mistake(content.span(), message, format!("declare it in front of `impl {name}`"));
                    externs.push(self.foreign(&content)?);
                    return Ok(None);
                }
                self.function(&content, outer, vis).map(Some)
            })();
            match one {
                Ok(function) => fns.extend(function),
                Err(error) => {
                    self.syntax_error(&error);
                    if start == content.cursor() {
                        content.parse::<TokenTree>()?;
                    }
                    self.skip_item(&content);
                    self.lose(start, &content);
                }
            }
        }
        Ok(Impl { name, fns })
    }
}

/// `use` and what it imports, without the `;`; also whether the path starts with `::`.
pub(in super::super) fn imported(input: ParseStream) -> syn::Result<(bool, UseTree)> {
    input.parse::<Token![use]>()?;
    let absolute = input.parse::<Option<Token![::]>>()?.is_some();
    Ok((absolute, input.parse()?))
}

/// The blocks that an item `use …;` names.
pub(in super::super) fn uses(absolute: bool, tree: &UseTree) -> syn::Result<Vec<Use>> {
    let mut all = vec![];
    named(absolute, &mut vec![], tree, &mut all)?;
    Ok(all)
}

fn named(absolute: bool, path: &mut Vec<Ident>, tree: &UseTree, all: &mut Vec<Use>) -> syn::Result<()> {
    let one = |path: &[Ident], target: &Ident, name: &Ident| Use {
        absolute,
        path: path.to_vec(),
        target: target.clone(),
        name: name.clone(),
    };
    match tree {
        UseTree::Path(step) => {
            path.push(step.ident.clone());
            named(absolute, path, &step.tree, all)?;
            path.pop();
        }
        UseTree::Name(last) => all.push(one(path, &last.ident, &last.ident)),
        UseTree::Rename(last) => all.push(one(path, &last.ident, &last.rename)),
        UseTree::Group(group) => {
            for item in &group.items {
                named(absolute, path, item, all)?;
            }
        }
        UseTree::Glob(glob) => return Err(syn::Error::new(glob.star_token.span, "name each block that is imported")),
    }
    Ok(())
}

/// The name after the keyword of an item.
fn declared_name(item: &TokenStream) -> Option<String> {
    let mut words = item.clone().into_iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    });
    words.find(|word| matches!(word.as_str(), "struct" | "impl" | "fn" | "const"))?;
    words.next()
}

/// The text of `#[name = "…"]`, where it can be one.
fn written_name(attr: &Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attr.meta else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else { return None };
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    Some(text.value()).filter(|text| text.split('.').all(is_part))
}
