//! Text to models, functions and graphs. Spans become the call site.

use super::datum::{Datum, Fields, Read};
use super::lex::{Cursor, Token};
use super::{field_names, prims};
use crate::ir::attr::{Attr, Attrs};
use crate::ir::graph::{Call, ForeignGradient, GradientBy, Taken};
use crate::ir::model::{
    Argument, Binder, Effect, ForeignFn, Init, NamedDim, Results, Signature, State, StateId, Turn, Wgsl,
};
use crate::ir::precision::{Precision, Storage};
use crate::ir::prim::Scalar;
use crate::ir::{
    Branch, DType, Foreign, Function, Graph, How, Kind, Memory, Mode, Model, Node, Param, ParamId, Repeat, Transform,
    Type, Value,
};
use proc_macro2::{Ident, Span, TokenStream};
use std::str::FromStr;

impl FromStr for Model {
    type Err = String;
    fn from_str(text: &str) -> Result<Model, String> {
        let mut cursor = Cursor::over(text)?;
        let model = model(&mut cursor)?;
        cursor.end()?;
        Ok(model)
    }
}

impl FromStr for Function {
    type Err = String;
    fn from_str(text: &str) -> Result<Function, String> {
        let mut cursor = Cursor::over(text)?;
        let function = function(&mut cursor)?;
        cursor.end()?;
        Ok(function)
    }
}

impl FromStr for Graph {
    type Err = String;
    fn from_str(text: &str) -> Result<Graph, String> {
        let mut cursor = Cursor::over(text)?;
        let graph = graph(&mut cursor)?;
        cursor.end()?;
        Ok(graph)
    }
}

fn ident(word: &str) -> Result<Ident, String> {
    syn::parse_str(word).map_err(|_| format!("`{word}` is not a name"))
}

fn tokens(text: &str) -> Result<TokenStream, String> {
    text.parse().map_err(|_| format!("tokens {text:?}"))
}

fn attributes(fields: &Fields) -> Result<Vec<TokenStream>, String> {
    match Read(fields).find("attrs") {
        None => Ok(vec![]),
        Some(_) => Read(fields)
            .list("attrs", |d| match d {
                Datum::Text(text) => Some(tokens(text)),
                Datum::Dim(_) | Datum::Scalar(_) | Datum::List(_) | Datum::Record(_) => None,
            })?
            .into_iter()
            .collect(),
    }
}

fn model(cursor: &mut Cursor) -> Result<Model, String> {
    if !cursor.keyword("model") {
        return cursor.fail("no model");
    }
    let name = ident(&cursor.word()?)?;
    let fields = cursor.fields()?;
    let vis =
        if Read(&fields).find("vis").is_some() { tokens(Read(&fields).text("vis")?)? } else { TokenStream::new() };
    let (attrs, dims, memory) = (attributes(&fields)?, dims(&fields)?, memory(&Read(&fields))?);
    let precision = precision(&Read(&fields))?;
    let storage = storage(&Read(&fields))?;
    let deterministic = match Read(&fields).find("deterministic") {
        Some(_) => Read(&fields).flag("deterministic")?.then(Span::call_site),
        None => None,
    };
    let mut model = Model {
        name,
        vis,
        attrs,
        memory,
        precision,
        storage,
        deterministic,
        params: vec![],
        states: vec![],
        dims,
        functions: vec![],
        private: vec![],
        origins: vec![],
        sketches: vec![],
        foreign: vec![],
    };
    cursor.expect('{')?;
    while cursor.keyword("param") {
        model.params.push(param(cursor)?);
    }
    while cursor.keyword("state") {
        model.states.push(state(cursor)?);
    }
    while cursor.keyword("foreign") {
        model.foreign.push(foreign(cursor)?);
    }
    while !cursor.sign('}') {
        model.functions.push(function(cursor)?);
    }
    Ok(model)
}

fn foreign(cursor: &mut Cursor) -> Result<ForeignFn, String> {
    let mut one = ForeignFn { name: cursor.word()?, args: vec![], results: vec![], wgsl: None };
    cursor.expect('(')?;
    while !cursor.sign(')') {
        let name = cursor.word()?;
        cursor.expect(':')?;
        one.args.push((name, cursor.ty()?));
        cursor.sign(',');
    }
    one.results = types(cursor)?;
    let fields = cursor.fields()?;
    let read = Read(&fields);
    if read.find("wgsl").is_some() {
        one.wgsl = Some(Wgsl { text: read.text("wgsl")?.to_owned(), file: None });
    }
    Ok(one)
}

