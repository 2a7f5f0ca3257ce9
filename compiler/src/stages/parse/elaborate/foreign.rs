//! Calls of foreign functions: arguments that must fit the declared types, and a node of the declared result.

use super::super::ast::Fn;
use super::super::foreign::{self, By, Declaration};
use super::super::words;
use super::graph::plain_site;
use super::inner::is_known;
use super::loops::leaves;
use super::{Argument, Elaborator, Frame, Scope, Tensor, Val};
use crate::diag::Place;
use crate::ir::attr::Attr;
use crate::ir::graph::{ForeignGradient, GradientBy};
use crate::ir::written::{Role, What};
use crate::ir::{Dim, Foreign, Graph, Kind, Type, Value};
use std::collections::BTreeMap;

impl<'e, 'p> Elaborator<'e, 'p> {
    /// The foreign function of that name. Only the macro's own text declares any.
    pub(super) fn foreign_function(&mut self, name: &str) -> Option<&'e Declaration<'p>> {
        let own = self.scope().function.source == 0;
        let declared = self.declared;
        declared.foreign.iter().find(|known| own && known.one.name == name)
    }

    /// The graph of a function of the language that is a gradient: its inputs are the function's arguments.
    fn gradient_body(&mut self, function: &'p Fn, place: Place) -> Option<Graph> {
        let frame = self.frames.len();
        self.frames.push(Frame::default());
        let mut args = vec![];
        for (k, (pat, _)) in function.params.iter().enumerate() {
            let value = self.top().graph.push(Kind::Input(k), vec![], None, place.first);
            let value = Val::Tensor(Tensor { frame, value });
            args.push(Argument { name: None, value, text: words::pattern_text(pat), place, written: place });
        }
        let callee = function.name.to_string();
        self.in_gradient = true;
        let result = self.inline(function, None, &callee, args, place);
        self.in_gradient = false;
        let result = self.materialise(result, &callee, place);
        let mut outputs = vec![];
        leaves(&result, &mut outputs);
        let outputs: Vec<Value> = outputs.into_iter().map(|tensor| self.reach(tensor)).collect();
        let Some(Frame { mut graph, .. }) = self.frames.pop() else { unreachable!("the body's graph is open") };
        graph.outputs = outputs;
        is_known(&result).then_some(graph)
    }

    /// `simulate(action)`
    pub(super) fn foreign_call(
        &mut self,
        of: &Declaration<'p>,
        callee: &str,
        args: Vec<Argument>,
        place: Place,
        text: &str,
    ) -> Val {
        let Some(functions) = &of.functions else { return Val::Unknown };
        let line = self.diags.line(of.one.name.span().into());
        let note = format!("`{}` is declared on {line}", of.one.name);
        let Some(args) = self.match_args(foreign::parameters(of.one), note, callee, args, place) else {
            return Val::Unknown;
        };
        self.calls += 1;
        let number = self.calls;
        let inner = |name: &str| Some(Dim::name(format!("{name}#{number}")));
        let mut names = self.declared.consts(0).clone();
        for (_, ty) in &functions[0].args {
            for dim in &ty.shape {
                dim.names(&mut |name| _ = names.insert(name.to_owned(), inner(name).map(Attr::Int)));
            }
        }
        let function = self.scope().function;
        let locals = vec![BTreeMap::new()];
        self.scopes.push(Scope { number, function, this: None, names, locals, captured: 0 });
        let mut given: Vec<Option<Tensor>> = vec![];
        for ((_, ty), (arg, (name, _))) in of.one.params.iter().zip(args.into_iter().zip(&functions[0].args)) {
            let role = Role::Argument { callee: callee.to_owned(), name: name.clone() };
            given.push(match self.fit(arg.value, ty, &role, &arg.text, arg.place) {
                Val::Tensor(tensor) => Some(tensor),
                Val::Static(_) | Val::Tuple(_) | Val::Struct(..) | Val::Module(_) | Val::Function(_) | Val::Unknown => {
                    None
                }
            });
        }
        self.scopes.pop();
        let Some(given) = given.into_iter().collect::<Option<Vec<Tensor>>>() else { return Val::Unknown };
        let own = |ty: &Type| {
            let shape = ty.shape.iter().map(|dim| dim.substitute(&|name| inner(name)));
            Type::new(ty.dtype, shape.collect::<Vec<_>>())
        };
        let results = functions[0].results.iter().map(own).collect();
        let gradient = match of.gradient.as_ref().filter(|_| !self.in_gradient) {
            None => None,
            Some(gradient) => {
                let by = match gradient.by {
                    By::Foreign(number) => GradientBy::Foreign(number),
                    By::Language(function, place) => match self.gradient_body(function, place) {
                        Some(body) => GradientBy::Body(body),
                        None => return Val::Unknown,
                    },
                };
                Some(ForeignGradient { by, takes: gradient.takes.clone() })
            }
        };
        let call = Foreign { function: of.number, results, gradient };
        Val::Tensor(self.write(What::Foreign(call), plain_site(text, place), &given))
    }
}
