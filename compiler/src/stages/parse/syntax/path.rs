//! Names with the module that they have in Rust or Python: read as a whole, reported with the name that stands here.

use super::super::ast::{Arg, Expr, ExprKind};
use super::super::constants;
use super::super::vocabulary::{self, Own};
use super::Syntax;
use crate::diag::{Code, Diagnostic, Place};
use crate::ops;
use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Token, token};

/// Names with colons or dots between them.
pub(super) struct Path {
    /// The last one that is not `new`.
    pub(super) meant: Ident,
    place: Place,
    text: String,
}

impl Path {
    fn is_name(&self) -> bool {
        self.meant == self.text
    }

    /// Whether it is a function of a struct, which stands before it: `Self::f` or `Net::f`.
    fn is_own_function(&self) -> bool {
        let name = self.meant.to_string();
        let owner = self.text.strip_suffix(&format!("::{name}")).unwrap_or_default();
        let is_struct = owner.starts_with(char::is_uppercase) && !owner.contains("::") && owner.len() > 1;
        let is_known = owner != "Self" && vocabulary::called(&name).is_some();
        is_struct && name.starts_with(char::is_lowercase) && !is_known
    }

    /// Whether it belongs to a type of Rust's numbers: `f32::max`.
    fn of_number(&self) -> bool {
        let text = self.of_std();
        ["f32::", "f64::"].iter().any(|ty| text.starts_with(ty)) || constants::end_of_integer(text).is_some()
    }

    /// The text without the name of Rust's library before it.
    fn of_std(&self) -> &str {
        let text = &self.text;
        text.strip_prefix("std::").or_else(|| text.strip_prefix("core::")).unwrap_or(text)
    }

    /// The literal of the number that it names; nothing inside where the language has none.
    fn number(&self) -> Option<Option<&'static str>> {
        let name = self.meant.to_string();
        // In Rust constants are capital: `u32::MAX`, beside the function `u32::max`.
        let is_constant = self.of_number() && !name.chars().any(char::is_lowercase);
        let end = constants::end_of_integer(self.of_std()).filter(|_| is_constant);
        end.or_else(|| constants::number(&name).map(Some)).or(is_constant.then_some(None))
    }

    fn report(&self) -> Diagnostic {
        let message = format!("`{}` is a path, and names stand alone in the model language", self.text);
        Diagnostic::new(Code::PathName, self.place, message)
    }
}

impl Syntax {
    /// `::name`, as often as it follows `first`. Where `dots` may stand for the colons, none is a method's.
    pub(super) fn path(&self, input: ParseStream, first: Ident, dots: bool) -> syn::Result<Path> {
        let mut path = Path { meant: first.clone(), place: first.span().into(), text: first.to_string() };
        while input.peek(Token![::]) || dots && input.peek(Token![.]) {
            let sign = match input.parse::<Option<Token![::]>>()? {
                Some(_) => "::",
                None => {
                    input.parse::<Token![.]>()?;
                    "."
                }
            };
            let next = input.call(Ident::parse_any)?;
            path.text = format!("{}{sign}{next}", path.text);
            path.place = path.place.to(next.span().into());
            if next != "new" {
                path.meant = next;
            }
        }
        Ok(path)
    }

    /// A path that names a function of the struct, `Self::f(x)`, or a number, `f32::consts::PI`: gives what is meant.
    pub(super) fn own_path(&self, input: ParseStream, path: &Path) -> syn::Result<Option<Expr>> {
        if path.is_name() {
            return Ok(None);
        }
        if let Some(number) = path.number() {
            self.report(Diagnostic { help: number.map(constants::help), ..path.report() });
            return Ok(Some(Expr { kind: number.map_or(ExprKind::Error, literal), place: path.place }));
        }
        if !path.is_own_function() {
            return Ok(None);
        }
        let name = path.meant.clone();
        self.report(path.report().help(format!("write `self.{name}`")));
        let this = Box::new(Expr { kind: ExprKind::SelfValue, place: path.place });
        if !input.peek(token::Paren) {
            return Ok(Some(Expr { kind: ExprKind::Field(this, name), place: path.place }));
        }
        let (args, close) = self.args(input)?;
        Ok(Some(Expr { kind: ExprKind::Method(this, name, args), place: path.place.to(close.into()) }))
    }

    /// Reports a path where a value stands; gives what is meant, where that is a name.
    pub(super) fn path_of_value(&self, path: Path) -> Option<Ident> {
        if path.is_name() {
            return Some(path.meant);
        }
        let name = path.meant.to_string();
        let own = match vocabulary::by_element(&name).filter(|_| path.of_number()) {
            Some(twin) => Some(Own::Function(twin)),
            None => vocabulary::called(&name),
        };
        let meant = match own {
            Some(Own::Function(name)) => Some(Ident::new(name, path.meant.span())),
            Some(Own::Layer(_) | Own::Sized(_) | Own::Block(_) | Own::Repetition | Own::Drawn(_) | Own::Form(_)) => {
                None
            }
            None if path.of_number() && ops::op(&name).is_none() => None,
            None => Some(path.meant.clone()),
        };
        let help = match (own, &meant) {
            (_, Some(name)) => Some(format!("write `{name}`")),
            (Some(own), None) => Some(own.help_for_call(&[], &[])),
            (None, None) => None,
        };
        self.report(Diagnostic { help, ..path.report() });
        meant
    }

    /// Reports a path where the layer of a field stands; gives what is meant, where that is a layer or block.
    pub(super) fn path_of_field(&self, path: Path, field: &Ident, args: &[Arg]) -> Option<Ident> {
        if path.is_name() {
            return Some(path.meant);
        }
        let own = vocabulary::declared(&path.meant.to_string());
        let is_ours = |own: &Own| matches!(own, Own::Layer(name) if path.meant == name);
        let help = match own.filter(|own| !is_ours(own)) {
            Some(own) => own.help_for_declaration(Some(field), args),
            None => format!("write `{}`", path.meant),
        };
        self.report(path.report().help(help));
        if own.is_none_or(|own| is_ours(&own)) { Some(path.meant) } else { None }
    }
}

/// The value of a literal.
fn literal(text: &str) -> ExprKind {
    match (text.parse(), text.parse()) {
        (Ok(number), _) => ExprKind::Int(number),
        (_, Ok(number)) => ExprKind::Float(number),
        _ => ExprKind::Error,
    }
}
