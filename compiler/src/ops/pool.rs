//! Pools of any number of spatial axes: an op's argument and attributes in, its windows or its result out.

use super::sliding::{Taps, positive, windows};
use super::{Attr, AttrDecl, AttrKind, Attrs, Builder, OpError};
use crate::diag::Code;
use crate::ir::prim::{MapOp, Prim, ReduceOp, Window};
use crate::ir::{Dim, Value};

pub(super) const WINDOW1: AttrDecl = AttrDecl::required("window", AttrKind::Ints, "length of the window");
pub(super) const WINDOW2: AttrDecl = AttrDecl::required("window", AttrKind::Ints, "height and width of the window");
pub(super) const STRIDE: AttrDecl =
    AttrDecl::optional("stride", AttrKind::Ints, "", "from one window to the next; where absent, the window itself");
pub(super) const CEIL_MODE: AttrDecl = AttrDecl::optional(
    "ceil_mode",
    AttrKind::Bool,
    "false",
    "whether a last window that begins inside of the padded axis, but does not end there, counts",
);
pub(super) const COUNT_INCLUDE_PAD: AttrDecl =
    AttrDecl::optional("count_include_pad", AttrKind::Bool, "true", "whether the padding counts as zeros");

/// The largest elements.
pub(super) fn largest(b: &mut Builder<'_>, args: &[Value], attrs: &Attrs, rank: usize) -> Result<Vec<Value>, OpError> {
    let windows = pool_windows(b, args[0], attrs, rank)?;
    Ok(vec![b.prim(Prim::WindowReduce { op: ReduceOp::Max, windows }, args)?])
}

/// The means. The divisor is the window's size, or the number of elements that it covers: with `count_include_pad`
/// the padding is among them, what `ceil_mode` adds never is.
pub(super) fn means(b: &mut Builder<'_>, args: &[Value], attrs: &Attrs, rank: usize) -> Result<Vec<Value>, OpError> {
    let windows = pool_windows(b, args[0], attrs, rank)?;
    let sum = b.prim(Prim::WindowReduce { op: ReduceOp::Sum, windows: windows.clone() }, args)?;
    let (with_padding, ceil) = (attrs.flag("count_include_pad"), attrs.flag("ceil_mode"));
    if with_padding && !ceil {
        let count: f64 = positive(attrs, "window", rank)?.iter().map(|&n| n as f64).product();
        return Ok(vec![b.with(MapOp::Mul, sum, 1.0 / count)?]);
    }
    let (dtype, shape) = (b.dtype(args[0]), b.shape(args[0]));
    let mut spatial = shape[shape.len() - rank..].to_vec();
    let mut counted = windows;
    if with_padding {
        for (extent, window) in spatial.iter_mut().zip(&mut counted) {
            let padding = std::mem::take(&mut window.low);
            *extent = extent.clone() + padding.clone() + padding.clone();
            window.high = window.high.clone() - padding;
        }
    }
    let ones = b.full(dtype, &spatial, 1.0)?;
    let count = b.prim(Prim::WindowReduce { op: ReduceOp::Sum, windows: counted }, &[ones])?;
    Ok(vec![b.div(sum, count)?])
}

/// The windows over the last axes.
fn pool_windows(b: &Builder<'_>, x: Value, attrs: &Attrs, rank: usize) -> Result<Vec<Window>, OpError> {
    let size = positive(attrs, "window", rank)?;
    let stride = if *attrs.get("stride") == Attr::Absent { size.clone() } else { positive(attrs, "stride", rank)? };
    let dilation = match attrs.get("dilation") {
        Attr::Absent => vec![1; rank],
        _ => positive(attrs, "dilation", rank)?,
    };
    let taps = (0..rank).map(|k| Taps { size: size[k].into(), stride: stride[k], dilation: dilation[k] });
    let mut windows = windows(attrs, b.ty(x), taps.collect())?;
    let padding = attrs.spatial("padding", rank).unwrap_or_default();
    let first = b.rank(x) - rank;
    for (k, window) in windows.iter_mut().enumerate() {
        let reach = (size[k] - 1) * dilation[k] + 1;
        // A window that lies in the padding alone would have nothing to choose from.
        if 2 * padding[k] > reach {
            let message = format!("a padding of {} is more than half of the window of {}", padding[k], size[k]);
            let error = OpError::new(Code::WrongAttribute, message).attr("padding");
            return Err(error.help(format!("write `padding = {}`", reach / 2)));
        }
        if attrs.flag("ceil_mode") {
            let more = rounded_up(&b.shape(x)[first + k], padding[k], reach, stride[k]).ok_or_else(|| {
                let message = format!(
                    "`ceil_mode` with a stride of {} over a window of {} needs an extent known at build time, but axis {} of {{0}} is {}",
                    stride[k], size[k], first + k, b.shape(x)[first + k]
                );
                OpError::new(Code::NotSupported, message).attr("ceil_mode")
            })?;
            window.high = window.high.clone() + more;
        }
    }
    Ok(windows)
}

/// How far windows reach behind the padded axis where their number is rounded up, but none begins behind the axis and
/// the padding before it, as PyTorch counts. `None` where that depends on a named extent.
fn rounded_up(extent: &Dim, padding: i64, reach: i64, stride: i64) -> Option<Dim> {
    let whole = Dim::from(stride - 1);
    if stride + padding <= reach {
        return Some(whole);
    }
    let n = extent.as_const()?;
    let count = (n + 2 * padding - reach + stride - 1).div_euclid(stride) + 1;
    Some(if (count - 1) * stride >= n + padding { Dim::from(0) } else { whole })
}
