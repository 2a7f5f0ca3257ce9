//! Calls of foreign functions: arguments that must fit the declared types, and a node of the declared result.

use super::super::foreign::{self, Declaration};
use super::graph::plain_site;
use super::{Argument, Elaborator, Scope, Tensor, Val};
use crate::diag::Place;
use crate::ir::written::{Role, What};
use crate::ir::{Dim, Foreign, Type};
use crate::ops::Attr;
use std::collections::BTreeMap;

impl<'e, 'p> Elaborator<'e, 'p> {
    /// The foreign function of that name. Only the macro's own text declares any.
    pub(super) fn foreign_function(&mut self, name: &str) -> Option<&'e Declaration<'p>> {
        let own = self.scope().function.source == 0;
        let declared = self.declared;
        declared.foreign.iter().find(|known| own && known.one.name == name)
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
        let call = Foreign { function: of.number, results, gradient: of.gradient.clone() };
        Val::Tensor(self.write(What::Foreign(call), plain_site(text, place), &given))
    }
}
