//! What a region steps along, its axis moved to the front and back, and the type of a state that begins as zeros.

use super::bindings::shown;
use super::report::type_text;
use super::{Known, Shaper};
use crate::diag::{Code, Diagnostic, Diags};
use crate::ir::prim::Scalar;
use crate::ir::written::{Fit, Site, What};
use crate::ir::{Dim, Kind, Node, Prim, Repeat, Type, Value};

impl Shaper<'_> {
    /// The argument with that axis first; its extent binds `count`.
    pub(super) fn unstack(&mut self, node: &Node, axis: i64, count: &Dim, site: &Site) -> Known {
        let Some(value) = self.one(node.args[0]) else { return Known::Unknown };
        let ty = self.new.ty(value).clone();
        let (text, rank) = (&site.args[0].0, ty.rank());
        let Some(at) = resolve(axis, rank) else {
            let message = format!("axis {axis} is out of range for `{text}`, which is {}", type_text(&ty));
            let mut report = Diagnostic::new(Code::AxisOutOfRange, site.place, message);
            if rank > 0 {
                report = report.help(format!("use an axis from -{rank} to {}", rank - 1));
            }
            self.diags.push(report);
            return Known::Unknown;
        };
        if let Err(earlier) = self.bindings.bind(count, &ty.shape[at]) {
            let (earlier, here) = (shown(&earlier), shown(&ty.shape[at]));
            let message = format!("`{text}` has {here} steps along axis {axis}, but an earlier tensor has {earlier}");
            let report = Diagnostic::new(Code::ConflictingDimension, site.place, message);
            self.diags.push(report.note(format!("`{text}` is {}", type_text(&ty))));
            return Known::Unknown;
        }
        self.permute(node, value, &ty, at, 0)
    }

    /// A stacked result with its first axis where it was.
    pub(super) fn restack(&mut self, node: &Node, axis: i64) -> Known {
        let (Some(stack), Some(along)) = (self.one(node.args[0]), self.one(node.args[1])) else {
            return Known::Unknown;
        };
        let Some(at) = resolve(axis, self.new.ty(along).rank()) else {
            unreachable!("a tensor that was stepped along has the axis");
        };
        let ty = self.new.ty(stack).clone();
        self.permute(node, stack, &ty, 0, at.min(ty.rank() - 1))
    }

    /// A value with one axis elsewhere.
    fn permute(&mut self, node: &Node, value: Value, ty: &Type, from: usize, to: usize) -> Known {
        if from == to {
            return Known::One(value);
        }
        let mut order: Vec<usize> = (0..ty.rank()).collect();
        let axis = order.remove(from);
        order.insert(to, axis);
        let shape: Vec<Dim> = order.iter().map(|&a| ty.shape[a].clone()).collect();
        self.push(node, Kind::Prim(Prim::Transpose(order)), vec![value], Type::new(ty.dtype, shape))
    }

    /// Puts zeros in the place of the carried arguments that are `zeros`, of the types that the body asks for.
    pub(super) fn start_with_zeros(
        &mut self,
        node: &Node,
        repeat: &Repeat,
        args: &mut [Option<Value>],
        inputs: &mut [Option<Type>],
    ) {
        let open = self.open(node, repeat);
        let others_known = (0..inputs.len()).all(|k| open.contains(&k) || inputs[k].is_some());
        if open.is_empty() || !(others_known || self.guessing) {
            return;
        }
        self.infer(repeat, &open, inputs);
        for k in open {
            match inputs[k].clone() {
                Some(ty) => args[k] = Some(self.zeros(&ty, node)),
                None if self.guessing => {}
                None => self.report_open(node, repeat, k),
            }
        }
    }

    /// The carried values that begin as zeros of any type.
    fn open(&self, node: &Node, repeat: &Repeat) -> Vec<usize> {
        let of = |k: usize| &self.old.node(node.args[k]).kind;
        let is_open = |k: &usize| matches!(of(*k), Kind::Written(written) if matches!(written.what, What::Zeros));
        (0..repeat.carried).filter(is_open).collect()
    }

    /// The state that begins as zeros and the one type with which the body has no mistake, where it has some with the
    /// type that the body gives back: then that is the mistake.
    pub(super) fn other_start(&self, node: &Node, repeat: &Repeat, inputs: &[Option<Type>]) -> Option<(usize, Type)> {
        let [k] = self.open(node, repeat)[..] else { return None };
        let rank = inputs[k].as_ref()?.rank();
        let run = |start: Option<&Type>| {
            let (mut silent, mut bindings) = (Diags::default(), self.bindings.clone());
            let mut inputs = inputs.to_vec();
            inputs[k] = start.cloned();
            let body = Shaper::new(&repeat.body, &mut silent, self.dims, &mut bindings, Some(inputs));
            let (body, _) = Shaper { guessing: start.is_none(), ..body }.run();
            (body, silent.is_empty())
        };
        let (body, _) = run(None);
        let mut types: Vec<&Type> = vec![];
        // Fewer axes broadcast to many shapes.
        for ty in body.nodes.iter().filter_map(|node| node.ty.as_ref()).filter(|ty| ty.rank() == rank) {
            if !types.contains(&ty) && run(Some(ty)).1 {
                types.push(ty);
            }
        }
        let [only] = types[..] else { return None };
        Some((k, only.clone()))
    }

    /// Finds the types of these carried values: what the body gives back where it depends on others only, or on
    /// types that the user declares. Whether they are right is seen when the body is typed.
    fn infer(&self, repeat: &Repeat, open: &[usize], inputs: &mut [Option<Type>]) {
        let mut bindings = self.bindings.clone();
        loop {
            let mut silent = Diags::default();
            let body = Shaper::new(&repeat.body, &mut silent, self.dims, &mut bindings, Some(inputs.to_vec()));
            let (body, sure) = Shaper { guessing: true, ..body }.run();
            let before = inputs.iter().flatten().count();
            for &k in open.iter().filter(|&&k| sure[k]) {
                inputs[k].get_or_insert_with(|| body.ty(body.outputs[k]).clone());
            }
            if inputs.iter().flatten().count() == before || open.iter().all(|&k| inputs[k].is_some()) {
                return;
            }
        }
    }

    /// Of an unknown value that must fit a pattern, the pattern tells the type: an inlined call gives what its function
    /// declares, whatever is wrong inside.
    pub(super) fn declared(&mut self, node: &Node, fit: &Fit) -> Known {
        // Extents of nothing follow from the mistake.
        let shape = self.bindings.shape(fit).filter(|shape| shape.iter().all(|d| d.as_const().is_none_or(|n| n > 0)));
        match shape {
            _ if self.sliced.contains(&fit.scope) => Known::Unknown,
            Some(shape) if self.guessing || fit.role.is_relied_on(fit.scope) => {
                self.push(node, Kind::Input(usize::MAX), vec![], Type::new(fit.dtype, shape))
            }
            _ => Known::Unknown,
        }
    }

    fn zeros(&mut self, ty: &Type, node: &Node) -> Value {
        let (scalar, shape) = (Type::scalar(ty.dtype), ty.shape.clone());
        let kind = Kind::Prim(Prim::Const(Scalar::of(ty.dtype, 0.0)));
        let zero = self.new.push(kind, vec![], Some(scalar), node.span);
        if shape.is_empty() {
            return zero;
        }
        let kind = Kind::Prim(Prim::Broadcast { shape, axes: vec![] });
        self.new.push(kind, vec![zero], Some(ty.clone()), node.span)
    }

    fn report_open(&mut self, node: &Node, repeat: &Repeat, k: usize) {
        let name = state_name(repeat, k);
        let message = format!("the type of `{name}`, which begins as `zeros`, cannot be found");
        let place = super::report::site_of(self.old.node(node.args[k])).place;
        let report = Diagnostic::new(Code::StateNotInferable, place, message);
        self.diags.push(
            report
                .note(
                    "it is that of a function's argument to which the state is passed, or what the closure gives back",
                )
                .help("write the shape: `zeros([B, 64])`"),
        );
    }
}

/// What the user calls the k-th carried value.
pub(super) fn state_name(repeat: &Repeat, k: usize) -> String {
    let input = repeat.body.nodes.iter().find(|node| matches!(node.kind, Kind::Input(i) if i == k));
    input.and_then(|node| node.name.clone()).unwrap_or_else(|| "the state".into())
}

/// An axis counted from the front.
fn resolve(axis: i64, rank: usize) -> Option<usize> {
    let at = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(at).ok().filter(|&at| at < rank)
}
