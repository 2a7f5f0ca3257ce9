//! Instances of structs: every field with its parameters, numbered and laid out in the order of declaration.
//!
//! A struct and the values of its parameters go in; a tree of layers, blocks and parameters comes out, and
//! the model's list of parameters with PyTorch's names. A field that holds a mistake is `Unknown`.

use super::ast::*;
use super::attributes;
use super::declared::{Declared, Named, key};
use super::elaborate;
use super::imported::ImportedInstance;
use super::list::ListInstance;
use super::names::Names;
use super::statics::{self, Wanted};
use super::vocabulary::{self, Own};
use super::words;
use crate::diag::{Code, Diagnostic, Diags, Place, closest};
use crate::ir::attr::Attr;
use crate::ir::limits::{ELEMENTS, FIELDS, NESTED_BLOCKS, excess};
use crate::ir::model::{self, Binder, NamedDim, Param, ParamId, State, StateId};
use crate::ir::written::LayerSite;
use crate::ir::{DType, Type};
use crate::ops::{self, Item, Layer, LayerParam};
use proc_macro2::Ident;
use std::collections::BTreeMap;
use std::rc::Rc;

/// An instance of a struct.
#[derive(Debug)]
pub(super) struct Instance {
    /// The struct's key.
    pub(super) name: String,
    /// Constants and the struct's own parameters.
    pub(super) names: Names,
    pub(super) fields: BTreeMap<String, FieldInstance>,
}

/// What a field holds.
#[derive(Clone, Debug)]
pub(super) enum FieldInstance {
    Layer(Rc<LayerInstance>),
    Block(Rc<Instance>),
    Imported(Rc<ImportedInstance>),
    Param(ParamId),
    State(StateId),
    Repeat(i64, Box<FieldInstance>),
    List(Rc<ListInstance>),
    Unknown,
}

/// A layer and its parameters.
#[derive(Debug)]
pub(super) struct LayerInstance {
    pub(super) layer: &'static Layer,
    pub(super) params: Vec<(&'static str, ParamId)>,
    pub(super) site: LayerSite,
}

/// Makes instances for one model.
pub(super) struct Instances<'d, 'p> {
    pub(super) declared: &'d Declared<'p>,
    pub(super) params: Vec<Param>,
    pub(super) states: Vec<State>,
    /// The dimensions that sessions are made with.
    pub(super) dims: Vec<NamedDim>,
    /// The structs being instantiated, outermost first.
    pub(super) open: Vec<String>,
    /// Where the field being instantiated stands in the state dict.
    pub(super) path: String,
    /// The fields on the way to it.
    pub(super) fields: Vec<String>,
    /// Whether files call some field otherwise.
    pub(super) renamed: bool,
    pub(super) stack: Vec<i64>,
    /// The type of the parameters.
    pub(super) float: DType,
    /// The models of files among the fields.
    pub(super) imported: Vec<Rc<ImportedInstance>>,
    /// How many fields there are so far.
    made: usize,
}

impl<'d, 'p> Instances<'d, 'p> {
    pub(super) fn new(declared: &'d Declared<'p>, float: DType) -> Self {
        Instances {
            declared,
            params: vec![],
            states: vec![],
            dims: vec![],
            open: vec![],
            path: String::new(),
            fields: vec![],
            renamed: false,
            stack: vec![],
            float,
            imported: vec![],
            made: 0,
        }
    }

    /// Instantiates a struct; `place` is where its arguments stand.
    pub(super) fn instance(
        &mut self,
        of: &'p Struct,
        args: &[Arg],
        outer: &Names,
        place: Place,
        diags: &mut Diags,
    ) -> Rc<Instance> {
        let outside = diags.entered();
        if of.source > 0 && outside.is_none() {
            diags.enter(Some(place));
        }
        let names = self.struct_names(of, args, outer, place, diags);
        let name = key(of.source, &of.name);
        self.open.push(name.clone());
        let mut fields = BTreeMap::new();
        for field in &of.fields {
            let outer = self.path.len();
            self.path.push_str(if outer == 0 { "" } else { "." });
            let name = field.name.to_string();
            self.path.push_str(field.file.as_ref().unwrap_or(&name));
            self.renamed |= field.file.is_some();
            self.fields.push(name);
            let made = self.field(&field.ty, field, of.source, &names, diags);
            self.fields.pop();
            self.path.truncate(outer);
            // Of two fields of one name nobody knows which is meant.
            fields.entry(field.name.to_string()).and_modify(|one| *one = FieldInstance::Unknown).or_insert(made);
        }
        diags.enter(outside);
        self.open.pop();
        Rc::new(Instance { name, names, fields })
    }

