//! Models, functions and graphs to text.

use super::datum::{Datum, Fields};
use super::{field_names, prims};
use crate::ir::attr::{Attr, Attrs};
use crate::ir::graph::{ForeignGradient, GradientBy, Taken};
use crate::ir::model::{Binder, Effect, Init, NamedDim, Results, Turn};
use crate::ir::precision::Precision;
use crate::ir::prim::Scalar;
use crate::ir::{DType, Function, Graph, How, Kind, Memory, Mode, Model, Node, Param, State, Type, Value};
use std::fmt::{self, Write};

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = vec![];
        let vis = self.vis.to_string();
        if !vis.is_empty() {
            fields.push(("vis".to_owned(), Datum::Text(vis)));
        }
        fields.extend(memory(self.memory));
        fields.extend(precision(self.precision));
        fields.extend(self.storage.map(|storage| ("parameters".to_owned(), Datum::word(storage.name()))));
        fields.extend(self.deterministic.map(|_| ("deterministic".to_owned(), Datum::Scalar(Scalar::Bool(true)))));
        fields.extend(dims(&self.dims));
        fields.extend(attributes(&self.attrs));
        writeln!(f, "model {}{} {{", self.name, Listed(&fields))?;
        for param in &self.params {
            writeln!(f, "  {}", Listed::param(param))?;
        }
        for state in &self.states {
            writeln!(f, "  {}", Listed::state(state))?;
        }
        for one in &self.foreign {
            let args: Vec<String> = one.args.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
            let wgsl = one.wgsl.as_ref().map(|wgsl| ("wgsl".to_owned(), Datum::Text(wgsl.text.clone())));
            let fields = Vec::from_iter(wgsl);
            writeln!(f, "  foreign {}({}) ({}){}", one.name, args.join(", "), types(&one.results), Listed(&fields))?;
        }
        for function in &self.functions {
            write!(f, "{}", indented(&function.to_string()))?;
        }
        writeln!(f, "}}")
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args: Vec<String> = self.args.iter().map(|a| format!("{}: {}", a.name, a.ty)).collect();
        writeln!(f, "function {}({}){} {{", self.name, args.join(", "), Listed(&header(self)))?;
        write!(f, "{}", indented(&self.graph.to_string()))?;
        for (effect, value) in &self.effects {
            let (name, index) = match effect {
                Effect::Gradient(id) => ("gradient", Some(id.0 as usize)),
                Effect::Weights => ("weights", None),
                Effect::Companion(id) => ("companion", Some(id.0 as usize)),
                Effect::State(k) => ("state", Some(*k)),
                Effect::Updated => ("updated", None),
                Effect::Stored(id) => ("stored", Some(id.0 as usize)),
            };
            let index = index.map_or(String::new(), |k| format!(" index={k}"));
            writeln!(f, "  effect {name}{index} = %{}", value.0)?;
        }
        writeln!(f, "}}")
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for value in self.values() {
            writeln!(f, "{}", line(value, self.node(value)))?;
        }
        writeln!(f, "return {}", list(&self.outputs))
    }
}

fn header(function: &Function) -> Fields {
    let mut fields = vec![];
    match &function.mode {
        Mode::Evaluate => {}
        Mode::Train(optimizer) => fields.push(("train".to_owned(), Datum::word(optimizer))),
    }
    if !function.frozen.is_empty() {
        let frozen = function.frozen.iter().map(|id| id.0 as usize);
        fields.push(("frozen".to_owned(), Datum::numbers(frozen)));
    }
    fields.extend(dims(&function.dims));
    if function.in_session {
        fields.push(("in_session".to_owned(), Datum::Scalar(Scalar::Bool(true))));
    }
    match &function.results {
        Results::One => {}
        Results::Tuple => fields.push(("results".to_owned(), Datum::word("tuple"))),
        Results::Struct(name, names) => {
            fields.push(("results".to_owned(), Datum::word(&name.to_string())));
            let names = names.iter().map(|n| Datum::word(&n.to_string())).collect();
            fields.push(("names".to_owned(), Datum::List(names)));
        }
    }
    fields.extend(attributes(&function.attrs));
    fields
}

fn dims(dims: &[NamedDim]) -> Option<(String, Datum)> {
    let dim = |d: &NamedDim| {
        let mut of_dim = vec![("name".to_owned(), Datum::word(&d.name))];
        of_dim.extend(d.bound.map(|n| ("bound".to_owned(), Datum::number(n))));
        of_dim.extend(match d.binder {
            Binder::Extents => None,
            Binder::Argument(k) => Some(("argument".to_owned(), Datum::number(k as i64))),
            Binder::Session => Some(("session".to_owned(), Datum::Scalar(Scalar::Bool(true)))),
        });
        Datum::Record(of_dim)
    };
    (!dims.is_empty()).then(|| ("dims".to_owned(), Datum::List(dims.iter().map(dim).collect())))
}