/// The default where nothing is said.
fn memory(read: &Read<'_>) -> Result<Memory, String> {
    match read.find("memory") {
        None => Ok(Memory::default()),
        Some(_) => {
            let name = read.word("memory")?;
            Memory::from_name(&name).ok_or_else(|| format!("no memory `{name}`"))
        }
    }
}

fn storage(read: &Read<'_>) -> Result<Option<Storage>, String> {
    if read.find("parameters").is_none() {
        return Ok(None);
    }
    let name = read.word("parameters")?;
    Storage::from_name(&name).map(Some).ok_or_else(|| format!("no parameters of `{name}`"))
}

pub(super) fn precision(read: &Read<'_>) -> Result<Precision, String> {
    match read.find("precision") {
        None => Ok(Precision::default()),
        Some(_) => {
            let name = read.word("precision")?;
            Precision::from_name(&name).ok_or_else(|| format!("no precision `{name}`"))
        }
    }
}

fn param(cursor: &mut Cursor) -> Result<Param, String> {
    let name = cursor.text()?;
    cursor.expect(':')?;
    let ty = cursor.ty()?;
    let fields = cursor.fields()?;
    let read = Read(&fields);
    let init = match read.get("init")? {
        Datum::Record(init) => parse_init(Read(init))?,
        other => return cursor.fail(format!("init={other}")),
    };
    let stack = read.indices("stack")?.into_iter().map(|n| n as i64).collect();
    let trained = read.find("trained").is_none();
    let scales = match read.find("scales") {
        Some(_) => Some(ParamId(read.index("scales")? as u32)),
        None => None,
    };
    let fields = field_names(if read.find("fields").is_some() { read.text("fields")? } else { &name });
    let offset = read.index("offset")?;
    let turns = if read.find("turns").is_some() { turns(read.get("turns")?)? } else { vec![] };
    Ok(Param { name, fields, ty, stack, turns, init, trained, scales, offset, span: Span::call_site() })
}

/// The names and fields of the parameters of turns.
fn turns(datum: &Datum) -> Result<Vec<Turn>, String> {
    let Datum::List(texts) = datum else { return Err(format!("turns={datum}")) };
    let turn = |pair: &[Datum]| match pair {
        [Datum::Text(name), Datum::Text(field)] => Ok(Turn { name: name.clone(), field: field.clone() }),
        _ => Err(format!("turns={datum}")),
    };
    texts.chunks(2).map(turn).collect()
}

fn state(cursor: &mut Cursor) -> Result<State, String> {
    let name = cursor.text()?;
    cursor.expect(':')?;
    let ty = cursor.ty()?;
    let fields = cursor.fields()?;
    let stack = Read(&fields).indices("stack")?.into_iter().map(|n| n as i64).collect();
    Ok(State { name, ty, stack, span: Span::call_site() })
}

fn parse_init(read: Read<'_>) -> Result<Init, String> {
    let number = || read.scalar("number").map(Scalar::as_f64);
    Ok(match read.word("of")?.as_str() {
        "zeros" => Init::Zeros,
        "ones" => Init::Ones,
        "constant" => Init::Constant(number()?),
        "normal" => Init::Normal { std: number()? },
        "uniform" => Init::Uniform { bound: number()? },
        "trunc_normal" => Init::TruncNormal { std: number()? },
        "orthogonal" => Init::Orthogonal { gain: number()? },
        other => return Err(format!("no initialiser `{other}`")),
    })
}

fn function(cursor: &mut Cursor) -> Result<Function, String> {
    if !cursor.keyword("function") {
        return cursor.fail("no function");
    }
    let name = ident(&cursor.word()?)?;
    let mut args = vec![];
    cursor.expect('(')?;
    while !cursor.sign(')') {
        let name = ident(&cursor.word()?)?;
        cursor.expect(':')?;
        args.push(Argument { name, ty: cursor.ty()? });
        cursor.sign(',');
    }
    let fields = cursor.fields()?;
    cursor.expect('{')?;
    let graph = graph(cursor)?;
    let mut effects = vec![];
    while !cursor.sign('}') {
        effects.push(effect(cursor)?);
    }
    let (mode, results, frozen) = (mode(&fields)?, results(&fields)?, frozen(&fields)?);
    let in_session = Read(&fields).find("in_session").is_some();
    let (attrs, dims) = (attributes(&fields)?, dims(&fields)?);
    let signature = Signature::default();
    Ok(Function { name, signature, attrs, mode, args, dims, results, frozen, in_session, effects, graph })
}

fn mode(fields: &Fields) -> Result<Mode, String> {
    if Read(fields).find("train").is_none() {
        return Ok(Mode::Evaluate);
    }
    Ok(Mode::Train(Read(fields).word("train")?.into()))
}