    /// The values of a struct's parameters, on top of the constants.
    fn struct_names(&self, of: &Struct, args: &[Arg], outer: &Names, place: Place, diags: &mut Diags) -> Names {
        let mut names = self.declared.consts(of.source).clone();
        let mut given: BTreeMap<String, (Option<Attr>, Place)> = BTreeMap::new();
        let mut position = 0;
        for arg in args {
            let value = statics::eval(&arg.value, outer, Wanted::Value, diags);
            let known = || of.params.iter().map(|(name, _)| name.to_string());
            let key = match &arg.name {
                Some(name) if known().any(|k| *name == k) => name.to_string(),
                Some(name) => {
                    let known: Vec<String> = known().collect();
                    diags.push(attributes::unknown(&of.name.to_string(), name, known.iter().map(String::as_str)));
                    continue;
                }
                None => match known().nth(position) {
                    Some(key) => {
                        position += 1;
                        key
                    }
                    None => {
                        let most = of.params.len();
                        let were = format!("{} were given", args.len());
                        let message = format!("`{}` takes {}, but {were}", of.name, count(most, "parameter"));
                        let kept: Vec<String> = args.iter().take(most).map(words::argument).collect();
                        let help = format!("write `{}({})`", of.name, kept.join(", "));
                        diags.push(Diagnostic::new(Code::WrongArity, arg.value.place, message).help(help));
                        break;
                    }
                },
            };
            given.insert(key, (value, outer.origin(&arg.value)));
        }
        let mut lacking = vec![];
        for (name, default) in &of.params {
            let (value, at) = match (given.remove(&name.to_string()), default) {
                (Some((value, at)), _) => (value, at),
                (None, Some(default)) => (statics::eval(default, &names, Wanted::Value, diags), names.origin(default)),
                // The model itself has been reported as none.
                (None, None) if self.open.is_empty() => (None, place),
                (None, None) => {
                    lacking.push(format!("`{name}`"));
                    (None, place)
                }
            };
            names.give(name.to_string(), value, at);
        }
        if let Some((last, before)) = lacking.split_last() {
            let lacks = if before.is_empty() { last.clone() } else { format!("{} and {last}", before.join(", ")) };
            let message = format!("`{}` needs a value for {lacks}", of.name);
            let all: Vec<String> = of.params.iter().map(|(n, _)| n.to_string()).collect();
            let note = format!("it is declared as `{}({})`", of.name, all.join(", "));
            diags.push(Diagnostic::new(Code::MissingArgument, place, message).note(note));
        }
        names
    }

    pub(super) fn field(
        &mut self,
        ty: &'p FieldType,
        field: &'p Field,
        source: usize,
        names: &Names,
        diags: &mut Diags,
    ) -> FieldInstance {
        self.made += 1;
        if self.made > FIELDS {
            if self.made == FIELDS + 1 {
                let message = format!("the model has more than {FIELDS} fields, with those of its blocks");
                diags.push(Diagnostic::new(Code::TooLarge, field.name.span(), message));
            }
            return FieldInstance::Unknown;
        }
        match ty {
            FieldType::Error => FieldInstance::Unknown,
            FieldType::State(ty) => self.state(ty, field, names, diags),
            FieldType::Repeat { item, count } => self.repeated(item, count, field, source, names, diags),
            FieldType::Each { item, name, start, end } => {
                self.each(item, (name, start, end), field, source, names, diags)
            }
            FieldType::List { entries, is_chain } => self.unlike(entries, *is_chain, field, source, names, diags),
            FieldType::One { name, args, place } => {
                let text = name.to_string();
                match self.declared.block(source, &text) {
                    Some(Named::Struct(of)) => return self.block(of, name, args, names, *place, diags),
                    Some(Named::Alias(alias)) => return self.configured(alias, name, args, diags),
                    Some(Named::Import(model)) => return self.imported(&model, field, args, *place, diags),
                    Some(Named::Unknown) => return FieldInstance::Unknown,
                    None => {}
                }
                match ops::layer(&text) {
                    Some(layer) => self.layer(layer, field, args, names, *place, diags),
                    None => {
                        diags.push_about(name, self.unknown_layer(field, name, args, source));
                        FieldInstance::Unknown
                    }
                }
            }
        }
    }