fn attributes(attrs: &[proc_macro2::TokenStream]) -> Option<(String, Datum)> {
    let texts = attrs.iter().map(|a| Datum::Text(a.to_string())).collect();
    (!attrs.is_empty()).then(|| ("attrs".to_owned(), Datum::List(texts)))
}

/// Fields after a head: ` key=value key=value`.
pub(super) struct Listed<'a>(pub(super) &'a Fields);

impl Listed<'_> {
    fn state(state: &State) -> String {
        let stack = Datum::List(state.stack.iter().map(|&n| Datum::number(n)).collect());
        format!("state {:?}: {}{}", state.name, state.ty, Listed(&vec![("stack".to_owned(), stack)]))
    }

    fn param(param: &Param) -> String {
        let (kind, number) = match param.init {
            Init::Zeros => ("zeros", None),
            Init::Ones => ("ones", None),
            Init::Constant(x) => ("constant", Some(x)),
            Init::Normal { std } => ("normal", Some(std)),
            Init::Uniform { bound } => ("uniform", Some(bound)),
            Init::TruncNormal { std } => ("trunc_normal", Some(std)),
            Init::Orthogonal { gain } => ("orthogonal", Some(gain)),
        };
        let mut init = vec![("of".to_owned(), Datum::word(kind))];
        let scalar = |x| Datum::Scalar(Scalar::f32(x));
        init.extend(number.map(|x| ("number".to_owned(), scalar(x))));
        let mut fields = vec![
            ("stack".to_owned(), Datum::List(param.stack.iter().map(|&n| Datum::number(n)).collect())),
            ("offset".to_owned(), Datum::number(param.offset as i64)),
            ("init".to_owned(), Datum::Record(init)),
        ];
        if param.fields != field_names(&param.name) {
            fields.push(("fields".to_owned(), Datum::Text(param.fields.join("."))));
        }
        if !param.turns.is_empty() {
            let turn = |turn: &Turn| [&turn.name, &turn.field].map(|text| Datum::Text(text.clone()));
            fields.push(("turns".to_owned(), Datum::List(param.turns.iter().flat_map(turn).collect())));
        }
        if let Some(scales) = param.scales {
            fields.push(("scales".to_owned(), Datum::number(i64::from(scales.0))));
        }
        if !param.trained {
            fields.push(("trained".to_owned(), Datum::word("no")));
        }
        format!("param {:?}: {}{}", param.name, param.ty, Listed(&fields))
    }
}

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

pub(super) fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |mut all, line| {
        _ = writeln!(all, "  {line}");
        all
    })
}

/// `f32[B, 2], u32`
pub(super) fn types(types: &[Type]) -> String {
    types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ")
}

fn list(values: &[Value]) -> String {
    values.iter().map(|v| format!("%{}", v.0)).collect::<Vec<_>>().join(", ")
}

/// One node: `%3: f32[B, 64] = add(%1, %2) ; name`.
fn line(value: Value, node: &Node) -> String {
    let (head, fields) = head(&node.kind);
    let ty = node.ty.as_ref().map_or(String::new(), |ty| format!(": {ty}"));
    let body = match &node.kind {
        Kind::Repeat(repeat) => format!(" {{\n{}}}", indented(&repeat.body.to_string())),
        Kind::Branch(branch) => {
            let cases = branch.cases.iter().map(|case| format!("case {{\n{}}}\n", indented(&case.to_string())));
            format!(" {{\n{}}}", indented(&cases.collect::<String>()))
        }
        Kind::Transform(transform) => format!(" {{\n{}}}", indented(&transform.body.to_string())),
        Kind::Input(_)
        | Kind::Param(_)
        | Kind::State(_)
        | Kind::Source(_)
        | Kind::Op(_)
        | Kind::Result(_)
        | Kind::Prim(_)
        | Kind::Counter(_)
        | Kind::Written(_)
        | Kind::StopGradient => String::new(),
        Kind::Foreign(foreign) => {
            let body = foreign.body().map(|body| format!(" {{\n{}}}", indented(&body.to_string())));
            format!(" ({}){}", types(&foreign.results), body.unwrap_or_default())
        }
    };
    let name = node.name.as_ref().map_or(String::new(), |name| format!(" ; {name}"));
    format!("%{}{ty} = {head}({}){}{body}{name}", value.0, list(&node.args), Listed(&fields))
}

/// What a node computes, without its arguments: `reduce op=sum axes=[0]`.
pub(in crate::ir) fn describe(kind: &Kind) -> String {
    let (head, fields) = head(kind);
    format!("{head}{}", Listed(&fields))
}

