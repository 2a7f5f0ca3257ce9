//! Functions over functions: what becomes of a function that is a graph, and the types of what that gives.

use super::graph::{Graph, Kind, Value};
use super::ty::Type;
use super::{Dim, Node};
use proc_macro2::Span;

/// A function and what becomes of it.
///
/// The node's arguments are the inputs of the body, and behind them what `how` asks for. The grad stage
/// resolves every transform; from expand on the node has no type and `Result` nodes take its results.
#[derive(Clone, Debug)]
pub struct Transform {
    /// What becomes of the function.
    pub how: How,
    /// The function.
    pub body: Graph,
}

/// What becomes of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum How {
    /// It runs for every slice of its first arguments along their leading axes, which have one extent. Each
    /// result gets that axis. `Counter(0)` in the body is the number of the slice.
    Map {
        /// How many arguments have the axis, at least one.
        mapped: usize,
    },
    /// The derivatives of its only result, a float scalar.
    Gradient {
        /// The inputs, which are floats; a result for each, of its type.
        wrt: Vec<usize>,
        /// Whether the function's own result comes first.
        value: bool,
    },
    /// Its results, then their derivatives in the direction of a tangent for each of its first inputs. The
    /// tangents are the last arguments. Results are floats.
    Jvp {
        /// How many inputs have a tangent, which has the input's type.
        wrt: usize,
    },
    /// Its results, then for each chosen input the sum of the derivatives of their elements, weighted by a cotangent of
    /// each result. The cotangents are the last arguments. Results are floats.
    Vjp {
        /// The inputs, which are floats; a further result for each, of its type.
        wrt: Vec<usize>,
        /// How many results of the function have a cotangent: all.
        cotangents: usize,
    },
    /// The derivatives of every element of its only result, a float, by every element of an input: the
    /// result's shape, then the input's.
    Jacobian {
        /// The inputs, which are floats; a result for each.
        wrt: Vec<usize>,
    },
}

impl How {
    /// The name in the text form.
    pub fn name(&self) -> &'static str {
        match self {
            How::Map { .. } => "map",
            How::Gradient { .. } => "gradient",
            How::Jvp { .. } => "jvp",
            How::Vjp { .. } => "vjp",
            How::Jacobian { .. } => "jacobian",
        }
    }
}

impl Transform {
    /// How many of the arguments are inputs of the body; the others are tangents or cotangents.
    pub fn inputs(&self, args: usize) -> usize {
        match self.how {
            How::Map { .. } | How::Gradient { .. } | How::Jacobian { .. } => args,
            How::Jvp { wrt: behind } | How::Vjp { cotangents: behind, .. } => args.saturating_sub(behind),
        }
    }

    /// How many regions with a counter the transform is.
    pub fn counters(&self) -> usize {
        match self.how {
            How::Map { .. } => 1,
            How::Gradient { .. } | How::Jvp { .. } | How::Vjp { .. } | How::Jacobian { .. } => 0,
        }
    }

    /// The types of the body's inputs, from those of the arguments. Mapped ones have a leading axis.
    pub fn slices(&self, args: &[Type]) -> Vec<Type> {
        let mapped = match self.how {
            How::Map { mapped } => mapped,
            How::Gradient { .. } | How::Jvp { .. } | How::Vjp { .. } | How::Jacobian { .. } => 0,
        };
        let slice = |(k, ty): (usize, &Type)| match k < mapped {
            true => Type::new(ty.dtype, ty.shape.get(1..).unwrap_or_default()),
            false => ty.clone(),
        };
        args[..self.inputs(args.len())].iter().enumerate().map(slice).collect()
    }

