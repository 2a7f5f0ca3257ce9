//! Tokens in, models out: names resolved, blocks instantiated, the user's functions inlined, loops over
//! repeated blocks as regions. Nodes are what the user wrote; only inputs and parameters have types.

mod ast;
mod attributes;
mod constants;
mod declared;
mod elaborate;
mod field;
mod files;
mod foreign;
mod import;
mod imported;
mod instance;
mod instead;
mod list;
mod mentions;
mod names;
#[cfg(feature = "onnx")]
mod onnx;
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
use crate::ir::mention::Mentions;
use crate::ir::model::{Sketch, scale};
use crate::ir::precision::{Precision, Storage};
use crate::ir::{Block, Function, Model};
use crate::ops::{self, Item};
use ast::{Arg, Fn, Import, Program, Receiver, Struct, TypeExpr};
use declared::{Declared, Named};
use elaborate::Trained;
use instance::Instances;
use options::Options;
use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use std::rc::Rc;
use travel::Source;
pub use travel::{Texts, imports};

/// The models that the text of the macro declares: each `pub struct` with a `pub fn`.
///
/// After a mistake the models still have the functions whose signatures could be understood.
pub fn parse(tokens: TokenStream, diags: &mut Diags) -> Vec<Model> {
    texts(Texts { own: tokens, blocks: vec![] }, diags).models
}

/// What a text declares.
pub struct Parsed {
    /// Its models.
    pub models: Vec<Model>,
    /// Models that it imports from files, whose values have types.
    pub imported: Vec<Model>,
    /// The blocks that other texts can import from it.
    pub blocks: Vec<Block>,
    /// What editors show of it.
    pub mentions: Mentions,
}

/// What a text that imports blocks declares.
pub fn texts(texts: Texts, diags: &mut Diags) -> Parsed {
    let sources = travel::read(texts, diags);
    let Program { imports, consts, .. } = &sources[0].program;
    imports.iter().for_each(|one| one.report_constants(consts, diags));
    let imported: Vec<_> = imports.iter().map(|one| (&one.name, imported(one, diags).map(Rc::new))).collect();
    let models = models(&sources, &imported, diags);
    let is_model = |(name, _): &(&Ident, _)| imports.iter().any(|one| one.name == **name && is_pub(&one.vis));
    let imported =
        imported.into_iter().filter(is_model).filter_map(|(_, model)| model).map(Rc::unwrap_or_clone).collect();
    if diags.is_empty() {
        unused::report_uncalled(&sources[0].program, diags);
        unused::report_structs(&sources[0].program, diags);
    }
    Parsed { models, imported, blocks: travel::blocks(&sources[0]), mentions: mentions::of(&sources[0].program) }
}

/// The model of a file.
#[cfg(feature = "onnx")]
fn imported(import: &Import, diags: &mut Diags) -> Option<Model> {
    reserved::report_type(&import.name, reserved::OF_MODELS, diags);
    onnx::model(import, diags)
}

#[cfg(not(feature = "onnx"))]
fn imported(import: &Import, diags: &mut Diags) -> Option<Model> {
    let message = "`onnx(…)` needs the feature `onnx` of precast";
    let report = Diagnostic::new(Code::NotSupported, import.file.span(), message);
    diags.push(report.help("run `cargo add precast --features onnx`"));
    None
}

fn models(sources: &[Source], imports: &[(&Ident, Option<Rc<Model>>)], diags: &mut Diags) -> Vec<Model> {
    let program = &sources[0].program;
    let declared = Declared::new(sources, imports, diags);
    let mut models: Vec<Model> = vec![];
    for one in &program.structs {
        if models.iter().any(|model| model.name == one.name) {
            continue;
        }
        if is_pub(&one.vis) && public_fns(&declared, one).next().is_some() {
            let header = Header { name: &one.name, vis: &one.vis, attrs: &one.attrs };
            models.push(model(header, one, &[], &declared, diags));
        }
        report_private_training(&declared, one, diags);
        report_private_struct(&declared, one, diags);
    }
    for alias in &program.aliases {
        let is_model = |name: &Ident| *name == alias.name;
        if models.iter().any(|model| is_model(&model.name)) || program.structs.iter().any(|one| is_model(&one.name)) {
            continue;
        }
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
            Some(Named::Import(other)) => {
                let message =
                    format!("`{}` is imported, and has no parameters that a configuration could give", other.name);
                diags.push(Diagnostic::new(Code::UnknownStruct, alias.target.span(), message));
            }
            Some(Named::Unknown) => {}
            None => diags.push_about(&alias.target, unknown_struct(&alias.target, &declared)),
        }
    }
    report_inside(program, &declared, diags);
    models
}

