//! WGSL building blocks of the GPU back end.
