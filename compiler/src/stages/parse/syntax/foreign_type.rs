//! Types of Rust, NumPy and PyTorch where one of the language stands: read as a whole, reported with the type that is meant.
//!
//! Always: the reader stands behind it afterwards, and an `Error` stands for it, so that nothing follows from it.

use super::super::ast::*;
use super::super::{vocabulary, words};
use super::Syntax;
use super::elsewhere::next_is;
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::DType;
use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::{Token, bracketed, token};

impl Syntax {
    /// A type of Rust, NumPy or PyTorch where the type of a tensor stands; the reader stands behind it afterwards.
    pub(super) fn other_type(&self, input: ParseStream) -> syn::Result<Option<TypeExpr>> {
        let mut place = Place::from(input.span());
        let help = if input.peek(token::Bracket) {
            let array: TokenTree = input.parse()?;
            place.last = array.span();
            let mut extents = vec![];
            match elements(array.into(), &mut extents) {
                Some(of) => format!("write `{of}[{}]`", extents.join(", ")),
                None => UNNAMED.to_owned(),
            }
        } else if input.peek(syn::Ident) && input.peek2(Token![<]) {
            let name: Ident = input.parse()?;
            let (inside, end) = self.angles(input)?;
            place.last = end;
            match DType::from_name(&name.to_string()) {
                Some(dtype) => format!("write `{dtype}[{}]`", spelt(&inside)),
                None if WRAPPERS.iter().any(|wrapper| name == wrapper) && starts_type(&inside) => {
                    return self.wrapped(inside, &name, place).map(Some);
                }
                None => UNNAMED.to_owned(),
            }
        } else if is_other_type(input) {
            input.parse::<TokenTree>()?;
            UNNAMED.to_owned()
        } else {
            return Ok(None);
        };
        self.report(Diagnostic::new(Code::TypeSyntax, place, "this is no type of the model language").help(help));
        Ok(Some(TypeExpr::Error))
    }

    /// `Result<f32[B], Error>`, which is read as the type that it wraps.
    fn wrapped(&self, inside: TokenStream, name: &Ident, place: Place) -> syn::Result<TypeExpr> {
        let read = |input: ParseStream| {
            let ty = self.type_expr(input)?;
            // The type of an error follows.
            input.parse::<TokenStream>()?;
            Ok(ty)
        };
        let ty = read.parse2(inside)?;
        let mut report =
            Diagnostic::new(Code::TypeSyntax, place, format!("there is no `{name}` in the model language"));
        if name == "Result" {
            report = report.note("every method of a model gives a `Result` to the program");
        }
        self.report(report.help(format!("write `{}`", words::type_text(&ty))));
        Ok(ty)
    }

    /// What stands between `<` and `>`, and where the latter stands.
    pub(super) fn angles(&self, input: ParseStream) -> syn::Result<(TokenStream, Span)> {
        let (mut depth, mut inside) = (0, vec![]);
        loop {
            let token: TokenTree = input.parse()?;
            if let TokenTree::Punct(sign) = &token {
                depth += i32::from(sign.as_char() == '<') - i32::from(sign.as_char() == '>');
            }
            if depth == 0 {
                return Ok((inside.into_iter().skip(1).collect(), token.span()));
            }
            inside.push(token);
        }
    }

