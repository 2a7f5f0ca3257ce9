//! Items that other languages have: names of types, constants without `const`, constructors, fields that are numbers.
//!
//! Always: what is meant stands for it, so that nothing follows from it.

use super::super::ast::*;
use super::super::words;
use super::Syntax;
use super::elsewhere::next_is;
use super::foreign_type::spelt;
use crate::diag::{Code, Diagnostic, Place};
use proc_macro2::{Delimiter, Ident, Punct, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Token, Visibility, token};

/// Types of numbers that a struct of Rust or Python may hold.
const NUMBERS: [&str; 10] = ["usize", "isize", "u8", "u16", "u32", "u64", "i32", "i64", "int", "long"];

impl Syntax {
    /// `type Batch = f32[B, 784];`, whose uses behind it mean that type.
    pub(super) fn type_alias(&self, input: ParseStream) -> syn::Result<bool> {
        if !input.peek(Token![type]) {
            return Ok(false);
        }
        let mut place = Place::from(input.parse::<Token![type]>()?.span);
        let name: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        let ty = self.type_expr(input)?;
        place.last = input.parse::<Token![;]>()?.span;
        self.diags.borrow_mut().lose(TokenTree::from(name.clone()).into());
        let message = format!("`{name}` names a type, and types are written out in the model language");
        let report = Diagnostic::new(Code::Syntax, place, message);
        self.report(report.help(format!("remove it, and write `{}` for `{name}`", words::type_text(&ty))));
        self.named_types.borrow_mut().insert(name.to_string(), ty);
        Ok(true)
    }

    /// A constant that is declared by `let` or `static`, or as in Python by its name alone.
    pub(super) fn loose_constant(&self, input: ParseStream) -> syn::Result<Option<Const>> {
        let word = ["let", "static"].into_iter().find(|word| next_is(input, word));
        let bare = input.peek(syn::Ident) && (input.peek2(Token![=]) || input.peek2(Token![:]));
        if word.is_none() && !bare {
            return Ok(None);
        }
        let first = input.span();
        if word.is_some() {
            input.parse::<TokenTree>()?;
            input.parse::<Option<Token![mut]>>()?;
        }
        let name: Ident = input.parse()?;
        let ty = input.parse::<Option<Token![:]>>()?.map(|_| input.parse::<syn::Type>()).transpose()?;
        input.parse::<Token![=]>()?;
        let value = self.expr(input)?;
        let end = input.parse::<Option<Token![;]>>()?;
        let place = Place { first, last: end.map_or(value.place.last, |end| end.span) };
        let ty = ty.map_or_else(|| type_of(&value).to_owned(), |ty| ty.to_token_stream().to_string());
        let message = match word {
            Some(word) => format!("`{word}` stands outside of a function"),
            None => format!("`{name}` is declared without `const`"),
        };
        let report = Diagnostic::new(Code::Syntax, place, message);
        self.report(report.help(format!("write `const {name}: {ty} = {};`", words::full(&value))));
        Ok(Some(Const { name, value }))
    }

    /// `;` behind the braces of an item.
    pub(super) fn surplus_semicolon(&self, input: ParseStream) -> bool {
        let Ok(sign) = input.parse::<Token![;]>() else { return false };
        let report = Diagnostic::new(Code::Syntax, sign.span, "no `;` stands behind the braces of an item");
        self.report(report.help("remove it"));
        true
    }

    /// `fn new(…) -> Self { … }`, which is passed; `vis` and attributes have been read.
    pub(super) fn constructor(&self, input: ParseStream, owner: &Ident) -> syn::Result<bool> {
        if !is_constructor(input, owner).unwrap_or(false) {
            return Ok(false);
        }
        input.parse::<TokenTree>()?;
        let name: Ident = input.parse()?;
        let report =
            Diagnostic::new(Code::FunctionForm, name.span(), format!("`{owner}` needs no function that makes it"))
                .note("every model has a function `init`, which draws its parameters from a seed");
        self.report(report.help(format!("remove `{name}`: the fields say what is made")));
        self.skip_item(input);
        self.diags.borrow_mut().lose(TokenTree::from(name).into());
        Ok(true)
    }

    /// The struct that a function with `self` belongs to, which stands outside of any `impl`; that is reported.
    pub(super) fn without_impl(&self, function: &Fn, structs: &[Struct]) -> Option<Ident> {
        if matches!(function.receiver, Receiver::None) {
            return None;
        }
        let (name, owner) = (&function.name, structs.last().map(|last| last.name.clone()));
        let report =
            Diagnostic::new(Code::FunctionForm, name.span(), format!("`{name}` takes `self`, but stands in no `impl`"));
        let text = owner.as_ref().map_or("Net".to_owned(), Ident::to_string);
        self.report(report.help(format!("put it into `impl {text} {{ … }}`")));
        owner
    }

