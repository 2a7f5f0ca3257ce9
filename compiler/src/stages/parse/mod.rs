//! Tokens in, models out: names resolved, blocks instantiated, the user's functions inlined, loops over
//! repeated blocks as regions. Nodes are what the user wrote; only inputs and parameters have types.

mod ast;
mod attributes;
mod declared;
mod elaborate;
mod foreign;
mod instance;
mod instead;
mod names;
mod options;
mod reserved;
mod statics;
mod syntax;
mod travel;
mod unused;
mod vocabulary;
mod wgsl;
mod words;

use crate::diag::{Code, Diagnostic, Diags, Place, closest};
use crate::ir::{Block, Model};
use ast::{Arg, Fn, Receiver, Struct};
use declared::{Declared, Named};
use instance::Instances;
use options::Options;
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use travel::Source;
pub use travel::{Texts, imports};

/// The models that the text of the macro declares: each `pub struct` with a `pub fn`.
///
/// After a mistake the models still have the functions whose signatures could be understood.
pub fn parse(tokens: TokenStream, diags: &mut Diags) -> Vec<Model> {
    texts(Texts { own: tokens, blocks: vec![] }, diags).0
}

/// The models of a text that imports blocks, and the blocks that other texts can import from it.
pub fn texts(texts: Texts, diags: &mut Diags) -> (Vec<Model>, Vec<Block>) {
    let sources = travel::read(texts, diags);
    let models = models(&sources, diags);
    if diags.is_empty() {
        unused::report_uncalled(&sources[0].program, diags);
    }
    (models, travel::blocks(&sources[0]))
}

fn models(sources: &[Source], diags: &mut Diags) -> Vec<Model> {
    let program = &sources[0].program;
    let declared = Declared::new(sources, diags);
    let mut models = vec![];
    for one in &program.structs {
        if is_pub(&one.vis) && public_fns(&declared, one).next().is_some() {
            let header = Header { name: &one.name, vis: &one.vis, attrs: &one.attrs };
            models.push(model(header, one, &[], &declared, diags));
        }
        report_private_training(&declared, one, diags);
    }
    for alias in &program.aliases {
        match declared.block(0, &alias.target.to_string()) {
            Some(Named::Struct(target)) => {
                let header = Header { name: &alias.name, vis: &alias.vis, attrs: &alias.attrs };
                diags.enter((target.source > 0).then(|| alias.name.span().into()));
                models.push(model(header, target, &alias.args, &declared, diags));
                diags.enter(None);
            }
            Some(Named::Alias(other)) => {
                let message = format!("`{}` names a configuration itself", other.name);
                let report = Diagnostic::new(Code::UnknownStruct, alias.target.span(), message);
                diags.push(report.help(format!("name the struct: `{} = {}(…)`", alias.name, other.target)));
            }
            Some(Named::Unknown) => {}
            None => diags.push(unknown_struct(&alias.target, &declared)),
        }
    }
    models
}

/// What a model is called.
struct Header<'p> {
    name: &'p Ident,
    vis: &'p syn::Visibility,
    attrs: &'p [syn::Attribute],
}

fn is_pub(vis: &syn::Visibility) -> bool {
    !matches!(vis, syn::Visibility::Inherited)
}

fn fns<'p>(declared: &Declared<'p>, of: &Struct) -> impl Iterator<Item = &'p Fn> + use<'p> {
    let name = of.name.clone();
    declared.sources[of.source].program.impls.iter().filter(move |i| i.name == name).flat_map(|i| &i.fns)
}

fn public_fns<'p>(declared: &Declared<'p>, of: &Struct) -> impl Iterator<Item = &'p Fn> + use<'p> {
    fns(declared, of).filter(|f| f.is_pub())
}

fn model<'p>(header: Header<'p>, of: &'p Struct, args: &[Arg], declared: &Declared<'p>, diags: &mut Diags) -> Model {
    let Options { memory, precision } = options::options(header.attrs, diags);
    let given = |name: &Ident| args.iter().any(|a| a.name.as_ref() == Some(name));
    let open = of.params.iter().skip(args.iter().filter(|a| a.name.is_none()).count());
    let mut missing = open.filter(|(name, default)| default.is_none() && !given(name)).map(|(name, _)| name);
    if let Some(param) = missing.next() {
        let message = format!("`{}` has public functions, but `{param}` has no value", of.name);
        diags.push(
            Diagnostic::new(Code::NotAModel, param.span(), message)
                .help(format!("give it one: `{param} = 64`, or make the functions private")),
        );
    }
    let mut instances = Instances::new(declared);
    let place = Place::from(header.name.span());
    let this = instances.instance(of, args, declared.consts(0), place, diags);
    instances.place();
    let Instances { params, states, dims, .. } = instances;
    let mut functions = vec![];
    for function in public_fns(declared, of) {
        // What can be trained can also be evaluated; the two differ in the layers that draw.
        let refused = !function.train.is_empty() && report_trained_state(function, diags);
        let trained = function.train.iter().filter(|_| !refused);
        let kept = elaborate::Kept { params: &params, states: &states, dims: &dims };
        for train in [None].into_iter().chain(trained.map(Some)) {
            functions.extend(elaborate::entry(function, train, &this, declared, kept, diags));
        }
    }
    Model {
        name: header.name.clone(),
        vis: header.vis.to_token_stream(),
        attrs: header.attrs.iter().filter(|a| !a.path().is_ident("model")).map(ToTokens::to_token_stream).collect(),
        memory,
        precision,
        params,
        states,
        dims,
        functions,
        foreign: declared.foreign.iter().flat_map(|one| one.functions.iter().flatten()).cloned().collect(),
    }
}

/// Whether a trained function changes state, which is reported.
fn report_trained_state(function: &Fn, diags: &mut Diags) -> bool {
    let Receiver::Mut(place) = function.receiver else { return false };
    let message = format!("`{}` is trained, so that it cannot change the state of a session", function.name);
    let report = Diagnostic::new(Code::StateInTraining, place, message);
    let mut help = format!("declare it as `pub fn {}(&self, …)`", function.name);
    for stmt in &function.body.stmts {
        if let ast::Stmt::Assign { target, op: None, value } = stmt
            && let ast::ExprKind::Field(_, name) = &target.kind
        {
            let (state, value) = (words::full(target), words::full(value));
            help += &match *name == value {
                true => format!(", and remove `{state} = {value};`"),
                false => {
                    format!(", write `let {name} = {value};` instead of assigning `{state}`, and `{name}` behind it")
                }
            };
        }
    }
    diags.push(report.help(help));
    true
}

fn report_private_training(declared: &Declared<'_>, of: &Struct, diags: &mut Diags) {
    for function in fns(declared, of).filter(|f| !f.train.is_empty() && !f.is_pub()) {
        let message = format!("`{}` is trained, but nobody can call it", function.name);
        diags.push(
            Diagnostic::new(Code::PrivateTraining, function.name.span(), message)
                .help(format!("declare it as `pub fn {}`", function.name)),
        );
    }
}

fn unknown_struct(name: &Ident, declared: &Declared<'_>) -> Diagnostic {
    let known = declared.blocks(0);
    let mut report =
        Diagnostic::new(Code::UnknownStruct, name.span(), format!("there is no struct `{name}` in this macro"));
    report.help = closest(&name.to_string(), known.iter().copied()).map(|near| format!("write `{near}`"));
    report
}