    /// A type where the layer of a field stands; `name` has been read.
    pub(super) fn field_of_type(&self, input: ParseStream, name: &Ident, field: &Ident) -> syn::Result<bool> {
        let is_type = DType::from_name(&name.to_string()).is_some() || name == "Tensor";
        if !is_type && !input.peek(Token![<]) {
            return Ok(false);
        }
        let (mut extents, mut place) = (String::new(), Place::from(name.span()));
        if input.peek(token::Bracket) {
            let content;
            let bracket = bracketed!(content in input);
            place.last = bracket.span.close();
            extents = spelt(&content.parse()?);
        } else if input.peek(Token![<]) {
            let (inside, last) = self.angles(input)?;
            (extents, place.last) = (spelt(&inside), last);
        }
        let mut rest = input.peek(Token![,]) || input.peek(Token![;]);
        while !input.is_empty() && !rest {
            input.parse::<TokenTree>()?;
            rest = input.peek(Token![,]) || input.peek(Token![;]);
        }
        let message = format!("a field is a layer, a block, a parameter or a state, but `{name}` is a type");
        let (message, help) = match is_type {
            // Only the state of a session has extents that a call gives.
            true if extents.contains(|c: char| c.is_ascii_uppercase()) => {
                (message, format!("write `state {field}: {name}[{extents}]`"))
            }
            true => (message, format!("write `Parameter([{extents}])`, or `state` before the name of the field")),
            false if name == "Vec" => {
                (message, format!("write several blocks as `[{}; 4]`, with their number for `4`", made(&extents)))
            }
            false if name != "Result" && WRAPPERS.iter().any(|wrapper| name == wrapper) => {
                (message, format!("write `{}`", made(&extents)))
            }
            false => (format!("the numbers of `{name}` stand in parentheses"), format!("write `{name}({extents})`")),
        };
        self.report(Diagnostic::new(Code::FieldType, place, message).help(help));
        Ok(true)
    }
}

/// Whether a type of Rust, NumPy or PyTorch comes next.
pub(super) fn is_other_type(input: ParseStream) -> bool {
    let generic = input.peek(syn::Ident) && input.peek2(Token![<]);
    let named = input.peek(Token![Self]) || ["Tensor", "Array", "ndarray"].iter().any(|name| next_is(input, name));
    input.peek(token::Bracket) || generic || named
}

/// Where a type does not say how many extents it has.
const UNNAMED: &str = "name the element type and each extent, as in `f32[B, N]`";

/// Types of Rust that hold one value of another.
const WRAPPERS: &[&str] = &["Arc", "Box", "Cell", "Mutex", "Option", "Rc", "RefCell", "Result"];

/// Whether tokens begin with a type of the language.
fn starts_type(tokens: &TokenStream) -> bool {
    match tokens.clone().into_iter().next() {
        Some(TokenTree::Ident(name)) => DType::from_name(&name.to_string()).is_some(),
        Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Parenthesis,
        Some(TokenTree::Punct(_) | TokenTree::Literal(_)) | None => false,
    }
}

/// The element type of nested arrays and slices, `[[f32; 784]; B]`, of which the outermost extent is the first.
fn elements(of: TokenStream, extents: &mut Vec<String>) -> Option<String> {
    let mut tokens = of.into_iter().skip_while(|token| matches!(token, TokenTree::Punct(and) if and.as_char() == '&'));
    let array = match tokens.next()? {
        TokenTree::Group(array) if array.delimiter() == Delimiter::Bracket => array,
        TokenTree::Ident(name) if tokens.next().is_none() => return own_element(&name.to_string()),
        TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => return None,
    };
    let semicolon = |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ';');
    let content: Vec<TokenTree> = array.stream().into_iter().collect();
    let mut parts = content.split(semicolon).map(|part| part.iter().cloned().collect::<TokenStream>());
    let item = parts.next().unwrap_or_default();
    // A slice does not say how long it is; nested ones are not equally long.
    let unnamed = ["N", "M", "K"][extents.len().min(2)].to_owned();
    extents.push(parts.next().map_or(unnamed, |extent| spelt(&extent)));
    elements(item, extents)
}

/// The element type that has that name, or stands for it.
fn own_element(name: &str) -> Option<String> {
    let own = DType::from_name(name).map(DType::name).or_else(|| vocabulary::element_type(name));
    own.map(str::to_owned)
}

/// A block or layer as a field declares it: with its numbers in parentheses, which a type of Rust leaves out.
fn made(of: &str) -> String {
    if of.contains('(') { of.to_owned() } else { format!("{of}(…)") }
}

/// Tokens as people space them.
pub(super) fn spelt(tokens: &TokenStream) -> String {
    tokens.to_string().replace(" ,", ",").replace(" (", "(").replace("& ", "&")
}
