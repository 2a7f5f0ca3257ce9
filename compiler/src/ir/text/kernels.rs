//! Kernels, programs and plans to text.
//!
//! Axes are `i0`, slices of loops `l0`, scalars `v0`, slots `s0`, buffers `b0`, numbered kernels `k0`; no
//! dimension of a model may have such a name.

use super::attend;
use super::datum::{Datum, Fields};
use super::prims;
use super::print::{Listed, indented, precision};
use super::recur;
use super::schedule;
use crate::ir::Type;
use crate::ir::kernel::{AccumulatorOp, Expr, Guard, Kernel, Operand, Skeleton, Store};
use crate::ir::model::Effect;
use crate::ir::plan::{Place, Plan, Plans, Pool};
use crate::ir::program::{BufferId, KernelId, Program, Role, Step};
use std::fmt::{self, Display, Write};

impl Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, slot) in self.slots.iter().enumerate() {
            let access = match (slot.read, slot.write) {
                (true, true) => " read write",
                (true, false) => " read",
                (false, true) => " write",
                (false, false) => "",
            };
            writeln!(f, "slot s{k}: {}[{}]{access}", slot.dtype, slot.len)?;
        }
        for (k, extent) in self.axes.iter().enumerate() {
            writeln!(f, "axis i{k}: {extent}")?;
        }
        for (k, scalar) in self.scalars.iter().enumerate() {
            writeln!(f, "v{k} = {}", scalar_text(scalar))?;
        }
        skeleton(f, &self.skeleton)?;
        for (word, fields) in [
            ("schedule", schedule::print(&self.schedule)),
            ("rows", schedule::print_rows(&self.schedule.rows)),
            ("workgroup", schedule::print_workgroup(self.schedule.workgroup)),
        ] {
            if !fields.is_empty() {
                writeln!(f, "{word}{}", Listed(&fields))?;
            }
        }
        Ok(())
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let launch = |kernel: &Kernel, buffers: String| {
            format!("launch {}({buffers}) {{\n{}}}\n", kernel.name, indented(&kernel.to_string()))
        };
        let body = buffers(self, &[]) + &steps(&self.steps, &launch);
        let fields: Fields = precision(self.precision).into_iter().collect();
        writeln!(f, "program {}{} {{\n{}}}", self.name, Listed(&fields), indented(&body))
    }
}

impl Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let launch = |kernel: &KernelId, buffers: String| format!("launch k{}({buffers})\n", kernel.0);
        let body = buffers(&self.program, &[&self.places, &self.banked]) + &steps(&self.program.steps, &launch);
        let sizes = vec![field("scratch", Datum::Dim(self.scratch.clone())), field("banks", Datum::dims(&self.banks))];
        writeln!(f, "plan {}{} {{\n{}}}", self.program.name, Listed(&sizes), indented(&body))
    }
}

impl Display for Plans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, kernel) in self.kernels.iter().enumerate() {
            writeln!(f, "kernel k{k} {} {{\n{}}}", kernel.name, indented(&kernel.to_string()))?;
        }
        self.plans.iter().try_for_each(|plan| plan.fmt(f))
    }
}

fn field(key: &str, value: Datum) -> (String, Datum) {
    (key.to_owned(), value)
}

fn number(n: usize) -> Datum {
    Datum::number(n as i64)
}

fn axes(list: &[usize]) -> Datum {
    Datum::List(list.iter().map(|a| Datum::word(&format!("i{a}"))).collect())
}

fn scalar_text(scalar: &Expr) -> String {
    match scalar {
        Expr::Load { slot, index, guards, .. } if guards.is_empty() => format!("load s{slot}[{index}]"),
        Expr::Load { slot, index, guards, fill } => format!("load s{slot}[{index}]{} else {fill}", conditions(guards)),
        Expr::Const(x) => format!("const {x}"),
        Expr::Extent(dim) => format!("extent {dim}"),
        Expr::Index(index) => format!("index {index}"),
        Expr::Inside(guards) => format!("inside{}", conditions(guards)),
        Expr::Map(op, args) => {
            let args: Vec<String> = args.iter().map(|a| format!("v{a}")).collect();
            format!("{}({})", op.name(), args.join(", "))
        }
        Expr::Convert(dtype, arg) => format!("convert {dtype}(v{arg})"),
        Expr::Accumulated { pass, slot, dtype } => format!("accumulated {dtype}({pass}, {slot})"),
    }
}

