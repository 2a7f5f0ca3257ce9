//! A node as the operator that it calls sees it: its arguments, its attributes, and the builder of the graph.
//!
//! Always: an argument is asked for as a value of the graph, or as what is known of it at build time; an operator that computes
//! sees no type of memory, as the bodies of ops do not (`ops/build.rs`).

use super::budget::Budget;
use super::operand::{Known, Operand, Places};
use super::operators::Operator;
use super::params::Params;
use super::proto::{AttributeProto, NodeProto, attribute_type};
use super::{Failure, element, symbolic};
use crate::ir::attr::Attr;
use crate::ir::prim::{MapOp, Prim, Scalar};
use crate::ir::{DType, Dim, Type, Value};
use crate::ops::{self, Builder};
use crate::oracle::Tensor;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Attributes of which a result does not depend on where an operator does not ask for them: of random numbers that are not drawn; of an order
/// that may be any; of types without infinities; of what a wider type computes as well; of arguments with three axes; of a result
/// that nobody asks for; of parts that a sum is made in; of training; and, of old versions, of memory, and of shapes that broadcast in any case.
const WITHOUT_EFFECT: &[&str] = &[
    "seed",
    "ratio",
    "is_test",
    "sorted",
    "saturate",
    "round_mode",
    "softmax_precision",
    "stash_type",
    "precision",
    "q_num_heads",
    "kv_num_heads",
    "qk_matmul_output_mode",
    "chunk_size",
    "momentum",
    "consumed_inputs",
    "broadcast",
];

/// What an operator gives.
pub(super) type Made<T = Value> = Result<T, Failure>;

/// A node of a file.
pub(super) struct Node<'n> {
    /// The graph that is made.
    pub(super) b: Builder<'n>,
    /// The version of the operators.
    pub(super) opset: i64,
    pub(super) proto: &'n NodeProto,
    pub(super) operator: &'static Operator,
    pub(super) inputs: Vec<Option<Operand>>,
    /// Where tensors go that the graph reads.
    pub(super) params: &'n mut Params,
    /// The tensors of the file.
    pub(super) places: &'n mut Places,
    /// What the file's named dimensions are, by the file's names.
    pub(super) dims: &'n BTreeMap<String, Dim>,
    /// What may still be made of the file.
    pub(super) budget: &'n mut Budget,
    /// The type of memory of the first argument, which is that of the results, where it was computed with in a wider one.
    pub(super) stored: Option<DType>,
    /// The names of the attributes that were asked for.
    pub(super) asked: RefCell<BTreeSet<String>>,
}

