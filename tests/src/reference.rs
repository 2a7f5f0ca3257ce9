//! Stored references: the texts that `references/pytorch.py` writes in, cases and the models that compute them out.
//!
//! A model has one function `value` with the results of its cases, and one training function `loss`, which weighs and
//! adds those that are floats. Each float input has a parameter of its own that is added to it and starts at zero, so
//! that the gradient of that parameter is the input's. Where arguments are of two bytes, `value` has them as they are,
//! the parameters and the weights are f32, and `loss` has the cases with stored gradients only.

use precast_compiler::ir::DType;
use std::fmt::Write;

/// The texts: the type of a text's floats, the first word of its models' names, and the text.
const TEXTS: [(&str, &str, &str); 4] = [
    ("f32", "pytorch", include_str!("../references/pytorch.txt")),
    ("f64", "double", include_str!("../references/pytorch_f64.txt")),
    ("bf16", "brain", include_str!("../references/pytorch_bf16.txt")),
    ("f16", "half", include_str!("../references/pytorch_f16.txt")),
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
    // Dealt out in turn, so that each model has cases with gradients.
    let models = cases.len().div_ceil(CASES);
    let program = |k: usize| {
        let name = format!("{word}{k}");
        let cases: Vec<Case> = cases.iter().skip(k).step_by(models).cloned().collect();
        Program { text: text(&name, float, &cases), name, float, cases }
    };
    (0..models).map(program).collect()
}

/// The weight of element `i` of a result in the loss, as the script takes it.
pub fn weight(i: usize) -> f64 {
    (((7 * i + 3) % 11) as f64 - 4.5) / 4.0
}

impl Case {
    /// The results that are in the loss of a model.
    pub fn weighed(&self) -> impl Iterator<Item = &Stored> {
        let derived = !self.is_narrow() || !self.gradients.is_empty();
        self.results.iter().filter(move |result| derived && result.is_float())
    }

    /// Whether its floats are of two bytes.
    fn is_narrow(&self) -> bool {
        self.inputs.iter().chain(&self.results).any(|x| x.is_float() && x.elements().is_stored())
    }
}

impl Stored {
    /// Whether it is of floats.
    pub fn is_float(&self) -> bool {
        self.elements().is_float()
    }

    /// The element type.
    pub fn elements(&self) -> DType {
        DType::from_name(&self.dtype).expect("an element type")
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
    let numbers = numbers.split_whitespace().map(|x| x.parse().expect("a number"));
    let mut read = Stored {
        name: name.into(),
        dtype: dtype.into(),
        shape: extents.map(|n| n.parse().expect("an extent")).collect(),
        numbers: numbers.collect(),
    };
    let elements = read.elements();
    if elements.is_float() && elements.is_stored() {
        read.numbers.iter_mut().for_each(|x| *x = elements.nearest(*x));
    }
    read
}

/// What goes into a model's text, with one entry for each item.
#[derive(Default)]
struct Parts {
    fields: Vec<String>,
    args: Vec<String>,
    weights: Vec<String>,
    types: Vec<String>,
    results: Vec<String>,
    /// The terms of the loss.
    terms: Vec<String>,
    /// The statements of `value` and of `loss`.
    value: String,
    loss: String,
}

impl Parts {
    fn add(&mut self, k: usize, case: &Case) {
        let narrow = case.is_narrow();
        let derived = case.weighed().next().is_some();
        // What a narrow case does not weigh, its loss would compute for nothing.
        let kept = derived || !narrow;
        for input in &case.inputs {
            let (name, own) = (&input.name, format!("c{k}_{}", input.name));
            self.args.push(format!("{own}: {}", input.ty()));
            let (plain, dtype) = (format!("        let {name} = {own};\n"), &input.dtype);
            let (value, loss) = match (input.is_float(), narrow) {
                (false, _) => (plain.clone(), plain),
                (true, true) => (plain, format!("        let {name} = ({own}.f32() + self.{own}).{dtype}();\n")),
                (true, false) => {
                    let sum = format!("        let {name} = {own} + self.{own};\n");
                    (sum.clone(), sum)
                }
            };
            if input.is_float() && kept {
                self.fields.push(format!("{own}: Parameter({:?}, init = zeros)", input.shape));
            }
            self.value.push_str(&value);
            self.loss.push_str(if kept { &loss } else { "" });
        }
        self.fields.extend(case.layer.iter().map(|ty| format!("c{k}_layer: {ty}")));
        let names: Vec<String> = (0..case.results.len()).map(|i| format!("r{}", self.results.len() + i)).collect();
        for (name, result) in names.iter().zip(&case.results) {
            if result.is_float() && derived {
                let (dtype, cast) = if narrow { ("f32", ".f32()") } else { (&*result.dtype, "") };
                self.weights.push(format!("w{name}: {}", Stored { dtype: dtype.into(), ..result.clone() }.ty()));
                self.terms.push(format!("sum({name}{cast} * w{name})"));
            }
            self.types.push(result.ty());
        }
        let call = case.call.replace("self.", &format!("self.c{k}_"));
        let call = format!("        let {} = {call};\n", tuple(&names));
        self.value.push_str(&call);
        self.loss.push_str(if kept { &call } else { "" });
        self.results.extend(names);
    }
}

fn text(name: &str, float: &str, cases: &[Case]) -> String {
    let mut parts = Parts::default();
    cases.iter().enumerate().for_each(|(k, case)| parts.add(k, case));
    let model = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
    let precision = if float == "f64" { "#[model(precision = f64)]\n" } else { "" };
    let total = if float == "f64" { "f64" } else { "f32" };
    let (fields, args, weights) = (parts.fields.join(",\n    "), parts.args.join(", "), parts.weights.join(", "));
    let (types, results, terms) = (tuple(&parts.types), tuple(&parts.results), parts.terms.join(" + "));
    let (value, loss) = (parts.value, parts.loss);
    let mut text = format!("{precision}pub struct {model} {{\n    {fields}\n}}\n\nimpl {model} {{\n");
    let _ = writeln!(text, "    pub fn value(&self, {args}) -> {types} {{\n{value}        {results}\n    }}\n");
    let head = format!("    #[train(Sgd)]\n    pub fn loss(&self, {args}, {weights}) -> {total} {{");
    let _ = writeln!(text, "{head}\n{loss}        {terms}\n    }}\n}}");
    text
}

fn tuple(parts: &[String]) -> String {
    match parts {
        [one] => one.clone(),
        many => format!("({})", many.join(", ")),
    }
}
