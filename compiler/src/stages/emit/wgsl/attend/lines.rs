//! Text with indentation.
//!
//! Comes in: lines, and heads of blocks. Goes out: WGSL. Always holds: what is in a block is four spaces further in.

use std::fmt::Write;

/// Text with indentation.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) text: String,
    depth: usize,
}

impl Lines {
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        let _ = writeln!(self.text, "{:1$}{2}", "", 4 * self.depth, line.as_ref());
    }

    pub(super) fn open(&mut self, head: impl AsRef<str>) {
        self.line(format!("{} {{", head.as_ref()));
        self.depth += 1;
    }

    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }
}