/// Reports what is wrong with the fields of structs whatever their parameters are, and, where mistakes may keep functions
/// from being called, the names that nothing declares in those that are called only.
fn report_inside<'p>(program: &'p Program, declared: &Declared<'p>, diags: &mut Diags) {
    if diags.has(Code::TooLarge) {
        return;
    }
    let float = Precision::default().float();
    for one in &program.structs {
        let mut instances = Instances::new(declared, float);
        let this = instances.instance(one, &[], declared.consts(0), one.name.span().into(), diags);
        let Instances { params, states, dims, .. } = &instances;
        for function in fns(declared, one).filter(|f| !f.is_pub() && !diags.is_empty()).collect::<Vec<_>>() {
            elaborate::names(function, Some(&this), declared, elaborate::Kept { params, states, dims, float }, diags);
        }
    }
    let kept = elaborate::Kept { params: &[], states: &[], dims: &[], float };
    for function in program.fns.iter().filter(|_| !diags.is_empty()).collect::<Vec<_>>() {
        elaborate::names(function, None, declared, kept, diags);
    }
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

fn public_fns<'a, 'p>(declared: &'a Declared<'p>, of: &'a Struct) -> impl Iterator<Item = &'p Fn> + use<'a, 'p> {
    fns(declared, of).filter(|f| f.is_pub() && declared.is_method(of, f))
}

fn model<'p>(header: Header<'p>, of: &'p Struct, args: &[Arg], declared: &Declared<'p>, diags: &mut Diags) -> Model {
    reserved::report_type(header.name, reserved::OF_MODELS, diags);
    let Options { memory, precision, storage: chosen, deterministic } = options::options(header.attrs, diags);
    if let Some((storage, place)) = chosen.filter(|_| header.name == &of.name) {
        report_trained_storage(declared, of, storage, place, diags);
    }
    let storage = chosen.map(|(storage, _)| storage);
    report_open(of, args, diags);
    let mut instances = Instances::new(declared, precision.float());
    let place = Place::from(header.name.span());
    let this = instances.instance(of, args, declared.consts(0), place, diags);
    if storage == Some(Storage::Int8) {
        scale(&mut instances.params);
    }
    instances.check_imported(chosen, diags);
    instances.distinct(diags);
    instances.place(place, diags);
    let origins = instances.origins();
    let Instances { params, states, dims, .. } = instances;
    let (mut functions, mut sketches) = (vec![], vec![]);
    for function in public_fns(declared, of) {
        if let TypeExpr::Struct(name, _) = &function.result {
            reserved::report_type(name, reserved::OF_RESULTS, diags);
        }
        // What can be trained can also be evaluated; the two differ in the layers that draw.
        let refused = !function.train.is_empty() && report_trained_state(function, diags);
        let optimizers = optimizers(function, diags);
        // Parameters that are stored in fewer bits are not trained: a step would be less than one of theirs.
        let trained = optimizers.iter().filter(|_| !refused && storage.is_none());
        let kept = elaborate::Kept { params: &params, states: &states, dims: &dims, float: precision.float() };
        let entries = [None].into_iter().chain(trained.map(Some));
        let entries: Option<Vec<Function>> =
            entries.map(|train| elaborate::entry(function, train, &this, declared, kept, diags)).collect();
        match entries.filter(|_| !refused) {
            Some(entries) => functions.extend(entries),
            None => sketches.push(Sketch {
                name: function.name.clone(),
                args: function.params.len(),
                optimizers: optimizers.iter().map(|train| train.optimizer.name.into()).collect(),
            }),
        }
    }
    Model {
        name: header.name.clone(),
        vis: header.vis.to_token_stream(),
        attrs: header.attrs.iter().filter(|a| !a.path().is_ident("model")).map(ToTokens::to_token_stream).collect(),
        memory,
        precision,
        storage,
        deterministic,
        params,
        states,
        dims,
        functions,
        private: reserved::private(&fns(declared, of).collect::<Vec<_>>()),
        sketches,
        origins,
        foreign: declared.foreign.iter().flat_map(|one| one.functions.iter().flatten()).cloned().collect(),
    }
}

