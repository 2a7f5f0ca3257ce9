//! The parts that networks are made of, each measured alone: one file a table.

mod attention;
#[cfg(feature = "cliffs")]
mod cliffs;
mod expand;
mod gemm;
mod precision;
mod stored;

use crate::command::Part;

/// A name, what it measures, and what measures it.
pub(crate) type Table = (&'static str, &'static str, fn(&Part));

/// All of them.
pub(crate) const TABLES: &[Table] = if cfg!(feature = "cpu") {
    &[
        ("gemm", "matrix products and convolutions, and what part of the peak they reach", gemm::products),
        (
            "depthwise",
            "depthwise convolutions and their gradients by weight, and what part of the peak they reach",
            gemm::planes,
        ),
        ("small", "products of one row, in nanoseconds", gemm::small),
        #[cfg(feature = "cliffs")]
        (
            "cliffs",
            "odd shapes beside round ones, and how many times as long a unit of work takes there",
            cliffs::beside,
        ),
        (
            "precision",
            "products with a parameter in f32, bf16 and int8, and how many times as fast these are",
            precision::beside,
        ),
        (
            "stored",
            "a transformer with parameters in f32, bf16, f16 and int8: what is resident, and how fast it is",
            stored::resident,
        ),
        ("expand", "what each stage of the compiler takes for long programs", expand::stages),
        ("maths", "elementary functions, in elements per nanosecond", gemm::maths),
        ("attention", "attention as one kernel and as products and a softmax", attention::both),
    ]
} else {
    &[]
};