    /// The types of the results, from those of the arguments. The body has types.
    pub fn results(&self, args: &[Type]) -> Vec<Type> {
        let own: Vec<Type> = self.body.outputs.iter().map(|&v| self.body.ty(v).clone()).collect();
        let under = |leading: &[Dim], ty: &Type| Type::new(ty.dtype, [leading, &ty.shape].concat());
        match &self.how {
            How::Map { .. } => {
                let axis = args.first().and_then(|ty| ty.shape.get(..1)).unwrap_or_default();
                own.iter().map(|ty| under(axis, ty)).collect()
            }
            How::Gradient { wrt, value } => {
                let gradients = wrt.iter().map(|&k| args[k].clone());
                own.into_iter().filter(|_| *value).chain(gradients).collect()
            }
            How::Jvp { .. } => [own.clone(), own].concat(),
            How::Vjp { wrt, .. } => own.into_iter().chain(wrt.iter().map(|&k| args[k].clone())).collect(),
            How::Jacobian { wrt } => {
                let leading = own.first().map_or(&[][..], |ty| &ty.shape);
                wrt.iter().map(|&k| under(leading, &args[k])).collect()
            }
        }
    }

    /// Why the transform cannot be made of its body and arguments of these types.
    pub fn misfit(&self, args: &[Type]) -> Option<String> {
        let float = |ty: &Type| ty.dtype.is_float();
        let own: Vec<&Type> = self.body.outputs.iter().filter_map(|&v| self.body.node(v).ty.as_ref()).collect();
        let fits = match &self.how {
            How::Map { mapped } => {
                let axis = args.first().and_then(|ty| ty.shape.first());
                *mapped > 0 && axis.is_some() && args.iter().take(*mapped).all(|ty| ty.shape.first() == axis)
            }
            How::Gradient { wrt, .. } => {
                let scalar = matches!(own.as_slice(), [ty] if float(ty) && ty.rank() == 0);
                scalar && wrt.iter().all(|&k| args.get(k).is_some_and(float))
            }
            How::Jvp { wrt } => {
                let first = self.inputs(args.len());
                let tangents = *wrt <= first && args[..*wrt] == args[first..];
                tangents && args[first..].iter().all(float) && own.iter().all(|ty| float(ty))
            }
            How::Vjp { wrt, cotangents } => {
                let first = self.inputs(args.len());
                let weighted = *cotangents == own.len() && own.iter().zip(&args[first..]).all(|(own, ty)| *own == ty);
                weighted && own.iter().all(|ty| float(ty)) && wrt.iter().all(|&k| k < first && float(&args[k]))
            }
            How::Jacobian { wrt } => {
                let single = matches!(own.as_slice(), [ty] if float(ty));
                single && wrt.iter().all(|&k| args.get(k).is_some_and(float))
            }
        };
        (!fits).then(|| {
            let list = |types: &[&Type]| types.iter().map(|ty| ty.to_string()).collect::<Vec<_>>().join(", ");
            format!("{} of ({}) -> ({})", self.how.name(), list(&args.iter().collect::<Vec<_>>()), list(&own))
        })
    }
}

impl Graph {
    /// Appends a transform and a `Result` node for each of its results. Everything has types.
    pub fn transform(&mut self, transform: Transform, args: Vec<Value>, span: Span) -> Vec<Value> {
        let types: Vec<Type> = args.iter().map(|&a| self.ty(a).clone()).collect();
        let results = transform.results(&types);
        self.push_many(Kind::Transform(Box::new(transform)), args, results, span)
    }

    /// Appends the nodes of another graph, whose k-th input is `inputs[k]`; gives its outputs.
    pub fn append(&mut self, other: &Graph, inputs: &[Value]) -> Vec<Value> {
        let mut renamed: Vec<Value> = vec![];
        for node in &other.nodes {
            let new = match node.kind {
                Kind::Input(k) => inputs[k],
                _ => {
                    let args = node.args.iter().map(|a| renamed[a.0 as usize]).collect();
                    self.nodes.push(Node { args, ..node.clone() });
                    Value(self.nodes.len() as u32 - 1)
                }
            };
            renamed.push(new);
        }
        other.outputs.iter().map(|v| renamed[v.0 as usize]).collect()
    }
}
