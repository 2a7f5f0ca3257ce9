//! How much one kernel holds, and one call of a driver of the CPU's runtime: its tables have fixed sizes, so that a call
//! allocates nothing.
//!
//! Always: at most what the tables of `runtime/cpu` hold (`contract`, `attend` and `recurrent` assert it), so that no program
//! that compiles meets such an assertion. What is beyond goes to further kernels.

/// Places that a product writes.
pub const PLACES_OF_A_PRODUCT: usize = 8;

/// Axes of a product, with those of extent 1 left out.
pub const AXES_OF_A_PRODUCT: usize = 16;

/// Places of one result of attention.
pub const PLACES_OF_ATTENTION: usize = 4;

/// Slots that the map of a recurrence writes beside its state.
pub const SERIES_OF_A_RECURRENCE: usize = 16;

/// Scalars from which on a kernel takes up nothing more. Rows and maps have no tables, but rustc takes minutes for long
/// kernels; those of people have fewer than 100.
pub const SCALARS_OF_A_KERNEL: usize = 256;
