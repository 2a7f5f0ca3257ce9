//! Every conversion on every instruction set.
