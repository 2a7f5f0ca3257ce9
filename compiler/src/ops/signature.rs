//! Signatures: an op's signature text and the types of a call's arguments in, bindings or the first mistake out.
//!
//! The syntax is the one that [`Op::signature`](super::Op::signature) describes. Texts that do not parse are
//! mistakes of an op's file, which the tests of the item list find.

use super::{Op, OpError};
use crate::diag::Code;
use crate::ir::precision::Precision;
use crate::ir::{Category, DType, Dim, Type};
use std::collections::BTreeMap;

/// A parsed signature.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    /// The arguments, in order.
    pub args: Vec<Slot>,
    /// The results; `None` where the body alone knows them (`*`).
    pub results: Option<Vec<Pattern>>,
    /// The class of results that the body alone knows, where they have one (`float*`).
    pub class: Option<Class>,
}

/// An argument.
#[derive(Clone, PartialEq, Debug)]
pub struct Slot {
    /// Its name.
    pub name: String,
    /// Which types it takes.
    pub pattern: Pattern,
    /// How often it may stand.
    pub times: Times,
}

/// How often an argument may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// Once.
    Once,
    /// Once or not at all (`?`).
    Optional,
    /// Once by its name, or not at all (`!`).
    Named,
    /// Once or more (`*`).
    Many,
}

impl Times {
    /// Whether the argument may be absent.
    pub fn may_lack(self) -> bool {
        matches!(self, Times::Optional | Times::Named)
    }
}

/// Which types fit.
#[derive(Clone, PartialEq, Debug)]
pub struct Pattern {
    /// The element class.
    pub class: Class,
    /// The axes.
    pub axes: Axes,
}

/// Which element types fit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Those through which derivatives flow.
    Float,
    /// Integers.
    Int,
    /// Floats and integers that can be negative.
    Signed,
    /// All but bool.
    Number,
    /// Of a result: the type of the numbers, or of integers in memory that of 32 bits.
    Wide,
    /// All.
    Any,
    /// All, and another one for each argument.
    Each,
    /// One.
    Only(DType),
}

/// Which shapes fit.
#[derive(Clone, PartialEq, Debug)]
pub enum Axes {
    /// Every shape (`...`).
    Free,
    /// These axes, with any number of axes between `lead` and `last` where `rest` (`..`) stands.
    Of {
        /// The first axes.
        lead: Vec<Axis>,
        /// Whether others may follow.
        rest: bool,
        /// The last axes, where `rest` stands.
        last: Vec<Axis>,
    },
}

/// Which extents fit.
#[derive(Clone, PartialEq, Debug)]
pub enum Axis {
    /// This one.
    Const(i64),
    /// Any, but the same wherever the name stands.
    Named(String),
    /// Any (`_`).
    Any,
}

/// What a call binds the names of a signature to.
#[derive(Clone, Default, Debug)]
pub struct Bindings {
    /// The named extents, each with the argument that bound it.
    pub extents: BTreeMap<String, (Dim, usize)>,
    /// The axes that `..` stands for, with the argument that bound them.
    pub rest: Option<(Vec<Dim>, usize)>,
    /// The element type of each class, with the argument that bound it.
    pub classes: BTreeMap<Class, (DType, usize)>,
}

/// Checks a call of a function, or of a layer whose parameters (`own`, by name) are the last of the types, in a model whose
/// parameters are of the type `float`.
///
/// # Errors
/// `wrong-arity`, `wrong-dtype`, `mixed-dtype`, `wrong-rank`, `wrong-features` where an argument does not suit
/// the layer's parameters, and `shape-mismatch` where two arguments do not suit each other.
pub fn check(op: &Op, args: &[Type], own: &[&str], float: DType) -> Result<Bindings, OpError> {
    let signature = Signature::of(op);
    let given = args.len() - own.len().min(args.len());
    signature.check_count(given, own)?;
    let mut bindings = Bindings::default();
    for (index, ty) in args.iter().enumerate() {
        // A layer need not have all parameters that its op can have.
        let named = index.checked_sub(given).and_then(|k| signature.args.iter().find(|slot| slot.name == own[k]));
        let Some(slot) = named.or_else(|| signature.slot_for(index, ty)) else {
            unreachable!("the count of arguments was checked")
        };
        bindings.bind(&slot.pattern, ty, Place { index, given, types: args, float })?;
    }
    Ok(bindings)
}

impl Signature {
    /// The signature of an op.
    pub fn of(op: &Op) -> Signature {
        match Signature::parse(op.signature) {
            Ok(signature) => signature,
            Err(why) => unreachable!("the item tests parse every signature: {why}"),
        }
    }

