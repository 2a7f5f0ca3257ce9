//! The WGSL of a foreign function: what the declaration holds in, its text out. What is wrong with it is reported at the
//! literal. Always: without the feature `gpu`, which brings naga, the text is taken as it is.

use super::ast;
use crate::diag::{Code, Diagnostic, Diags};
use crate::ir::model::{ForeignFn, Wgsl};
use std::path::PathBuf;

/// The WGSL of `of`; none after a report.
pub(super) fn read(written: &ast::Wgsl, of: &ForeignFn, diags: &mut Diags) -> Option<Wgsl> {
    let literal = &written.literal;
    let mut report = |mut message: String, notes: Vec<String>, help: Option<String>| {
        if message.is_empty() {
            message = format!("the WGSL of `{}` is not valid", of.name);
        }
        let report = Diagnostic::new(Code::ForeignWgsl, literal.span(), message);
        let mut report = notes.into_iter().fold(report, Diagnostic::note);
        report.help = help;
        diags.push(report);
    };
    let text = match written.in_file {
        false => literal.value(),
        true => {
            let path = beside(literal);
            match std::fs::read_to_string(&path) {
                Ok(text) => text,
                Err(why) => {
                    let message = format!("`{}` cannot be read: {why}", literal.value());
                    report(message, vec!["the path starts at the file that names it".into()], None);
                    return None;
                }
            }
        }
    };
    if let Err(mistake) = check(&text, of) {
        report(mistake.message, mistake.notes, mistake.help);
        return None;
    }
    Some(Wgsl { text, file: written.in_file.then(|| literal.token()) })
}

/// The path that a literal names, as `include_str!` has it.
pub(super) fn beside(literal: &syn::LitStr) -> PathBuf {
    let file = literal.span().local_file();
    let folder = file.and_then(|file| file.parent().map(PathBuf::from)).unwrap_or_default();
    folder.join(literal.value())
}

/// What is wrong with a text.
struct Mistake {
    message: String,
    notes: Vec<String>,
    help: Option<String>,
}

#[cfg(not(feature = "gpu"))]
fn check(_: &str, _: &ForeignFn) -> Result<(), Mistake> {
    Ok(())
}

#[cfg(feature = "gpu")]
use checked::check;

#[cfg(feature = "gpu")]
mod checked {
    use super::Mistake;
    use crate::ir::model::ForeignFn;
    use crate::ir::wgsl::{barrier, directive, scalar};
    use naga::valid::{Capabilities, ValidationFlags, Validator};
    use naga::{Module, Scalar, TypeInner};
    use std::error::Error;

    /// Compiles the text with stand-ins for what it sees, and with an entry point that calls it.
    pub(super) fn check(text: &str, of: &ForeignFn) -> Result<(), Mistake> {
        if let Some(word) = directive(text) {
            return Err(Mistake {
                message: format!("the WGSL of `{}` starts with the directive `{word}`", of.name),
                notes: vec!["it becomes a part of the model's module, which has the directives that it needs".into()],
                help: Some(format!("remove `{word} …;`")),
            });
        }
        if let Some(word) = barrier(text) {
            return Err(Mistake {
                message: format!("the WGSL of `{}` calls `{word}`, but every element is computed by itself", of.name),
                notes: vec!["invocations beyond the last element have ended, so that none can wait for all".into()],
                help: None,
            });
        }
        let stand_ins = of.surroundings("", &|k, at| format!("{}({at})", scalar(of.args[k].1.dtype)));
        let seen = format!("{text}\n{stand_ins}");
        let module = parse(text, &seen, of)?;
        if !module.entry_points.is_empty() || module.global_variables.iter().any(|(_, one)| one.binding.is_some()) {
            return Err(Mistake {
                message: format!("the WGSL of `{}` declares an entry point or a binding", of.name),
                notes: vec!["both are made for it: it holds functions, and sees the arguments as functions".into()],
                help: Some(format!("give one element: `{}`", signature(of))),
            });
        }
        signature_fits(&module, of)?;
        let result = scalar(of.results[0].dtype);
        let (position, call) = of.element("");
        let whole = format!(
            "{seen}@group(0) @binding(0) var<storage, read_write> precast_out: array<{result}>;\n\
             @compute @workgroup_size(64)\n\
             fn precast_entry(@builtin(global_invocation_id) id: vec3<u32>) {{\n    let at = id.x;\n\
             \x20   if at >= arrayLength(&precast_out) {{ return; }}\n{position}    precast_out[at] = {call};\n}}\n"
        );
        let module = parse(text, &whole, of)?;
        let validated = Validator::new(ValidationFlags::all(), Capabilities::default()).validate(&module);
        validated.map(|_| ()).map_err(|error| {
            let (mut why, mut cause) = (error.as_inner().to_string(), error.as_inner().source());
            while let Some(one) = cause {
                (why, cause) = (format!("{why}: {one}"), one.source());
            }
            let place = error.location(&whole).filter(|at| (at.offset as usize) < text.len());
            mistake(of, why, place.map(|at| at.line_number), text)
        })
    }

    fn parse(text: &str, whole: &str, of: &ForeignFn) -> Result<Module, Mistake> {
        naga::front::wgsl::parse_str(whole).map_err(|error| {
            let place = error.location(whole).filter(|at| (at.offset as usize) < text.len());
            mistake(of, error.message().to_owned(), place.map(|at| at.line_number), text)
        })
    }

    fn mistake(of: &ForeignFn, why: String, line: Option<u32>, text: &str) -> Mistake {
        let quoted = line.and_then(|n| Some((n, text.lines().nth(n as usize - 1)?.trim())));
        Mistake {
            message: format!("the WGSL of `{}` is not valid: {why}", of.name),
            notes: Vec::from_iter(quoted.map(|(n, line)| format!("line {n} of it: `{line}`"))),
            help: None,
        }
    }

    /// `fn simulate(i0: u32, i1: u32) -> f32 { … }`
    fn signature(of: &ForeignFn) -> String {
        let params: Vec<String> = (0..of.results[0].rank()).map(|axis| format!("i{axis}: u32")).collect();
        format!("fn {}({}) -> {} {{ … }}", of.name, params.join(", "), scalar(of.results[0].dtype))
    }

    fn signature_fits(module: &Module, of: &ForeignFn) -> Result<(), Mistake> {
        let result = &of.results[0];
        let function = module.functions.iter().find(|(_, one)| one.name.as_ref() == Some(&of.name));
        let Some((_, function)) = function else {
            return Err(Mistake {
                message: format!("the WGSL of `{}` declares no function of that name", of.name),
                notes: vec![],
                help: Some(format!("declare `{}`", signature(of))),
            });
        };
        let wanted = match scalar(result.dtype) {
            "f32" => Scalar::F32,
            "i32" => Scalar::I32,
            _ => Scalar::U32,
        };
        let is = |ty, scalar| module.types[ty].inner == TypeInner::Scalar(scalar);
        let positions = function.arguments.iter().filter(|one| is(one.ty, Scalar::U32)).count();
        let all = positions == function.arguments.len() && positions == result.rank();
        if all && function.result.as_ref().is_some_and(|one| is(one.ty, wanted)) {
            return Ok(());
        }
        Err(Mistake {
            message: format!("the WGSL function `{}` has another signature than an element of {result} needs", of.name),
            notes: vec!["it takes a position, one u32 for each axis, and gives the element there".into()],
            help: Some(format!("declare `{}`", signature(of))),
        })
    }
}
