//! Test programs: the examples of every op in, programs in the model language out.
//!
//! A program has one function `value` with the results of several examples, and one training function `loss`, which
//! weighs and adds them. Each float input has a parameter of its own that is added to it and starts at zero, so that
//! the gradient of that parameter is the input's, summed over the named dimensions. Examples are written in f32, and stand for
//! every float type that computes: each has its programs.

use super::{Domain, Example, ITEMS, Item, Op};
use crate::ir::{DType, Type};
use std::fmt::Write;

/// At how many examples a program is full: few programs compile sooner than many, and fail less clearly.
const EXAMPLES: usize = 14;

/// A program that tests several examples at once.
#[derive(Clone, Debug)]
pub struct Program {
    /// The model's name in snake case: the first and the last op.
    pub name: String,
    /// The type of its floats.
    pub float: DType,
    /// The examples of consecutive ops.
    pub examples: Vec<&'static Example>,
    /// The `model!`'s text.
    pub text: String,
}

/// An argument of a program.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its type.
    pub ty: Type,
    /// The numbers that it is tested on.
    pub domain: Domain,
    /// For a weight of the loss, the result that it weighs.
    pub weighs: Option<usize>,
}

/// All test programs, each in the order of the ops: the examples with types of 32 bits, those with others but f64, those with
/// f64, and the first with their floats in f64.
pub fn programs() -> Vec<Program> {
    let words = packed(DType::F32, |example| !has_others(example));
    let others = packed(DType::F32, |example| has_others(example) && !has_f64(example));
    let mixed = packed(DType::F32, has_f64);
    let double = packed(DType::F64, |example| has(example, DType::is_float) && !has_others(example));
    [words, others, mixed, double].concat()
}

/// Whether some type of an example is such.
fn has(example: &Example, such: fn(DType) -> bool) -> bool {
    types(example).iter().chain(&results(example)).any(|ty| such(ty.dtype))
}

/// Whether an example has types that do not have 32 bits.
fn has_others(example: &Example) -> bool {
    has(example, |dtype| !dtype.is_word())
}

/// Whether an example has numbers that GPUs do not have here.
fn has_f64(example: &Example) -> bool {
    has(example, |dtype| dtype == DType::F64)
}

/// Programs with floats of that type of the examples that are `fit`.
fn packed(float: DType, fit: impl Fn(&Example) -> bool) -> Vec<Program> {
    let (mut all, mut open): (Vec<Program>, Vec<(&'static Op, &'static Example)>) = (vec![], vec![]);
    for item in ITEMS.iter().copied().flatten() {
        let Item::Op(op) = item else { continue };
        open.extend(op.examples.iter().filter(|example| fit(example)).map(|example| (*op, example)));
        if open.len() >= EXAMPLES {
            all.push(program(&std::mem::take(&mut open), float));
        }
    }
    if !open.is_empty() {
        all.push(program(&open, float));
    }
    all
}

fn program(all: &[(&'static Op, &'static Example)], float: DType) -> Program {
    let examples: Vec<&'static Example> = all.iter().map(|(_, example)| *example).collect();
    let of = match float {
        DType::F32 if has_f64(examples[0]) => "mixed_".to_owned(),
        DType::F32 if has_others(examples[0]) => "others_".to_owned(),
        DType::F32 => String::new(),
        other => format!("{other}_"),
    };
    let name = format!("{of}{}_to_{}", all[0].0.name, all[all.len() - 1].0.name);
    let text = text(&name, &examples).replace(DType::F32.name(), float.name());
    Program { text: attributed(text, float), name, float, examples }
}

/// The text of a model whose parameters have that type.
fn attributed(text: String, float: DType) -> String {
    if float == DType::F32 { text } else { format!("#[model(precision = {float})]\n{text}") }
}

impl Program {
    /// The model's name.
    pub fn model(&self) -> String {
        camel(&self.name)
    }

    /// The arguments of `value`; `loss` takes the weights after them.
    pub fn inputs(&self) -> Vec<Input> {
        let of = |example: &&Example| {
            let types = types(example).into_iter().map(|ty| self.in_float(ty));
            types.zip(example.inputs).map(|(ty, &(_, _, domain))| Input { ty, domain, weighs: None })
        };
        self.examples.iter().flat_map(of).collect()
    }

    /// Whether a GPU can run it.
    pub fn runs_on_gpus(&self) -> bool {
        self.float != DType::F64 && !self.examples.iter().any(|example| has_f64(example))
    }