    fn block(
        &mut self,
        of: &'p Struct,
        name: &Ident,
        args: &[Arg],
        names: &Names,
        place: Place,
        diags: &mut Diags,
    ) -> FieldInstance {
        if self.open.contains(&key(of.source, &of.name)) {
            let message = format!("`{}` contains itself", of.name);
            diags.push(Diagnostic::new(Code::Recursion, name.span(), message));
            return FieldInstance::Unknown;
        }
        if self.open.len() == NESTED_BLOCKS {
            if !diags.has(Code::Nesting) {
                let message = format!("blocks are nested more than {NESTED_BLOCKS} deep");
                let report = Diagnostic::new(Code::Nesting, name.span(), message);
                diags.push(report.note("blocks that follow each other are a list: `[Block(…); 100]`"));
            }
            return FieldInstance::Unknown;
        }
        FieldInstance::Block(self.instance(of, args, names, place, diags))
    }

    /// A block whose arguments stand in its declaration: `struct Small = Gpt(layers = 2);`
    fn configured(&mut self, alias: &'p Alias, name: &Ident, args: &[Arg], diags: &mut Diags) -> FieldInstance {
        if let Some(arg) = args.first() {
            let message = format!("`{}` has its arguments already", alias.name);
            let report = Diagnostic::new(Code::WrongArity, arg.value.place, message);
            diags.push(report.help(format!("write `{name}`, or name `{}(…)`", alias.target)));
            return FieldInstance::Unknown;
        }
        // A target that is none has been reported with the declaration.
        let Some(Named::Struct(of)) = self.declared.block(alias.source, &alias.target.to_string()) else {
            return FieldInstance::Unknown;
        };
        let names = self.declared.consts(alias.source);
        self.block(of, name, &alias.args, names, name.span().into(), diags)
    }

    fn unknown_layer(&self, field: &Field, name: &Ident, args: &[Arg], source: usize) -> Diagnostic {
        let text = name.to_string();
        let own = vocabulary::declared(&text).map(|own| own.sized(self.declared.has_images(source)));
        if let Some(own) = own {
            let message = match own {
                Own::Function(of) => format!("`{text}` has no parameters: it is the function `{of}`, not a layer"),
                Own::Layer(_) | Own::Sized(_) | Own::Block(_) | Own::Repetition | Own::Drawn(_) | Own::Form(_) => {
                    format!("there is no layer or block `{text}`")
                }
            };
            let report = Diagnostic::new(Code::UnknownLayer, name.span(), message);
            let alone = Some(&field.name).filter(|_| !matches!(field.ty, FieldType::List { .. }));
            return report.help(own.help_for_declaration(alone, args));
        }
        let layers = ops::items().filter_map(|item| match item {
            Item::Layer(layer) => Some(layer.name),
            Item::Op(_) | Item::Optimizer(_) => None,
        });
        let known: Vec<&str> = layers.chain(self.declared.blocks(source)).collect();
        let mut report =
            Diagnostic::new(Code::UnknownLayer, name.span(), format!("there is no layer or block `{text}`"));
        report.help = closest(&text, known.iter().copied()).map(|near| format!("write `{near}`"));
        report
    }

    fn layer(
        &mut self,
        layer: &'static Layer,
        field: &Field,
        args: &[Arg],
        names: &Names,
        place: Place,
        diags: &mut Diags,
    ) -> FieldInstance {
        let before = diags.list().len();
        let mut evaluated = vec![];
        for arg in args {
            let value = statics::eval(&arg.value, names, Wanted::Value, diags);
            evaluated.push(attributes::Given { place: names.origin(&arg.value), ..attributes::Given::new(arg, value) });
        }
        let bound = attributes::bind(layer.name, layer.attrs, &evaluated, self.float, place, diags);
        let Some(attrs) = bound.attrs.filter(|_| diags.list().len() == before) else {
            return FieldInstance::Unknown;
        };
        let params = match (layer.params)(&attrs) {
            Ok(params) => params,
            Err(error) => {
                let at = bound.places.iter().find(|(name, _)| Some(*name) == error.attr).map_or(place, |(_, p)| *p);
                let (message, help) = error.render(layer.name, &[]);
                let mut report = Diagnostic::new(error.code, at, message);
                report.help = help;
                let text = format!("{}: {}(…)", field.name, layer.name);
                diags.push(report.used(&text, place, &diags.line(place)).bare_outside(place));
                return FieldInstance::Unknown;
            }
        };
        let line = diags.line(field.name.span().into());
        let is_alone = matches!(field.ty, FieldType::One { .. } | FieldType::Repeat { .. });
        let (name, places) = (is_alone.then(|| field.name.to_string()), bound.places);
        let site =
            LayerSite { layer: layer.name.into(), field: name, attrs, written: bound.written, place, places, line };
        let mut ids = vec![];
        for param in params {
            if param.name.is_empty() {
                let id = self.param(self.path.clone(), param, field, diags);
                return id.map_or(FieldInstance::Unknown, FieldInstance::Param);
            }
            let (name, own) = (format!("{}.{}", self.path, param.name), param.name);
            match self.param(name, param, field, diags) {
                Some(id) => ids.push((own, id)),
                None => return FieldInstance::Unknown,
            }
        }
        FieldInstance::Layer(Rc::new(LayerInstance { layer, params: ids, site }))
    }

