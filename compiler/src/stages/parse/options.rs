//! The options of a model: `#[model(…)]` on a struct in, what it chooses out.

use crate::diag::{Diagnostic, Diags, closest};
use crate::ir::Memory;
use proc_macro2::Ident;
use syn::parse::ParseStream;

/// What `#[model(memory = …)]` chooses; the default where it is absent.
pub(super) fn memory(attrs: &[syn::Attribute], diags: &mut Diags) -> Memory {
    let mut memory = Memory::default();
    for attr in attrs.iter().filter(|a| a.path().is_ident("model")) {
        let place = attr.bracket_token.span.join();
        let Ok((option, value)) = attr.parse_args_with(pair) else {
            let report = Diagnostic::new("syntax", place, "`#[model(…)]` takes one option and its value");
            diags.push(report.help("write `#[model(memory = minimize)]`"));
            continue;
        };
        if option != "memory" {
            let report =
                Diagnostic::new("unknown-attribute", option.span(), format!("models have no option `{option}`"));
            diags.push(report.help("the option is `memory`"));
            continue;
        }
        match Memory::from_name(&value.to_string()) {
            Some(chosen) => memory = chosen,
            None => {
                let message = format!("`memory` is not `{value}`");
                let mut report = Diagnostic::new("wrong-attribute", value.span(), message);
                report = report.note("it is `speed`, `balanced` or `minimize`");
                let known = Memory::ALL.map(Memory::name);
                report.help = closest(&value.to_string(), known).map(|near| format!("write `memory = {near}`"));
                diags.push(report);
            }
        }
    }
    memory
}

/// `memory = minimize`
fn pair(input: ParseStream) -> syn::Result<(Ident, Ident)> {
    let option = input.parse()?;
    input.parse::<syn::Token![=]>()?;
    let value = input.parse()?;
    Ok((option, value))
}
