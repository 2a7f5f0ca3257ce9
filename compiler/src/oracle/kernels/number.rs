//! A kernel's expressions with every dimension and loop counter replaced by its number.

use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Expr, ExprId, Guard, Operand, Store};
use crate::ir::prim::{MapOp, Scalar};
use crate::ir::{DType, Dim};

/// An index in numbers: `base + Σ factor · step`.
pub(super) struct Path {
    pub(super) base: i64,
    pub(super) steps: Vec<(Step, i64)>,
}

/// What a path varies with.
pub(super) enum Step {
    Axis(usize),
    Value(ExprId),
    Div(Path, i64),
    Mod(Path, i64),
}

/// A condition in numbers.
pub(super) enum Test {
    Within(Path, i64),
    Multiple(Path, i64),
}

/// A scalar in numbers.
pub(super) enum Formula {
    Load { slot: usize, path: Path, tests: Vec<Test>, fill: Scalar },
    Literal(Scalar),
    Index(Path),
    Inside(Vec<Test>),
    Map(MapOp, Vec<ExprId>),
    Convert(DType, ExprId),
    Accumulated { pass: usize, slot: usize },
}

/// A store in numbers.
pub(super) struct Put {
    pub(super) slot: usize,
    pub(super) path: Path,
    pub(super) value: ExprId,
}

/// An operand in numbers; a window is path, divisor, extent and stride.
pub(super) struct Factor {
    pub(super) slot: usize,
    pub(super) path: Path,
    pub(super) windows: Vec<(Path, i64, i64, i64)>,
}

/// Replaces dimensions by numbers.
pub(super) struct Numbers<'a> {
    /// The value of a dimension.
    pub(super) size: &'a dyn Fn(&Dim) -> i64,
    /// The slice indices of the loops, innermost last.
    pub(super) counters: &'a [i64],
}

impl Numbers<'_> {
    pub(super) fn path(&self, index: &Index) -> Path {
        let mut path = Path { base: (self.size)(&index.base), steps: vec![] };
        for (atom, factor) in &index.terms {
            let factor = (self.size)(factor);
            let step = match atom {
                Atom::Axis(a) => Step::Axis(*a),
                Atom::Value(v) => Step::Value(*v),
                Atom::Div(inner, by) => Step::Div(self.path(inner), (self.size)(by)),
                Atom::Mod(inner, by) => Step::Mod(self.path(inner), (self.size)(by)),
                Atom::Loop(depth) => {
                    path.base += factor * self.counters[self.counters.len() - 1 - depth];
                    continue;
                }
            };
            path.steps.push((step, factor));
        }
        path
    }

    fn tests(&self, guards: &[Guard]) -> Vec<Test> {
        let test = |guard: &Guard| match guard {
            Guard::Within(index, extent) => Test::Within(self.path(index), (self.size)(extent)),
            Guard::Multiple(index, by) => Test::Multiple(self.path(index), *by),
        };
        guards.iter().map(test).collect()
    }

    pub(super) fn formula(&self, expr: &Expr) -> Formula {
        match expr {
            Expr::Load { slot, index, guards, fill } => {
                Formula::Load { slot: *slot, path: self.path(index), tests: self.tests(guards), fill: *fill }
            }
            Expr::Const(x) => Formula::Literal(*x),
            Expr::Extent(dim) => Formula::Literal(Scalar::u32((self.size)(dim) as u32)),
            Expr::Index(index) => Formula::Index(self.path(index)),
            Expr::Inside(guards) => Formula::Inside(self.tests(guards)),
            Expr::Map(op, args) => Formula::Map(*op, args.clone()),
            Expr::Convert(dtype, arg) => Formula::Convert(*dtype, *arg),
            Expr::Accumulated { pass, slot, .. } => Formula::Accumulated { pass: *pass, slot: *slot },
        }
    }

    pub(super) fn puts(&self, stores: &[Store]) -> Vec<Put> {
        stores.iter().map(|s| Put { slot: s.slot, path: self.path(&s.index), value: s.value }).collect()
    }

    pub(super) fn factor(&self, operand: &Operand) -> Factor {
        let windows = operand.windows.iter();
        Factor {
            slot: operand.slot,
            path: self.path(&operand.index),
            windows: windows
                .map(|w| (self.path(&w.index), w.divisor, (self.size)(&w.extent), (self.size)(&w.stride)))
                .collect(),
        }
    }
}
