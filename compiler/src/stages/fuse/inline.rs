//! Turns a value at an index into scalars of a kernel: movement becomes index arithmetic, elementwise
//! operations become scalar operations, and what is in memory becomes loads.

use super::scope::Scope;
use crate::ir::dim::Dim;
use crate::ir::index::{Atom, Index, Ranges};
use crate::ir::kernel::{Expr, ExprId, Guard};
use crate::ir::prim::{Border, Cut, MapOp, Prim, Scalar, Window};
use crate::ir::{Kind, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Why a value cannot be inlined into a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// The kernel computes the value itself, but at another position.
    Elsewhere,
    /// The value must be put into memory first.
    Materialise(Value),
}

/// Scalars of a kernel that is being made. Slots are values in memory.
#[derive(Clone, Default)]
pub(super) struct Body {
    /// The extents of the axes.
    pub(super) axes: Vec<Dim>,
    /// The scalars; `Load::slot` counts `slots`.
    pub(super) exprs: Vec<Expr>,
    /// The values that are read from memory.
    pub(super) slots: Vec<Value>,
    /// The values that this kernel computes, with their position and scalar.
    pub(super) inside: BTreeMap<Value, (Vec<Index>, ExprId)>,
    known: Known,
}

/// What was turned into scalars: values at positions under guards.
type Known = BTreeMap<(Value, Vec<Index>, Vec<Guard>), ExprId>;

/// How much of a body there was.
pub(super) struct Mark {
    exprs: usize,
    pub(super) slots: usize,
}

impl Body {
    /// An empty body over axes of these extents.
    pub(super) fn over(axes: Vec<Dim>) -> Body {
        Body { axes, ..Body::default() }
    }

    /// Appends a scalar, or finds the equal one.
    pub(super) fn scalar(&mut self, expr: Expr) -> ExprId {
        self.exprs.iter().position(|known| *known == expr).unwrap_or_else(|| {
            self.exprs.push(expr);
            self.exprs.len() - 1
        })
    }

    /// The slot of a value in memory.
    pub(super) fn slot(&mut self, value: Value) -> usize {
        self.slots.iter().position(|known| *known == value).unwrap_or_else(|| {
            self.slots.push(value);
            self.slots.len() - 1
        })
    }

    /// How much there is before something is inlined.
    pub(super) fn mark(&self) -> Mark {
        Mark { exprs: self.exprs.len(), slots: self.slots.len() }
    }

    /// Takes back what was inlined since.
    pub(super) fn undo(&mut self, mark: &Mark) {
        self.exprs.truncate(mark.exprs);
        self.slots.truncate(mark.slots);
    }
}

/// Inlines values of a scope into a body. `roots` are the values that other kernels put into memory.
pub(super) struct Inliner<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) roots: &'a BTreeSet<Value>,
    pub(super) body: &'a mut Body,
    /// What is not in the body's own tables before it is settled that it stays.
    fresh: Known,
    /// How many values are being inlined for others.
    depth: usize,
}

type Inlined = Result<ExprId, Stop>;

/// Atoms of a position from which on nothing more is moved in index arithmetic: each division that does not cancel is
/// written twice, as quotient and remainder, so that a chain of reshapes, pads and rolls would grow by powers of two.
const INTRICATE: usize = 32;

/// Values at positions that are computed on the way to another one, at most: a value that is read at several positions is
/// computed at each, and so is what that one reads, so that they would grow by powers of two.
const STEPS: usize = 512;

/// Whether a position is so long that its value had better be read from memory.
pub(super) fn is_intricate(at: &[Index]) -> bool {
    at.iter().map(Index::atoms).sum::<usize>() > INTRICATE
}