fn conditions(guards: &[Guard]) -> String {
    let one = |guard: &Guard| match guard {
        Guard::Within(index, extent) => format!("within({index}, {extent})"),
        Guard::Multiple(index, by) => format!("multiple({index}, {by})"),
    };
    format!(" where {}", guards.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn stores(list: &[Store]) -> String {
    list.iter().fold(String::new(), |mut text, Store { slot, index, value }| {
        _ = writeln!(text, "store s{slot}[{index}] = v{value}");
        text
    })
}

fn operand(name: &str, operand: &Operand) -> String {
    let mut text = format!("{name} s{}[{}]", operand.slot, operand.index);
    for w in &operand.windows {
        _ = write!(text, " window({}, {}, {}, {})", w.index, w.divisor, w.extent, w.stride);
    }
    text + "\n"
}

fn skeleton(f: &mut fmt::Formatter<'_>, skeleton: &Skeleton) -> fmt::Result {
    let (name, fields, body) = match skeleton {
        Skeleton::Row { parallel, reduced, passes, stores: last } => {
            let mut body = String::new();
            for pass in passes {
                let mut inner = String::new();
                for a in &pass.accumulators {
                    let op = match a.op {
                        AccumulatorOp::Reduce(op) => op.name(),
                        AccumulatorOp::Arg(op) => op.name(),
                    };
                    _ = writeln!(inner, "{op} v{}", a.value);
                }
                inner += &stores(&pass.stores);
                _ = writeln!(body, "pass {{\n{}}}", indented(&inner));
            }
            ("row", vec![field("parallel", axes(parallel)), field("reduced", axes(reduced))], body + &stores(last))
        }
        Skeleton::Contract { batch, m, n, k, lhs, rhs, stores: last } => {
            let lists = [("batch", batch), ("m", m), ("n", n), ("k", k)];
            let body = operand("lhs", lhs) + &operand("rhs", rhs) + &stores(last);
            ("contract", lists.map(|(key, list)| field(key, axes(list))).to_vec(), body)
        }
        Skeleton::Scatter { outer, target, source, inner, index, store } => {
            let fields = vec![
                field("outer", axes(outer)),
                field("target", Datum::word(&format!("i{target}"))),
                field("source", axes(source)),
                field("inner", axes(inner)),
                field("index", Datum::word(&format!("v{index}"))),
            ];
            ("scatter", fields, stores(std::slice::from_ref(store)))
        }
        Skeleton::Recur(own) => ("recur", recur::print(own), recur::print_places(own) + &stores(&own.stores)),
        Skeleton::Attend(attention) => ("attend", attend::print_loops(attention), stores(&attention.stores)),
    };
    writeln!(f, "{name}{} {{\n{}}}", Listed(&fields), indented(&body))
}

fn steps<K>(list: &[Step<K>], launch: &dyn Fn(&K, String) -> String) -> String {
    let mut text = String::new();
    for step in list {
        match step {
            Step::Launch { kernel, buffers } => {
                let buffers: Vec<String> = buffers.iter().map(|b| format!("b{}", b.0)).collect();
                text += &launch(kernel, buffers.join(", "));
            }
            Step::Loop { count, reverse, body } => {
                let body = indented(&steps(body, launch));
                _ = writeln!(text, "loop count={count} reverse={reverse} {{\n{body}}}");
            }
            Step::Fused { kernel, buffers, steps: list } => {
                let all = |list: &[Step<K>]| indented(&steps(list, launch));
                let buffers: Vec<String> = buffers.iter().map(|b| format!("b{}", b.0)).collect();
                let one = indented(&launch(kernel, buffers.join(", ")));
                _ = writeln!(text, "fused {{\n{one}}} of {{\n{}}}", all(list));
            }
            Step::Joined { joint, steps: list } => {
                _ = writeln!(text, "joined {} {{\n{}}}", joint.name(), indented(&steps(list, launch)));
            }
            Step::Foreign { function, args, results } => {
                let list = |list: &[(BufferId, Type)]| {
                    list.iter().map(|(b, ty)| format!("b{}: {ty}", b.0)).collect::<Vec<_>>().join(", ")
                };
                _ = writeln!(text, "foreign function={function} ({}) ({})", list(args), list(results));
            }
            Step::Branch { selector, cases } => {
                let case = |case: &Vec<Step<K>>| format!("case {{\n{}}}\n", indented(&steps(case, launch)));
                let cases: String = cases.iter().map(case).collect();
                _ = writeln!(text, "branch(b{}) {{\n{}}}", selector.0, indented(&cases));
            }
        }
    }
    text
}

/// Buffers with their places on a CPU and on a GPU, where they have some.
fn buffers<K>(program: &Program<K>, places: &[&[Place]]) -> String {
    let mut text = String::new();
    for (k, buffer) in program.buffers.iter().enumerate() {
        let (name, fields) = role(buffer.role);
        _ = write!(text, "b{k}: {}[{}] {name}{}", buffer.dtype, buffer.len, Listed(&fields));
        let mut of_machines: Vec<&Place> = places.iter().map(|places| &places[k]).collect();
        of_machines.dedup();
        for place in of_machines {
            let (pool, mut fields) = pool(place.pool);
            fields.push(field("offset", Datum::Dim(place.offset.clone())));
            if place.len != buffer.len {
                fields.push(field("len", Datum::Dim(place.len.clone())));
            }
            _ = write!(text, " in {pool}{}", Listed(&fields));
        }
        text.push('\n');
    }
    text
}

fn role(role: Role) -> (&'static str, Fields) {
    match role {
        Role::Argument(k) => ("argument", vec![field("index", number(k))]),
        Role::Param(p) => ("param", vec![field("index", number(p.0 as usize))]),
        Role::Source(source) => ("source", prims::print_source(source)),
        Role::Result(k) => ("result", vec![field("index", number(k))]),
        Role::Effect(Effect::Gradient(p)) => ("gradient", vec![field("index", number(p.0 as usize))]),
        Role::Effect(Effect::Weights) => ("weights", vec![]),
        Role::Effect(Effect::Companion(p)) => ("companion", vec![field("index", number(p.0 as usize))]),
        Role::Effect(Effect::State(k)) => ("state", vec![field("index", number(k))]),
        Role::Effect(Effect::Updated) => ("updated", vec![]),
        Role::State(s) => ("session", vec![field("index", number(s.0 as usize))]),
        Role::Effect(Effect::Stored(s)) => ("stored", vec![field("index", number(s.0 as usize))]),
        Role::Scratch => ("scratch", vec![]),
    }
}

fn pool(pool: Pool) -> (&'static str, Fields) {
    match pool {
        Pool::Argument(k) => ("argument", vec![field("index", number(k))]),
        Pool::Weights => ("weights", vec![]),
        Pool::Gradients => ("gradients", vec![]),
        Pool::State(k) => ("state", vec![field("index", number(k))]),
        Pool::Session => ("session", vec![]),
        Pool::Numbers => ("numbers", vec![]),
        Pool::Groups => ("groups", vec![]),
        Pool::Scratch => ("scratch", vec![]),
        Pool::Bank(k) => ("bank", vec![field("index", number(k))]),
        Pool::Outcome => ("outcome", vec![]),
        Pool::Result(k) => ("result", vec![field("index", number(k))]),
    }
}

/// The letter and the number of `i0`, `v12` and the like.
pub(super) fn is_atom(word: &str) -> Option<(char, usize)> {
    let letter = word.chars().next().filter(|c| "ilvsbk".contains(*c))?;
    Some((letter, word[1..].parse().ok()?))
}
