//! Which axes the scalars of a kernel vary with.
//!
//! In: a kernel. Out: for each scalar a set of axes. Always: at two positions that differ in other axes only, a scalar has
//! one value. Whoever chooses lanes, loops or whether a value is the same in all lanes asks here, and the interpreter of
//! kernels (`oracle/kernels`) checks the answers at every position that it visits.

use super::dim::Dim;
use super::index::{Atom, Index};
use super::kernel::{Expr, ExprId, Guard, Kernel, Skeleton};
use std::collections::BTreeSet;

/// The axes that each scalar of one kernel varies with.
pub struct Varying(Vec<BTreeSet<usize>>);

impl Varying {
    /// Derives them from the loads, the operands and the skeleton.
    pub fn of(kernel: &Kernel) -> Varying {
        let mut all = Varying(vec![]);
        for expr in &kernel.scalars {
            let axes = all.of_expr(kernel, expr);
            all.0.push(axes);
        }
        all
    }

    /// Whether a scalar varies with an axis.
    pub fn with(&self, id: ExprId, axis: usize) -> bool {
        self.0[id].contains(&axis)
    }

    /// Whether an index does, by itself or by a scalar that it uses.
    pub fn index_with(&self, index: &Index, axis: usize) -> bool {
        let mut axes = BTreeSet::new();
        self.add_index(index, &mut axes);
        axes.contains(&axis)
    }

    /// The axes of a scalar.
    pub fn axes(&self, id: ExprId) -> &BTreeSet<usize> {
        &self.0[id]
    }

    /// The distance between neighbours along an axis; `None` where it is not constant.
    pub fn lane_stride(&self, index: &Index, axis: usize) -> Option<Dim> {
        let mut data = false;
        index.values(&mut |v| data |= self.with(v, axis));
        if data { None } else { index.stride(axis) }
    }

    fn of_expr(&self, kernel: &Kernel, expr: &Expr) -> BTreeSet<usize> {
        let mut axes = BTreeSet::new();
        match expr {
            Expr::Load { index, guards, .. } => {
                self.add_index(index, &mut axes);
                self.add_guards(guards, &mut axes);
            }
            Expr::Index(index) => self.add_index(index, &mut axes),
            Expr::Inside(guards) => self.add_guards(guards, &mut axes),
            Expr::Map(_, args) => args.iter().for_each(|&arg| axes.extend(&self.0[arg])),
            Expr::Convert(_, arg) => axes.extend(&self.0[*arg]),
            Expr::Const(_) | Expr::Extent(_) => {}
            Expr::Accumulated { pass, slot, .. } => match &kernel.skeleton {
                // What is left of a reduction varies with the row.
                Skeleton::Row { parallel, passes, .. } => {
                    let reduced = &self.0[passes[*pass].accumulators[*slot].value];
                    axes.extend(parallel.iter().filter(|axis| reduced.contains(axis)));
                }
                Skeleton::Contract { .. } | Skeleton::Scatter { .. } | Skeleton::Attend(_) | Skeleton::Recur(_) => {
                    axes.extend(0..kernel.axes.len());
                }
            },
        }
        axes
    }

    fn add_guards(&self, guards: &[Guard], axes: &mut BTreeSet<usize>) {
        guards.iter().for_each(|guard| self.add_index(guard.index(), axes));
    }

    fn add_index(&self, index: &Index, axes: &mut BTreeSet<usize>) {
        for (atom, _) in &index.terms {
            match atom {
                Atom::Axis(axis) => _ = axes.insert(*axis),
                Atom::Loop(_) => {}
                Atom::Value(value) => axes.extend(&self.0[*value]),
                Atom::Div(inner, _) | Atom::Mod(inner, _) => self.add_index(inner, axes),
            }
        }
    }
}
