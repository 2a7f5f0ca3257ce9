//! The names of variables in emitted kernels, and the suffixes of the methods that work on them.

use crate::ir::DType;
use crate::ir::kernel::ExprId;
use proc_macro2::Ident;
use quote::format_ident;

/// The variable of a scalar.
pub(super) fn variable(id: ExprId) -> Ident {
    format_ident!("v{id}")
}

/// The variable of a scalar that is a position, the same in all lanes, as `usize`.
pub(super) fn position_name(id: ExprId) -> Ident {
    format_ident!("p{id}")
}

/// The variable of an accumulator.
pub(super) fn accumulator(pass: usize, slot: usize) -> Ident {
    format_ident!("acc{pass}_{slot}")
}

/// The variable of a slot.
pub(super) fn slot_name(slot: usize) -> Ident {
    format_ident!("s{slot}")
}

/// The variable that says when words of a slot are written past the caches.
pub(super) fn skip_name(slot: usize) -> Ident {
    format_ident!("skip{slot}")
}

/// The variable of the first word of a slot that a part of the kernel sees.
pub(super) fn base_name(slot: usize) -> Ident {
    format_ident!("base{slot}")
}

/// The suffix of methods on elements in memory: of fewer bits than a word by their size, for they are read as u32.
pub(super) fn suffix(dtype: DType) -> &'static str {
    match dtype.bits() {
        8 => "b",
        16 => "h",
        _ if dtype == DType::Bool => suffix_of_lanes(DType::U32),
        _ => suffix_of_lanes(dtype),
    }
}

/// The suffix of methods on vectors.
pub(super) fn suffix_of_lanes(dtype: DType) -> &'static str {
    match dtype.computed() {
        DType::F64 => "d",
        DType::I32 => "i",
        DType::U32 => "u",
        DType::I64 => "l",
        DType::U64 => "q",
        DType::Bool => "m",
        _ => "f",
    }
}
