//! The parts that networks are made of, each measured alone: one file a table.

mod attention;
mod cliffs;
mod gemm;

use crate::command::Part;

/// A name, what it measures, and what measures it.
pub(crate) type Table = (&'static str, &'static str, fn(&Part));

/// All of them.
pub(crate) const TABLES: &[Table] = &[
    ("gemm", "matrix products and convolutions, and what part of the peak they reach", gemm::products),
    ("small", "products of one row, in nanoseconds", gemm::small),
    ("cliffs", "products beside round shapes, and how much longer each multiplication takes there", cliffs::beside),
    ("maths", "elementary functions, in elements per nanosecond", gemm::maths),
    ("attention", "attention as one kernel and as products and a softmax", attention::both),
];
