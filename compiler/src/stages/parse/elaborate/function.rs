//! Functions: the public one that becomes a graph, and those that it calls, which are inlined.

use super::super::ast::*;
use super::super::declared::Declared;
use super::super::instance::{FieldInstance, Instance, count};
use super::super::names::Names;
use super::super::words;
use super::dims::{dim_names, extent_names, for_each_axis, named_dims};
use super::fit;
use super::frozen::Only;
use super::{Argument, Elaborator, Frame, Module, Scope, Tensor, Val};
use crate::diag::{Code, Diagnostic, Diags, Place, closest};
use crate::ir::attr::Attr;
use crate::ir::model::{self, Binder, Function, Mode, NamedDim, Param, Results, State};
use crate::ir::written::Role;
use crate::ir::{DType, Dim, Kind, Type};
use crate::ops::Optimizer;
use quote::{ToTokens, format_ident};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The graph of a public function, evaluated or trained by an optimiser; `None` where its arguments cannot be understood.
pub(in super::super) fn entry<'p>(
    function: &'p Fn,
    train: Option<&Trained<'_>>,
    this: &Rc<Instance>,
    declared: &Declared<'p>,
    kept: Kept<'_>,
    diags: &mut Diags,
) -> Option<Function> {
    let Kept { params, dims: session, .. } = kept;
    let mut names = this.names.clone();
    let training = train.is_some();
    let dims = entry_dims(function, &mut names, session.iter().filter(|_| !training), diags);
    let (given, touched) = only_of_session(function, session, &dims);
    let signature = signature(function, &names);
    let args = entry_args(function, &names, diags);
    if training {
        report_loss(function, kept.float, diags);
    }
    let mode = train.map_or(Mode::Evaluate, |train| Mode::Train(train.optimizer.name.into()));
    let before = diags.list().len();
    let chosen = train.and_then(|train| train.chosen);
    let only = chosen.map_or(Only::default(), |chosen| Only::of(chosen, this, params, diags));
    let module = Module { held: FieldInstance::Block(this.clone()), picks: vec![], text: "self".into() };
    let this = (!matches!(function.receiver, Receiver::None)).then_some(module);
    let scope = Scope { number: 0, function, this, names, locals: vec![BTreeMap::new()], captured: 0 };
    let empty = Elaborator::new(declared, kept, scope, diags);
    let mut elaborator = Elaborator { training, given, touched, ..empty };
    elaborator.inputs(function, &args);
    let result = elaborator.body(function);
    let outputs = elaborator.outputs(&result, function);
    let effects = elaborator.stored();
    let in_session = !training && (is_mut(function) || elaborator.touched || !elaborator.frames[0].held.is_empty());
    let mut graph = std::mem::take(&mut elaborator.top().graph);
    let positions = std::mem::take(&mut elaborator.positions);
    graph.outputs = outputs?.iter().map(|t| t.value).collect();
    if diags.list().len() == before {
        only.report_unused(&function.name, &graph, diags);
    }
    let args = args.into_iter().collect::<Option<Vec<_>>>()?;
    let dims = all_dims(dims, session.iter().filter(|_| in_session), &args, &positions);
    Some(Function {
        name: function.name.clone(),
        signature,
        attrs: function.attrs.iter().map(ToTokens::to_token_stream).collect(),
        mode,
        args,
        dims,
        results: results(&function.result),
        frozen: only.frozen,
        in_session,
        effects,
        graph,
    })
}

/// The function as the user wrote it.
fn signature(function: &Fn, known: &Names) -> model::Signature {
    let mut names: Vec<(String, Option<i64>)> = vec![];
    for ty in function.params.iter().map(|(_, ty)| ty).chain([&function.result]) {
        for name in extent_names(ty).into_iter().map(|name| name.to_string()) {
            let Some(Some(Attr::Int(value))) = known.get(&name) else { continue };
            if !names.iter().any(|(other, _)| *other == name) {
                names.push((name, value.as_const()));
            }
        }
    }
    model::Signature { text: words::signature(function), names }
}