/// Reports a model's parameter without a value.
fn report_open(of: &Struct, args: &[Arg], diags: &mut Diags) {
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
}

/// How a function is trained: an unknown optimiser, which is reported, may be any of them.
fn optimizers<'p>(function: &'p Fn, diags: &mut Diags) -> Vec<Trained<'p>> {
    let mut all: Vec<Trained<'p>> = vec![];
    let known = || {
        ops::items().filter_map(|item| match item {
            Item::Optimizer(optimizer) => Some(optimizer),
            Item::Op(_) | Item::Layer(_) => None,
        })
    };
    for train in &function.train {
        let named = train.optimizer.as_ref().and_then(|name| ops::optimizer(&name.to_string()));
        if let (None, Some(name)) = (named, &train.optimizer) {
            let known: Vec<&str> = known().map(|optimizer| optimizer.name).collect();
            let message = format!("there is no optimiser `{name}`");
            let mut report = Diagnostic::new(Code::UnknownOptimiser, name.span(), message);
            report = report.note(format!("the optimisers are {}", known.join(", ")));
            report.help = closest(&name.to_string(), known).map(|near| format!("write `#[train({near})]`"));
            diags.push(report);
        }
        for optimizer in known().filter(|one| named.is_none_or(|named| named.name == one.name)) {
            if !all.iter().any(|other| other.optimizer.name == optimizer.name) {
                all.push(Trained { optimizer, chosen: train.chosen.as_ref() });
            }
        }
    }
    all
}

/// Whether a trained function changes state, which is reported.
fn report_trained_state(function: &Fn, diags: &mut Diags) -> bool {
    let Receiver::Mut(place) = function.receiver else { return false };
    let message = format!("`{}` is trained, so that it cannot change the state of a session", function.name);
    let report = Diagnostic::new(Code::StateInTraining, place, message);
    let mut help = format!("declare it as `pub fn {}(&self, …)`", function.name);
    for stmt in &function.body.stmts {
        if let ast::Stmt::Assign { target: ast::Target::One(target), op: None, value } = stmt
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

/// Reports functions that train a struct whose own parameters are stored in fewer bits, by which nothing is trained; of a model
/// with another name, the struct may be trained where its parameters are f32.
fn report_trained_storage(declared: &Declared<'_>, of: &Struct, storage: Storage, place: Span, diags: &mut Diags) {
    let Some(function) = public_fns(declared, of).find(|f| !f.train.is_empty()) else { return };
    let (name, storage) = (&of.name, storage.name());
    let message = format!("parameters that are stored in {storage} cannot be trained, as `{}` does", function.name);
    let report = Diagnostic::new(Code::WrongAttribute, place, message);
    diags.push(report.help(format!(
        "move the option to a model beside this one: `#[model(parameters = {storage})] pub struct {name}{} = {name};`",
        storage[..1].to_uppercase() + &storage[1..]
    )));
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

/// Reports a struct whose public functions nobody can call, because nobody can name it.
fn report_private_struct(declared: &Declared<'_>, of: &Struct, diags: &mut Diags) {
    let program = &declared.sources[of.source].program;
    let fields = program.structs.iter().flat_map(|one| &one.fields);
    let named = fields.flat_map(|field| field.ty.blocks()).chain(program.aliases.iter().map(|alias| &alias.target));
    if is_pub(&of.vis) || named.into_iter().any(|name| *name == of.name) {
        return;
    }
    if let Some(function) = public_fns(declared, of).next() {
        let message = format!("`{}` has a public function `{}`, but is not public itself", of.name, function.name);
        let report = Diagnostic::new(Code::NotAModel, of.name.span(), message);
        diags.push(report.help(format!("declare it as `pub struct {}`", of.name)));
    }
}

fn unknown_struct(name: &Ident, declared: &Declared<'_>) -> Diagnostic {
    let known = declared.blocks(0);
    let mut report =
        Diagnostic::new(Code::UnknownStruct, name.span(), format!("there is no struct `{name}` in this macro"));
    report.help = closest(&name.to_string(), known.iter().copied()).map(|near| format!("write `{near}`"));
    report
}
