//! The text of a program: data in, the text of its `model!` out.

use crate::program::{Body, Call, Derivative, Local, Operand, Program, Step};
use precast_compiler::ir::{DType, Type};
use std::fmt::Write;

/// Arithmetic that is written between its operands.
const INFIX: &[(&str, &str)] = &[("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"), ("rem", "%")];

impl Program {
    /// The text of the `model!`.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.options(&mut out);
        out.push_str("pub struct Net {\n");
        for param in &self.params {
            let ty = &self.types[param.local];
            let extents: Vec<String> = ty.shape.iter().map(ToString::to_string).collect();
            let _ = writeln!(out, "    p{}: Parameter([{}], init = \"zeros\"),", param.local, extents.join(", "));
        }
        for (k, field) in self.fields.iter().enumerate() {
            let _ = writeln!(out, "    f{k}: {},", field.declared);
        }
        for &state in &self.states {
            let _ = writeln!(out, "    state s{state}: {},", self.types[state]);
        }
        out.push_str("}\n\n");
        self.blocks(&mut out);
        out.push_str("impl Net {\n");
        let args = list(self.args.iter().map(|a| format!("v{}: {}", a.local, self.types[a.local])));
        let names = list(self.args.iter().map(|a| format!("v{}", a.local)));
        let types = tuple(self.results.iter().map(|&r| self.types[r].to_string()).collect());
        let results = tuple(self.results.iter().map(|r| format!("v{r}")).collect());
        let mut body = String::new();
        for param in &self.params {
            let _ = writeln!(body, "        let v{0} = self.p{0};", param.local);
        }
        for &state in &self.states {
            let _ = writeln!(body, "        let v{state} = self.s{state};");
        }
        self.steps(&self.steps, 2, &mut body);
        let this = if self.states.is_empty() { "&self" } else { "&mut self" };
        let (value, loss) = match self.shared {
            true => {
                let _ = writeln!(out, "    fn both({this}, {args}) -> {types} {{\n{body}        {results}\n    }}\n");
                (format!("        self.both({names})\n"), format!("        let {results} = self.both({names});\n"))
            }
            false => (format!("{body}        {results}\n"), body),
        };
        let _ = writeln!(out, "    pub fn value({this}, {args}) -> {types} {{\n{value}    }}");
        if !self.weighed.is_empty() {
            let weights = list(self.weighed.iter().map(|(_, w)| format!("v{w}: {}", self.types[*w])));
            let term = |(r, w): &(Local, Local)| match self.types[*r].dtype.is_float() {
                true => format!("sum(v{r} * v{w})"),
                false => format!("sum(v{r}.f32() * v{w})"),
            };
            let terms: Vec<String> = self.weighed.iter().map(term).collect();
            let (optimizer, terms) = (self.optimizer, terms.join(" + "));
            let comma = if args.is_empty() { "" } else { ", " };
            let _ = writeln!(
                out,
                "\n    #[train({optimizer})]\n    pub fn loss(&self, {args}{comma}{weights}) -> f32 {{\n{loss}        {terms}\n    }}"
            );
        }
        out.push_str("}\n");
        out
    }

    fn options(&self, out: &mut String) {
        if self.memory != "balanced" {
            let _ = writeln!(out, "#[model(memory = {})]", self.memory);
        }
        if self.precision != "f32" {
            let _ = writeln!(out, "#[model(precision = {})]", self.precision);
        }
        if let Some(stored) = self.stored {
            let _ = writeln!(out, "#[model(parameters = {stored})]");
        }
    }

    fn blocks(&self, out: &mut String) {
        for (k, field) in self.fields.iter().enumerate() {
            let Some((_, ty, body)) = &field.block else { continue };
            let extents: Vec<String> = ty.shape.iter().map(ToString::to_string).collect();
            let (x, p) = (body.params[0], body.params[1]);
            let _ = writeln!(
                out,
                "struct Block{k} {{\n    p: Parameter([{}], init = \"zeros\"),\n}}\n",
                extents.join(", ")
            );
            let ty = &self.types[x];
            let _ = writeln!(
                out,
                "impl Block{k} {{\n    fn forward(&self, v{x}: {ty}) -> {ty} {{\n        let v{p} = self.p;"
            );
            self.steps(&body.steps, 2, out);
            let _ = writeln!(out, "        v{}\n    }}\n}}\n", body.outs[0]);
        }
    }

    fn steps(&self, steps: &[Step], depth: usize, out: &mut String) {
        for step in steps {
            let _ = writeln!(out, "{}{}", "    ".repeat(depth), self.step(step, depth));
        }
    }

    fn step(&self, step: &Step, depth: usize) -> String {
        let indent = "    ".repeat(depth);
        let locals = |all: &[Local]| list(all.iter().map(|v| format!("v{v}")));
        let bound = |to: &[Local], made: String| {
            format!("let {} = {made};", tuple(to.iter().map(|v| format!("v{v}")).collect()))
        };
        match step {
            Step::Call(call) => bound(&call.results, self.written(call)),
            Step::Layer { field, operands, results: to } => {
                // What is no float after the first operand are the lengths of sequences, which have a name.
                let operand = |(k, &v): (usize, &Local)| match self.types[v].dtype {
                    DType::U32 if k > 0 => format!("lengths = v{v}"),
                    _ => format!("v{v}"),
                };
                bound(to, format!("self.f{field}({})", list(operands.iter().enumerate().map(operand))))
            }
            Step::Branch { condition, cases, results: to } => {
                let [a, b] = cases.each_ref().map(|case| self.braced(case, depth));
                bound(to, format!("if v{condition} > 0.0 {a} else {b}"))
            }
            Step::Scan { over, axis, from, reverse, form, body, results: to } => {
                let reverse = if *reverse { ", reverse = true" } else { "" };
                let body = format!("|{}| {}", locals(&body.params), self.braced(body, depth));
                bound(to, format!("{form}(v{over}, axis = {axis}{reverse}, from = v{from}, {body})"))
            }
            Step::Map { over, body, results: to } => {
                bound(to, format!("map(|{}| {})({})", locals(&body.params), self.braced(body, depth), locals(over)))
            }
            Step::Derive { how, of, body, results: to } => {
                let name = match how {
                    Derivative::Grad => "grad",
                    Derivative::ValueAndGrad => "value_and_grad",
                    Derivative::Hvp => "hvp",
                    Derivative::Jvp => "jvp",
                    Derivative::Vjp => "vjp",
                };
                let body = format!("|{}| {}", locals(&body.params), self.braced(body, depth));
                bound(to, format!("{name}({body})({})", locals(of)))
            }
            Step::Store { state, part, operator, value, read } => {
                let read = read.map_or(String::new(), |read| format!("\n{indent}let v{read} = self.s{state};"));
                format!("self.s{state}{part} {operator} v{value};{read}")
            }
            Step::Repeat { field, over, result } => {
                let inside =
                    format!("let mut x = v{over};\n{indent}    for block in self.f{field} {{ x = block(x); }}");
                bound(&[*result], format!("{{\n{indent}    {inside}\n{indent}    x\n{indent}}}"))
            }
        }
    }

    fn braced(&self, body: &Body, depth: usize) -> String {
        let mut inside = String::new();
        self.steps(&body.steps, depth + 1, &mut inside);
        let outs = tuple(body.outs.iter().map(|v| format!("v{v}")).collect());
        let indent = "    ".repeat(depth);
        format!("{{\n{inside}{indent}    {outs}\n{indent}}}")
    }

    fn written(&self, call: &Call) -> String {
        let whole = call.operands.iter().any(|o| matches!(o, Operand::Local(v) if self.types[*v].dtype != DType::F32));
        let operand = |o: &Operand| match o {
            Operand::Local(v) => format!("v{v}"),
            Operand::Named(name, v) => format!("{name} = v{v}"),
            Operand::Number(x) if whole => format!("{x}"),
            Operand::Number(x) => format!("{x:?}"),
        };
        if let (Some((_, sign)), [a, b]) = (INFIX.iter().find(|(op, _)| *op == call.op), call.operands.as_slice()) {
            return format!("{} {sign} {}", operand(a), operand(b));
        }
        let plain = call.operands.iter().filter(|o| !matches!(o, Operand::Named(..))).map(operand);
        let positional = call.written.iter().filter(|(name, _)| name.is_none()).map(|(_, text)| text.clone());
        let named = call.written.iter().filter_map(|(name, text)| Some(format!("{} = {text}", name.as_ref()?)));
        let operands = call.operands.iter().filter(|o| matches!(o, Operand::Named(..))).map(operand);
        format!("{}({})", call.op, list(plain.chain(positional).chain(named).chain(operands)))
    }

    /// The type of a local.
    pub fn ty(&self, local: Local) -> &Type {
        &self.types[local]
    }
}

fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn tuple(parts: Vec<String>) -> String {
    match parts.as_slice() {
        [one] => one.clone(),
        many => format!("({})", many.join(", ")),
    }
}