/// Reports the names that a function of the text uses and nothing declares, as far as they depend on no value: of the
/// arguments, and of the parameters of its struct, nothing is known.
pub(in super::super) fn names<'p>(
    function: &'p Fn,
    this: Option<&Rc<Instance>>,
    declared: &Declared<'p>,
    kept: Kept<'_>,
    diags: &mut Diags,
) {
    let mut names = this.map_or_else(|| declared.consts(function.source).clone(), |this| this.names.clone());
    for ty in function.params.iter().map(|(_, ty)| ty).chain([&function.result]) {
        for_each_axis(ty, &mut |axis| {
            if let AxisExpr::Dim { value, .. } = axis {
                dim_names(value).into_iter().for_each(|name| _ = names.entry(name.to_string()).or_insert(None));
            }
        });
    }
    let this = this.filter(|_| !matches!(function.receiver, Receiver::None));
    let module =
        |this: &Rc<Instance>| Module { held: FieldInstance::Block(this.clone()), picks: vec![], text: "self".into() };
    // Not zero, which is a public function, whose `..` stands for nothing.
    let number = 1;
    let scope = Scope { number, function, this: this.map(module), names, locals: vec![BTreeMap::new()], captured: 0 };
    let mut elaborator = Elaborator::new(declared, kept, scope, diags);
    for (pat, _) in &function.params {
        elaborator.bind(pat, Val::Unknown, "");
    }
    elaborator.block(&function.body);
}

/// The dimensions that only the session gives, and whether the function's result has one.
fn only_of_session(function: &Fn, session: &[NamedDim], dims: &[NamedDim]) -> (BTreeSet<String>, bool) {
    let bound = |one: &&NamedDim| dims.iter().any(|dim| dim.name == one.name);
    let given: BTreeSet<String> = session.iter().filter(|one| !bound(one)).map(|one| one.name.clone()).collect();
    let mut touched = false;
    for_each_axis(&function.result, &mut |axis| {
        if let AxisExpr::Dim { value, .. } = axis {
            touched |= dim_names(value).iter().any(|name| given.contains(&name.to_string()));
        }
    });
    (given, touched)
}

/// How a function is trained.
pub(in super::super) struct Trained<'p> {
    pub(in super::super) optimizer: &'static Optimizer,
    /// The fields that are trained, or not; all are where it is absent.
    pub(in super::super) chosen: Option<&'p Chosen>,
}

/// What a model keeps: parameters, and in sessions states with their dimensions.
#[derive(Clone, Copy)]
pub(in super::super) struct Kept<'k> {
    pub(in super::super) params: &'k [Param],
    pub(in super::super) states: &'k [State],
    pub(in super::super) dims: &'k [NamedDim],
    /// The type of the parameters.
    pub(in super::super) float: DType,
}

/// The dimensions of the arguments, those of the session, and the arguments that stand in positions.
fn all_dims<'s>(
    mut dims: Vec<NamedDim>,
    session: impl Iterator<Item = &'s NamedDim>,
    args: &[model::Argument],
    positions: &BTreeSet<String>,
) -> Vec<NamedDim> {
    for one in session {
        match dims.iter_mut().find(|dim| dim.name == one.name) {
            Some(dim) => dim.binder = Binder::Session,
            None => dims.push(NamedDim { bound: None, ..one.clone() }),
        }
    }
    for (k, arg) in args.iter().enumerate() {
        let name = arg.name.to_string();
        if positions.contains(&name) {
            dims.push(NamedDim { name, bound: None, binder: Binder::Argument(k) });
        }
    }
    dims
}

fn is_mut(function: &Fn) -> bool {
    matches!(function.receiver, Receiver::Mut(_))
}

fn results(ty: &TypeExpr) -> Results {
    match ty {
        TypeExpr::Tensor { .. } | TypeExpr::Error => Results::One,
        TypeExpr::Tuple(..) => Results::Tuple,
        TypeExpr::Struct(name, fields) => {
            Results::Struct(name.clone(), fields.iter().map(|(name, _)| name.clone()).collect())
        }
    }
}

/// Reports a trained function whose first result is not one number of the type of the parameters.
fn report_loss(function: &Fn, float: DType, diags: &mut Diags) {
    let (first, place) = match &function.result {
        TypeExpr::Tuple(items, place) => (items.first(), *place),
        TypeExpr::Struct(name, fields) => (fields.first().map(|(_, ty)| ty), name.span().into()),
        other => (Some(other), function.name.span().into()),
    };
    if let Some(ty @ TypeExpr::Tensor { dtype, axes, place }) = first {
        if !axes.is_empty() || *dtype != float.name() {
            let text = words::type_text(ty);
            let message = format!("`{}` is trained, so it must give one {float} and not {text}", function.name);
            let report = Diagnostic::new(Code::NonScalarLoss, *place, message);
            diags.push(report.help(format!("declare `-> {float}` and give the mean: `mean(…)`")));
        }
    } else if !matches!(first, Some(TypeExpr::Error)) {
        let message = format!("the first result of `{}` is its loss and must be one {float}", function.name);
        diags.push(Diagnostic::new(Code::NonScalarLoss, place, message));
    }
}