/// Arguments.
impl Node<'_> {
    /// How many results are asked for.
    pub(super) fn outputs(&self) -> usize {
        self.proto.output.len()
    }

    /// Whether the `k`-th result is asked for.
    pub(super) fn wants(&self, k: usize) -> bool {
        self.proto.output.get(k).is_some_and(|name| !name.is_empty())
    }

    /// How many arguments there are, with absent ones between others.
    pub(super) fn count(&self) -> usize {
        self.inputs.len()
    }

    /// Whether the `k`-th argument is there.
    pub(super) fn has(&self, k: usize) -> bool {
        self.inputs.get(k).is_some_and(Option::is_some)
    }

    /// An argument as it is.
    pub(super) fn operand(&self, k: usize) -> Made<Operand> {
        let operand = self.inputs.get(k).cloned().flatten();
        operand.ok_or_else(|| Failure::new(format!("argument {} is missing", k + 1)))
    }

    /// An argument of the type that its values are computed in.
    pub(super) fn arg(&mut self, k: usize) -> Made {
        let value = self.moved(k)?;
        if self.operator.moves || !self.b.dtype(value).is_stored() {
            return Ok(value);
        }
        let dtype = self.b.dtype(value);
        self.stored = self.stored.or((k == 0).then_some(dtype));
        Ok(self.b.convert(value, dtype.computed())?)
    }

    /// An argument with so many axes.
    pub(super) fn of_rank(&mut self, k: usize, rank: usize) -> Made {
        let value = self.arg(k)?;
        match self.b.rank(value) == rank {
            true => Ok(value),
            false => {
                let ty = self.b.ty(value);
                Err(Failure::new(format!("argument {} has {rank} axes, and is {ty}", k + 1)))
            }
        }
    }

    /// The same, where it is there.
    pub(super) fn maybe_of_rank(&mut self, k: usize, rank: usize) -> Made<Option<Value>> {
        if self.has(k) { self.of_rank(k, rank).map(Some) } else { Ok(None) }
    }

    /// The same, with any number of axes.
    pub(super) fn maybe(&mut self, k: usize) -> Made<Option<Value>> {
        if self.has(k) { self.arg(k).map(Some) } else { Ok(None) }
    }

    /// All arguments.
    pub(super) fn args(&mut self) -> Made<Vec<Value>> {
        (0..self.count()).map(|k| self.arg(k)).collect()
    }

    /// An argument that training does not change, such as a running statistic.
    pub(super) fn fixed(&mut self, k: usize) -> Made {
        if let Some(known) = self.known(k) {
            self.params.known(&mut self.b, &known, true)?;
        }
        self.arg(k)
    }

    /// An argument of its own type.
    pub(super) fn moved(&mut self, k: usize) -> Made {
        let operand = self.operand(k)?;
        self.value(&operand)
    }

    /// An operand as a value of the graph.
    pub(super) fn value(&mut self, operand: &Operand) -> Made {
        self.params.operand(&mut self.b, operand)
    }

    /// The type of an argument, in memory.
    pub(super) fn ty(&self, k: usize) -> Made<Type> {
        Ok(match self.operand(k)? {
            Operand::Value(value) => self.b.ty(value).clone(),
            Operand::Known(known) => known.ty.clone(),
            Operand::Dims(dims) => {
                Type::new(dims.dtype, dims.shape.iter().map(|&extent| Dim::from(extent as i64)).collect::<Vec<_>>())
            }
        })
    }

    /// An argument that is known at build time.
    pub(super) fn known(&self, k: usize) -> Option<Rc<Known>> {
        match self.inputs.get(k)?.as_ref()? {
            Operand::Known(known) => Some(known.clone()),
            Operand::Value(_) | Operand::Dims(_) => None,
        }
    }

    /// The integers of an argument that must be known at build time; `None` where it is absent.
    pub(super) fn maybe_dims(&self, k: usize) -> Made<Option<Vec<Dim>>> {
        let Some(operand) = self.inputs.get(k).and_then(Option::as_ref) else { return Ok(None) };
        let dims = operand.as_dims();
        dims.map(Some).ok_or_else(|| {
            let name = &self.proto.input[k];
            Failure::new(format!("`{name}` decides the shape of the result, and is not known at build time"))
        })
    }

    /// The same, of constants.
    pub(super) fn maybe_ints(&self, k: usize) -> Made<Option<Vec<i64>>> {
        let Some(dims) = self.maybe_dims(k)? else { return Ok(None) };
        let ints: Option<Vec<i64>> = dims.iter().map(Dim::as_const).collect();
        ints.map(Some).ok_or_else(|| {
            Failure::new(format!("`{}` depends on a named dimension, and is to be a number", self.proto.input[k]))
        })
    }

    /// The floats of an argument that must be known at build time; `None` where it is absent.
    pub(super) fn maybe_floats(&self, k: usize) -> Made<Option<Vec<f64>>> {
        match self.inputs.get(k).and_then(Option::as_ref) {
            None => Ok(None),
            Some(Operand::Known(known)) => Ok(Some(known.tensor().data.numbers())),
            Some(_) => Err(Failure::new(format!("`{}` is to be known at build time, and is not", self.proto.input[k]))),
        }
    }
}

/// Attributes.
impl<'n> Node<'n> {
    /// The attribute of that name, if it is of that type, or of none, as in files of the first versions.
    fn attribute(&self, name: &str, kind: i32) -> Option<&'n AttributeProto> {
        let is_own = |of: &&AttributeProto| of.name == name && [kind, 0].contains(&of.r#type);
        let found = self.proto.attribute.iter().find(is_own);
        self.asked.borrow_mut().extend(found.map(|attribute| attribute.name.clone()));
        found
    }

    /// An attribute that the operator did not ask for, or not with its type, and which may say that something else is to be computed.
    pub(super) fn unread(&self) -> Option<&str> {
        let asked = self.asked.borrow();
        let mut names = self.proto.attribute.iter().map(|attribute| attribute.name.as_str());
        names.find(|name| !asked.contains(*name) && !WITHOUT_EFFECT.contains(name))
    }

