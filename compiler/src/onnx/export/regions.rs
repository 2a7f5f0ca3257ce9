//! Regions: repeated blocks are written one after the other, as their parameters have names of their own, other repetitions become
//! `Loop`, and branches `If`.

use super::attributes::{graph, int};
use super::elements::carrier;
use super::info;
use super::value::Made;
use super::writer::{Call, Writer};
use crate::ir::graph::{Branch, Repeat};
use crate::ir::prim::Scalar;
use crate::ir::{DType, Graph, Type};
use crate::onnx::proto::{GraphProto, ValueInfoProto};

impl Writer<'_> {
    /// The results of a repetition.
    pub(super) fn repeat(&mut self, call: Call<'_>, repeat: &Repeat) -> Vec<Made> {
        let stacks = repeat.carried..repeat.carried + repeat.stacked;
        let has_parameters =
            call.node.args[stacks].iter().any(|arg| matches!(self.made[arg.0 as usize], Made::Stack(..)));
        match repeat.count.as_const() {
            Some(count) if has_parameters || count == 0 => self.unrolled(call, repeat, count),
            _ => self.repeated(call, repeat),
        }
    }

    /// A slice of a stack.
    fn slice(&mut self, call: Call<'_>, k: usize, at: &str, number: Option<i64>) -> Made {
        if let (Made::Stack(id, before), Some(number)) = (&self.made[call.arg(k).0 as usize], number) {
            return self.slice_of(*id, [before.as_slice(), &[number]].concat());
        }
        let stack = self.full(call, k);
        let name = self.op("Gather", &[&stack, at], vec![int("axis", 0)]);
        let ty = call.arg_ty(k);
        Made::full(name, &Type::new(ty.dtype, &ty.shape[1..]))
    }

    fn unrolled(&mut self, call: Call<'_>, repeat: &Repeat, count: i64) -> Vec<Made> {
        let own = |w: &Self, k: usize| w.made[call.arg(k).0 as usize].clone();
        let mut carried: Vec<Made> = (0..repeat.carried).map(|k| own(self, k)).collect();
        let mut turns = vec![];
        for turn in 0..count {
            let number = if repeat.reverse { count - 1 - turn } else { turn };
            let at = self.number(number);
            let mut inputs = carried;
            for k in repeat.carried..call.node.args.len() {
                let is_stack = k < repeat.carried + repeat.stacked;
                inputs.push(if is_stack { self.slice(call, k, &at, Some(number)) } else { own(self, k) });
            }
            self.counters.push(at);
            let mut outputs = self.graph(&repeat.body, inputs);
            self.counters.pop();
            let slices = outputs.split_off(repeat.carried);
            carried = outputs;
            turns.push(slices);
        }
        if repeat.reverse {
            turns.reverse();
        }
        for k in repeat.carried..repeat.body.outputs.len() {
            let slice = repeat.body.ty(repeat.body.outputs[k]);
            carried.push(self.stack(
                turns.iter().map(|slices| slices[k - repeat.carried].clone()),
                slice,
                &repeat.result(k),
            ));
        }
        carried
    }

    /// Slices as one tensor.
    fn stack(&mut self, slices: impl Iterator<Item = Made>, slice: &Type, ty: &Type) -> Made {
        let (mut all, axes) = (vec![], self.list(&[0]));
        for made in slices {
            let one = self.whole(made, slice);
            all.push(self.op("Unsqueeze", &[&one, &axes], vec![]));
        }
        let name = if all.is_empty() { self.zeros(ty) } else { self.joined(&all, 0) };
        Made::full(name, ty)
    }

    fn repeated(&mut self, call: Call<'_>, repeat: &Repeat) -> Vec<Made> {
        // What bodies see is written before them.
        let count = self.extent_scalar(&repeat.count);
        let always = self.constant(Scalar::Bool(true));
        let initial: Vec<String> = (0..call.node.args.len())
            .map(|k| if k < repeat.carried + repeat.stacked { self.full(call, k) } else { String::new() })
            .collect();
        let [turn, goes_on] = ["turn", "goes_on"].map(|word| self.fresh(word));
        let names: Vec<String> = (0..repeat.carried).map(|_| self.fresh("carried")).collect();
        let body_of = |w: &mut Self| w.turn(call, repeat, &count, [&turn, &goes_on], &names);
        let (outputs, node) = self.body(body_of);
        let typed = |k: usize| repeat.body.ty(repeat.body.outputs[k]);
        let declared = |name: &str, ty: &Type| info(name, carrier(ty.dtype), &ty.shape);
        let mut input = vec![info(&turn, DType::I64, &[]), info(&goes_on, DType::Bool, &[])];
        input.extend(names.iter().enumerate().map(|(k, name)| declared(name, typed(k))));
        let mut output: Vec<ValueInfoProto> = vec![info(&outputs[0], DType::Bool, &[])];
        output.extend(outputs[1..].iter().enumerate().map(|(k, name)| declared(name, typed(k))));
        let body = GraphProto { node, name: self.fresh("body"), input, output, ..GraphProto::default() };
        let mut inputs: Vec<&str> = vec![&count, &always];
        inputs.extend(initial[..repeat.carried].iter().map(String::as_str));
        let made = self.op_many("Loop", &inputs, vec![graph("body", body)], repeat.body.outputs.len());
        let finished = |(k, name): (usize, String)| {
            let name = if repeat.reverse && k >= repeat.carried { self.flipped(&name, &[0]) } else { name };
            Made::full(name, &repeat.result(k))
        };
        made.into_iter().enumerate().map(finished).collect()
    }

    /// The body of a loop: the names of its outputs.
    fn turn(
        &mut self,
        call: Call<'_>,
        repeat: &Repeat,
        count: &str,
        [turn, goes_on]: [&str; 2],
        carried: &[String],
    ) -> Vec<String> {
        let mut at = turn.to_string();
        if repeat.reverse {
            let one = self.number(1);
            let last = self.op("Sub", &[count, &one], vec![]);
            at = self.op("Sub", &[&last, turn], vec![]);
        }
        let mut inputs = vec![];
        for (k, &arg) in call.node.args.iter().enumerate() {
            inputs.push(match k {
                _ if k < repeat.carried => Made::full(carried[k].clone(), call.graph.ty(arg)),
                _ if k < repeat.carried + repeat.stacked => self.slice(call, k, &at, None),
                _ => self.made[arg.0 as usize].clone(),
            });
        }
        self.counters.push(at);
        let made = self.graph(&repeat.body, inputs);
        self.counters.pop();
        let mut outputs = vec![self.op("Identity", &[goes_on], vec![])];
        outputs.extend(self.outputs(&repeat.body, made));
        outputs
    }

    /// The outputs of a body, which are values of its own.
    fn outputs(&mut self, body: &Graph, made: Vec<Made>) -> Vec<String> {
        let mut outputs = vec![];
        for (made, &output) in made.into_iter().zip(&body.outputs) {
            let name = self.whole(made, body.ty(output));
            outputs.push(self.op("Identity", &[&name], vec![]));
        }
        outputs
    }

    /// The results of a branch: of the cases the one of that number, or the last.
    pub(super) fn branch(&mut self, call: Call<'_>, branch: &Branch) -> Vec<Made> {
        let selector = self.full(call, 0);
        let inputs: Vec<Made> = call.node.args[1..].iter().map(|arg| self.made[arg.0 as usize].clone()).collect();
        let is_bool = call.arg_ty(0).dtype == DType::Bool;
        let types: Vec<Type> = (0..branch.results()).map(|k| branch.result(k)).collect();
        let made = self.cases(&selector, is_bool, &branch.cases, 0, &inputs);
        made.into_iter().zip(&types).map(|(name, ty)| Made::full(name, ty)).collect()
    }

    fn cases(&mut self, selector: &str, is_bool: bool, cases: &[Graph], first: usize, inputs: &[Made]) -> Vec<String> {
        let [case, rest @ ..] = cases else { unreachable!("a branch has a case") };
        if rest.is_empty() {
            let made = self.graph(case, inputs.to_vec());
            return self.outputs(case, made);
        }
        let is_this = match is_bool {
            true => self.op("Not", &[selector], vec![]),
            false => {
                let number = self.number(first as i64);
                self.op("Equal", &[selector, &number], vec![])
            }
        };
        let mut attributes = vec![];
        for (name, cases, first) in [("then_branch", &cases[..1], first), ("else_branch", rest, first + 1)] {
            let (outputs, node) = self.body(|w| w.cases(selector, is_bool, cases, first, inputs));
            let typed = |(name, &output): (&String, _)| {
                let ty = case.ty(output);
                info(name, carrier(ty.dtype), &ty.shape)
            };
            let output = outputs.iter().zip(&case.outputs).map(typed).collect();
            let body = GraphProto { node, name: self.fresh(name), output, ..GraphProto::default() };
            attributes.push(graph(name, body));
        }
        self.op_many("If", &[&is_this], attributes, case.outputs.len())
    }
}
