//! Draws a program: a seed in, a program that the language should accept out.
//!
//! Every op of the reference is drawn as often as another: its examples are templates, whose inputs become values of the
//! program wherever one can be made to fit, through movements and reductions that no memory need hold.

mod fit;
mod free;
mod layer;
mod nested;
mod state;
mod template;

pub use layer::{declares, layers};
pub(crate) use template::split;

use crate::program::{Call, Given, Local, Operand, Program, Step};
use crate::random::Random;
use precast_compiler::diag::Code;
use precast_compiler::ir::attr::{Attr, Attrs};
use precast_compiler::ir::{DType, Dim, Graph, Kind, Type, Value};
use precast_compiler::ops::{self, AttrDecl, Builder, Domain, Item, Op};
use proc_macro2::Span;
use std::collections::BTreeSet;

/// The most elements of a value, where the named dimensions are 1.
const ELEMENTS: i64 = 3000;

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5bd1_e995);
    let program = Program {
        seed,
        optimizer: random.pick(&["Sgd", "Adam", "AdamW", "RmsProp"]),
        memory: random.pick(&["balanced", "minimize", "speed"]),
        precision: random.pick(&["f32"; 12].iter().chain(&["bf16", "int8"]).copied().collect::<Vec<_>>()),
        shared: random.percent(30),
        ..Program::default()
    };
    let mut growing = Growing { random, program, ..Growing::empty(seed) };
    growing.grow();
    growing.finish();
    growing.bind();
    let mut program = growing.program;
    // Where the gradient reaches no parameter, there is nothing to train.
    let untrained = program.text().parse().is_ok_and(|tokens| {
        let (_, diags) = precast_compiler::pipeline::check(tokens);
        diags.list().iter().any(|d| d.code == Code::NothingToTrain)
    });
    if untrained {
        program.weighed.clear();
    }
    program.stored = stored(&program);
    if program.stored.is_some() {
        program.weighed.clear();
    }
    program
}

/// What the parameters of a program are stored in: in one of eight programs that compute in f32, in fewer bits.
fn stored(program: &Program) -> Option<&'static str> {
    let mut random = Random(program.seed ^ 0x57_0b3d);
    (program.precision == "f32" && random.percent(12)).then(|| random.pick(&["f16", "bf16", "int8"]))
}

/// The ops that programs draw.
pub fn drawn() -> Vec<&'static Op> {
    // Without a key, dropout and kin draw only in training; losses do that through their own templates.
    ops::items().filter_map(|item| if let Item::Op(op) = item { Some(op) } else { None }).collect()
}

/// Whether the templates of an op give a call of it.
pub fn reaches(op: &'static Op) -> bool {
    (0..8).any(|seed| {
        let mut growing = Growing::empty(seed);
        growing.given(Type::new(DType::F32, [Dim::name("B"), 6.into()]), Domain::Normal);
        growing.template(op).is_some()
    })
}

/// A program that grows.
struct Growing {
    random: Random,
    program: Program,
    /// The values that further calls may take.
    pool: Vec<Local>,
    /// The statements so far, of the closures around too, innermost last.
    steps: Vec<Vec<Step>>,
    /// Whether new arguments are out of reach, as inside of closures.
    closed: bool,
    /// Whether it is the body of a block that grows, where the fields of the model are out of reach.
    in_block: bool,
    /// Whether states and running statistics stay as they are, as inside of what is derived or mapped.
    fixed: bool,
    /// The layers that may be called again.
    layers: Vec<layer::Declared>,
}

impl Growing {
    fn empty(seed: u64) -> Growing {
        let (random, program) = (Random(seed), Program::default());
        Growing {
            random,
            program,
            pool: vec![],
            steps: vec![vec![]],
            closed: false,
            in_block: false,
            fixed: false,
            layers: vec![],
        }
    }

    fn grow(&mut self) {
        let all = drawn();
        for _ in 0..1 + self.random.below(3) {
            let ty = self.fresh_type();
            self.given(ty, Domain::Normal);
        }
        if self.random.percent(8) {
            (0..1 + self.random.below(2)).for_each(|_| self.keep());
        }
        let count = 2 + self.random.below(7);
        for _ in 0..count {
            if self.random.percent(30) {
                self.store();
            }
            match self.random.below(20) {
                0..8 => {
                    let op = self.random.pick(&all);
                    self.template(op);
                }
                8..11 => {
                    self.layer();
                }
                11..17 => {
                    self.free();
                }
                _ => {
                    self.nested();
                }
            }
        }
        self.store_all();
    }

