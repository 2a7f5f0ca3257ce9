//! Banks: which of a GPU's scratch buffers each value lies in.
//!
//! In: the launches of a GPU in order, with the lifetimes of their buffers. Out: a bank for each buffer. Always: what is chosen
//! changes neither results nor what a CPU does. A device keeps the order of dispatches by whole buffers, and lets one that only
//! reads a buffer bind it as such; so a launch writes where it does not read, into one bank if it can, and one that depends on none of
//! those before it writes where they do not write or read, as long as banks fill evenly.

use super::lifetime::{Lifetime, Order};
use crate::ir::plan::BANKS;
use crate::ir::program::{Buffer, BufferId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What the value of a name is supposed to be, where sizes are compared.
const SUPPOSED: i64 = 64;
/// The part of all memory by which a bank may be larger than others so that launches read and write different ones.
const APART: i64 = 4;
/// The same so that independent launches may run beside each other.
const BESIDE: i64 = 8;
/// Launches before one that may still run.
const WINDOW: usize = 8;

/// The bank of each buffer for which `lies` holds.
pub(super) fn banks(
    buffers: &[Buffer],
    order: &Order,
    lifetimes: &[Lifetime],
    lies: &dyn Fn(BufferId) -> bool,
) -> BTreeMap<BufferId, usize> {
    let words = |buffer: BufferId| {
        let Buffer { dtype, len, .. } = &buffers[buffer.0];
        dtype.words(len).eval(&|_| Some(SUPPOSED)).unwrap_or(i64::MAX).clamp(0, i64::MAX >> 32)
    };
    let peak = peak(order, lifetimes, &|buffer| if lies(buffer) { words(buffer) } else { 0 });
    let mut chosen: BTreeMap<BufferId, usize> = BTreeMap::new();
    // What is alive in each bank, and the launches before that may still run.
    let mut alive: [Alive; BANKS] = Default::default();
    let mut before: VecDeque<&[(BufferId, bool)]> = VecDeque::new();
    for (position, uses) in order.uses.iter().enumerate() {
        alive.iter_mut().for_each(|bank| bank.go_to(position));
        if before.iter().any(|earlier| depends(uses, earlier)) {
            before.clear();
        }
        for &(buffer, writes) in uses.iter().filter(|(buffer, _)| lies(*buffer)) {
            if chosen.contains_key(&buffer) {
                continue;
            }
            let is_in = |used: &BufferId, bank| chosen.get(used) == Some(&bank);
            let cost = |&bank: &usize| {
                let mixes = uses.iter().any(|(used, also)| *also != writes && is_in(used, bank));
                let apart = if mixes { peak / APART } else { 0 };
                let is_elsewhere = |used: &BufferId| chosen.get(used).is_some_and(|of| *of != bank);
                let spreads = writes && uses.iter().any(|(used, also)| *also && is_elsewhere(used));
                let beside = before.iter().any(|earlier| earlier.iter().any(|(used, _)| is_in(used, bank)));
                alive[bank].words + apart + if beside || spreads { peak / BESIDE } else { 0 }
            };
            let bank = (0..BANKS).min_by_key(cost).unwrap_or(0);
            chosen.insert(buffer, bank);
            alive[bank].add(words(buffer), lifetimes[buffer.0]);
        }
        before.push_back(uses);
        if before.len() > WINDOW {
            before.pop_front();
        }
    }
    chosen
}

/// Whether a launch waits for an earlier one.
fn depends(uses: &[(BufferId, bool)], earlier: &[(BufferId, bool)]) -> bool {
    uses.iter().any(|(buffer, write)| earlier.iter().any(|(other, wrote)| buffer == other && (*write || *wrote)))
}

/// The most words that are alive at once.
fn peak(order: &Order, lifetimes: &[Lifetime], words: &dyn Fn(BufferId) -> i64) -> i64 {
    let (mut alive, mut seen, mut most) = (Alive::default(), BTreeSet::new(), 0);
    for (position, uses) in order.uses.iter().enumerate() {
        alive.go_to(position);
        for &(buffer, _) in uses {
            if seen.insert(buffer) {
                alive.add(words(buffer), lifetimes[buffer.0]);
            }
        }
        most = most.max(alive.words);
    }
    most
}

/// The words of what is alive at a position.
#[derive(Default)]
struct Alive {
    words: i64,
    /// Those whose lifetimes end at a position.
    ends: BTreeMap<usize, i64>,
}

impl Alive {
    /// Leaves out what is over before a position.
    fn go_to(&mut self, position: usize) {
        let rest = self.ends.split_off(&position);
        self.words -= std::mem::replace(&mut self.ends, rest).values().sum::<i64>();
    }

    fn add(&mut self, words: i64, lifetime: Lifetime) {
        self.words += words;
        *self.ends.entry(lifetime.last()).or_default() += words;
    }
}
