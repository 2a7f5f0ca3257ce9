//! Where a graph repeats itself: what each node of a sequence computes in, stretches out in which each node is like the one a
//! period before it.
//!
//! Always: this compares what nodes are, not what they read, and so finds where layers may be; whether they are is for `turns` to say.
//! A sequence twice as long takes about twice as long.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// A part of a sequence that repeats itself.
#[derive(Debug)]
pub(super) struct Stretch {
    /// After how many nodes.
    pub(super) period: usize,
    /// All of its nodes, those of the first turn too.
    pub(super) nodes: Range<usize>,
}

/// So many nodes in a row that are like others are seldom so by chance.
const CONTEXT: usize = 6;

/// The stretches with periods of at least so many nodes, those first that save the most of them.
pub(super) fn stretches(signs: &[u32], least: usize) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = periods(signs, least).into_iter().flat_map(|period| repeated(signs, period)).collect();
    all.sort_by_key(|stretch| (std::cmp::Reverse(stretch.nodes.len() - stretch.period), stretch.nodes.start));
    all
}

/// How far it is from places to the last ones before them that look the same, where some of a turn say so: the others may be like
/// what stands between. There are no more periods than about six times the root of the sequence's length.
fn periods(signs: &[u32], least: usize) -> Vec<usize> {
    let (mut last, mut votes): (HashMap<&[u32], usize>, BTreeMap<usize, usize>) = (HashMap::new(), BTreeMap::new());
    for (at, context) in signs.windows(CONTEXT).enumerate() {
        if let Some(before) = last.insert(context, at) {
            *votes.entry(at - before).or_default() += 1;
        }
    }
    let is_period = |(period, votes): (usize, usize)| period >= least && 16 * votes >= period;
    votes.into_iter().filter(|&of| is_period(of)).map(|(period, _)| period).collect()
}

/// The stretches of one period: two turns or more.
fn repeated(signs: &[u32], period: usize) -> Vec<Stretch> {
    let (mut all, mut start) = (vec![], 0);
    for at in period..=signs.len() {
        if at < signs.len() && signs[at] == signs[at - period] {
            continue;
        }
        if at - start >= 2 * period {
            all.push(Stretch { period, nodes: start..at });
        }
        start = at + 1 - period;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_begins_and_ends_where_nodes_differ() {
        let layer = [1, 2, 3, 4, 2, 3, 5, 6];
        let signs: Vec<u32> =
            [9, 8].into_iter().chain(layer.into_iter().cycle().take(3 * layer.len() + 2)).chain([7]).collect();
        let found = stretches(&signs, 4);
        assert_eq!((found.len(), found[0].period, found[0].nodes.clone()), (1, 8, 2..28));
        assert!(stretches(&signs, 9).is_empty());
    }
}
