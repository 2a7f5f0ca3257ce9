//! Windows over spatial axes: attributes like `stride` and `padding` in, checked windows out.

use super::{AttrDecl, AttrKind, Attrs, OpError};
use crate::diag::Code;
use crate::ir::prim::Window;
use crate::ir::{Dim, Type};

pub(super) const PADDING: AttrDecl =
    AttrDecl::optional("padding", AttrKind::Ints, "0", "elements assumed around each spatial axis");
pub(super) const DILATION: AttrDecl =
    AttrDecl::optional("dilation", AttrKind::Ints, "1", "from one element of a window to the next");

/// One positive number for each spatial axis.
pub(super) fn positive(attrs: &Attrs, name: &'static str, rank: usize) -> Result<Vec<i64>, OpError> {
    let list = numbers(attrs, name, rank)?;
    match list.iter().find(|&&n| n < 1) {
        Some(n) => Err(OpError::new(Code::WrongAttribute, format!("`{name}` must be positive, not {n}")).attr(name)),
        None => Ok(list),
    }
}

/// One number of at least zero for each spatial axis.
pub(super) fn nonnegative(attrs: &Attrs, name: &'static str, rank: usize) -> Result<Vec<i64>, OpError> {
    let list = numbers(attrs, name, rank)?;
    match list.iter().find(|&&n| n < 0) {
        Some(n) => Err(OpError::new(Code::WrongAttribute, format!("`{name}` cannot be {n}")).attr(name)),
        None => Ok(list),
    }
}

/// One number for each spatial axis.
fn numbers(attrs: &Attrs, name: &'static str, rank: usize) -> Result<Vec<i64>, OpError> {
    attrs.spatial(name, rank).ok_or_else(|| {
        let message =
            format!("`{name}` must be one number known at build time, or a list of {rank}, not {}", attrs.get(name));
        OpError::new(Code::WrongAttribute, message).attr(name)
    })
}

/// Checks the steps of the windows of a layer, so that a mistake is one of the declaration and not of each call.
///
/// # Errors
/// `wrong-attribute` where a number is none that windows can have.
pub(super) fn check_steps(attrs: &Attrs, rank: usize) -> Result<(), OpError> {
    let stride = positive(attrs, "stride", rank)?;
    positive(attrs, "dilation", rank)?;
    match attrs.text("padding") {
        None => return nonnegative(attrs, "padding", rank).map(|_| ()),
        Some("causal") => return Ok(()),
        Some(_) => {}
    }
    stride.into_iter().find(|&n| n != 1).map_or(Ok(()), |stride| Err(same_needs_stride_1(stride)))
}

fn same_needs_stride_1(stride: i64) -> OpError {
    let message = format!("padding = \"same\" needs stride 1, not {stride}");
    OpError::new(Code::WrongAttribute, message).attr("padding").help("write `stride = 1`")
}

/// What is known of a window before its axis is.
pub(super) struct Taps {
    pub size: Dim,
    pub stride: i64,
    pub dilation: i64,
}

/// The windows over the last axes of `x`, with the padding of the attribute of that name.
///
/// # Errors
/// `kernel-too-large` where a window does not fit into its padded axis.
pub(super) fn windows(attrs: &Attrs, x: &Type, taps: Vec<Taps>) -> Result<Vec<Window>, OpError> {
    let word = attrs.text("padding");
    let padding = if word.is_some() { vec![0; taps.len()] } else { nonnegative(attrs, "padding", taps.len())? };
    let first = x.rank() - taps.len();
    let mut windows = vec![];
    for (k, tap) in taps.into_iter().enumerate() {
        let reach = (tap.size.clone() - Dim::from(1)) * Dim::from(tap.dilation);
        let (low, high) = match word {
            None => (Dim::from(padding[k]), Dim::from(padding[k])),
            Some("causal") => (reach.clone(), Dim::from(0)),
            Some(_) if tap.stride != 1 => return Err(same_needs_stride_1(tap.stride)),
            // An odd total puts the larger part after, as PyTorch does.
            Some(_) => (reach.floor_div(&Dim::from(2)), reach.clone() - reach.floor_div(&Dim::from(2))),
        };
        let extent = &x.shape[first + k];
        let room = extent.clone() + low.clone() + high.clone();
        if let Some(missing) = (reach.clone() + Dim::from(1) - room.clone()).as_const().filter(|&n| n > 0) {
            let covered = reach + Dim::from(1);
            let message = format!(
                "a window of `{{callee}}` covers {covered} elements, but axis {} of {{0}} has {room} with its padding",
                first + k
            );
            let enough = padding[k] + (missing + 1) / 2;
            return Err(OpError::new(Code::KernelTooLarge, message).arg(0).help(format!("write `padding = {enough}`")));
        }
        windows.push(Window { size: tap.size, stride: tap.stride, dilation: tap.dilation, low, high, base: 1 });
    }
    Ok(windows)
}
