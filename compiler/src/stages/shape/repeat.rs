//! Repeated regions: the body typed once, with what it carries unchanged in type.

use super::report::{site_of, type_text};
use super::scan::state_name;
use super::{Known, Shaper};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Graph, Kind, Node, Repeat, Type, Value};

impl Shaper<'_> {
    pub(super) fn repeat(&mut self, node: &Node, repeat: &Repeat) -> Known {
        let mut args: Vec<Option<Value>> = node.args.iter().map(|&a| self.one(a)).collect();
        let slice = |k: usize, ty: &Type| match (repeat.carried..repeat.carried + repeat.stacked).contains(&k) {
            true => Type::new(ty.dtype, ty.shape.get(1..).unwrap_or_default()),
            false => ty.clone(),
        };
        let mut inputs: Vec<Option<Type>> =
            args.iter().enumerate().map(|(k, arg)| arg.map(|a| slice(k, self.new.ty(a)))).collect();
        let before = self.diags.list().len();
        let inferred = inputs.iter().any(Option::is_none);
        self.start_with_zeros(node, repeat, &mut args, &mut inputs);
        let (mut body, mut sure) = self.round(repeat, &inputs, inferred);
        if self.diags.list().len() > before
            && let Some((k, start)) = self.other_start(node, repeat, &inputs)
        {
            self.diags.forget(before);
            inputs[k] = Some(start);
            (body, sure) = self.round(repeat, &inputs, inferred);
        }
        let reported = self.diags.list().len() > before && !self.guessing;
        let results: Vec<Type> = body.outputs.iter().map(|&v| body.ty(v).clone()).collect();
        let mut changed = false;
        for k in (0..repeat.carried).filter(|&k| sure[k]) {
            if let Some(input) = &inputs[k]
                && *input != results[k]
            {
                changed = true;
                self.report_change(node, repeat, k, input, &results[k]);
            }
        }
        let args: Option<Vec<Value>> = args.into_iter().collect();
        if args.is_none() && !self.guessing {
            return Known::Unknown;
        }
        let Some(count) = self.bindings.dim(&repeat.count) else {
            return Known::Unknown;
        };
        if changed || reported || sure.contains(&false) {
            return Known::Unknown;
        }
        let repeat = Repeat { count, ..repeat.with_body(body) };
        let results: Vec<Type> = (0..results.len()).map(|k| repeat.result(k)).collect();
        let kind = match args.is_some() {
            true => Kind::Repeat(Box::new(repeat)),
            // Only the types are asked for.
            false => Kind::Input(usize::MAX),
        };
        let value = self.new.push(kind, args.unwrap_or_default(), results.first().cloned(), node.span);
        match results.len() {
            1 => Known::One(value),
            _ => Known::Many(value, results),
        }
    }

    /// The body for inputs of these types.
    fn round(&mut self, repeat: &Repeat, inputs: &[Option<Type>], inferred: bool) -> (Graph, Vec<bool>) {
        let body = Shaper::new(&repeat.body, self.diags, self.dims, self.bindings, Some(inputs.to_vec()));
        Shaper { guessing: self.guessing, inferred, ..body }.run()
    }

    fn report_change(&mut self, node: &Node, repeat: &Repeat, k: usize, before: &Type, after: &Type) {
        let output = repeat.body.node(repeat.body.outputs[k]);
        let name = self.old.node(node.args[k]).name.clone().unwrap_or_else(|| "the carried value".into());
        let name = output.name.clone().unwrap_or(name);
        let (before, after) = (type_text(before), type_text(after));
        // A loop over blocks has a count that is known; what it assigns is a variable.
        let (message, note) = match repeat.count.as_const() {
            Some(_) => (
                format!("`{name}` is {before} before the loop, but {after} after its first round"),
                format!("every round must give `{name}` the type that it had: {before}"),
            ),
            None => {
                let name = state_name(repeat, k);
                (
                    format!("the state `{name}` is {before} when a step begins, but {after} when it ends"),
                    format!("every step must give `{name}` the type that it had: {before}"),
                )
            }
        };
        let site = site_of(output);
        let mut report = Diagnostic::new(Code::CarriedTypeChanges, site.place, message);
        // A variable stands there: what it holds is said, too.
        let given =
            output.args.first().map(|&of| repeat.body.node(of)).filter(|of| of.name.as_ref() == Some(&site.text));
        if let Some(given) = given {
            let (origin, line) = (site_of(given).text, self.diags.line(given.span.into()));
            report = report.note(format!("`{}: {after}` comes from `{origin}` on {line}", site.text));
        }
        self.diags.push(report.note(note));
    }
}
