//! Calls of models that were imported: arguments that must fit those of the file, and a node of its computation.

use super::super::ast::Expr;
use super::super::imported::ImportedInstance;
use super::super::words;
use super::graph::plain_site;
use super::{Argument, Elaborator, Module, Tensor, Val};
use crate::ir::written::{Axis, Fit, Role, Site, What};
use crate::ir::{Dim, Function, Kind, Type};

impl Elaborator<'_, '_> {
    /// `self.body(image)`
    pub(super) fn imported_call(
        &mut self,
        imported: &ImportedInstance,
        module: &Module,
        callee: &str,
        args: Vec<Argument>,
        expr: &Expr,
    ) -> Val {
        let function = &imported.model.functions[0];
        let wanted = function.args.iter().map(|arg| arg.name.to_string()).collect();
        let types: Vec<String> = function.args.iter().map(|arg| format!("{}: {}", arg.name, arg.ty)).collect();
        let note = format!("its file declares it as `forward({})`", types.join(", "));
        let Some(args) = self.match_args(wanted, note, callee, args, expr.place) else { return Val::Unknown };
        self.calls += 1;
        let number = self.calls;
        let given = args.into_iter().zip(&function.args).map(|(arg, declared)| {
            let role = Role::Argument { callee: callee.to_owned(), name: declared.name.to_string() };
            self.fit_declared(arg, &declared.ty, function, number, role)
        });
        let Some(mut given) = given.collect::<Vec<_>>().into_iter().collect::<Option<Vec<Tensor>>>() else {
            return Val::Unknown;
        };
        let parameters = imported.params.iter().map(|&id| self.parameter(id, module, expr.place));
        given.extend(parameters.collect::<Vec<_>>());
        let inner = |name: &str| Some(inner(name, number));
        let mut graph = Box::new(function.graph.substitute(&inner));
        // A call is given its parameters, which are slices where the block is repeated.
        for node in &mut graph.nodes {
            if let Kind::Param(id) = node.kind {
                node.kind = Kind::Input(function.args.len() + id.0 as usize);
            }
        }
        let (text, results) = (words::brief(expr), graph.outputs.len());
        let called = self.write(What::Imported(graph), plain_site(&text, expr.place), &given);
        match results {
            1 => Val::Tensor(called),
            n => Val::Tuple((0..n).map(|k| Val::Tensor(self.part(called, k, Some(n), &text, expr.place))).collect()),
        }
    }

    /// An argument, which must be of a type that the file declares; names in it are those of the call.
    fn fit_declared(&mut self, arg: Argument, ty: &Type, of: &Function, number: usize, role: Role) -> Option<Tensor> {
        let tensor = self.tensor(arg.value, &arg.text, arg.place)?;
        let axis = |dim: &Dim| {
            let bound = of.dims.iter().find(|known| dim.as_name() == Some(&known.name)).and_then(|known| known.bound);
            Some(Axis { dim: dim.substitute(&|name| Some(inner(name, number))), bound, text: dim.to_string() })
        };
        let axes = ty.shape.iter().map(axis).collect();
        let fit =
            Fit { dtype: ty.dtype, axes, scope: number, role, text: ty.to_string(), place: of.name.span().into() };
        let site = Site { args: vec![(arg.text.clone(), arg.place)], ..plain_site(&arg.text, arg.place) };
        Some(self.write(What::Fit(fit), site, &[tensor]))
    }
}

/// The name of a dimension in an inlined call.
fn inner(name: &str, number: usize) -> Dim {
    Dim::name(format!("{name}#{number}"))
}