    /// Fails where an attribute says other extents than an argument has.
    pub(super) fn agrees(&self, name: &str, extents: &[Dim]) -> Made<()> {
        match self.ints(name) {
            Some(ints) if !ints.iter().map(|&int| Dim::from(int)).eq(extents.iter().cloned()) => {
                Err(Failure::new(format!("its `{name}` is {ints:?}, and its argument has {extents:?}")))
            }
            _ => Ok(()),
        }
    }

    /// An integer.
    pub(super) fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name, attribute_type::INT).map_or(default, |attribute| attribute.i)
    }

    /// An integer, where it is given.
    pub(super) fn maybe_int(&self, name: &str) -> Option<i64> {
        self.attribute(name, attribute_type::INT).map(|attribute| attribute.i)
    }

    /// A truth value.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.int(name, 0) != 0
    }

    /// A float.
    pub(super) fn float(&self, name: &str, default: f64) -> f64 {
        self.maybe_float(name).unwrap_or(default)
    }

    /// A float, where it is given.
    pub(super) fn maybe_float(&self, name: &str) -> Option<f64> {
        self.attribute(name, attribute_type::FLOAT).map(|attribute| f64::from(attribute.f))
    }

    /// A text.
    pub(super) fn text(&self, name: &str, default: &str) -> String {
        let text = self
            .attribute(name, attribute_type::STRING)
            .map(|attribute| String::from_utf8_lossy(&attribute.s).into_owned());
        text.unwrap_or_else(|| default.to_owned())
    }

    /// Texts; none where they are not given.
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let strings = self.attribute(name, attribute_type::STRINGS).map_or(&[][..], |attribute| &attribute.strings);
        strings.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    }

    /// Integers, where they are given.
    pub(super) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attribute(name, attribute_type::INTS).map(|attribute| attribute.ints.clone())
    }

    /// Floats, where they are given.
    pub(super) fn floats(&self, name: &str) -> Option<Vec<f64>> {
        self.attribute(name, attribute_type::FLOATS)
            .map(|attribute| attribute.floats.iter().map(|&x| x.into()).collect())
    }

    /// A tensor, where it is given.
    pub(super) fn tensor(&mut self, name: &str) -> Made<Option<Tensor>> {
        let Some(known) = self.large_tensor(name)? else { return Ok(None) };
        // A function may be called many times, and tensors may be of one place.
        self.room(known.len() as i64)?;
        Ok(Some(known.tensor().clone()))
    }

    /// A tensor of the file, which may be large, where it is given.
    pub(super) fn large_tensor(&mut self, name: &str) -> Made<Option<Known>> {
        let tensor = self.attribute(name, attribute_type::TENSOR).and_then(|attribute| attribute.t.as_ref());
        let result = self.proto.output.first().map_or("", String::as_str);
        tensor.map(|tensor| Known::constant(tensor, result, self.places)).transpose()
    }

    /// An element type, where it is given; the number 0 is none.
    pub(super) fn dtype(&self, name: &str) -> Made<Option<DType>> {
        let named = self.attribute(name, attribute_type::STRING).filter(|of| !of.s.is_empty());
        let attribute =
            named.or_else(|| self.attribute(name, attribute_type::INT)).filter(|of| !of.s.is_empty() || of.i != 0);
        attribute.map(|of| if of.s.is_empty() { element::dtype(of.i) } else { element::named(&of.s) }).transpose()
    }

    /// Integers that older versions have as an attribute and newer ones as an argument.
    pub(super) fn ints_or_arg(&self, name: &str, k: usize) -> Made<Option<Vec<i64>>> {
        match self.ints(name) {
            Some(ints) => Ok(Some(ints)),
            None => self.maybe_ints(k),
        }
    }
}