    /// Reads a signature.
    ///
    /// # Errors
    /// Says what does not parse.
    pub fn parse(text: &str) -> Result<Signature, String> {
        let (args, results) = text.split_once("->").ok_or_else(|| format!("`{text}` has no `->`"))?;
        let inside = args
            .trim()
            .strip_prefix('(')
            .and_then(|a| a.strip_suffix(')'))
            .ok_or_else(|| format!("the arguments of `{text}` stand in no parentheses"))?;
        let args = split(inside).into_iter().map(Slot::parse).collect::<Result<Vec<_>, _>>()?;
        let results = results.trim();
        let patterns = match results.strip_prefix('(').and_then(|r| r.strip_suffix(')')) {
            Some(list) => Some(split(list).into_iter().map(Pattern::parse).collect::<Result<Vec<_>, _>>()?),
            None if results.ends_with('*') => None,
            None => Some(vec![Pattern::parse(results)?]),
        };
        let class = results.strip_suffix('*').filter(|class| !class.is_empty()).map(Class::parse).transpose()?;
        Ok(Signature { args, results: patterns, class })
    }

    /// The slot of the argument at that position; a repeated last one takes all that follow.
    pub fn slot(&self, index: usize) -> Option<&Slot> {
        self.args.get(index).or_else(|| self.args.last().filter(|slot| slot.times == Times::Many))
    }

    /// The slot of the argument at that position where those before a named one may lack.
    fn slot_for(&self, index: usize, ty: &Type) -> Option<&Slot> {
        let slot = self.slot(index)?;
        let lacks = slot.times == Times::Optional && !slot.pattern.has_rank(ty.rank());
        let mut named = self.args.iter().filter(|other| other.times == Times::Named);
        named.find(|other| lacks && other.pattern.has_rank(ty.rank())).or(Some(slot))
    }

    /// The names of the arguments that a call must give: `x, weight`.
    pub fn usage(&self, own: &[&str]) -> String {
        let names = self.args.iter().filter(|slot| !slot.times.may_lack()).map(|slot| slot.name.as_str());
        names.filter(|name| !own.contains(name)).collect::<Vec<_>>().join(", ")
    }

    fn check_count(&self, given: usize, own: &[&str]) -> Result<(), OpError> {
        let asked = self.args.iter().filter(|slot| !own.contains(&slot.name.as_str()));
        let least = asked.clone().filter(|slot| !slot.times.may_lack()).count();
        // What a layer has no parameter for, the caller cannot give either.
        let most = match (self.args.iter().any(|slot| slot.times == Times::Many), own.is_empty()) {
            (true, _) => usize::MAX,
            (false, true) => self.args.len(),
            (false, false) => least,
        };
        if (least..=most).contains(&given) {
            return Ok(());
        }
        let takes = match (least, most) {
            (1, 1) => "1 argument".to_owned(),
            (1, usize::MAX) => "at least 1 argument".to_owned(),
            (n, usize::MAX) => format!("at least {n} arguments"),
            (n, m) if n == m => format!("{n} arguments"),
            (n, m) if n + 1 == m => format!("{n} or {m} arguments"),
            (n, m) => format!("{n} to {m} arguments"),
        };
        let were = if given == 1 { "was" } else { "were" };
        Err(OpError::new(Code::WrongArity, format!("`{{callee}}` takes {takes}, but {given} {were} given"))
            .help(format!("call it as `{{callee}}({})`", self.usage(own))))
    }
}

/// Splits at the commas outside of brackets.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (vec![], 0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