    /// What a session keeps. Capital names that are no constants are dimensions of the session.
    fn state(&mut self, ty: &TypeExpr, field: &Field, names: &Names, diags: &mut Diags) -> FieldInstance {
        let TypeExpr::Tensor { dtype, axes, place } = ty else {
            if !matches!(ty, TypeExpr::Error) {
                let report = Diagnostic::new(Code::NotSupported, field.name.span(), "a state is one tensor");
                diags.push(report.help("declare one `state` for each"));
            }
            return FieldInstance::Unknown;
        };
        if axes.iter().any(|axis| matches!(axis, AxisExpr::Rest)) {
            let message = format!("the number of dimensions of `{}` must be known", field.name);
            diags.push(Diagnostic::new(Code::WrongRank, *place, message).help("name each dimension: `f32[B, 64]`"));
            return FieldInstance::Unknown;
        }
        let mut names = names.clone();
        let mut dims: Vec<NamedDim> = vec![];
        elaborate::named_dims([ty], &mut names, &mut dims, diags);
        for dim in dims {
            let dim = NamedDim { binder: Binder::Session, ..dim };
            match self.dims.iter_mut().find(|known| known.name == dim.name) {
                Some(known) => known.bound = known.bound.into_iter().chain(dim.bound).min(),
                None => self.dims.push(dim),
            }
        }
        let shape = elaborate::axes(axes, &names, diags);
        let shape = shape.map(|axes| axes.into_iter().flatten().map(|axis| axis.dim).collect::<Vec<_>>());
        match elaborate::dtype(dtype, diags).zip(shape) {
            Some((dtype, shape)) => {
                let ty = Type::new(dtype, shape);
                self.states.push(State {
                    name: self.path.clone(),
                    ty,
                    stack: self.stack.clone(),
                    span: field.name.span(),
                });
                FieldInstance::State(StateId(self.states.len() as u32 - 1))
            }
            None => FieldInstance::Unknown,
        }
    }

    /// A parameter; `None` after a report.
    fn param(&mut self, name: String, of: LayerParam, field: &Field, diags: &mut Diags) -> Option<ParamId> {
        let ty = Type::new(self.float, of.shape);
        let (stack, span) = (self.stack.clone(), field.name.span());
        let own = Some(of.name.to_owned()).filter(|own| !own.is_empty());
        let fields = self.fields.iter().cloned().chain(own).collect();
        let (init, trained) = (of.init, of.trained);
        let turns = vec![];
        self.declare(Param { name, fields, ty, stack, turns, init, trained, scales: None, offset: 0, span }, diags)
    }

    /// The number of a parameter; `None` after a report.
    pub(super) fn declare(&mut self, param: Param, diags: &mut Diags) -> Option<ParamId> {
        let stacked = param.stacked();
        if let Some(most) = excess(&stacked) {
            let message = format!("`{}` would be {stacked}, and a tensor has at most {most}", param.name);
            diags.push(Diagnostic::new(Code::TooLarge, param.span, message));
            return None;
        }
        self.params.push(param);
        Some(ParamId(self.params.len() as u32 - 1))
    }

    /// Gives the parameters of all instances their places in the pool: companions come after all that is trained, so
    /// that an update of the optimiser walks over the beginning of the pool. More than a model may have are reported at
    /// `place`.
    pub(super) fn place(&mut self, place: Place, diags: &mut Diags) {
        let offset = model::place(&mut self.params);
        if offset > ELEMENTS as usize {
            let message = format!("the model would have {offset} parameters, and the most are {ELEMENTS}");
            diags.push(Diagnostic::new(Code::TooLarge, place, message));
        }
    }
}

/// `1 parameter`, `2 parameters`.
pub(super) fn count(n: usize, noun: &str) -> String {
    match n {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}
