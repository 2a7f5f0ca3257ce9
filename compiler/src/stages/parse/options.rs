//! The options of a model: `#[model(…)]` on a struct in, what they choose out.

use crate::diag::{Code, Diagnostic, Diags, closest};
use crate::ir::Memory;
use crate::ir::precision::Precision;
use proc_macro2::Ident;
use syn::parse::ParseStream;

/// What the options choose; the defaults where they are absent.
#[derive(Default)]
pub(super) struct Options {
    /// `#[model(memory = …)]`
    pub(super) memory: Memory,
    /// `#[model(precision = …)]`
    pub(super) precision: Precision,
}

/// The options among the attributes of a struct.
pub(super) fn options(attrs: &[syn::Attribute], diags: &mut Diags) -> Options {
    let mut options = Options::default();
    for attr in attrs.iter().filter(|a| a.path().is_ident("model")) {
        let place = attr.bracket_token.span.join();
        let Ok((option, value)) = attr.parse_args_with(pair) else {
            let report = Diagnostic::new(Code::Syntax, place, "`#[model(…)]` takes one option and its value");
            diags.push(report.help("write `#[model(memory = minimize)]`"));
            continue;
        };
        let name = value.to_string();
        if option == "memory" {
            match Memory::from_name(&name) {
                Some(chosen) => options.memory = chosen,
                None => diags.push(unknown(&option, &value, Memory::ALL.map(Memory::name))),
            }
        } else if option == "precision" {
            match Precision::from_name(&name) {
                Some(chosen) => options.precision = chosen,
                None => diags.push(unknown(&option, &value, Precision::ALL.map(Precision::name))),
            }
        } else {
            let report =
                Diagnostic::new(Code::UnknownAttribute, option.span(), format!("models have no option `{option}`"));
            diags.push(report.help("the options are `memory` and `precision`"));
        }
    }
    options
}

/// The report of a value that an option does not have.
fn unknown(option: &Ident, value: &Ident, [first, second, third]: [&'static str; 3]) -> Diagnostic {
    let report = Diagnostic::new(Code::WrongAttribute, value.span(), format!("`{option}` is not `{value}`"));
    let mut report = report.note(format!("it is `{first}`, `{second}` or `{third}`"));
    let near = closest(&value.to_string(), [first, second, third]);
    report.help = near.map(|near| format!("write `{option} = {near}`"));
    report
}

/// `memory = minimize`
fn pair(input: ParseStream) -> syn::Result<(Ident, Ident)> {
    let option = input.parse()?;
    input.parse::<syn::Token![=]>()?;
    let value = input.parse()?;
    Ok((option, value))
}