impl Slot {
    fn parse(text: &str) -> Result<Slot, String> {
        let (name, pattern) = text.split_once(':').ok_or_else(|| format!("`{text}` has no type"))?;
        let (pattern, times) = match pattern.trim() {
            p if p.ends_with('?') => (&p[..p.len() - 1], Times::Optional),
            p if p.ends_with('!') => (&p[..p.len() - 1], Times::Named),
            p if p.ends_with('*') => (&p[..p.len() - 1], Times::Many),
            p => (p, Times::Once),
        };
        Ok(Slot { name: name.trim().to_owned(), pattern: Pattern::parse(pattern)?, times })
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Pattern, String> {
        let (class, axes) = match text.split_once('[') {
            Some((class, axes)) => (class, axes.strip_suffix(']').ok_or_else(|| format!("`{text}` has no `]`"))?),
            None => (text, ""),
        };
        let class = Class::parse(class)?;
        if axes.trim() == "..." {
            return Ok(Pattern { class, axes: Axes::Free });
        }
        let (mut lead, mut last, mut rest) = (vec![], vec![], false);
        for axis in split(axes) {
            match axis {
                ".." if rest => return Err(format!("`{text}` has `..` twice")),
                ".." => rest = true,
                _ if rest => last.push(Axis::parse(axis)?),
                _ => lead.push(Axis::parse(axis)?),
            }
        }
        Ok(Pattern { class, axes: Axes::Of { lead, rest, last } })
    }

    /// Whether tensors of that rank fit.
    fn has_rank(&self, rank: usize) -> bool {
        match &self.axes {
            Axes::Free => true,
            Axes::Of { lead, rest, last } => {
                let fixed = lead.len() + last.len();
                rank == fixed || (*rest && rank > fixed)
            }
        }
    }

    /// The axes as a message shows them: `[batch, channels, ..]`.
    fn describe(&self) -> String {
        match &self.axes {
            Axes::Free => "any shape".into(),
            Axes::Of { lead, rest: false, .. } if lead.is_empty() => "a scalar".into(),
            Axes::Of { lead, rest, last } => {
                let show = |axes: &[Axis]| axes.iter().map(Axis::word).collect::<Vec<_>>();
                let middle = if *rest { vec!["..".to_owned()] } else { vec![] };
                format!("[{}]", [show(lead), middle, show(last)].concat().join(", "))
            }
        }
    }
}

impl Axis {
    fn parse(text: &str) -> Result<Axis, String> {
        match text {
            "_" => Ok(Axis::Any),
            _ if text.starts_with(|c: char| c.is_ascii_uppercase()) => Ok(Axis::Named(text.to_owned())),
            _ => text.parse().map(Axis::Const).map_err(|_| format!("`{text}` is no extent")),
        }
    }

    fn word(&self) -> String {
        match self {
            Axis::Const(n) => n.to_string(),
            Axis::Named(name) if name.len() > 1 => name.to_lowercase(),
            Axis::Named(name) => name.clone(),
            Axis::Any => "_".into(),
        }
    }
}

impl Class {
    fn parse(text: &str) -> Result<Class, String> {
        Ok(match text.trim() {
            "float" => Class::Float,
            "int" => Class::Int,
            "signed" => Class::Signed,
            "number" => Class::Number,
            "wide" => Class::Wide,
            "any" => Class::Any,
            "each" => Class::Each,
            name => Class::Only(DType::from_name(name).ok_or_else(|| format!("`{name}` is no element class"))?),
        })
    }

    fn admits(self, dtype: DType) -> bool {
        match self {
            Class::Float => dtype.is_float(),
            Class::Int => dtype.is_integer(),
            Class::Signed => matches!(dtype.category(), Category::Float | Category::Signed),
            Class::Number | Class::Wide => dtype != DType::Bool,
            Class::Any | Class::Each => true,
            Class::Only(only) => dtype == only,
        }
    }

    /// Whether arguments of it are computed with, rather than only moved.
    pub fn computes(self) -> bool {
        match self {
            Class::Float | Class::Int | Class::Signed | Class::Number | Class::Wide | Class::Each | Class::Only(_) => {
                true
            }
            Class::Any => false,
        }
    }

    /// What a message calls it, and the method that converts to it, in a model whose parameters are of that type.
    fn wanted(self, float: DType) -> (String, &'static str) {
        match self {
            Class::Float | Class::Number | Class::Wide => (float.to_string(), float.name()),
            Class::Int => ("integers".into(), "u32"),
            Class::Signed => ("floats and signed integers".into(), "i32"),
            Class::Any | Class::Each => ("any type".into(), float.name()),
            Class::Only(dtype) => (dtype.to_string(), dtype.name()),
        }
    }
}

/// Where an argument stands in a call.
#[derive(Clone, Copy)]
struct Place<'t> {
    index: usize,
    /// How many arguments the user gave; the others are a layer's parameters.
    given: usize,
    types: &'t [Type],
    /// The type of the model's parameters.
    float: DType,
}

/// The mistake of an argument of another type than a layer's parameters.
fn beside_parameters(arg: usize, ty: &Type, parameters: DType) -> OpError {
    let message = format!("the parameters of `{{callee}}` are {parameters}, but {{{arg}}} is {ty}");
    let convert = format!("convert it: `{{{arg}}}.{parameters}()`");
    let is_precision = Precision::from_name(ty.dtype.name()).is_some_and(|precision| precision.float() == ty.dtype);
    let or = match is_precision {
        true => format!(", or let the model's parameters be {}: `#[model(precision = {})]`", ty.dtype, ty.dtype),
        false => String::new(),
    };
    OpError::new(Code::MixedDtype, message).arg(arg).help(convert + &or)
}