/// The dimensions that calls bind: capital names in the arguments' types that are not constants. Names of the session's
/// dimensions are known, too.
fn entry_dims<'s>(
    function: &Fn,
    names: &mut Names,
    session: impl Iterator<Item = &'s NamedDim>,
    diags: &mut Diags,
) -> Vec<NamedDim> {
    let mut dims: Vec<NamedDim> = vec![];
    let alone = named_dims(function.params.iter().map(|(_, ty)| ty), names, &mut dims, diags);
    for (name, _) in alone.iter().filter(|(name, _)| !alone.iter().any(|(n, bare)| *bare && n == name)) {
        let message = format!("no argument binds `{name}`: it stands only inside of other extents");
        diags.push(
            Diagnostic::new(Code::UnboundDimension, name.span(), message)
                .help(format!("let an argument have the extent `{name}` alone")),
        );
    }
    for NamedDim { name, .. } in session {
        names.entry(name.clone()).or_insert_with(|| Some(Attr::Int(Dim::name(name.clone()))));
    }
    // Names that stand in the result only; what `..` or an unreadable type would bind is reported with it.
    let mut rest = function.params.iter().any(|(_, ty)| matches!(ty, TypeExpr::Error));
    function.params.iter().for_each(|(_, ty)| for_each_axis(ty, &mut |axis| rest |= matches!(axis, AxisExpr::Rest)));
    // A type that could not be read may have had it.
    rest |= function.params.iter().any(|(_, ty)| matches!(ty, TypeExpr::Error));
    for_each_axis(&function.result, &mut |axis| {
        let AxisExpr::Dim { value, .. } = axis else { return };
        for name in dim_names(value).into_iter().filter(|n| !names.contains_key(&n.to_string())).collect::<Vec<_>>() {
            let near: Vec<String> = names.keys().cloned().collect();
            names.insert(name.to_string(), None);
            if rest {
                continue;
            }
            let mut report = Diagnostic::new(
                Code::UnboundDimension,
                name.span(),
                format!("no argument of `{}` binds `{name}`", function.name),
            );
            report.help = match closest(&name.to_string(), near.iter().map(String::as_str)) {
                Some(near) => Some(format!("write `{near}`")),
                None => Some(format!("add an argument that has the extent, such as `like: f32[{name}]`")),
            };
            diags.push(report);
        }
    });
    dims
}

/// The arguments of a public function; `None` where a report was made.
fn entry_args(function: &Fn, names: &Names, diags: &mut Diags) -> Vec<Option<model::Argument>> {
    let mut args = vec![];
    for (pat, ty) in &function.params {
        let (Pat::Name { name, .. }, TypeExpr::Tensor { dtype, axes, place }) = (pat, ty) else {
            if !matches!(ty, TypeExpr::Error) {
                let message = "arguments of public functions that are not single tensors are not supported yet";
                diags.push(Diagnostic::new(Code::NotSupported, pat.place(), message));
            }
            args.push(None);
            continue;
        };
        let dtype = fit::dtype(dtype, diags);
        let shape = fit::axes(axes, names, diags);
        if axes.iter().any(|axis| matches!(axis, AxisExpr::Rest)) {
            let message = format!("the number of dimensions of `{name}` must be known in a public function");
            let report = Diagnostic::new(Code::WrongRank, *place, message);
            diags.push(report.help("name each dimension: `f32[B, T, 64]`"));
            args.push(None);
            continue;
        }
        let shape = shape.map(|s| s.into_iter().flatten().map(|axis| axis.dim).collect::<Vec<_>>());
        let ty = dtype.zip(shape).map(|(dtype, shape)| Type::new(dtype, shape));
        // A second one of a name, which is reported, has another in emitted code.
        let again = function.params[..args.len()].iter().any(|(pat, _)| *name == words::pattern_text(pat));
        let name = if again { format_ident!("{name}{}", args.len() + 1) } else { name.clone() };
        args.push(ty.map(|ty| model::Argument { name, ty }));
    }
    args
}

