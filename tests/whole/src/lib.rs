//! Random whole programs: a seed in, the text of a `model!` out, and the judgement of what its compiled form computes.
//!
//! `generate` draws a program, `text` prints it, `run` and `adapter` run what rustc made of it on calls that `case` makes,
//! and `judge` compares that with the oracle; `json` and `dump` hand both to `pytorch.py`, `told` without compiling. The
//! batch beside this crate compiles programs; the program of this crate drives batch after batch.

#[cfg(feature = "gpu")]
mod adapter;
mod case;
pub mod dump;
pub mod generate;
pub mod json;
pub mod judge;
pub mod program;
pub mod random;
pub mod run;
pub mod text;
pub mod told;

/// Whether a program trains; `None` where the compiler's own check refuses its text.
pub fn accepted(program: &program::Program) -> Option<bool> {
    judge::checked(&program.text()).is_ok().then_some(!program.weighed.is_empty())
}
