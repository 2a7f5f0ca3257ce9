//! Class ids as targets: scores and ids in, the score of each row's class and the loss of all rows out. Always: an id
//! that is no class makes the loss NaN, and a row whose id is ignored gives neither a loss nor a gradient.

use super::loss::reduce;
use super::{AttrDecl, AttrKind, Attrs, Builder, OpError};
use crate::diag::Code;
use crate::ir::prim::{MapOp, Prim, ReduceOp};
use crate::ir::{DType, Dim, Type, Value};

/// The attribute of losses that take class ids.
pub(super) const IGNORE_INDEX: AttrDecl = AttrDecl::optional(
    "ignore_index",
    AttrKind::Int,
    "",
    "a class id that does not take part, in the loss or in the mean",
);

/// The attribute that names the axis of the classes.
pub(super) const CLASS_AXIS: AttrDecl =
    AttrDecl::optional("axis", AttrKind::Int, "-1", "the axis of the classes; negative counts from the end");

/// The targets of a call.
pub(super) struct Labels {
    /// The class of each row: u32; 0 where it is ignored.
    pub id: Value,
    /// The axis of the classes in the scores.
    pub axis: usize,
    /// Their number.
    pub classes: Dim,
    /// The shape of the scores without that axis.
    pub rows: Vec<Dim>,
    /// Which rows count; all where absent.
    counts: Option<Value>,
    /// The weight of each row, 0 where it is ignored; 1 where absent.
    weight: Option<Value>,
}

/// That the target has the shape that the scores ask for.
///
/// # Errors
/// `shape-mismatch` with the type that the target should have.
pub(super) fn must_suit(b: &Builder<'_>, args: &[Value], shape: &[Dim]) -> Result<(), OpError> {
    let target = b.ty(args[1]);
    if target.shape == shape {
        return Ok(());
    }
    let wanted = Type::new(target.dtype, shape);
    let scores = b.ty(args[0]);
    // One float for each row is the class itself, in the wrong type.
    let classes = scores.rank() == target.rank() + 1 && scores.shape.starts_with(&target.shape);
    let meant = match classes && target.dtype.is_float() {
        true => Type::new(DType::U32, target.shape.clone()),
        false => wanted.clone(),
    };
    let or = if meant == wanted { String::new() } else { format!(", or {meant} of class ids") };
    let message = format!("{{0}} is {scores}, so the target must be {wanted}{or}, but {{1}} is {target}");
    Err(OpError::new(Code::ShapeMismatch, message).arg(1).wanted(meant))
}

/// That the scores have an axis of classes besides those that the target has.
///
/// # Errors
/// `wrong-rank` at scores that are one number for each row.
fn must_have_classes(b: &Builder<'_>, args: &[Value]) -> Result<(), OpError> {
    let (scores, target) = (b.ty(args[0]), b.ty(args[1]));
    if scores.rank() != 1 || scores.shape != target.shape {
        return Ok(());
    }
    let message = format!("{{1}} is {target}, so {{0}} must have a score for each class of a row, but it is {scores}");
    Err(OpError::new(Code::WrongRank, message).arg(0))
}

/// That the weight, where there is one, has a number for each class.
///
/// # Errors
/// `shape-mismatch` that names both.
pub(super) fn must_weigh(b: &Builder<'_>, args: &[Value], classes: &Dim) -> Result<(), OpError> {
    let Some(&weight) = args.get(2) else { return Ok(()) };
    let ty = b.ty(weight);
    match ty.shape == [classes.clone()] {
        true => Ok(()),
        false => {
            let message = format!("{{0}} has {classes} classes, so {{2}} must be f32[{classes}], but it is {ty}");
            Err(OpError::new(Code::ShapeMismatch, message).arg(2))
        }
    }
}

/// That the id that is ignored is one that the target can have.
///
/// # Errors
/// `wrong-attribute` at an id that the target's type does not have.
fn must_occur(b: &Builder<'_>, args: &[Value], attrs: &Attrs) -> Result<(), OpError> {
    let target = b.ty(args[1]);
    match attrs.int("ignore_index") {
        Some(ignored) if target.dtype.is_integer() && target.dtype.wrapped(ignored.into()) != ignored.into() => {
            let signed = Type::new(DType::I32, target.shape.clone());
            let message = format!("{{1}} is {target}, of which no element is {ignored}");
            let error = OpError::new(Code::WrongAttribute, message).attr("ignore_index");
            Err(error.help(format!("declare `{{1}}` as {signed}")))
        }
        _ => Ok(()),
    }
}