/// What operators have in common.
impl Node<'_> {
    /// An axis of `rank`; negative ones count from the end.
    pub(super) fn axis_of(&self, axis: i64, rank: usize) -> Made<usize> {
        let position = if axis < 0 { axis + rank as i64 } else { axis };
        match usize::try_from(position).ok().filter(|&axis| axis < rank) {
            Some(axis) => Ok(axis),
            None => Err(Failure::new(format!("axis {axis} of a tensor with {rank} axes"))),
        }
    }

    /// The axis that an attribute names.
    pub(super) fn axis(&self, default: i64, rank: usize) -> Made<usize> {
        self.axis_of(self.int("axis", default), rank)
    }

    /// Axes of `rank`, each once.
    pub(super) fn axes_of(&self, axes: &[i64], rank: usize) -> Made<Vec<usize>> {
        let found = axes.iter().map(|&axis| self.axis_of(axis, rank)).collect::<Made<Vec<usize>>>()?;
        match (1..found.len()).find(|&k| found[..k].contains(&found[k])) {
            Some(k) => Err(Failure::new(format!("axis {} is named twice", axes[k]))),
            None => Ok(found),
        }
    }

    /// What an op of the model language gives for these arguments and attributes.
    pub(super) fn call_all(&mut self, name: &str, args: &[Value], attrs: &[(&str, Attr)]) -> Made<Vec<Value>> {
        let Some(op) = ops::op(name) else { unreachable!("`{name}` is no op") };
        let named = attrs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let attrs = match ops::resolve(op.attrs, vec![], named) {
            Ok(attrs) => attrs,
            Err(errors) => {
                let first = errors.into_iter().next().map(|error| Failure::from(error.error));
                return Err(first.unwrap_or_else(|| Failure::new(format!("`{name}` takes other attributes"))));
            }
        };
        let types: Vec<Type> = args.iter().map(|&arg| self.b.ty(arg).clone()).collect();
        ops::check(op, &types, &[], self.b.float)?;
        Ok(ops::build(op, &mut self.b, args, &attrs)?)
    }

    /// The only result of an op of the model language.
    pub(super) fn call(&mut self, name: &str, args: &[Value], attrs: &[(&str, Attr)]) -> Made {
        let results = self.call_all(name, args, attrs)?;
        results.first().copied().ok_or_else(|| Failure::new(format!("`{name}` gives nothing")))
    }

    /// Elements of a tensor by positions, row-major, of any integer type: what `index` has the shape of.
    pub(super) fn gather(&mut self, x: Value, index: Value, axis: usize) -> Made {
        let index = self.wrapped(index, x, axis)?;
        Ok(self.b.prim(Prim::Gather { axis }, &[x, index])?)
    }

    /// Indices along an axis of `x`, of which negative ones count from the end, as u32.
    pub(super) fn wrapped(&mut self, index: Value, x: Value, axis: usize) -> Made {
        let extent = self.b.shape(x).get(axis).cloned();
        let extent = extent.ok_or_else(|| Failure::new(format!("{} has no axis {axis}", self.b.ty(x))))?;
        let index = match self.b.dtype(index).is_stored() {
            true => self.b.convert(index, self.b.dtype(index).computed())?,
            false => index,
        };
        if self.b.dtype(index).category() != crate::ir::Category::Signed {
            return Ok(self.b.index(index)?);
        }
        let extent = self.b.extent(index, &extent)?;
        let from_end = self.b.add(index, extent)?;
        let is_negative = self.b.with(MapOp::Lt, index, 0.0)?;
        let index = self.b.select(is_negative, from_end, index)?;
        Ok(self.b.index(index)?)
    }

    /// A number that named dimensions decide, and that may be negative.
    pub(super) fn extent(&mut self, dim: &Dim, dtype: DType) -> Made {
        let number = symbolic::number(&mut self.b, dim)?;
        Ok(self.b.convert(number, dtype)?)
    }

    /// How an import would be written in which two numbers are the same, where one name decides that: exporters that run a model
    /// with an example leave its extents in a file, also where they call them named.
    pub(super) fn binding(&self, a: &Dim, b: &Dim) -> Option<String> {
        let (name, number) = symbolic::equal_where(a, b)?;
        let own = self.dims.iter().filter(|(_, dim)| dim.as_name() == Some(&name));
        let all: Vec<String> = own.map(|(own, _)| format!("{own} = {number}")).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// So many numbers that are computed at build time, if they are not too many.
    pub(super) fn room(&mut self, count: i64) -> Made<usize> {
        self.budget.elements(count)
    }

    /// A tensor of one value.
    pub(super) fn full(&mut self, scalar: Scalar, shape: &[Dim]) -> Made {
        let scalar = self.b.prim(Prim::Const(scalar), &[])?;
        Ok(self.b.broadcast_to(scalar, shape)?)
    }

    /// A tensor that is known at build time as a value.
    pub(super) fn constant(&mut self, tensor: Tensor) -> Made {
        let operand = Operand::known(tensor);
        self.value(&operand)
    }
}