impl Bindings {
    fn bind(&mut self, pattern: &Pattern, ty: &Type, place: Place<'_>) -> Result<(), OpError> {
        self.bind_class(pattern.class, ty, place)?;
        let Axes::Of { lead, rest, last } = &pattern.axes else {
            return Ok(());
        };
        if !pattern.has_rank(ty.rank()) {
            let message = format!("`{{callee}}` takes {}, but {{{}}} is {ty}", pattern.describe(), place.index);
            return Err(OpError::new(Code::WrongRank, message).arg(place.index));
        }
        let tail = ty.rank() - last.len();
        let ends = lead.iter().zip(&ty.shape).chain(last.iter().zip(&ty.shape[tail..]));
        for (axis, extent) in ends {
            self.bind_extent(axis, extent, place)?;
        }
        if *rest {
            self.bind_rest(&ty.shape[lead.len()..tail], place)?;
        }
        Ok(())
    }

    fn bind_class(&mut self, class: Class, ty: &Type, place: Place<'_>) -> Result<(), OpError> {
        let (dtype, index) = (ty.dtype, place.index);
        if !class.admits(dtype) {
            let (wanted, convert) = class.wanted(place.float);
            let message = format!("`{{callee}}` takes {wanted}, but {{{index}}} is {ty}");
            let help = match (class, dtype) {
                (Class::Only(DType::Bool), _) => format!("compare it: `{{{index}}} != 0`"),
                (Class::Signed, DType::U64) => format!("convert it: `{{{index}}}.i64()`"),
                _ => format!("convert it: `{{{index}}}.{convert}()`"),
            };
            return Err(OpError::new(Code::WrongDtype, message).arg(index).help(help));
        }
        if class == Class::Each {
            return Ok(());
        }
        let (bound, first) = *self.classes.entry(class).or_insert((dtype, index));
        if bound == dtype {
            return Ok(());
        }
        if first < place.given && index >= place.given {
            return Err(beside_parameters(first, &place.types[first], dtype));
        }
        // Integers are converted to floats and floats to wider ones, never the other way: that would lose digits in silence.
        let size = |dtype: DType| (dtype.is_float(), dtype.bits());
        let (to, from) = if dtype.is_float() && size(dtype) >= size(bound) { (dtype, first) } else { (bound, index) };
        let message = format!(
            "`{{callee}}` needs one element type, but {{{first}}} is {} and {{{index}}} is {ty}",
            place.types[first]
        );
        Err(OpError::new(Code::MixedDtype, message).arg(index).help(format!("convert it: `{{{from}}}.{to}()`")))
    }

    fn bind_extent(&mut self, axis: &Axis, extent: &Dim, place: Place<'_>) -> Result<(), OpError> {
        let index = place.index;
        let name = match axis {
            Axis::Any => return Ok(()),
            Axis::Const(n) if extent.is(*n) => return Ok(()),
            Axis::Const(n) => {
                let message = format!("`{{callee}}` takes an axis of {n}, but {{{index}}} is {}", place.types[index]);
                return Err(OpError::new(Code::ShapeMismatch, message).arg(index));
            }
            Axis::Named(name) => name,
        };
        let (bound, first) = self.extents.entry(name.clone()).or_insert((extent.clone(), index)).clone();
        if bound == *extent {
            return Ok(());
        }
        let word = if name.len() > 1 { name.to_lowercase() } else { "elements along that axis".into() };
        if first < place.given && index >= place.given {
            let word = if extent.is(1) { word.trim_end_matches('s') } else { &word };
            let message = format!("`{{callee}}` takes {extent} {word}, but {{{first}}} has {bound}");
            return Err(OpError::new(Code::WrongFeatures, message).arg(first));
        }
        let message = format!("{{{first}}} has {bound} {word}, but {{{index}}} has {extent}");
        Err(OpError::new(Code::ShapeMismatch, message).arg(index))
    }

    fn bind_rest(&mut self, axes: &[Dim], place: Place<'_>) -> Result<(), OpError> {
        let index = place.index;
        let (bound, first) = self.rest.get_or_insert_with(|| (axes.to_vec(), index)).clone();
        if bound == axes {
            return Ok(());
        }
        let message = format!(
            "`{{callee}}` needs equal shapes, but {{{first}}} is {} and {{{index}}} is {}",
            place.types[first], place.types[index]
        );
        Err(OpError::new(Code::ShapeMismatch, message).arg(index))
    }