    /// Chooses the results and what the loss weighs.
    fn finish(&mut self) {
        self.program.steps = self.steps.pop().unwrap_or_default();
        let mut given = self.program.states.clone();
        given.extend(self.program.args.iter().chain(&self.program.params).map(|g| g.local));
        // Types say sums and products of dimensions, but no quotients.
        let says = |v: Local| self.ty(v).shape.iter().all(|d| !d.to_string().contains('('));
        let mut made: Vec<Local> = self.pool.iter().copied().filter(|&v| !given.contains(&v) && says(v)).collect();
        if made.is_empty() {
            made = given;
        }
        let most = if self.random.percent(15) { 20 } else { 8 };
        let count = 1 + self.random.below(most);
        let last = made[made.len() - 1];
        let mut results = vec![last];
        // What nothing reads would be computed for nothing.
        let read: BTreeSet<Local> = self.program.steps.iter().flat_map(Step::reads).collect();
        let unread: Vec<Local> = made.iter().copied().filter(|v| !read.contains(v)).collect();
        for _ in 1..count {
            let often = !unread.is_empty() && self.random.percent(80);
            let v = self.random.pick(if often { &unread } else { &made });
            if !results.contains(&v) && results.len() < 20 {
                results.push(v);
            }
        }
        self.program.results = results.clone();
        if !self.program.states.is_empty() || self.program.params.is_empty() && self.program.fields.is_empty() {
            return;
        }
        for r in results {
            let ty = Type { dtype: DType::F32, ..self.ty(r) };
            let weight = self.local(ty);
            self.program.weighed.push((r, weight));
        }
    }

    /// An argument for each name that none has as an extent of its own.
    fn bind(&mut self) {
        for name in ["B", "T"] {
            let dim = Dim::name(name);
            let mut used = false;
            let mut see = |n: &str| used |= n == name;
            self.program.types.iter().flat_map(|t| &t.shape).for_each(|d| d.names(&mut see));
            let is_bound = |g: &Given| self.program.types[g.local].shape.contains(&dim);
            if used && !self.program.args.iter().any(is_bound) {
                let local = self.local(Type::new(DType::F32, [dim]));
                self.program.args.push(Given { local, domain: Domain::Normal });
            }
        }
    }

    fn ty(&self, v: Local) -> Type {
        self.program.types[v].clone()
    }

    fn local(&mut self, ty: Type) -> Local {
        self.program.types.push(ty);
        self.program.types.len() - 1
    }

    fn push(&mut self, step: Step) {
        if let Some(steps) = self.steps.last_mut() {
            steps.push(step);
        }
    }

    /// A new argument, or a parameter where its shape is known.
    fn given(&mut self, ty: Type, domain: Domain) -> Local {
        let constant = ty.shape.iter().all(|d| d.as_const().is_some());
        let local = self.local(ty.clone());
        let given = Given { local, domain };
        if constant && ty.dtype == DType::F32 && domain == Domain::Normal && self.random.percent(40) {
            self.program.params.push(given);
            self.pool.push(local);
            return local;
        }
        self.program.args.push(given);
        // A parameter beside an argument makes its gradient one that is compared.
        if ty.dtype == DType::F32 && ty.rank() > 0 && self.random.percent(50) && domain == Domain::Normal {
            let shape: Vec<Dim> = ty.shape.iter().map(|d| d.as_const().unwrap_or(1).into()).collect();
            let param = self.local(Type::new(DType::F32, shape));
            self.program.params.push(Given { local: param, domain: Domain::Normal });
            let operands = vec![Operand::Local(local), Operand::Local(param)];
            let sum = if self.steps.len() == 1 { self.call("add", operands, &[]) } else { None };
            if let Some(sum) = sum {
                return sum[0];
            }
        }
        self.pool.push(local);
        local
    }

    /// A shape with up to eight axes, most of them few.
    fn fresh_type(&mut self) -> Type {
        let rank = self.random.pick(&[1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 8]);
        let extents: &[i64] = if rank > 4 { &[1, 2, 2, 3] } else { &[1, 2, 3, 4, 5, 7, 8, 9, 16, 17] };
        let mut shape: Vec<Dim> = (0..rank).map(|_| Dim::from(self.random.pick(extents))).collect();
        for name in ["B", "T"] {
            let often = if name == "B" { 70 } else { 15 };
            if self.random.percent(often) {
                let at = self.random.below(rank);
                if shape[at].as_const().is_some() {
                    shape[at] = Dim::name(name);
                }
            }
        }
        Type::new(DType::F32, shape)
    }

