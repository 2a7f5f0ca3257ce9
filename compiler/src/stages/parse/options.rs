//! The options of a model: `#[model(…)]` on a struct in, what they choose out.

use super::vocabulary;
use crate::diag::{Code, Diagnostic, Diags, closest};
use crate::ir::Memory;
use crate::ir::precision::{Precision, Storage};
use proc_macro2::{Ident, Span, TokenTree};
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;

/// What the options choose; the defaults where they are absent.
#[derive(Default)]
pub(super) struct Options {
    /// `#[model(memory = …)]`
    pub(super) memory: Memory,
    /// `#[model(precision = …)]`
    pub(super) precision: Precision,
    /// `#[model(parameters = …)]`, where parameters are stored in fewer bits, and where that stands.
    pub(super) storage: Option<(Storage, Span)>,
    /// Where `#[model(deterministic)]` says so.
    pub(super) deterministic: Option<Span>,
}

/// The options among the attributes of a struct.
pub(super) fn options(attrs: &[syn::Attribute], diags: &mut Diags) -> Options {
    let (mut options, mut seen) = (Options::default(), vec![]);
    for attr in attrs.iter().filter(|a| a.path().is_ident("model")) {
        let place = attr.bracket_token.span.join();
        let several = |input: ParseStream<'_>| Punctuated::<_, syn::Token![,]>::parse_terminated_with(input, option);
        match attr.parse_args_with(several) {
            Ok(several) if !several.is_empty() => {
                for (name, value) in &several {
                    if seen.contains(name) {
                        let report =
                            Diagnostic::new(Code::DuplicateAttribute, name.span(), format!("`{name}` is given twice"));
                        diags.push(report.help("leave one of them out"));
                    } else {
                        options.choose(name, value.as_ref(), diags);
                        seen.push(name.clone());
                    }
                }
            }
            Ok(_) | Err(_) => {
                let report =
                    Diagnostic::new(Code::Syntax, place, "`#[model(…)]` takes options, with `=` before a value");
                diags.push(report.help("write `#[model(memory = minimize)]`"));
            }
        }
    }
    options.agree(diags);
    options
}

impl Options {
    /// Reports options of which one leaves the other no meaning, and leaves one out.
    fn agree(&mut self, diags: &mut Diags) {
        if let Some((storage, place)) = self.storage
            && self.precision != Precision::F32
        {
            let (storage, precision) = (storage.name(), self.precision.name());
            let message = format!(
                "parameters that are stored in {storage} are computed in f32, not by `precision = {precision}`"
            );
            let report = Diagnostic::new(Code::WrongAttribute, place, message);
            diags.push(report.help(format!("leave one of them out, as in `#[model(parameters = {storage})]`")));
            self.precision = Precision::F32;
        }
    }

    fn choose(&mut self, option: &Ident, value: Option<&Value>, diags: &mut Diags) {
        let report = |code, text: String| Diagnostic::new(code, option.span(), text);
        let valued = |example: &str| {
            let text = format!("`{option}` needs a value");
            report(Code::WrongAttribute, text).help(format!("write `#[model({example})]`"))
        };
        match (option.to_string().as_str(), value) {
            ("memory", Some(value)) => match Memory::from_name(&value.text) {
                Some(chosen) => self.memory = chosen,
                None => diags.push(unknown(option, value, &Memory::ALL.map(Memory::name))),
            },
            ("memory", None) => diags.push(valued("memory = minimize")),
            ("precision", Some(value)) => match Precision::from_name(&value.text) {
                Some(chosen) => self.precision = chosen,
                None => {
                    let known = Precision::ALL.map(Precision::name);
                    diags.push(unknown(option, value, &known));
                    // Types that only the one that is meant agrees with are no further mistakes.
                    self.precision = near(value, &known).and_then(Precision::from_name).unwrap_or_default();
                }
            },
            ("precision", None) => diags.push(valued("precision = bf16")),
            ("parameters", Some(value)) => match Storage::from_name(&value.text) {
                Some(chosen) => self.storage = Some((chosen, option.span())),
                None => diags.push(unknown(option, value, &Storage::ALL.map(Storage::name))),
            },
            ("parameters", None) => diags.push(valued("parameters = bf16")),
            ("deterministic", None) => self.deterministic = Some(option.span()),
            ("deterministic", Some(value)) => {
                let report = Diagnostic::new(Code::WrongAttribute, value.span, "`deterministic` takes no value");
                diags.push(report.help("write `#[model(deterministic)]`, or leave it out"));
            }
            (other, _) => {
                let report = report(Code::UnknownAttribute, format!("models have no option `{option}`"));
                diags.push(match meant(other) {
                    Some(meant) => report.help(format!("write `{meant}`")),
                    None => report.help("the options are `memory`, `precision`, `parameters` and `deterministic`"),
                });
            }
        }
    }
}

/// What is meant by a word that is no option: one that is spelled like it, or the option whose value it is.
fn meant(word: &str) -> Option<String> {
    let option = closest(word, ["memory", "precision", "parameters", "deterministic"]).map(str::to_owned);
    let memory = Memory::from_name(word).map(|memory| format!("memory = {}", memory.name()));
    let precision = Precision::from_name(word).map(|precision| format!("precision = {}", precision.name()));
    let storage = Storage::from_name(word).map(|storage| format!("parameters = {}", storage.name()));
    memory.or(precision).or(storage).or(option)
}

/// The report of a value that an option does not have.
fn unknown(option: &Ident, value: &Value, known: &[&'static str]) -> Diagnostic {
    let report = Diagnostic::new(Code::WrongAttribute, value.span, format!("`{option}` is not `{}`", value.text));
    let (last, others) = known.split_last().unwrap_or((&"", &[]));
    let mut report = report.note(format!("it is `{}` or `{last}`", others.join("`, `")));
    report.help = match near(value, known) {
        Some(near) => Some(format!("write `{option} = {near}`")),
        None if option == "parameters" && value.here() == "f32" => {
            Some("leave it out: parameters are stored in f32 without it".into())
        }
        None => None,
    };
    report
}

/// The value that is meant: one that other libraries call so, or that is spelled like it.
fn near(value: &Value, known: &[&'static str]) -> Option<&'static str> {
    let here = value.here();
    known.iter().copied().find(|known| *known == here).or_else(|| closest(value.bare(), known.iter().copied()))
}

/// What an option is given.
struct Value {
    text: String,
    span: Span,
}

impl Value {
    /// Its text without quotes, which values do not have.
    fn bare(&self) -> &str {
        self.text.trim_matches('"')
    }

    /// What an element type is called here, and integers of parameters.
    fn here(&self) -> &str {
        match vocabulary::element_type(self.bare()).unwrap_or(self.bare()) {
            "i8" => "int8",
            here => here,
        }
    }
}

/// `memory = minimize`, or `deterministic`
fn option(input: ParseStream) -> syn::Result<(Ident, Option<Value>)> {
    let option = input.call(syn::ext::IdentExt::parse_any)?;
    let value = match input.parse::<Option<syn::Token![=]>>()? {
        Some(_) => {
            let token = input.parse::<TokenTree>()?;
            Some(Value { text: token.to_string(), span: token.span() })
        }
        None => None,
    };
    Ok((option, value))
}