impl Labels {
    /// The labels of a call `(scores, target, weight?)`.
    ///
    /// # Errors
    /// Where the shapes do not suit each other.
    pub(super) fn of(b: &mut Builder<'_>, args: &[Value], attrs: &Attrs) -> Result<Labels, OpError> {
        let axis = b.axis(args[0], attrs, "axis")?;
        must_have_classes(b, args)?;
        let mut rows = b.shape(args[0]);
        let classes = rows.remove(axis);
        must_suit(b, args, &rows)?;
        must_weigh(b, args, &classes)?;
        must_occur(b, args, attrs)?;
        let mut id = b.index(args[1])?;
        let mut counts = None;
        if let Some(ignored) = attrs.int("ignore_index") {
            let ignored = b.constant(args[1], ignored as f64)?;
            let count = b.map(MapOp::Ne, &[args[1], ignored])?;
            // Ignored rows get a class that exists: their loss is dropped, and must not be NaN before that.
            let first = b.u32(0)?;
            id = b.select(count, id, first)?;
            counts = Some(count);
        }
        let mut weight = None;
        if let Some(&weights) = args.get(2) {
            let own = b.prim(Prim::Gather { axis: 0 }, &[weights, id])?;
            weight = Some(match counts {
                None => own,
                Some(counts) => {
                    let zero = b.constant(own, 0.0)?;
                    b.select(counts, own, zero)?
                }
            });
        }
        Ok(Labels { id, axis, classes, rows, counts, weight })
    }

    /// Which of the scores are those of their rows' classes.
    pub(super) fn hot(&self, b: &mut Builder<'_>, scores: Value) -> Result<Value, OpError> {
        let shape = b.shape(scores);
        let positions = b.iota(&shape, self.axis)?;
        let mut column = shape;
        column[self.axis] = Dim::from(1);
        let column = b.reshape(self.id, &column)?;
        b.map(MapOp::Eq, &[positions, column])
    }

    /// The score of each row's class. A masked sum, since it fuses with the other passes over the row.
    pub(super) fn own(&self, b: &mut Builder<'_>, scores: Value) -> Result<Value, OpError> {
        let hot = self.hot(b, scores)?;
        let zero = b.constant(scores, 0.0)?;
        let masked = b.select(hot, scores, zero)?;
        b.reduce(ReduceOp::Sum, masked, &[self.axis])
    }

    /// A row's loss times the weight of its class.
    pub(super) fn weigh(&self, b: &mut Builder<'_>, each: Value) -> Result<Value, OpError> {
        self.weight.map_or(Ok(each), |weight| b.mul(each, weight))
    }

    /// The loss from that of each row, already weighed; the mean is over the sum of the rows' weights, as PyTorch's.
    pub(super) fn reduce(&self, b: &mut Builder<'_>, each: Value, attrs: &Attrs) -> Result<Vec<Value>, OpError> {
        // The root of −1 is NaN: a loss that is silently too large would hide a label that is no class.
        let classes = b.extent_u32(&self.classes)?;
        let known = b.map(MapOp::Lt, &[self.id, classes])?;
        let (zero, minus_one) = (b.constant(each, 0.0)?, b.constant(each, -1.0)?);
        let blame = b.select(known, zero, minus_one)?;
        let blame = b.unary(MapOp::Sqrt, blame)?;
        let mut each = b.add(each, blame)?;
        if let Some(counts) = self.counts {
            each = b.select(counts, each, zero)?;
        }
        let shares = match (self.weight, self.counts) {
            (None, None) => return reduce(b, each, attrs),
            (Some(weight), _) => weight,
            (None, Some(counts)) => b.convert(counts, b.dtype(each))?,
        };
        if matches!(attrs.text("reduction"), Some("none" | "sum")) {
            return reduce(b, each, attrs);
        }
        let all: Vec<usize> = (0..b.rank(each)).collect();
        let (sum, share) = (b.sum(each, &all)?, b.sum(shares, &all)?);
        Ok(vec![b.div(sum, share)?])
    }
}