impl<'e, 'p> Elaborator<'e, 'p> {
    /// Without a node yet.
    fn new(declared: &'e Declared<'p>, kept: Kept<'e>, scope: Scope<'p>, diags: &'e mut Diags) -> Self {
        Elaborator {
            declared,
            params: kept.params,
            states: kept.states,
            diags,
            training: false,
            float: kept.float,
            frames: vec![Frame::default()],
            calls: scope.number,
            expressions: 0,
            depth: 0,
            scopes: vec![scope],
            scalars: vec![],
            positions: BTreeSet::new(),
            given: BTreeSet::new(),
            touched: false,
            in_gradient: false,
        }
    }

    pub(super) fn scope(&mut self) -> &mut Scope<'p> {
        match self.scopes.last_mut() {
            Some(scope) => scope,
            None => unreachable!("the public function's own scope stays open"),
        }
    }

    /// Declares the arguments of the public function.
    fn inputs(&mut self, function: &Fn, args: &[Option<model::Argument>]) {
        for (k, ((pat, _), arg)) in function.params.iter().zip(args).enumerate() {
            let value = match arg {
                Some(arg) => {
                    let place = Place::from(arg.name.span());
                    let tensor = self.push(Kind::Input(k), &[], Some(arg.ty.clone()), place);
                    let name = arg.name.to_string();
                    self.name(tensor, &name);
                    if arg.ty == Type::scalar(DType::U32)
                        && !name.starts_with("r#")
                        && !self.scope().names.contains_key(&name)
                    {
                        self.scalars.push((tensor, Dim::name(name)));
                    }
                    Val::Tensor(tensor)
                }
                None => Val::Unknown,
            };
            self.bind(pat, value, "");
        }
    }

    /// The outputs in order; unknown ones become placeholders of the declared type, so that the public face
    /// can be emitted.
    fn outputs(&mut self, result: &Val, function: &Fn) -> Option<Vec<Tensor>> {
        let mut leaves = vec![];
        for_each_tensor_type(&function.result, &mut |ty| leaves.push(ty));
        let mut found = vec![];
        flatten(result, &mut found);
        if found.len() == leaves.len() && found.iter().all(Option::is_some) {
            return Some(found.into_iter().flatten().collect());
        }
        let names = self.scope().names.clone();
        let mut placeholders = vec![];
        for ty in leaves {
            let TypeExpr::Tensor { dtype, axes, place } = ty else { return None };
            // Mistakes in the type have been reported with the function.
            let mut silent = Diags::default();
            let shape = fit::axes(axes, &names, &mut silent)?;
            let shape = shape.into_iter().map(|axis| axis.map(|a| a.dim)).collect::<Option<Vec<Dim>>>()?;
            let ty = Type::new(DType::from_name(&dtype.to_string())?, shape);
            placeholders.push(self.push(Kind::Input(usize::MAX), &[], Some(ty), *place));
        }
        Some(placeholders)
    }

    /// Inlines a call of a function of the user.
    pub(super) fn inline(
        &mut self,
        function: &'p Fn,
        this: Option<Module>,
        callee: &str,
        args: Vec<Argument>,
        place: Place,
    ) -> Val {
        if self.scopes.iter().any(|scope| std::ptr::eq(scope.function, function)) {
            let message = format!("`{callee}` calls itself");
            let report = Diagnostic::new(Code::Recursion, place, message);
            self.diags.push(report.note("every call is inlined, so that a function cannot contain itself"));
            return Val::Unknown;
        }
        let wanted = function.params.iter().map(|(pat, _)| words::pattern_text(pat)).collect();
        let line = self.diags.line(function.name.span().into());
        let types =
            function.params.iter().map(|(pat, ty)| format!("{}: {}", words::pattern_text(pat), words::type_text(ty)));
        let types: Vec<String> = types.collect();
        let note = format!("it is declared as `{}({})` on {line}", function.name, types.join(", "));
        let Some(args) = self.match_args(wanted, note, callee, args, place) else {
            return Val::Unknown;
        };
        self.calls += 1;
        let number = self.calls;
        let mut names = match this.as_ref().and_then(super::block_of) {
            Some(instance) => instance.names.clone(),
            None => self.declared.consts(function.source).clone(),
        };
        for ty in function.params.iter().map(|(_, ty)| ty).chain([&function.result]) {
            for_each_axis(ty, &mut |axis| {
                if let AxisExpr::Dim { value, .. } = axis {
                    for name in dim_names(value) {
                        let fresh = || Some(Attr::Int(Dim::name(format!("{name}#{number}"))));
                        names.entry(name.to_string()).or_insert_with(fresh);
                    }
                }
            });
        }
        self.scopes.push(Scope { number, function, this, names, locals: vec![BTreeMap::new()], captured: 0 });
        for ((pat, ty), arg) in function.params.iter().zip(args) {
            let name = words::pattern_text(pat);
            let role = Role::Argument { callee: callee.to_owned(), name };
            let value = self.fit(arg.value, ty, &role, &arg.text, arg.place);
            self.bind(pat, value, &arg.text);
        }
        let outside = self.diags.entered();
        if function.source > 0 && outside.is_none() {
            self.diags.enter(Some(place));
        }
        let result = match function.remat {
            Some(_) if self.training => self.rematerialised(function, place),
            _ => self.body(function),
        };
        self.diags.enter(outside);
        self.scopes.pop();
        result
    }

    /// The arguments in the order of the parameters; `None` after a report.
    pub(super) fn match_args(
        &mut self,
        wanted: Vec<String>,
        note: String,
        callee: &str,
        args: Vec<Argument>,
        place: Place,
    ) -> Option<Vec<Argument>> {
        let given = args.len();
        let given_texts: Vec<String> = args.iter().map(|arg| arg.text.clone()).collect();
        let plain = args.iter().all(|arg| arg.name.is_none() && !arg.text.contains('…'));
        let mut slots: Vec<Option<Argument>> = wanted.iter().map(|_| None).collect();
        let mut position = 0;
        for arg in args {
            let at = match &arg.name {
                None => {
                    position += 1;
                    position - 1
                }
                Some(name) => match wanted.iter().position(|w| name == w) {
                    Some(at) => at,
                    None => {
                        let known = wanted.iter().map(String::as_str);
                        self.diags.push(super::super::attributes::unknown(callee, name, known));
                        return None;
                    }
                },
            };
            if let Some(slot) = slots.get_mut(at) {
                *slot = Some(arg);
            }
        }
        let filled: Option<Vec<Argument>> = slots.into_iter().collect();
        if filled.is_some() && given <= wanted.len() {
            return filled;
        }
        let were = if given == 1 { "was" } else { "were" };
        let message = format!("`{callee}` takes {}, but {given} {were} given", count(wanted.len(), "argument"));
        let report = Diagnostic::new(Code::WrongArity, place, message).note(note);
        // What is given in order keeps its text; the others are named.
        let texts: Vec<String> = match plain {
            true => given_texts.iter().take(wanted.len()).cloned().collect(),
            false => wanted.clone(),
        };
        self.diags.push(match (callee.starts_with('|'), plain && given < wanted.len()) {
            (true, _) => report.help(format!("give it `{}`", wanted.join(", "))),
            (false, true) => {
                let missing: Vec<String> = wanted[given..].iter().map(|name| format!("`{name}`")).collect();
                report.help(format!("add a value for {}", missing.join(" and ")))
            }
            (false, false) => report.help(format!("call it as `{callee}({})`", texts.join(", "))),
        });
        None
    }
}

/// The tensors of a result, in order; `None` for unknown ones.
fn flatten(val: &Val, into: &mut Vec<Option<Tensor>>) {
    match val {
        Val::Tensor(tensor) => into.push(Some(*tensor)),
        Val::Tuple(items) => items.iter().for_each(|item| flatten(item, into)),
        Val::Struct(_, fields) => fields.iter().for_each(|(_, value)| flatten(value, into)),
        Val::Static(_) | Val::Module(_) | Val::Function(_) | Val::Unknown => into.push(None),
    }
}

fn for_each_tensor_type<'a>(ty: &'a TypeExpr, see: &mut dyn FnMut(&'a TypeExpr)) {
    match ty {
        TypeExpr::Tensor { .. } | TypeExpr::Error => see(ty),
        TypeExpr::Tuple(items, _) => items.iter().for_each(|item| for_each_tensor_type(item, see)),
        TypeExpr::Struct(_, fields) => fields.iter().for_each(|(_, ty)| for_each_tensor_type(ty, see)),
    }
}