    /// A call; `None` where it is refused or makes too much.
    fn call(&mut self, op: &str, operands: Vec<Operand>, attrs: &[(&str, String)]) -> Option<Vec<Local>> {
        let written = attrs.iter().map(|(name, text)| ((!name.is_empty()).then(|| (*name).to_owned()), text.clone()));
        let Some(op) = ops::op(op) else { unreachable!("the reference has no `{op}`") };
        self.written(op, operands, written.collect())
    }

    fn written(
        &mut self,
        op: &'static Op,
        operands: Vec<Operand>,
        written: Vec<(Option<String>, String)>,
    ) -> Option<Vec<Local>> {
        let attrs = resolved(op.attrs, &written)?;
        let types = self.operand_types(&operands)?;
        let results = infer(op, &types, &[], &attrs)?;
        if !results.iter().all(fits) {
            return None;
        }
        let results: Vec<Local> = results.into_iter().map(|ty| self.local(ty)).collect();
        self.pool.extend(&results);
        self.push(Step::Call(Call { op: op.name, operands, written, attrs, results: results.clone() }));
        Some(results)
    }

    fn operand_types(&self, operands: &[Operand]) -> Option<Vec<Type>> {
        let like = operands.iter().find_map(|o| match o {
            Operand::Local(v) => Some(self.ty(*v).dtype),
            Operand::Named(..) | Operand::Number(_) => None,
        });
        let of = |o: &Operand| match o {
            Operand::Local(v) | Operand::Named(_, v) => Some(self.ty(*v)),
            Operand::Number(_) => Some(Type::scalar(like?)),
        };
        operands.iter().map(of).collect()
    }

    /// A call of one result over values.
    fn one(&mut self, op: &str, over: &[Local], attrs: &[(&str, String)]) -> Option<Local> {
        let results = self.call(op, over.iter().map(|&v| Operand::Local(v)).collect(), attrs)?;
        results.first().copied()
    }

    /// A call with a number as its second operand.
    fn with(&mut self, op: &str, x: Local, number: f64) -> Option<Local> {
        Some(self.call(op, vec![Operand::Local(x), Operand::Number(number)], &[])?[0])
    }
}

/// All attributes from those that are written.
fn resolved(decls: &'static [AttrDecl], written: &[(Option<String>, String)]) -> Option<Attrs> {
    let (mut positional, mut named) = (vec![], vec![]);
    for (name, text) in written {
        let value = attr(text)?;
        match name {
            Some(name) => named.push((name.clone(), value)),
            None => positional.push(value),
        }
    }
    ops::resolve(decls, positional, named).ok()
}

/// Whether a value of that type is small enough to compute.
fn fits(ty: &Type) -> bool {
    let count = ty.count().eval(&|_| Some(1));
    count.is_some_and(|n| (1..=ELEMENTS).contains(&n)) && ty.rank() <= 8
}

/// The types of an op's results, where the last arguments are a layer's parameters of these names; `None` where it
/// refuses.
fn infer(op: &Op, types: &[Type], own: &[&str], attrs: &Attrs) -> Option<Vec<Type>> {
    ops::check(op, types, own, DType::F32).ok()?;
    let mut graph = Graph::default();
    let span = Span::call_site();
    let input = |(k, ty): (usize, &Type)| graph.push(Kind::Input(k), vec![], Some(ty.clone()), span);
    let args: Vec<Value> = types.iter().enumerate().map(input).collect();
    let mut sites = 0;
    let mut builder =
        Builder { graph: &mut graph, span, training: false, float: DType::F32, sites: &mut sites, loops: vec![] };
    let values = (op.body)(&mut builder, &args, attrs).ok()?;
    Some(values.into_iter().map(|value| graph.ty(value).clone()).collect())
}

/// An attribute as it is written.
pub(crate) fn attr(text: &str) -> Option<Attr> {
    let text = text.trim();
    Some(match text {
        "true" => Attr::Bool(true),
        "false" => Attr::Bool(false),
        _ if text.starts_with('"') => Attr::Text(text.trim_matches('"').to_owned()),
        _ if text.starts_with('[') => {
            let inside = text.strip_prefix('[')?.strip_suffix(']')?;
            Attr::List(inside.split(',').filter(|t| !t.trim().is_empty()).map(attr).collect::<Option<_>>()?)
        }
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(n), _) => Attr::Int(n.into()),
            (_, Ok(x)) => Attr::Float(x),
            _ => Attr::Int(ops::read_dim(&syn::parse_str(text).ok()?)?),
        },
    })
}
