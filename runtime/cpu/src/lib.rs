//! The CPU side of the runtime: what emitted kernels are written against.
//!
//! In: slices of words, of 4 bytes or of 8, and numbers that the compiler settled. Out: the same words, computed with the best
//! instruction set of the machine. Always: an intrinsic runs only inside a `#[target_feature]` frame that an ISA token
//! has opened, safe code can neither read nor write outside a slice, and results do not depend on the number of threads.
//!
//! This crate has no interface of its own: `precast` hands it to emitted code, and it changes with what the compiler emits.
//!
//! The ISA layer is our own. `rten-simd` 0.27 builds quickly, but it has no 32-bit unsigned arithmetic, no gathers or
//! scatters, no shifts by a vector, no mask logic beyond `and`, and no floor, ceiling or square root. Its masked loads
//! and stores are `unsafe` for the caller, and its `#[target_feature]` frames are private to a dispatcher that always takes
//! the best instruction set, so emitted safe code could neither be written against it nor be forced onto another one.

mod area;
mod attend;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod barrier;
mod contract;
mod draw;
mod fewer;
mod floor;
mod isa;
mod kept;
mod lanes;
pub mod machine;
#[cfg(test)]
mod operations;
mod pages;
mod parallel;
mod pool;
#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable;
mod queue;
mod recurrent;
mod scratch;
mod sealed;
mod simd;
#[cfg(target_arch = "x86_64")]
mod sse2;
mod sums;
mod sweep;
mod twice;
mod vectors;
mod wide;
mod words;

pub mod bits;
pub mod math;

pub use area::Area;
pub use attend::{Attend, Attended, Mask, Strided, attend};
#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
#[cfg(feature = "f64")]
pub use contract::contract_wide;
pub use contract::{
    Algorithm, Axis, Contract, Epilogue, Factor, Keeping, Narrow, Operand, Output, Plain, Precision, Role, Steady,
    Tile, Window, contract, contract_kept, contract_narrow,
};
#[cfg(feature = "stored")]
pub use contract::{Bf16, Encoding, F16, I8, Stored, contract_stored};
pub use draw::{Law, draw, draw_standard};
pub use fewer::Fewer;
pub use floor::{floor_div, floor_rem};
#[cfg(feature = "deterministic")]
pub use isa::Deterministic;
pub use isa::{Family, Isa, Kernel, run};
pub use kept::Kept;
pub use parallel::{Split, parallel, run_streaming};
#[cfg(any(test, not(target_arch = "x86_64")))]
pub use portable::Portable;
pub use recurrent::{Cell, Cells, Matrix, Recurrence, Series, State, recur};
pub use simd::{Simd, Skip};
#[cfg(target_arch = "x86_64")]
pub use sse2::Sse2;
pub use sums::{LongSum, Lost};
pub use sweep::{At, Full, Part};
pub use twice::Twice;
pub use vectors::Vectors;
pub use wide::Wide;
pub use words::{OutOfMemory, Words};
