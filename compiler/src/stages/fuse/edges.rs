//! Which groups read what others compute, kept up to date as groups grow.
//!
//! In: groups as they are made, and who reads whom. Out: whether one needs another, directly or not. Always: a group is on
//! a higher level than all that it reads, so that a search ends where nothing can be found any more.

use std::collections::BTreeSet;

/// The groups by their numbers.
#[derive(Default)]
pub(super) struct Edges {
    reads: Vec<BTreeSet<usize>>,
    readers: Vec<Vec<usize>>,
    levels: Vec<usize>,
}

impl Edges {
    /// One group more, which reads nothing yet.
    pub(super) fn push(&mut self) {
        self.reads.push(BTreeSet::new());
        self.readers.push(vec![]);
        self.levels.push(0);
    }

    /// The groups that a group reads from.
    pub(super) fn reads(&self, group: usize) -> &BTreeSet<usize> {
        &self.reads[group]
    }

    /// Says that `from` reads `to`, which must not need it.
    pub(super) fn add(&mut self, from: usize, to: usize) {
        if from == to || !self.reads[from].insert(to) {
            return;
        }
        self.readers[to].push(from);
        let mut todo = vec![(from, self.levels[to] + 1)];
        while let Some((group, level)) = todo.pop() {
            if self.levels[group] < level {
                self.levels[group] = level;
                todo.extend(self.readers[group].iter().map(|reader| (*reader, level + 1)));
            }
        }
    }

    /// Whether group `from` needs group `to`, directly or not.
    pub(super) fn needs(&self, from: usize, to: usize) -> bool {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![from]);
        while let Some(group) = todo.pop() {
            if group == to {
                return true;
            }
            if self.levels[group] > self.levels[to] && seen.insert(group) {
                todo.extend(&self.reads[group]);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::Edges;

    #[test]
    fn levels_follow_edges_in_any_order() {
        let mut edges = Edges::default();
        (0..5).for_each(|_| edges.push());
        for (from, to) in [(4, 3), (2, 1), (1, 0), (3, 2)] {
            edges.add(from, to);
        }
        for from in 0..5 {
            for to in 0..5 {
                assert_eq!(edges.needs(from, to), from >= to, "{from} {to}");
            }
        }
    }
}
