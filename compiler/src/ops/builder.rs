//! The typed builder in which op bodies, derivative rules and optimisers are written.
//!
//! Every method appends primitives to a graph and checks shapes; elementwise methods broadcast as NumPy
//! does. A mistake is an `OpError` that names both types.

use super::OpError;
use crate::diag::Code;
use crate::ir::graph::Source;
use crate::ir::limits::{NODES, excess};
use crate::ir::prim::{Border, Cut, MapOp, Prim, ReduceOp, Scalar};
use crate::ir::{Category, DType, Dim, Graph, Kind, Type, Value};
use proc_macro2::Span;

/// Appends primitives to a graph.
pub struct Builder<'g> {
    /// Where they go; all values have types.
    pub graph: &'g mut Graph,
    /// The user's expression that they belong to.
    pub span: Span,
    /// Whether random layers draw.
    pub training: bool,
    /// The type of floats that no argument decides.
    pub float: DType,
    /// Numbers the places that draw random bits; each place takes the next.
    pub sites: &'g mut u32,
    /// The loop counters of the regions around this graph (u32 scalars), which random places mix in.
    pub loops: Vec<Value>,
}

type Built = Result<Value, OpError>;

impl<'g> Builder<'g> {
    /// Writes derivatives, which draw no random bits and decide no types.
    pub fn of_derivatives(graph: &'g mut Graph, span: Span, sites: &'g mut u32) -> Self {
        Builder { graph, span, training: true, float: DType::F32, sites, loops: vec![] }
    }
}