    /// `@train(AdamW)` or `#train(AdamW)`, which is read as the attribute that it means.
    pub(super) fn decorators(&self, input: ParseStream) -> Vec<Attribute> {
        let mut all = vec![];
        while (input.peek(Token![@]) || input.peek(Token![#])) && input.peek2(syn::Ident) {
            let read = (|| {
                let sign: Punct = input.parse()?;
                let name: Ident = input.parse()?;
                let arguments = if input.peek(token::Paren) { Some(input.parse::<TokenTree>()?) } else { None };
                let last = arguments.as_ref().map_or(name.span(), TokenTree::span);
                let (place, tokens) =
                    (Place { first: sign.span(), last }, quote_spanned!(sign.span()=> #[#name #arguments]));
                let attrs = Attribute::parse_outer.parse2(tokens)?;
                let report = Diagnostic::new(Code::Syntax, place, "an attribute stands between `#[` and `]`");
                let text = arguments.map_or(String::new(), |arguments| spelt(&arguments.into()));
                self.report(report.help(format!("write `#[{name}{text}]`")));
                syn::Result::Ok(attrs)
            })();
            all.extend(read.into_iter().flatten());
        }
        all
    }

    /// An item of Rust that the language has not, which is passed.
    pub(super) fn other_item(&self, input: ParseStream) -> bool {
        let words = ["enum", "trait", "mod", "macro_rules", "union", "interface"];
        let Some(word) = words.into_iter().find(|word| next_is(input, word)) else { return false };
        let report = Diagnostic::new(Code::Syntax, input.span(), format!("there is no `{word}` in the model language"));
        self.report(report.help("declare it outside of the macro"));
        let start = input.cursor();
        let _ = input.parse::<TokenTree>();
        self.skip_item(input);
        self.lose(start, input);
        true
    }

    /// `dim: usize` among the fields, with its default where it has one: a parameter of the struct.
    pub(super) fn number_field(&self, input: ParseStream) -> syn::Result<Option<Number>> {
        let ahead = input.fork();
        let (vis, name, colon) = (ahead.parse::<Visibility>(), ahead.parse::<Ident>(), ahead.parse::<Token![:]>());
        let ty = ahead.parse::<Ident>();
        let (Ok(_), Ok(name), Ok(_), Ok(ty)) = (vis, name, colon, ty) else { return Ok(None) };
        let ends = ahead.is_empty() || ahead.peek(Token![,]) || ahead.peek(Token![=]);
        if !ends || !NUMBERS.iter().any(|number| ty == number) {
            return Ok(None);
        }
        let first = input.span();
        while !input.is_empty() && !input.peek(Token![,]) && !input.peek(Token![=]) {
            input.parse::<TokenTree>()?;
        }
        let default = input.parse::<Option<Token![=]>>()?.map(|_| self.expr(input)).transpose()?;
        let last = default.as_ref().map_or(ty.span(), |value| value.place.last);
        Ok(Some(Number { name, default, place: Place { first, last } }))
    }

    /// Reports fields that are numbers, and makes them parameters. A model, which `vis` tells, gives them values itself.
    pub(super) fn number_fields(
        &self,
        owner: &Ident,
        vis: &Visibility,
        numbers: Vec<Number>,
        params: &mut Vec<(Ident, Option<Expr>)>,
    ) {
        let Some((name, place)) = numbers.first().map(|number| (number.name.clone(), number.place)) else { return };
        let private = matches!(vis, Visibility::Inherited);
        let surplus: Vec<String> = numbers.iter().map(|number| format!("`{}`", number.name)).collect();
        for Number { name, default, place } in numbers {
            let unknown = || (!private).then_some(Expr { kind: ExprKind::Error, place });
            if params.iter().all(|(known, _)| *known != name) {
                params.push((name, default.or_else(unknown)));
            }
        }
        let one = |(name, default): &(Ident, Option<Expr>)| match default {
            Some(Expr { kind: ExprKind::Error, .. }) => format!("{name} = 64"),
            Some(default) => format!("{name} = {}", words::full(default)),
            None => name.to_string(),
        };
        let list: Vec<String> = params.iter().map(one).collect();
        let message = format!("`{name}` is a number, which is a parameter of `{owner}` and no field");
        let report = Diagnostic::new(Code::FieldType, place, message);
        self.report(report.help(format!(
            "remove {}, and write `struct {owner}({})`",
            surplus.join(", "),
            list.join(", ")
        )));
    }
}

/// A field that is a number.
pub(super) struct Number {
    name: Ident,
    default: Option<Expr>,
    place: Place,
}

/// Whether a function comes next that gives the struct itself.
fn is_constructor(input: ParseStream, owner: &Ident) -> syn::Result<bool> {
    let ahead = input.fork();
    if !next_is(&ahead, "fn") && !next_is(&ahead, "def") {
        return Ok(false);
    }
    ahead.parse::<TokenTree>()?;
    let name: Ident = ahead.parse()?;
    let TokenTree::Group(group) = ahead.parse()? else { return Ok(false) };
    if group.delimiter() != Delimiter::Parenthesis || name == "__init__" {
        return Ok(name == "__init__");
    }
    ahead.parse::<Token![->]>()?;
    Ok(next_is(&ahead, "Self") || next_is(&ahead, &owner.to_string()))
}

/// The type that a constant has in Rust.
fn type_of(value: &Expr) -> &'static str {
    match &value.kind {
        ExprKind::Unary(_, of) => type_of(of),
        ExprKind::Binary(op, ..) if op.compares() => "bool",
        ExprKind::Binary(_, left, right) if type_of(left) == "usize" => type_of(right),
        ExprKind::Binary(_, left, _) => type_of(left),
        ExprKind::Float(_) => "f32",
        ExprKind::Bool(_) => "bool",
        _ => "usize",
    }
}
