//! `max_pool2d(x, window = 2)`.

use super::sliding::{DILATION, PADDING, Taps, positive, windows};
use super::{Attr, AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::Value;
use crate::ir::prim::{Prim, ReduceOp, Window};

pub(super) const ITEMS: &[Item] = &[Item::Op(&MAX_POOL2D)];

pub(super) const WINDOW: AttrDecl = AttrDecl::required("window", AttrKind::Ints, "height and width of the window");
pub(super) const STRIDE: AttrDecl =
    AttrDecl::optional("stride", AttrKind::Ints, "", "from one window to the next; where absent, the window itself");

static MAX_POOL2D: Op = Op {
    name: "max_pool2d",
    signature: "(x: float[.., Height, Width]) -> float[...]",
    attrs: &[WINDOW, STRIDE, PADDING, DILATION],
    doc: "The largest element of each window over the last two axes; padding does not take part. The gradient goes to \
          the first largest.",
    onnx: Some("MaxPool"),
    body: |b, args, attrs| {
        let windows = pool_windows(b, args[0], attrs)?;
        Ok(vec![b.prim(Prim::WindowReduce { op: ReduceOp::Max, windows }, args)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[2, 3, 8, 6]", Domain::Normal)], call: "max_pool2d(x, window = 2)", result: "f32[2, 3, 4, 3]" },
        Example {
            inputs: &[("x", "f32[B, 7, 17]", Domain::Normal)],
            call: "max_pool2d(x, window = [3, 2], stride = 2, padding = 1, dilation = [1, 3])",
            result: "f32[B, 4, 8]",
        },
    ],
};

/// The windows of a pooling over the last two axes.
pub(super) fn pool_windows(b: &Builder<'_>, x: Value, attrs: &Attrs) -> Result<Vec<Window>, OpError> {
    let size = positive(attrs, "window", 2)?;
    let stride = if *attrs.get("stride") == Attr::Absent { size.clone() } else { positive(attrs, "stride", 2)? };
    let dilation = match attrs.get("dilation") {
        Attr::Absent => vec![1, 1],
        _ => positive(attrs, "dilation", 2)?,
    };
    let taps = (0..2).map(|k| Taps { size: size[k].into(), stride: stride[k], dilation: dilation[k] });
    let windows = windows(attrs, b.ty(x), taps.collect())?;
    // A window that lies in the padding alone would have nothing to choose from.
    let padding = attrs.spatial("padding", 2).unwrap_or_default();
    if let Some(k) = (0..padding.len()).find(|&k| 2 * padding[k] > (size[k] - 1) * dilation[k] + 1) {
        let message = format!("a padding of {} is more than half of the window of {}", padding[k], size[k]);
        let most = ((size[k] - 1) * dilation[k] + 1) / 2;
        return Err(OpError::new("wrong-attribute", message).attr("padding").help(format!("write `padding = {most}`")));
    }
    Ok(windows)
}