    /// Whether all types have 32 bits.
    pub fn is_of_words(&self) -> bool {
        self.float.is_word() && !self.examples.iter().any(|example| has_others(example))
    }

    /// The types of the results, in the order of the examples.
    pub fn results(&self) -> Vec<Type> {
        self.examples.iter().flat_map(|example| results(example)).map(|ty| self.in_float(ty)).collect()
    }

    /// A type of the examples as one of the program.
    fn in_float(&self, ty: Type) -> Type {
        if ty.dtype == DType::F32 { Type { dtype: self.float, ..ty } } else { ty }
    }

    /// Whether there is a `loss`: there is none where no input is a float.
    pub fn trains(&self) -> bool {
        self.text.contains("#[train")
    }

    /// The weights of the loss: one for each result.
    pub fn weights(&self) -> Vec<Input> {
        let weight = |(k, ty)| Input { ty: Type { dtype: self.float, ..ty }, domain: Domain::Normal, weighs: Some(k) };
        self.results().into_iter().enumerate().map(weight).collect()
    }
}

fn types(example: &Example) -> Vec<Type> {
    example.input_types().unwrap_or_else(|why| unreachable!("the item tests read every example: {why}"))
}

fn results(example: &Example) -> Vec<Type> {
    example.result_types().unwrap_or_else(|why| unreachable!("the item tests read every example: {why}"))
}

fn camel(name: &str) -> String {
    let word = |w: &str| w.chars().take(1).flat_map(char::to_uppercase).chain(w.chars().skip(1)).collect::<String>();
    name.split('_').map(word).collect()
}

fn text(name: &str, examples: &[&Example]) -> String {
    let (mut fields, mut args, mut body, mut results, mut weights) = (vec![], vec![], String::new(), vec![], vec![]);
    let mut loss = vec![];
    for example in examples {
        for (&(local, _, _), ty) in example.inputs.iter().zip(types(example)) {
            let k = args.len();
            args.push(format!("x{k}: {ty}"));
            if ty.dtype.is_float() && ty.rank() > 0 {
                let extents: Vec<i64> = ty.shape.iter().map(|d| d.as_const().unwrap_or(1)).collect();
                fields.push(format!("p{k}: Parameter({extents:?}, init = \"zeros\")"));
                let cast = if ty.dtype == DType::F32 { String::new() } else { format!(".{}()", ty.dtype) };
                let _ = writeln!(body, "        let {local} = x{k} + self.p{k}{cast};");
            } else {
                let _ = writeln!(body, "        let {local} = x{k};");
            }
        }
        let mut names = vec![];
        for ty in self::results(example) {
            let k = results.len();
            let weighed = if ty.dtype == DType::F32 { format!("r{k}") } else { format!("r{k}.f32()") };
            names.push(format!("r{k}"));
            loss.push(format!("sum({weighed} * w{k})"));
            weights.push(format!("w{k}: {}", Type { dtype: DType::F32, ..ty.clone() }));
            results.push((format!("r{k}"), ty.to_string()));
        }
        let _ = writeln!(body, "        let {} = {};", tuple(&names), example.call);
    }
    // Where no result has a derivative, something else must be there to train: then the gradients of all that is compared
    // are seen to be zero.
    if !examples.iter().flat_map(|example| self::results(example)).any(|ty| ty.dtype.is_float()) {
        loss.extend(fields.first().and_then(|field| field.split(':').next()).map(|field| format!("sum(self.{field})")));
    }
    let (names, types): (Vec<String>, Vec<String>) = results.into_iter().unzip();
    let (model, args) = (camel(name), args.join(", "));
    let (fields, weights, loss) = (fields.join(",\n    "), weights.join(", "), loss.join(" + "));
    let train = match fields.is_empty() {
        true => String::new(),
        false => format!(
            "\n    #[train(Sgd)]\n    pub fn loss(&self, {args}, {weights}) -> f32 {{\n{body}        {loss}\n    }}\n"
        ),
    };
    format!(
        "pub struct {model} {{\n    {fields}\n}}\n\nimpl {model} {{\n    \
         pub fn value(&self, {args}) -> {types} {{\n{body}        {names}\n    }}\n{train}}}\n",
        types = tuple(&types),
        names = tuple(&names),
    )
}

fn tuple(parts: &[String]) -> String {
    match parts {
        [one] => one.clone(),
        many => format!("({})", many.join(", ")),
    }
}
