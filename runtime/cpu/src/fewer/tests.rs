//! Elements of fewer bits on every instruction set.
