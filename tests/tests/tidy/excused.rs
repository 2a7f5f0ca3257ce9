//! Places that break a rule for a reason. Always: a place is a file, or a file and a part of its line.

/// A rule's excuses: the file, a part of the line, the reason.
pub(crate) type Excuses = &'static [(&'static str, &'static str, &'static str)];

/// Files of more than 500 lines.
pub(crate) const LONG: Excuses = &[
    ("runtime/cpu/src/simd.rs", "", "the trait is one list, with the documentation of every method"),
    ("runtime/src/reference.rs", "", "it is generated"),
];

/// Functions of more than 60 lines.
pub(crate) const TALL: Excuses = &[
    ("compiler/src/ir/infer.rs", "fn infer(", "one arm for each primitive"),
    ("compiler/src/stages/grad/map.rs", "fn pull_back(", "one arm for each elementwise operation"),
    ("compiler/src/stages/fuse/lower.rs", "fn repeat(", "what the loop reads, carries and writes is settled together"),
    ("compiler/src/stages/fuse/lower.rs", "fn kernel(", "the parts of a kernel number each other's slots and scalars"),
];

/// Panics outside tests.
pub(crate) const PANICS: Excuses = &[
    ("runtime/cpu/src/area.rs", "outside a tile", "safe code must not reach beyond it, as with slices"),
    ("runtime/cpu/src/", "are outside a slice of", "safe code must not reach beyond it, as with slices"),
];

/// Catch-all arms on closed sets.
pub(crate) const CATCH_ALL: Excuses = &[
    ("compiler/src/oracle/scalar.rs", "is not a comparison", "the caller has chosen the comparisons"),
    ("compiler/src/oracle/scalar.rs", "does not map bool to bool", "inference has typed the node"),
    ("compiler/src/stages/fuse/lower.rs", "is no region", "a group of a region holds a region"),
    ("compiler/src/stages/fuse/rewrite.rs", "_ => return None", "a rewrite looks for one form; all others stay"),
    ("compiler/src/stages/grad/transform.rs", "kind =>", "all nodes but transforms and their results are copied"),
];

/// Numbers in printers.
pub(crate) const CHOICES: Excuses = &[
    ("compiler/src/stages/emit/rust/mod.rs", "INLINED", "it is about what LLVM takes, and the same kernels run"),
    ("compiler/src/stages/emit/rust/plan.rs", "RESULTS", "it is emitted"),
    ("compiler/src/stages/emit/rust/scalar.rs", "LANES", "a test evaluates what is printed in lanes"),
    ("compiler/src/stages/emit/wgsl/choose.rs", "SLOTS", "the runtime fills them"),
    ("compiler/src/stages/emit/wgsl/mod.rs", "NEVER", "it stands for work that no device has memory for"),
];

/// Large numbers in drivers of the CPU.
pub(crate) const THRESHOLDS: Excuses = &[
    ("runtime/cpu/src/contract/narrow/amx.rs", ": u32 = 1 <<", "they are bits of CPUID"),
    ("runtime/cpu/src/simd.rs", "reachable", "lanes count in 32 bits"),
];
