//! Stored references: the texts that `references/pytorch.py` writes in, cases and the models that compute them out.
//!
//! A model has one function `value` with the results of its cases, and one training function `loss`, which weighs and
//! adds those that are floats. Each float input has a parameter of its own that is added to it and starts at zero, so
//! that the gradient of that parameter is the input's.

use std::fmt::Write;

/// The texts: the type of a text's floats, the first word of its models' names, and the text.
const TEXTS: [(&str, &str, &str); 2] = [
    ("f32", "pytorch", include_str!("../references/pytorch.txt")),
    ("f64", "double", include_str!("../references/pytorch_f64.txt")),
];

/// How many cases a model computes: few models compile sooner than many, and fail less clearly.
const CASES: usize = 40;

/// A tensor with its numbers.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The name of an input, or of a parameter: `self.layer.weight`.
    pub name: String,
    /// The element type's name.
    pub dtype: String,
    /// The extents.
    pub shape: Vec<usize>,
    /// The numbers, row-major.
    pub numbers: Vec<f64>,
}

/// A call and what another program says of it.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// The call: `elu(x, 0.5)`.
    pub call: String,
    /// The type of the field `layer` that the call uses, if it does.
    pub layer: Option<String>,
    /// The arguments.
    pub inputs: Vec<Stored>,
    /// The layer's parameters.
    pub parameters: Vec<Stored>,
    /// The results.
    pub results: Vec<Stored>,
    /// The derivatives of the weighed sum of the results, by the names of inputs and parameters.
    pub gradients: Vec<Stored>,
}

/// A model of several cases.
#[derive(Clone, Debug)]
pub struct Program {
    /// The model's name in snake case.
    pub name: String,
    /// The type of its floats.
    pub float: &'static str,
    /// What it computes.
    pub cases: Vec<Case>,
    /// The `model!`'s text.
    pub text: String,
}

/// The stored cases in models.
pub fn programs() -> Vec<Program> {
    TEXTS.into_iter().flat_map(|(float, word, text)| of_text(float, word, text)).collect()
}

fn of_text(float: &'static str, word: &str, stored: &str) -> Vec<Program> {
    let cases: Vec<Case> = stored.split("\n\n").skip(1).map(read).collect();
    let program = |(k, cases): (usize, &[Case])| {
        let name = format!("{word}{k}");
        Program { text: text(&name, float, cases), name, float, cases: cases.to_vec() }
    };
    cases.chunks(CASES).enumerate().map(program).collect()
}

/// The weight of element `i` of a result in the loss, as the script takes it.
pub fn weight(i: usize) -> f64 {
    (((7 * i + 3) % 11) as f64 - 4.5) / 4.0
}

impl Stored {
    /// Whether it is of floats.
    pub fn is_float(&self) -> bool {
        self.dtype.starts_with('f')
    }

    /// Its type as a model writes it.
    fn ty(&self) -> String {
        if self.shape.is_empty() { self.dtype.clone() } else { format!("{}{:?}", self.dtype, self.shape) }
    }
}

fn read(text: &str) -> Case {
    let mut case = Case::default();
    for line in text.lines() {
        match line.split_once(' ').unwrap_or_default() {
            ("op" | "call", call) => case.call = call.into(),
            ("layer", ty) => case.layer = Some(ty.into()),
            ("=", rest) => case.results.push(stored("", rest)),
            ("d", rest) => {
                let (name, rest) = rest.split_once(' ').unwrap_or_default();
                case.gradients.push(stored(name, rest));
            }
            (name, rest) if name.starts_with("self.") => case.parameters.push(exact(stored(name, rest))),
            (name, rest) => case.inputs.push(exact(stored(name, rest))),
        }
    }
    case
}

/// The binary32 numbers that were meant, where they are that: nine digits name each of them.
fn exact(mut input: Stored) -> Stored {
    if input.dtype == "f32" {
        input.numbers.iter_mut().for_each(|x| *x = f64::from(*x as f32));
    }
    input
}

/// Reads `f32[2, 3]: 1 2 3 4 5 6`.
fn stored(name: &str, text: &str) -> Stored {
    let (ty, numbers) = text.split_once(':').unwrap_or_default();
    let (dtype, axes) = ty.split_once('[').unwrap_or((ty, "]"));
    let extents = axes.trim_end_matches(']').split(", ").filter(|n| !n.is_empty());
    Stored {
        name: name.into(),
        dtype: dtype.into(),
        shape: extents.map(|n| n.parse().expect("an extent")).collect(),
        numbers: numbers.split_whitespace().map(|x| x.parse().expect("a number")).collect(),
    }
}

fn text(name: &str, float: &str, cases: &[Case]) -> String {
    let (mut fields, mut args, mut body, mut results, mut types) = (vec![], vec![], String::new(), vec![], vec![]);
    let (mut weights, mut loss) = (vec![], vec![]);
    for (k, case) in cases.iter().enumerate() {
        for input in &case.inputs {
            let (name, own) = (&input.name, format!("c{k}_{}", input.name));
            args.push(format!("{own}: {}", input.ty()));
            if input.is_float() {
                fields.push(format!("{own}: Parameter({:?}, init = zeros)", input.shape));
                let _ = writeln!(body, "        let {name} = {own} + self.{own};");
            } else {
                let _ = writeln!(body, "        let {name} = {own};");
            }
        }
        fields.extend(case.layer.iter().map(|ty| format!("c{k}_layer: {ty}")));
        let mut names = vec![];
        for result in &case.results {
            let r = format!("r{}", results.len());
            if result.is_float() {
                weights.push(format!("w{r}: {}", result.ty()));
                loss.push(format!("sum({r} * w{r})"));
            }
            types.push(result.ty());
            names.push(r.clone());
            results.push(r);
        }
        let _ =
            writeln!(body, "        let {} = {};", tuple(&names), case.call.replace("self.", &format!("self.c{k}_")));
    }
    let model = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
    let precision = if float == "f32" { String::new() } else { format!("#[model(precision = {float})]\n") };
    let (fields, args, weights) = (fields.join(",\n    "), args.join(", "), weights.join(", "));
    let (types, results, loss) = (tuple(&types), tuple(&results), loss.join(" + "));
    format!(
        "{precision}pub struct {model} {{\n    {fields}\n}}\n\nimpl {model} {{\n    \
         pub fn value(&self, {args}) -> {types} {{\n{body}        {results}\n    }}\n\n    \
         #[train(Sgd)]\n    pub fn loss(&self, {args}, {weights}) -> {float} {{\n{body}        {loss}\n    }}\n}}\n"
    )
}

fn tuple(parts: &[String]) -> String {
    match parts {
        [one] => one.clone(),
        many => format!("({})", many.join(", ")),
    }
}