fn frozen(fields: &Fields) -> Result<Vec<ParamId>, String> {
    let read = Read(fields);
    let indices = if read.find("frozen").is_some() { read.indices("frozen")? } else { vec![] };
    Ok(indices.into_iter().map(|k| ParamId(k as u32)).collect())
}

fn dims(fields: &Fields) -> Result<Vec<NamedDim>, String> {
    let dim = |read: Read<'_>| {
        let bound = read.find("bound").map(|_| read.int("bound")).transpose()?;
        let binder = match read.find("argument") {
            Some(_) => Binder::Argument(read.index("argument")?),
            None if read.find("session").is_some() => Binder::Session,
            None => Binder::Extents,
        };
        Ok(NamedDim { name: read.word("name")?, bound, binder })
    };
    if Read(fields).find("dims").is_some() { Read(fields).records("dims", dim) } else { Ok(vec![]) }
}

fn results(fields: &Fields) -> Result<Results, String> {
    let read = Read(fields);
    if read.find("results").is_none() {
        return Ok(Results::One);
    }
    let word = read.word("results")?;
    if read.find("names").is_none() {
        return Ok(Results::Tuple);
    }
    let names = read.dims("names")?;
    let name = |d: &crate::ir::Dim| ident(d.as_name().unwrap_or_default());
    Ok(Results::Struct(ident(&word)?, names.iter().map(name).collect::<Result<_, _>>()?))
}

fn effect(cursor: &mut Cursor) -> Result<(Effect, Value), String> {
    if !cursor.keyword("effect") {
        return cursor.fail(format!("an effect, not {:?}", cursor.peek()));
    }
    let word = cursor.word()?;
    let fields = cursor.fields()?;
    let index = || Read(&fields).index("index");
    let effect = match word.as_str() {
        "gradient" => Effect::Gradient(ParamId(index()? as u32)),
        "weights" => Effect::Weights,
        "companion" => Effect::Companion(ParamId(index()? as u32)),
        "state" => Effect::State(index()?),
        "updated" => Effect::Updated,
        "stored" => Effect::Stored(StateId(index()? as u32)),
        other => return cursor.fail(format!("no effect `{other}`")),
    };
    cursor.expect('=')?;
    Ok((effect, cursor.value()?))
}

fn graph(cursor: &mut Cursor) -> Result<Graph, String> {
    let mut graph = Graph::default();
    while let Some(Token::Value(_)) = cursor.peek() {
        let value = cursor.value()?;
        if value.0 as usize != graph.nodes.len() {
            return cursor.fail(format!("%{} where %{} comes next", value.0, graph.nodes.len()));
        }
        let node = node(cursor)?;
        graph.nodes.push(node);
    }
    if !cursor.keyword("return") {
        return cursor.fail(format!("no return before {:?}", cursor.peek()));
    }
    graph.outputs = cursor.values()?;
    Ok(graph)
}

fn node(cursor: &mut Cursor) -> Result<Node, String> {
    let ty = cursor.sign(':').then(|| cursor.ty()).transpose()?;
    cursor.expect('=')?;
    let head = cursor.word()?;
    cursor.expect('(')?;
    let args = cursor.values()?;
    cursor.expect(')')?;
    let fields = cursor.fields()?;
    let kind = match kind(cursor, &head, &fields) {
        Ok(kind) => kind,
        Err(message) if message.starts_with("line ") => return Err(message),
        Err(message) => return cursor.fail(message),
    };
    let mut name = None;
    if let Some(Token::Note(note)) = cursor.peek() {
        name = Some(note.clone());
        cursor.next();
    }
    Ok(Node { kind, args, ty, name, span: Span::call_site() })
}