    /// Whether a result that the body gave is what the signature promises.
    pub fn admits(&self, pattern: &Pattern, ty: &Type) -> bool {
        let mut bindings = self.clone();
        let types = vec![ty.clone(); 1 + self.classes.values().map(|c| c.1).max().unwrap_or(0).max(64)];
        bindings.bind(pattern, ty, Place { index: 0, given: 1, types: &types, float: DType::F32 }).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::op;

    fn ty(dtype: DType, shape: &[i64]) -> Type {
        Type::new(dtype, shape.iter().map(|&n| Dim::from(n)).collect::<Vec<_>>())
    }

    fn f32(shape: &[i64]) -> Type {
        ty(DType::F32, shape)
    }

    fn texts(error: OpError, args: &[&str]) -> (Code, String, Option<String>) {
        let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
        let (message, help) = error.render("self.output", &args);
        (error.code, message, help)
    }

    #[test]
    fn it_parses_what_it_documents() {
        let s = Signature::parse("(x: float[.., K], y: any[...]*, z: u32[3, _]?) -> (float[..], bool)").unwrap();
        assert_eq!(s.args.len(), 3);
        assert_eq!(s.args[1].times, Times::Many);
        assert_eq!(s.args[2].pattern.class, Class::Only(DType::U32));
        assert_eq!(s.results.unwrap().len(), 2);
        assert!(Signature::parse("(x: float[.., K) -> *").is_err());
        assert!(Signature::parse("(x: f8) -> *").is_err());
        assert_eq!(Signature::parse("() -> *").unwrap().args, vec![]);
    }

    #[test]
    fn a_layer_names_its_features() {
        let linear = op("linear").unwrap();
        let error =
            check(linear, &[f32(&[5, 128]), f32(&[10, 64]), f32(&[10])], &["weight", "bias"], DType::F32).unwrap_err();
        assert_eq!(
            texts(error, &["x"]),
            (Code::WrongFeatures, "`self.output` takes 64 features, but `x` has 128".into(), None)
        );
        assert!(check(linear, &[f32(&[5, 64]), f32(&[10, 64]), f32(&[10])], &["weight", "bias"], DType::F32).is_ok());
    }

    #[test]
    fn counts_of_arguments_are_the_users() {
        let linear = op("linear").unwrap();
        let error =
            check(linear, &[f32(&[5, 64]), f32(&[5, 64]), f32(&[10, 64]), f32(&[10])], &["weight", "bias"], DType::F32)
                .unwrap_err();
        assert_eq!(error.code, Code::WrongArity);
        assert_eq!(error.message, "`{callee}` takes 1 argument, but 2 were given");
        assert_eq!(error.help.as_deref(), Some("call it as `{callee}(x)`"));
        let error = check(linear, &[f32(&[5, 64])], &[], DType::F32).unwrap_err();
        assert_eq!(error.message, "`{callee}` takes 2 or 3 arguments, but 1 was given");
    }

    #[test]
    fn types_are_converted_by_the_help() {
        let error = check(op("relu").unwrap(), &[ty(DType::U32, &[5])], &[], DType::F32).unwrap_err();
        let (code, message, help) = texts(error, &["a + b"]);
        assert_eq!((code, message.as_str()), (Code::WrongDtype, "`self.output` takes f32, but `a + b` is u32[5]"));
        assert_eq!(help.as_deref(), Some("convert it: `(a + b).f32()`"));
    }

    #[test]
    fn equal_names_and_rests_must_be_equal() {
        let pair = Signature::parse("(a: number[.., N], b: number[.., N]) -> *").unwrap();
        let types = [f32(&[5, 7]), f32(&[6, 7])];
        let mut bindings = Bindings::default();
        let place = |index| Place { index, given: 2, types: &types, float: DType::F32 };
        bindings.bind(&pair.args[0].pattern, &types[0], place(0)).unwrap();
        let error = bindings.bind(&pair.args[1].pattern, &types[1], place(1)).unwrap_err();
        assert_eq!(error.message, "`{callee}` needs equal shapes, but {0} is f32[5, 7] and {1} is f32[6, 7]");
        let error = bindings.bind(&pair.args[1].pattern, &ty(DType::I32, &[5, 7]), place(1)).unwrap_err();
        assert_eq!((error.code, error.help.as_deref()), (Code::MixedDtype, Some("convert it: `{1}.f32()`")));
    }
}
