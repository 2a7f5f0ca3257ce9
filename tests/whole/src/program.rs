//! A random program as data, from which its text and its JSON are printed. Always: a local is numbered once, and
//! `types` has the type of each.

use precast_compiler::ir::Type;
use precast_compiler::ir::attr::Attrs;
use precast_compiler::ops::Domain;
use std::collections::BTreeSet;

/// The number of a value of the program.
pub type Local = usize;

/// What a call is given.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A value.
    Local(Local),
    /// A value by the name of the op's argument.
    Named(&'static str, Local),
    /// A number that takes the type of the other operand.
    Number(f64),
}

/// A call of an op.
#[derive(Clone, Debug)]
pub struct Call {
    /// The op.
    pub op: &'static str,
    /// Its operands.
    pub operands: Vec<Operand>,
    /// The attributes as the user writes them, without names where they are positional.
    pub written: Vec<(Option<String>, String)>,
    /// All attributes, defaults included.
    pub attrs: Attrs,
    /// The results.
    pub results: Vec<Local>,
}

/// A closure.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Its parameters; `types` has what they are inside.
    pub params: Vec<Local>,
    /// What it computes.
    pub steps: Vec<Step>,
    /// What it gives.
    pub outs: Vec<Local>,
}

/// A derivative.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Derivative {
    /// The gradient of a scalar function.
    Grad,
    /// The value and the gradient.
    ValueAndGrad,
    /// The product of the Hessian with a vector, the last argument.
    Hvp,
    /// The value and the product of the Jacobian with a vector, the last argument.
    Jvp,
    /// The value and the product of a vector, the last argument, with the Jacobian.
    Vjp,
}

/// A statement.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each variant shows the text that its fields print")]
pub enum Step {
    /// `let v = op(…);`
    Call(Call),
    /// `let v = self.layer(…);`
    Layer { field: usize, operands: Vec<Local>, results: Vec<Local> },
    /// `if condition { … } else { … }`, where the condition is a scalar compared with 0.
    Branch { condition: Local, cases: [Body; 2], results: Vec<Local> },
    /// `scan(x, axis, from = state, |state, x| { …; (state, y) })`, or with the other names its last state or both.
    Scan { over: Local, axis: usize, from: Local, reverse: bool, form: &'static str, body: Body, results: Vec<Local> },
    /// `map(|x| …)(xs)`.
    Map { over: Vec<Local>, body: Body, results: Vec<Local> },
    /// `grad(|x| …)(x)` and its kin.
    Derive { how: Derivative, of: Vec<Local>, body: Body, results: Vec<Local> },
    /// `for block in self.blocks { x = block(x); }` of blocks that compute the body on a parameter each.
    Repeat { field: usize, over: Local, result: Local },
    /// `self.state[part] = value;`, or with another operator, and where the state is read again, `let v = self.state;`.
    Store { state: Local, part: String, operator: &'static str, value: Local, read: Option<Local> },
}

/// A layer, or a stack of blocks, as a field declares it.
#[derive(Clone, Debug)]
pub struct Field {
    /// `Linear(3, 4)`.
    pub declared: String,
    /// For a stack of blocks, how many there are, their parameter's type and what each computes: the body's parameters
    /// are `x` and the parameter.
    pub block: Option<(usize, Type, Body)>,
}

/// An argument or a parameter.
#[derive(Clone, Debug)]
pub struct Given {
    /// Its local.
    pub local: Local,
    /// The numbers that it is tested on.
    pub domain: Domain,
}

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// What it was drawn from.
    pub seed: u64,
    /// The type of each local.
    pub types: Vec<Type>,
    /// The arguments of both functions.
    pub args: Vec<Given>,
    /// The parameters, which are fields of their own.
    pub params: Vec<Given>,
    /// What a session keeps, as the function finds it. Programs that keep something only evaluate.
    pub states: Vec<Local>,
    /// Layers and blocks.
    pub fields: Vec<Field>,
    /// What both functions compute.
    pub steps: Vec<Step>,
    /// What `value` gives.
    pub results: Vec<Local>,
    /// The results that the loss weighs, with the argument that weighs each.
    pub weighed: Vec<(Local, Local)>,
    /// The optimiser.
    pub optimizer: &'static str,
    /// `speed`, `balanced` or `minimize`.
    pub memory: &'static str,
    /// `f32`, `bf16` or `int8`.
    pub precision: &'static str,
    /// What the parameters are stored in where it is not f32: `f16`, `bf16` or `int8`. Such programs only evaluate.
    pub stored: Option<&'static str>,
    /// Whether the body is a function of its own, which both functions call.
    pub shared: bool,
}

impl Step {
    /// What it gives.
    pub fn results(&self) -> &[Local] {
        match self {
            Step::Call(Call { results, .. })
            | Step::Layer { results, .. }
            | Step::Branch { results, .. }
            | Step::Scan { results, .. }
            | Step::Map { results, .. }
            | Step::Derive { results, .. } => results,
            Step::Repeat { result, .. } => std::slice::from_ref(result),
            Step::Store { read, .. } => read.as_slice(),
        }
    }

    /// What it reads, in bodies too.
    pub fn reads(&self) -> Vec<Local> {
        let inside = |body: &Body| body.steps.iter().flat_map(Step::reads).chain(body.outs.clone()).collect::<Vec<_>>();
        let operand = |operand: &Operand| match operand {
            Operand::Local(v) | Operand::Named(_, v) => Some(*v),
            Operand::Number(_) => None,
        };
        match self {
            Step::Call(call) => call.operands.iter().filter_map(operand).collect(),
            Step::Layer { operands, .. } => operands.clone(),
            Step::Branch { condition, cases, .. } => [vec![*condition], inside(&cases[0]), inside(&cases[1])].concat(),
            Step::Scan { over, from, body, .. } => [vec![*over, *from], inside(body)].concat(),
            Step::Map { over: of, body, .. } | Step::Derive { of, body, .. } => [of.clone(), inside(body)].concat(),
            Step::Repeat { over, .. } => vec![*over],
            Step::Store { value, .. } => vec![*value],
        }
    }
}

impl Program {
    /// The calls that what the program gives and keeps depends on, those in bodies included.
    pub fn calls(&self) -> Vec<&Call> {
        fn walk<'p>(steps: &'p [Step], all: &mut Vec<&'p Call>) {
            for step in steps {
                match step {
                    Step::Call(call) => all.push(call),
                    Step::Branch { cases, .. } => cases.iter().for_each(|case| walk(&case.steps, all)),
                    Step::Scan { body, .. } | Step::Map { body, .. } | Step::Derive { body, .. } => {
                        walk(&body.steps, all);
                    }
                    Step::Layer { .. } | Step::Repeat { .. } | Step::Store { .. } => {}
                }
            }
        }
        let mut all = vec![];
        let mut read: BTreeSet<Local> = self.results.iter().copied().collect();
        for step in self.steps.iter().rev() {
            if matches!(step, Step::Store { .. }) || step.results().iter().any(|v| read.contains(v)) {
                read.extend(step.reads());
                walk(std::slice::from_ref(step), &mut all);
            }
        }
        self.fields.iter().filter_map(|f| f.block.as_ref()).for_each(|(_, _, body)| walk(&body.steps, &mut all));
        all
    }
}
