//! Dimensions for the names of dimensions: in primitives and typed graphs.

use super::prim::{Border, Cut, Window};
use super::{Branch, Dim, Graph, Kind, Node, Prim, Repeat, Type};

/// What a name of a dimension stands for; `None` leaves it.
type With<'w> = &'w dyn Fn(&str) -> Option<Dim>;

impl Graph {
    /// The same graph, which is typed and of primitives and regions, with names replaced.
    pub fn substitute(&self, with: With<'_>) -> Graph {
        let node = |node: &Node| Node {
            kind: kind(&node.kind, with),
            ty: node.ty.as_ref().map(|ty| ty.substitute(with)),
            ..node.clone()
        };
        Graph { nodes: self.nodes.iter().map(node).collect(), outputs: self.outputs.clone() }
    }
}

impl Type {
    /// The same type with names replaced.
    pub fn substitute(&self, with: With<'_>) -> Type {
        Type::new(self.dtype, dims(&self.shape, with))
    }
}

fn dims(all: &[Dim], with: With<'_>) -> Vec<Dim> {
    all.iter().map(|dim| dim.substitute(with)).collect()
}

fn kind(kind: &Kind, with: With<'_>) -> Kind {
    match kind {
        Kind::Prim(prim) => Kind::Prim(prim.substitute(with)),
        Kind::Repeat(repeat) => {
            let count = repeat.count.substitute(with);
            Kind::Repeat(Box::new(Repeat { count, ..repeat.with_body(repeat.body.substitute(with)) }))
        }
        Kind::Branch(branch) => {
            Kind::Branch(Box::new(Branch { cases: branch.cases.iter().map(|case| case.substitute(with)).collect() }))
        }
        Kind::Input(_)
        | Kind::Param(_)
        | Kind::State(_)
        | Kind::Source(_)
        | Kind::Counter(_)
        | Kind::Result(_)
        | Kind::StopGradient => kind.clone(),
        Kind::Op(_) | Kind::Foreign(_) | Kind::Transform(_) | Kind::Written(_) => {
            unreachable!("the graph is of primitives and regions")
        }
    }
}

impl Prim {
    /// The same primitive with names replaced.
    pub fn substitute(&self, with: With<'_>) -> Prim {
        let dim = |dim: &Dim| dim.substitute(with);
        let cut = |cut: &Cut| Cut { start: dim(&cut.start), len: dim(&cut.len), step: cut.step };
        let border = |one: &Border| Border { low: dim(&one.low), high: dim(&one.high), interior: one.interior };
        let window =
            |one: &Window| Window { size: dim(&one.size), low: dim(&one.low), high: dim(&one.high), ..one.clone() };
        let windows = |all: &[Window]| all.iter().map(window).collect();
        match self {
            Prim::Extent(extent) => Prim::Extent(dim(extent)),
            Prim::Iota { shape, axis } => Prim::Iota { shape: dims(shape, with), axis: *axis },
            Prim::WindowReduce { op, windows: all } => Prim::WindowReduce { op: *op, windows: windows(all) },
            Prim::WindowArgMax { windows: all } => Prim::WindowArgMax { windows: windows(all) },
            Prim::WindowTake { windows: all } => Prim::WindowTake { windows: windows(all) },
            Prim::WindowPut { windows: all, extents } => {
                Prim::WindowPut { windows: windows(all), extents: dims(extents, with) }
            }
            Prim::Reshape(shape) => Prim::Reshape(dims(shape, with)),
            Prim::Broadcast { shape, axes } => Prim::Broadcast { shape: dims(shape, with), axes: axes.clone() },
            Prim::Slice(cuts) => Prim::Slice(cuts.iter().map(cut).collect()),
            Prim::SetSlice(cuts) => Prim::SetSlice(cuts.iter().map(cut).collect()),
            Prim::Pad { borders, value } => Prim::Pad { borders: borders.iter().map(border).collect(), value: *value },
            Prim::Conv { windows: all } => Prim::Conv { windows: windows(all) },
            Prim::ScatterAdd { axis, extent } => Prim::ScatterAdd { axis: *axis, extent: dim(extent) },
            Prim::Const(_)
            | Prim::Map(_)
            | Prim::Convert(_)
            | Prim::Reduce { .. }
            | Prim::ArgReduce { .. }
            | Prim::Transpose(_)
            | Prim::Barrier
            | Prim::Flip(_)
            | Prim::Concat { .. }
            | Prim::Contract { .. }
            | Prim::Gather { .. }
            | Prim::Attend(_) => self.clone(),
        }
    }
}