impl Builder<'_> {
    /// Writes the body of a loop of this graph.
    pub(crate) fn inside<'b>(&'b mut self, body: &'b mut Graph) -> Builder<'b> {
        let (span, training, float) = (self.span, self.training, self.float);
        Builder { graph: body, span, training, float, sites: self.sites, loops: vec![] }
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> &Type {
        self.graph.ty(value)
    }

    /// The shape of a value.
    pub fn shape(&self, value: Value) -> Vec<Dim> {
        self.ty(value).shape.clone()
    }

    /// The number of axes.
    pub fn rank(&self, value: Value) -> usize {
        self.ty(value).rank()
    }

    /// The element type.
    pub fn dtype(&self, value: Value) -> DType {
        self.ty(value).dtype
    }

    /// Appends a primitive. Values of types of memory are computed in the type for that, and rounded to theirs again where all of
    /// that type are.
    pub fn prim(&mut self, prim: Prim, args: &[Value]) -> Built {
        let dtypes: Vec<DType> = args.iter().map(|&arg| self.dtype(arg)).collect();
        let stored = dtypes.iter().copied().find(|dtype| dtype.is_stored());
        let Some(stored) = stored.filter(|_| prim.computes()) else { return self.append(prim, args) };
        let alone = dtypes.iter().all(|dtype| dtype.computed() != stored.computed() || *dtype == stored);
        let computed = |b: &mut Self, &arg: &Value| b.convert(arg, b.dtype(arg).computed());
        let args = args.iter().map(|arg| computed(self, arg)).collect::<Result<Vec<_>, _>>()?;
        let made = self.append(prim.clone(), &args)?;
        // Sums and products of integers stay wide.
        let widens = stored.is_integer() && matches!(prim, Prim::Reduce { op: ReduceOp::Sum | ReduceOp::Prod, .. });
        match self.dtype(made) == stored.computed() && alone && !widens {
            true => self.convert(made, stored),
            false => Ok(made),
        }
    }

    fn append(&mut self, prim: Prim, args: &[Value]) -> Built {
        let types: Vec<&Type> = args.iter().map(|&a| self.graph.ty(a)).collect();
        let ty = prim.infer(&types).map_err(|message| OpError::new(Code::ShapeMismatch, message))?;
        if let Some(most) = excess(&ty) {
            let message = format!("`{{callee}}` would make {ty}, and a tensor has at most {most}");
            return Err(OpError::new(Code::TooLarge, message));
        }
        if self.graph.nodes.len() >= NODES {
            let message = format!("with `{{callee}}` a graph would have more than {NODES} nodes");
            return Err(OpError::new(Code::TooLarge, message));
        }
        Ok(self.graph.push(Kind::Prim(prim), args.to_vec(), Some(ty), self.span))
    }

    /// A scalar literal of the type of `like`.
    pub fn constant(&mut self, like: Value, x: f64) -> Built {
        let scalar = Scalar::of(self.dtype(like), x);
        self.prim(Prim::Const(scalar), &[])
    }

    /// A scalar u32 literal.
    pub fn u32(&mut self, x: u32) -> Built {
        self.prim(Prim::Const(Scalar::u32(x)), &[])
    }

    /// A tensor of one value.
    pub fn full(&mut self, dtype: DType, shape: &[Dim], x: f64) -> Built {
        let scalar = self.prim(Prim::Const(Scalar::of(dtype, x)), &[])?;
        self.broadcast_to(scalar, shape)
    }

    /// A dimension's value as a scalar of the type of `like`.
    pub fn extent(&mut self, like: Value, dim: &Dim) -> Built {
        let dtype = self.dtype(like);
        match dim.as_const() {
            Some(n) => self.constant(like, n as f64),
            None => {
                let n = self.prim(Prim::Extent(dim.clone()), &[])?;
                self.convert(n, dtype)
            }
        }
    }

    /// Indices along an axis (u32).
    pub fn iota(&mut self, shape: &[Dim], axis: usize) -> Built {
        self.prim(Prim::Iota { shape: shape.to_vec(), axis }, &[])
    }

    /// A value that the runtime supplies.
    pub fn source(&mut self, source: Source, ty: Type) -> Value {
        self.graph.push(Kind::Source(source), vec![], Some(ty), self.span)
    }

    /// A dimension's value as a u32 scalar.
    pub fn extent_u32(&mut self, dim: &Dim) -> Built {
        match dim.as_const() {
            Some(n) => self.u32(n as u32),
            None => self.prim(Prim::Extent(dim.clone()), &[]),
        }
    }

    /// The common shape of several under NumPy's broadcasting.
    pub fn common_shape(&self, values: &[Value]) -> Result<Vec<Dim>, OpError> {
        let mut common: Vec<Dim> = vec![];
        for &value in values {
            common = join(&common, &self.ty(value).shape).ok_or_else(|| {
                let types: Vec<String> = values.iter().map(|&v| self.ty(v).to_string()).collect();
                OpError::new(Code::BroadcastMismatch, format!("{} do not broadcast", types.join(" and ")))
            })?;
        }
        Ok(common)
    }

    /// Broadcasts as NumPy does: missing leading axes and axes of extent 1 repeat.
    pub fn broadcast_to(&mut self, value: Value, shape: &[Dim]) -> Built {
        let from = self.shape(value);
        if from == shape {
            return Ok(value);
        }
        let Some(lead) = shape.len().checked_sub(from.len()) else {
            return Err(OpError::new(
                Code::BroadcastMismatch,
                format!("{} does not broadcast to rank {}", self.ty(value), shape.len()),
            ));
        };
        let fits = (0..from.len()).all(|i| from[i] == shape[lead + i] || from[i].is(1));
        let axes: Vec<usize> = (0..from.len()).filter(|&i| from[i] == shape[lead + i]).collect();
        let kept: Vec<Dim> = axes.iter().map(|&i| from[i].clone()).collect();
        if !fits {
            let to = Type::new(self.dtype(value), shape);
            return Err(OpError::new(
                Code::BroadcastMismatch,
                format!("{} does not broadcast to {to}", self.ty(value)),
            ));
        }
        let squeezed = self.reshape(value, &kept)?;
        self.prim(Prim::Broadcast { shape: shape.to_vec(), axes: axes.iter().map(|i| i + lead).collect() }, &[squeezed])
    }

    /// An elementwise operation over broadcast arguments.
    pub fn map(&mut self, op: MapOp, args: &[Value]) -> Built {
        let shape = self.common_shape(args)?;
        let args = args.iter().map(|&a| self.broadcast_to(a, &shape)).collect::<Result<Vec<_>, _>>()?;
        self.prim(Prim::Map(op), &args)
    }

    /// A unary elementwise operation.
    pub fn unary(&mut self, op: MapOp, x: Value) -> Built {
        self.map(op, &[x])
    }

    /// A binary elementwise operation with a literal on the right.
    pub fn with(&mut self, op: MapOp, x: Value, literal: f64) -> Built {
        let literal = self.constant(x, literal)?;
        self.map(op, &[x, literal])
    }

    /// `a + b`
    pub fn add(&mut self, a: Value, b: Value) -> Built {
        self.map(MapOp::Add, &[a, b])
    }

    /// `a − b`
    pub fn sub(&mut self, a: Value, b: Value) -> Built {
        self.map(MapOp::Sub, &[a, b])
    }

    /// `a · b`
    pub fn mul(&mut self, a: Value, b: Value) -> Built {
        self.map(MapOp::Mul, &[a, b])
    }

    /// `a / b`
    pub fn div(&mut self, a: Value, b: Value) -> Built {
        self.map(MapOp::Div, &[a, b])
    }

    /// `a` where the condition holds, `b` elsewhere.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Built {
        self.map(MapOp::Select, &[condition, a, b])
    }

    /// To another element type.
    pub fn convert(&mut self, x: Value, dtype: DType) -> Built {
        if self.dtype(x) == dtype { Ok(x) } else { self.prim(Prim::Convert(dtype), &[x]) }
    }

    /// Integers as positions. One that u32 does not hold becomes the largest, which is beyond every axis.
    pub fn index(&mut self, x: Value) -> Built {
        let dtype = self.dtype(x);
        if !dtype.is_wide() {
            return self.convert(x, DType::U32);
        }
        let last = self.constant(x, u32::MAX.into())?;
        let mut beyond = self.map(MapOp::Lt, &[last, x])?;
        if dtype.category() == Category::Signed {
            let negative = self.with(MapOp::Lt, x, 0.0)?;
            beyond = self.map(MapOp::Or, &[beyond, negative])?;
        }
        let index = self.select(beyond, last, x)?;
        self.convert(index, DType::U32)
    }

    /// Reduces axes (any order) and drops them.
    pub fn reduce(&mut self, op: ReduceOp, x: Value, axes: &[usize]) -> Built {
        let mut axes = axes.to_vec();
        axes.sort_unstable();
        axes.dedup();
        if axes.is_empty() { Ok(x) } else { self.prim(Prim::Reduce { op, axes }, &[x]) }
    }

    /// Reduces axes and keeps them with extent 1.
    pub fn reduce_keep(&mut self, op: ReduceOp, x: Value, axes: &[usize]) -> Built {
        let reduced = self.reduce(op, x, axes)?;
        let mut shape = self.shape(x);
        axes.iter().for_each(|&a| shape[a] = Dim::from(1));
        self.reshape(reduced, &shape)
    }

    /// The sum over axes.
    pub fn sum(&mut self, x: Value, axes: &[usize]) -> Built {
        self.reduce(ReduceOp::Sum, x, axes)
    }

    /// The mean over axes.
    pub fn mean(&mut self, x: Value, axes: &[usize]) -> Built {
        let shape = self.shape(x);
        let count = crate::ir::dim::product(axes.iter().map(|&a| &shape[a]));
        let (sum, count) = (self.sum(x, axes)?, self.extent(x, &count)?);
        self.div(sum, count)
    }

    /// The same elements under another shape.
    pub fn reshape(&mut self, x: Value, shape: &[Dim]) -> Built {
        if self.ty(x).shape == shape { Ok(x) } else { self.prim(Prim::Reshape(shape.to_vec()), &[x]) }
    }

    /// Axis `i` of the result is axis `permutation[i]`.
    pub fn transpose(&mut self, x: Value, permutation: &[usize]) -> Built {
        if permutation.iter().enumerate().all(|(i, &p)| i == p) {
            return Ok(x);
        }
        self.prim(Prim::Transpose(permutation.to_vec()), &[x])
    }

    /// `len` elements of one axis from `start`.
    pub fn slice(&mut self, x: Value, axis: usize, start: Dim, len: Dim) -> Built {
        let whole = |d: &Dim| Cut { start: Dim::from(0), len: d.clone(), step: 1 };
        let mut cuts: Vec<Cut> = self.ty(x).shape.iter().map(whole).collect();
        match cuts.get_mut(axis) {
            Some(cut) => *cut = Cut { start, len, step: 1 },
            None => {
                return Err(OpError::new(Code::AxisOutOfRange, format!("{} has no axis {axis}", self.ty(x))));
            }
        }
        self.prim(Prim::Slice(cuts), &[x])
    }

    /// Zeros around the axes: `(low, high)` each.
    pub fn pad(&mut self, x: Value, borders: &[(Dim, Dim)]) -> Built {
        let border = |(low, high): &(Dim, Dim)| Border { low: low.clone(), high: high.clone(), interior: 0 };
        let value = Scalar::of(self.dtype(x), 0.0);
        self.prim(Prim::Pad { borders: borders.iter().map(border).collect(), value }, &[x])
    }

    /// A sum of products in einsum notation: `contract("ik,kj->ij", a, b)`.
    pub fn contract(&mut self, spec: &str, a: Value, b: Value) -> Built {
        let mut parts = spec.split([',', '>']).map(|p| p.trim_end_matches('-').bytes().collect::<Vec<u8>>());
        let mut next = || parts.next().unwrap_or_default();
        let (lhs, rhs, out) = (next(), next(), next());
        self.prim(Prim::Contract { lhs, rhs, out }, &[a, b])
    }

    /// The value, of which everybody sees the same bits.
    ///
    /// # Errors
    /// None for a value of the graph.
    pub fn barrier(&mut self, x: Value) -> Result<Value, OpError> {
        if self.dtype(x).is_float() { self.prim(Prim::Barrier, &[x]) } else { Ok(x) }
    }

    /// The same value, through which no derivative flows.
    pub fn stop_gradient(&mut self, x: Value) -> Value {
        let ty = self.ty(x).clone();
        self.graph.push(Kind::StopGradient, vec![x], Some(ty), self.span)
    }
}

/// The common shape of two under NumPy's broadcasting: axes align at the end, and an extent of 1 repeats.
fn join(a: &[Dim], b: &[Dim]) -> Option<Vec<Dim>> {
    let rank = a.len().max(b.len());
    let at = |shape: &[Dim], i: usize| (i + shape.len()).checked_sub(rank).map(|j| shape[j].clone());
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (Some(x), Some(y)) if x == y || y.is(1) => Some(x),
            (Some(x), Some(y)) if x.is(1) => Some(y),
            (Some(_), Some(_)) => None,
            (x, y) => x.or(y),
        })
        .collect()
}
