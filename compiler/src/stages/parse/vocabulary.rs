//! What other libraries call things: their name in, the name in the language out.

use proc_macro2::Ident;

/// Names of functions in PyTorch, NumPy and JAX.
const FUNCTIONS: &[(&str, &str)] = &[
    ("absolute", "abs"),
    ("amax", "max"),
    ("amin", "min"),
    ("bmm", "matmul"),
    ("cat", "concat"),
    ("chunk", "split"),
    ("clip", "clamp"),
    ("concatenate", "concat"),
    ("detach", "stop_gradient"),
    ("dot", "matmul"),
    ("expand", "broadcast_to"),
    ("expand_dims", "unsqueeze"),
    ("hardsigmoid", "hard_sigmoid"),
    ("hardswish", "hard_swish"),
    ("hardtanh", "hard_tanh"),
    ("index_select", "take"),
    ("mm", "matmul"),
    ("permute", "transpose"),
    ("power", "pow"),
    ("scaled_dot_product_attention", "attend"),
    ("swapaxes", "transpose"),
    ("swish", "silu"),
    ("topk", "top_k"),
    ("view", "reshape"),
];

/// Names of attributes.
const ATTRIBUTES: &[(&str, &str)] = &[
    ("approximate", "approximation"),
    ("dim", "axis"),
    ("dims", "axes"),
    ("in_channels", "input"),
    ("in_features", "input"),
    ("is_causal", "causal"),
    ("keepdim", "keepdims"),
    ("kernel_size", "kernel"),
    ("num_layers", "layers"),
    ("out_channels", "output"),
    ("out_features", "output"),
];

/// Methods of Rust that every value of the language has no need of.
const NEEDLESS: &[&str] = &["clone", "to_owned", "unwrap", "contiguous", "into", "to_vec", "iter", "as_ref"];

/// What the language calls a function.
pub(super) fn function(name: &Ident) -> Option<&'static str> {
    FUNCTIONS.iter().find(|(other, _)| name == other).map(|(_, own)| *own)
}

/// What the language calls an attribute, where the callee has that one.
pub(super) fn attribute(name: &Ident, known: &[&str]) -> Option<&'static str> {
    ATTRIBUTES.iter().find(|(other, own)| name == other && known.contains(own)).map(|(_, own)| *own)
}

/// Whether a method does nothing that the language needs.
pub(super) fn needless(name: &Ident) -> bool {
    NEEDLESS.iter().any(|method| name == method)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops;

    #[test]
    fn functions_have_names_that_are_none_here() {
        for (other, own) in FUNCTIONS {
            assert!(ops::op(other).is_none(), "`{other}` is an op");
            assert!(ops::op(own).is_some() || *own == "stop_gradient", "there is no op `{own}`");
        }
    }
}
