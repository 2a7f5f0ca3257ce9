//! Finds words that one position of a kernel writes and another one touches: such a kernel would depend on
//! the order of its positions, which back ends choose.

use std::collections::{BTreeMap, BTreeSet};

/// When something happens in a launch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Moment {
    /// The position of the parallel axes.
    pub(super) row: usize,
    /// The pass; after the last one come the stores of the row.
    pub(super) pass: usize,
    /// The position of the reduced axes.
    pub(super) point: usize,
}

/// What a launch has touched: pool and word.
#[derive(Default)]
pub(super) struct Touched {
    reads: BTreeMap<(usize, usize), BTreeSet<Moment>>,
    writes: BTreeMap<(usize, usize), Moment>,
}

impl Touched {
    pub(super) fn read(&mut self, pool: usize, word: usize, now: Moment) {
        self.reads.entry((pool, word)).or_default().insert(now);
    }

    pub(super) fn write(&mut self, pool: usize, word: usize, now: Moment) -> Result<(), String> {
        match self.writes.insert((pool, word), now) {
            None => Ok(()),
            Some(before) => Err(format!("word {word} is written twice, at {before:?} and {now:?}")),
        }
    }

    /// Whether every read of a word that the launch writes is of the same position and comes first.
    pub(super) fn check(&self) -> Result<(), String> {
        for (word, reads) in &self.reads {
            let Some(write) = self.writes.get(word) else { continue };
            let ordered = |read: &&Moment| {
                let before = read.pass < write.pass || (read.pass == write.pass && read.point == write.point);
                read.row == write.row && before
            };
            if let Some(read) = reads.iter().find(|r| !ordered(r)) {
                return Err(format!("word {} is read at {read:?} and written at {write:?}", word.1));
            }
        }
        Ok(())
    }
}
