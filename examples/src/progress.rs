//! A progress bar: in comes how far a program is, out comes a line that is drawn over. Always: where
//! the standard error is no terminal nothing is drawn.

use std::io::{IsTerminal, Write, stderr};

/// Characters of a full bar.
const WIDTH: usize = 30;

/// A bar that is cleared when it is dropped.
#[derive(Debug)]
pub struct Progress {
    total: usize,
    done: usize,
    drawn: Option<usize>,
}

impl Progress {
    /// A bar of `total` steps.
    pub fn new(total: usize) -> Self {
        Progress { total: total.max(1), done: 0, drawn: None }
    }

    /// One step is done.
    pub fn step(&mut self, label: impl std::fmt::Display) {
        self.done += 1;
        let filled = WIDTH * self.done.min(self.total) / self.total;
        if self.drawn == Some(filled) || !stderr().is_terminal() {
            return;
        }
        self.drawn = Some(filled);
        let (bar, rest) = ("━".repeat(filled), "─".repeat(WIDTH - filled));
        // A terminal that cannot be drawn on is no reason to stop.
        let _ = write!(stderr(), "\r{label} {bar}{rest} {}/{}", self.done, self.total);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            let _ = write!(stderr(), "\r\x1b[2K");
        }
    }
}