fn kind(cursor: &mut Cursor, head: &str, fields: &Fields) -> Result<Kind, String> {
    let read = Read(fields);
    Ok(match head {
        "input" => Kind::Input(read.index("index")?),
        "param" => Kind::Param(ParamId(read.index("index")? as u32)),
        "state" => Kind::State(StateId(read.index("index")? as u32)),
        "source" => Kind::Source(prims::parse_source(fields)?),
        "result" => Kind::Result(read.index("index")?),
        "counter" => Kind::Counter(read.index("depth")?),
        "stop_gradient" => Kind::StopGradient,
        "repeat" => Kind::Repeat(Box::new(Repeat {
            count: read.dim("count")?,
            reverse: read.flag("reverse")?,
            carried: read.index("carried")?,
            stacked: read.index("stacked")?,
            memory: memory(&read)?,
            body: body(cursor)?,
        })),
        "foreign" => {
            let results = types(cursor)?;
            let gradient = match (read.find("gradient"), read.find("takes")) {
                (None, None) => None,
                (None, Some(_)) => Some(ForeignGradient { by: GradientBy::Body(body(cursor)?), takes: taken(&read)? }),
                (Some(_), _) => {
                    let by = GradientBy::Foreign(read.index("gradient")?);
                    Some(ForeignGradient { by, takes: taken(&read)? })
                }
            };
            Kind::Foreign(Box::new(Foreign { function: read.index("function")?, results, gradient }))
        }
        "branch" => Kind::Branch(Box::new(Branch { cases: cases(cursor)? })),
        "transform" => Kind::Transform(Box::new(Transform { how: parse_how(&read)?, body: body(cursor)? })),
        "op" => Kind::Op(Call {
            op: read.word("name")?.into(),
            attrs: parse_attrs(read.get("attrs")?)?,
            callee: read.text("callee")?.to_owned(),
            training: read.flag("training")?,
            float: match read.find("float") {
                None => DType::F32,
                Some(_) => {
                    let name = read.word("float")?;
                    DType::from_name(&name).ok_or_else(|| format!("no type `{name}`"))?
                }
            },
        }),
        "written" => return Err("what the user wrote does not parse from this form".into()),
        primitive => Kind::Prim(prims::parse(primitive, fields)?),
    })
}

/// `{ … }`
fn body(cursor: &mut Cursor) -> Result<Graph, String> {
    cursor.expect('{')?;
    let body = graph(cursor)?;
    cursor.expect('}')?;
    Ok(body)
}

fn parse_how(read: &Read<'_>) -> Result<How, String> {
    Ok(match read.word("how")?.as_str() {
        "map" => How::Map { mapped: read.index("mapped")? },
        "gradient" => How::Gradient { wrt: read.indices("wrt")?, value: read.flag("value")? },
        "jvp" => How::Jvp { wrt: read.index("wrt")? },
        "vjp" => How::Vjp { wrt: read.indices("wrt")?, cotangents: read.index("cotangents")? },
        "jacobian" => How::Jacobian { wrt: read.indices("wrt")? },
        other => return Err(format!("no transform `{other}`")),
    })
}

/// `{ case { … } case { … } }`
fn cases(cursor: &mut Cursor) -> Result<Vec<Graph>, String> {
    let mut cases = vec![];
    cursor.expect('{')?;
    while cursor.keyword("case") {
        cases.push(body(cursor)?);
    }
    cursor.expect('}')?;
    Ok(cases)
}

/// `(f32[B, 2], u32)`
fn types(cursor: &mut Cursor) -> Result<Vec<Type>, String> {
    let mut types = vec![];
    cursor.expect('(')?;
    while !cursor.sign(')') {
        types.push(cursor.ty()?);
        cursor.sign(',');
    }
    Ok(types)
}

/// What a gradient is given.
fn taken(read: &Read<'_>) -> Result<Vec<Taken>, String> {
    let one = |word: &str| match (word, word.strip_prefix("argument").map(str::parse)) {
        ("result", _) => Ok(Taken::Result),
        ("cotangent", _) => Ok(Taken::Cotangent),
        (_, Some(Ok(k))) => Ok(Taken::Argument(k)),
        _ => Err(format!("nothing is `{word}`")),
    };
    read.dims("takes")?.iter().map(|d| one(d.as_name().unwrap_or_default())).collect()
}

/// The attributes that have a value.
fn parse_attrs(datum: &Datum) -> Result<Attrs, String> {
    let Datum::Record(fields) = datum else { return Err(format!("attrs={datum}")) };
    let given = fields.iter().map(|(name, datum)| Ok((name.clone().into(), parse_attr(datum)?)));
    Ok(Attrs(given.collect::<Result<_, String>>()?))
}

fn parse_attr(datum: &Datum) -> Result<Attr, String> {
    Ok(match datum {
        Datum::Dim(dim) => Attr::Int(dim.clone()),
        Datum::Scalar(Scalar::Float(DType::F32, x)) => Attr::Float(*x),
        Datum::Scalar(Scalar::Bool(x)) => Attr::Bool(*x),
        Datum::Text(text) => Attr::Text(text.clone()),
        Datum::List(list) => Attr::List(list.iter().map(parse_attr).collect::<Result<_, _>>()?),
        other @ (Datum::Scalar(Scalar::Float(..) | Scalar::Int(..)) | Datum::Record(_)) => {
            return Err(format!("{other} is no attribute"));
        }
    })
}
