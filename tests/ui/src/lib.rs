//! A package of its own without the GPU, so that the programs with mistakes compile quickly.