fn head(kind: &Kind) -> (String, Fields) {
    let numbered = |key: &str, n: usize| vec![(key.to_owned(), Datum::number(n as i64))];
    let (head, fields) = match kind {
        Kind::Input(k) => ("input", numbered("index", *k)),
        Kind::Param(id) => ("param", numbered("index", id.0 as usize)),
        Kind::State(id) => ("state", numbered("index", id.0 as usize)),
        Kind::Source(source) => ("source", prims::print_source(*source)),
        Kind::Result(k) => ("result", numbered("index", *k)),
        Kind::Prim(prim) => prims::print(prim),
        Kind::Counter(depth) => ("counter", numbered("depth", *depth)),
        Kind::StopGradient => ("stop_gradient", vec![]),
        Kind::Repeat(repeat) => {
            let fields = [
                ("count", Datum::Dim(repeat.count.clone())),
                ("reverse", Datum::Scalar(Scalar::Bool(repeat.reverse))),
                ("carried", Datum::number(repeat.carried as i64)),
                ("stacked", Datum::number(repeat.stacked as i64)),
            ];
            let fields = fields.map(|(key, value)| (key.to_owned(), value)).into_iter();
            ("repeat", fields.chain(memory(repeat.memory)).collect())
        }
        Kind::Branch(_) => ("branch", vec![]),
        Kind::Transform(transform) => ("transform", print_how(&transform.how)),
        Kind::Foreign(foreign) => {
            let mut fields = numbered("function", foreign.function);
            if let Some(ForeignGradient { by, takes }) = &foreign.gradient {
                let take = |taken: &Taken| match taken {
                    Taken::Argument(k) => Datum::word(&format!("argument{k}")),
                    Taken::Result => Datum::word("result"),
                    Taken::Cotangent => Datum::word("cotangent"),
                };
                if let GradientBy::Foreign(function) = by {
                    fields.extend(numbered("gradient", *function));
                }
                fields.push(("takes".to_owned(), Datum::List(takes.iter().map(take).collect())));
            }
            ("foreign", fields)
        }
        Kind::Op(call) => {
            let float = (call.float != DType::F32).then(|| ("float", Datum::word(call.float.name())));
            let fields = [
                ("name", Datum::word(&call.op)),
                ("callee", Datum::Text(call.callee.clone())),
                ("training", Datum::Scalar(Scalar::Bool(call.training))),
                ("attrs", print_attrs(&call.attrs)),
            ];
            ("op", fields.into_iter().chain(float).map(|(key, value)| (key.to_owned(), value)).collect())
        }
        Kind::Written(written) => ("written", vec![("text".to_owned(), Datum::Text(written.site.text.clone()))]),
    };
    (head.to_owned(), fields)
}

/// What is chosen by default does not print.
fn memory(memory: Memory) -> Option<(String, Datum)> {
    (memory != Memory::default()).then(|| ("memory".to_owned(), Datum::word(memory.name())))
}

pub(super) fn precision(precision: Precision) -> Option<(String, Datum)> {
    (precision != Precision::default()).then(|| ("precision".to_owned(), Datum::word(precision.name())))
}

fn print_how(how: &How) -> Fields {
    let mut fields = vec![("how".to_owned(), Datum::word(how.name()))];
    let wanted = |wrt: &[usize]| ("wrt".to_owned(), Datum::numbers(wrt.iter().copied()));
    match how {
        How::Map { mapped } => fields.push(("mapped".to_owned(), Datum::number(*mapped as i64))),
        How::Gradient { wrt, value } => {
            fields.extend([wanted(wrt), ("value".to_owned(), Datum::Scalar(Scalar::Bool(*value)))]);
        }
        How::Jvp { wrt } => fields.push(("wrt".to_owned(), Datum::number(*wrt as i64))),
        How::Vjp { wrt, cotangents } => {
            fields.extend([wanted(wrt), ("cotangents".to_owned(), Datum::number(*cotangents as i64))]);
        }
        How::Jacobian { wrt } => fields.push(wanted(wrt)),
    }
    fields
}

/// Absent attributes do not print.
fn print_attrs(attrs: &Attrs) -> Datum {
    let given = attrs.0.iter().filter_map(|(name, value)| Some((name.to_string(), print_attr(value)?)));
    Datum::Record(given.collect())
}

fn print_attr(attr: &Attr) -> Option<Datum> {
    let scalar = |x| Some(Datum::Scalar(x));
    match attr {
        Attr::Absent => None,
        Attr::Int(dim) => Some(Datum::Dim(dim.clone())),
        Attr::Float(x) => scalar(Scalar::f32(*x)),
        Attr::Bool(x) => scalar(Scalar::Bool(*x)),
        Attr::Text(text) => Some(Datum::Text(text.clone())),
        Attr::List(list) => Some(Datum::List(list.iter().filter_map(print_attr).collect())),
    }
}