impl<'a> Inliner<'a> {
    pub(super) fn new(scope: &'a Scope<'a>, roots: &'a BTreeSet<Value>, body: &'a mut Body) -> Inliner<'a> {
        Inliner { scope, roots, body, fresh: Known::default(), depth: 0 }
    }

    /// What has been inlined stays.
    pub(super) fn settle(self) {
        self.body.known.extend(self.fresh);
    }

    /// Appends a scalar, or finds the equal one.
    pub(super) fn expr(&mut self, expr: Expr) -> ExprId {
        self.body.scalar(expr)
    }

    fn within(&self, index: &Index, extent: &Dim) -> bool {
        let axes = &self.body.axes;
        Ranges(&|atom| reach(atom, axes)).within(index, extent)
    }

    /// Quotient and remainder of an index.
    pub(super) fn divide(&self, index: &Index, by: &Dim) -> (Index, Index) {
        let axes = &self.body.axes;
        Ranges(&|atom| reach(atom, axes)).divide(index, by)
    }

    /// The smallest and the largest value of an index, where they are known.
    pub(super) fn bounds(&self, index: &Index) -> Option<(Dim, Dim)> {
        let axes = &self.body.axes;
        Ranges(&|atom| reach(atom, axes)).bounds(index)
    }

    /// A number that an index stays below.
    pub(super) fn above(&self, index: &Index) -> Dim {
        self.bounds(index).map_or(Dim::from(i64::from(i32::MAX)), |(_, high)| high + Dim::from(1))
    }

    /// The row-major position of an index in a shape.
    pub(super) fn flatten(&self, value: Value, at: &[Index]) -> Index {
        let strides = self.scope.graph.ty(value).strides();
        at.iter().zip(&strides).fold(Index::default(), |sum, (i, s)| sum.plus(&i.times(s)))
    }

    /// The index in a shape of a row-major position.
    pub(super) fn unflatten(&self, flat: &Index, shape: &[Dim]) -> Vec<Index> {
        let mut at = vec![Index::default(); shape.len()];
        let mut rest = flat.clone();
        for (axis, extent) in shape.iter().enumerate().skip(1).rev() {
            let (whole, part) = self.divide(&rest, extent);
            at[axis] = part;
            rest = whole;
        }
        // The position is inside, so the outermost index is what remains.
        if let Some(outermost) = at.first_mut() {
            *outermost = rest;
        }
        at
    }

    /// The scalar for a value at an index where the guards hold; elsewhere anything.
    pub(super) fn value(&mut self, value: Value, at: &[Index], guards: &[Guard]) -> Inlined {
        let key = (value, at.to_vec(), guards.to_vec());
        if let Some(&id) = self.body.known.get(&key).or_else(|| self.fresh.get(&key)) {
            return Ok(id);
        }
        let before = self.fresh.len();
        self.depth += 1;
        let computed = self.compute(value, at, guards);
        self.depth -= 1;
        let id = computed?;
        if self.depth > 0 && self.fresh.len() > before + STEPS {
            return Err(Stop::Materialise(self.scope.canon(value)));
        }
        self.fresh.insert(key, id);
        Ok(id)
    }

    fn compute(&mut self, value: Value, at: &[Index], guards: &[Guard]) -> Inlined {
        let canon = self.scope.canon(value);
        if let Some((position, id)) = self.body.inside.get(&canon) {
            let (position, id) = (position.clone(), *id);
            let at = match canon == value {
                true => at.to_vec(),
                false => self.unflatten(&self.flatten(value, at), &self.scope.graph.ty(canon).shape),
            };
            return if at == position { Ok(id) } else { Err(Stop::Elsewhere) };
        }
        if self.scope.homes.contains_key(&canon) || self.roots.contains(&canon) {
            let index = self.flatten(value, at);
            let fill = Scalar::of(self.scope.graph.ty(value).dtype, 0.0);
            return Ok(self.load(canon, index, guards.to_vec(), fill));
        }
        let node = self.scope.graph.node(value);
        if is_intricate(at) && !matches!(node.kind, Kind::Counter(_) | Kind::Prim(Prim::Const(_) | Prim::Extent(_))) {
            return Err(Stop::Materialise(canon));
        }
        match &node.kind {
            Kind::Counter(depth) => Ok(self.expr(Expr::Index(Index::atom(Atom::Loop(*depth))))),
            Kind::StopGradient => self.value(node.args[0], at, guards),
            Kind::Prim(prim) => self.prim(value, prim, &node.args, at, guards),
            Kind::Input(_) | Kind::Param(_) | Kind::State(_) | Kind::Source(_) | Kind::Result(_) => {
                unreachable!("inputs and results of regions have homes")
            }
            Kind::Transform(_) => unreachable!("grad has resolved transforms"),
            Kind::Op(_) => unreachable!("expand replaced all ops"),
            Kind::Written(_) => unreachable!("shape has resolved what the user wrote"),
            Kind::Repeat(_) | Kind::Branch(_) | Kind::Foreign(_) => {
                unreachable!("a region is used through its results")
            }
        }
    }

    pub(super) fn load(&mut self, value: Value, index: Index, guards: Vec<Guard>, fill: Scalar) -> ExprId {
        let slot = self.body.slot(value);
        self.expr(Expr::Load { slot, index, guards, fill })
    }

    fn prim(&mut self, value: Value, prim: &Prim, args: &[Value], at: &[Index], guards: &[Guard]) -> Inlined {
        match prim {
            Prim::Const(x) => Ok(self.expr(Expr::Const(*x))),
            Prim::Extent(dim) => Ok(self.expr(Expr::Extent(dim.clone()))),
            Prim::Iota { axis, .. } => Ok(self.expr(Expr::Index(at[*axis].clone()))),
            Prim::Map(op) => {
                let args = args.iter().map(|&a| self.value(a, at, guards)).collect::<Result<Vec<_>, _>>()?;
                Ok(self.expr(Expr::Map(*op, args)))
            }
            Prim::Convert(dtype) => {
                let arg = self.value(args[0], at, guards)?;
                Ok(self.expr(Expr::Convert(*dtype, arg)))
            }
            Prim::Reshape(_) => {
                let inner = self.unflatten(&self.flatten(value, at), &self.scope.graph.ty(args[0]).shape);
                self.value(args[0], &inner, guards)
            }
            Prim::Transpose(permutation) => {
                let mut inner = vec![Index::default(); at.len()];
                permutation.iter().zip(at).for_each(|(&p, i)| inner[p] = i.clone());
                self.value(args[0], &inner, guards)
            }
            Prim::Broadcast { axes, .. } => {
                let inner: Vec<Index> = axes.iter().map(|&a| at[a].clone()).collect();
                self.value(args[0], &inner, guards)
            }
            Prim::Slice(cuts) => {
                let inner: Vec<Index> =
                    at.iter().zip(cuts).map(|(i, c)| i.times(&c.step.into()).offset(c.start.clone())).collect();
                self.value(args[0], &inner, guards)
            }
            Prim::SetSlice(cuts) => self.set_slice(args, cuts, at, guards),
            Prim::Barrier => self.value(args[0], at, guards),
            Prim::Flip(axes) => {
                let mut inner = at.to_vec();
                for &a in axes {
                    let last = self.scope.graph.ty(value).shape[a].clone() - Dim::from(1);
                    inner[a] = at[a].times(&(-1).into()).offset(last);
                }
                self.value(args[0], &inner, guards)
            }
            Prim::Pad { borders, value } => self.pad(args[0], borders, *value, at, guards),
            Prim::Concat { axis } => self.concat(args, *axis, at, guards),
            Prim::Gather { axis } => self.gather(args, *axis, at, guards),
            Prim::WindowTake { windows } => self.take(args, windows, at, guards),
            Prim::Reduce { .. }
            | Prim::ArgReduce { .. }
            | Prim::WindowReduce { .. }
            | Prim::WindowArgMax { .. }
            | Prim::WindowPut { .. }
            | Prim::Contract { .. }
            | Prim::Conv { .. }
            | Prim::ScatterAdd { .. }
            | Prim::Attend(_) => Err(Stop::Materialise(value)),
        }
    }

    fn pad(&mut self, arg: Value, borders: &[Border], value: Scalar, at: &[Index], guards: &[Guard]) -> Inlined {
        let shape = self.scope.graph.ty(arg).shape.clone();
        let (mut inner, mut inside) = (vec![], vec![]);
        for ((i, border), extent) in at.iter().zip(borders).zip(&shape) {
            let moved = i.offset(-border.low.clone());
            inner.push(self.coordinate(moved, border.interior + 1, extent, &mut inside));
        }
        let all: Vec<Guard> = guards.iter().cloned().chain(inside.clone()).collect();
        let id = self.value(arg, &inner, &all)?;
        if inside.is_empty() {
            return Ok(id);
        }
        if let Expr::Load { guards: own, .. } = &self.body.exprs[id]
            && *own == all
            && value.as_f64() == 0.0
        {
            return Ok(id);
        }
        let (inside, outside) = (self.expr(Expr::Inside(inside)), self.expr(Expr::Const(value)));
        Ok(self.expr(Expr::Map(MapOp::Select, vec![inside, id, outside])))
    }

    /// The part inside of the cuts, the whole elsewhere.
    fn set_slice(&mut self, args: &[Value], cuts: &[Cut], at: &[Index], guards: &[Guard]) -> Inlined {
        let (mut inner, mut inside) = (vec![], vec![]);
        for (i, cut) in at.iter().zip(cuts) {
            let moved = i.offset(-cut.start.clone());
            inner.push(self.coordinate(moved, cut.step, &cut.len, &mut inside));
        }
        let all: Vec<Guard> = guards.iter().cloned().chain(inside.clone()).collect();
        let part = self.value(args[1], &inner, &all)?;
        if inside.is_empty() {
            return Ok(part);
        }
        let whole = self.value(args[0], at, guards)?;
        let inside = self.expr(Expr::Inside(inside));
        Ok(self.expr(Expr::Map(MapOp::Select, vec![inside, part, whole])))
    }

    /// The coordinate `index / divisor`, and the guards under which it is whole and inside.
    pub(super) fn coordinate(&self, index: Index, divisor: i64, extent: &Dim, guards: &mut Vec<Guard>) -> Index {
        let mut coordinate = index;
        if divisor != 1 {
            guards.push(Guard::Multiple(coordinate.clone(), divisor));
            // Floor division of a possibly negative index is only read where the range guard holds.
            let (whole, rest) = self.divide(&coordinate, &divisor.into());
            guards.retain(|g| !(rest == Index::default() && matches!(g, Guard::Multiple(i, _) if *i == coordinate)));
            coordinate = whole;
        }
        if !self.within(&coordinate, extent) {
            guards.push(Guard::Within(coordinate.clone(), extent.clone()));
        }
        coordinate
    }

    fn concat(&mut self, args: &[Value], axis: usize, at: &[Index], guards: &[Guard]) -> Inlined {
        let mut start = Dim::default();
        let mut parts = vec![];
        for &arg in args {
            let extent = self.scope.graph.ty(arg).shape[axis].clone();
            let mut inner = at.to_vec();
            inner[axis] = at[axis].offset(-start.clone());
            let guard = Guard::Within(inner[axis].clone(), extent.clone());
            let all: Vec<Guard> = guards.iter().cloned().chain([guard.clone()]).collect();
            parts.push((guard, self.value(arg, &inner, &all)?));
            start = start + extent;
        }
        let Some((_, mut id)) = parts.pop() else { unreachable!("concat has arguments") };
        for (guard, part) in parts.into_iter().rev() {
            let inside = self.expr(Expr::Inside(vec![guard]));
            id = self.expr(Expr::Map(MapOp::Select, vec![inside, part, id]));
        }
        Ok(id)
    }

    /// The value in memory that data-dependent indices read.
    fn data(&self, value: Value) -> Result<Value, Stop> {
        let canon = self.scope.canon(value);
        if self.body.inside.contains_key(&canon) {
            return Err(Stop::Elsewhere);
        }
        if self.scope.homes.contains_key(&canon) || self.roots.contains(&canon) {
            return Ok(canon);
        }
        Err(Stop::Materialise(value))
    }

    fn gather(&mut self, args: &[Value], axis: usize, at: &[Index], guards: &[Guard]) -> Inlined {
        let data = self.data(args[0])?;
        let ty = self.scope.graph.ty(args[0]).clone();
        let rank = self.scope.graph.ty(args[1]).rank();
        let id = self.value(args[1], &at[axis..axis + rank], guards)?;
        let picked = Index::atom(Atom::Value(id));
        let inner: Vec<Index> =
            at[..axis].iter().cloned().chain([picked.clone()]).chain(at[axis + rank..].iter().cloned()).collect();
        let mut all = guards.to_vec();
        all.push(Guard::Within(picked, ty.shape[axis].clone()));
        let index = self.flatten(args[0], &inner);
        let fill = Scalar::outside(ty.dtype);
        Ok(self.load(data, index, all, fill))
    }

    fn take(&mut self, args: &[Value], windows: &[Window], at: &[Index], guards: &[Guard]) -> Inlined {
        let data = self.data(args[0])?;
        let shape = self.scope.graph.ty(args[0]).shape.clone();
        let position = Index::atom(Atom::Value(self.value(args[1], at, guards)?));
        let sizes: Vec<Dim> = windows.iter().map(|w| w.size.clone()).collect();
        let taps = self.unflatten(&position, &sizes);
        let first = at.len() - windows.len();
        let (mut inner, mut all) = (at[..first].to_vec(), guards.to_vec());
        for (d, (window, tap)) in windows.iter().zip(&taps).enumerate() {
            let index = slide(window, &at[first + d], tap);
            inner.push(self.coordinate(index, window.base, &shape[first + d], &mut all));
        }
        let index = self.flatten(args[0], &inner);
        let fill = Scalar::of(self.scope.graph.ty(args[0]).dtype, 0.0);
        Ok(self.load(data, index, all, fill))
    }
}

/// The position in the spread input that a tap of a window reads.
pub(super) fn slide(window: &Window, output: &Index, tap: &Index) -> Index {
    let moved = output.times(&window.stride.into()).plus(&tap.times(&window.dilation.into()));
    moved.offset(-window.low.clone())
}

fn reach(atom: &Atom, axes: &[Dim]) -> Option<Dim> {
    match atom {
        Atom::Axis(a) => Some(axes[*a].clone()),
        Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => None,
    }
}
