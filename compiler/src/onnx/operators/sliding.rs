//! Windows over spatial axes: a node's attributes in, the windows of a convolution or a pool out.

use super::super::Failure;
use super::super::node::{Made, Node};
use crate::ir::prim::Window;
use crate::ir::{Dim, Type};

/// The windows over the spatial axes of `[batch, channels, spatial…]`, and for each axis the elements behind its end that are
/// padding, of which a last window may see more.
pub(super) struct Sliding {
    pub(super) windows: Vec<Window>,
    /// What counts as padding at the end of each axis.
    pub(super) ends: Vec<Dim>,
}

/// One number for each of `rank` spatial axes.
pub(super) fn numbers(n: &Node<'_>, name: &str, rank: usize, default: i64) -> Made<Vec<i64>> {
    let all = n.ints(name).filter(|all| !all.is_empty()).unwrap_or_else(|| vec![default; rank]);
    match all.len() == rank && all.iter().all(|number| (0..1 << 31).contains(number)) {
        true => Ok(all),
        false => Err(Failure::new(format!("`{name}` is {all:?}, and there are {rank} spatial axes"))),
    }
}

/// Steps of windows, which are positive.
fn steps(n: &Node<'_>, name: &str, rank: usize) -> Made<Vec<i64>> {
    let all = numbers(n, name, rank, 1)?;
    match all.contains(&0) {
        true => Err(Failure::new(format!("`{name}` is {all:?}, and steps are positive"))),
        false => Ok(all),
    }
}

/// The windows of these sizes over an argument, as `strides`, `dilations`, `pads`, `auto_pad` and `ceil_mode` say.
pub(super) fn sliding(n: &Node<'_>, x: &Type, sizes: &[Dim]) -> Made<Sliding> {
    let rank = sizes.len();
    if x.rank() != rank + 2 {
        return Err(Failure::new(format!("windows over {rank} axes of {x}")));
    }
    let (strides, dilations) = (steps(n, "strides", rank)?, steps(n, "dilations", rank)?);
    let (pads, auto) = (numbers(n, "pads", 2 * rank, 0)?, n.text("auto_pad", "NOTSET"));
    let (mut windows, mut ends) = (vec![], vec![]);
    for (k, size) in sizes.iter().enumerate() {
        let extent = &x.shape[2 + k];
        let reach = (size.clone() - 1.into()) * Dim::from(dilations[k]) + 1.into();
        let (low, high) = match auto.as_str() {
            "SAME_UPPER" | "SAME_LOWER" => {
                let [less, more] = same(extent, &reach, strides[k])?;
                if auto == "SAME_UPPER" { (less, more) } else { (more, less) }
            }
            "VALID" => (Dim::from(0), Dim::from(0)),
            _ => (Dim::from(pads[k]), Dim::from(pads[rank + k])),
        };
        let window =
            Window { size: size.clone(), stride: strides[k], dilation: dilations[k], low, high: high.clone(), base: 1 };
        let window = if n.flag("ceil_mode") { rounded_up(window, extent, &reach)? } else { window };
        let outputs = window.output(extent).as_const();
        if outputs.is_some_and(|outputs| outputs < 1) {
            return Err(Failure::new(format!("a window of {reach} elements does not fit into axis {} of {x}", k + 2)));
        }
        windows.push(window);
        ends.push(high);
    }
    Ok(Sliding { windows, ends })
}

/// The smaller and the larger part of the padding with which an axis gives one result for each step.
fn same(extent: &Dim, reach: &Dim, stride: i64) -> Made<[Dim; 2]> {
    let total = match (stride, extent.as_const(), reach.as_const()) {
        (1, ..) => reach.clone() - 1.into(),
        (_, Some(extent), Some(reach)) => {
            let outputs = (extent + stride - 1) / stride;
            Dim::from(((outputs - 1) * stride + reach - extent).max(0))
        }
        _ => return Err(Failure::new("`auto_pad` with a stride needs known spatial extents")),
    };
    let less = total.floor_div(&2.into());
    Ok([less.clone(), total - less])
}

/// The window with which a last, incomplete step counts, unless it would begin in the padding at the end.
fn rounded_up(window: Window, extent: &Dim, reach: &Dim) -> Made<Window> {
    let (Some(extent), Some(reach)) = (extent.as_const(), reach.as_const()) else {
        return Err(Failure::new("`ceil_mode` needs known spatial extents"));
    };
    let (low, high) = (window.low.as_const().unwrap_or(0), window.high.as_const().unwrap_or(0));
    let mut outputs = (extent + low + high - reach + window.stride - 1).div_euclid(window.stride) + 1;
    if (outputs - 1) * window.stride >= extent + low {
        outputs -= 1;
    }
    let high = (outputs - 1) * window.stride + reach - extent - low;
    Ok(Window { high: high.into(), ..window })
}
