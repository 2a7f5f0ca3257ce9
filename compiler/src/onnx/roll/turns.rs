//! Whether parts of a graph are turns of one loop: a stretch in, the node of each turn for each node of the last out.
//!
//! Always: what turns compute is followed backwards from what they give, so that it does not matter in which order a file has its
//! nodes. Each turn reads what the one before it gives, values that are the same for all, and parameters of its own, of equal types.

use super::runs::Stretch;
use super::{Reading, is_movement};
use crate::ir::{Kind, Prim, Value};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// More values than a network's layers give each other: each is copied in each turn.
const MOST_CARRIED: usize = 8;

/// How often on average a node is compared with another one: turns that share what they compute are few.
const MOST_COMPARED: usize = 8;

/// Turns that are alike.
pub(super) struct Run {
    /// What the last turn takes of the one before it.
    pub(super) ins: Vec<Value>,
    /// What it gives in the places of these.
    pub(super) outs: Vec<Value>,
    /// The nodes of the last turn that are others in each turn, ascending; its own parameters are among them.
    pub(super) own: Vec<Value>,
    /// What the first turn takes in the places of `ins`.
    pub(super) before: Vec<Value>,
    /// For each turn the nodes in the places of `own` and `outs`.
    pub(super) turns: Vec<Turn>,
}

/// A turn.
#[derive(Clone)]
pub(super) struct Turn {
    pub(super) own: Vec<Value>,
    pub(super) outs: Vec<Value>,
}

/// A turn as one that is like another.
struct Like {
    /// For each node of the other the node of this one.
    images: BTreeMap<Value, Value>,
    /// What it takes in the places of what the other takes.
    ins: Vec<Value>,
}

/// The runs of a stretch of the sequence: several, where a turn between them gives something to others.
pub(super) fn runs(reading: &Reading<'_>, stretch: &Stretch) -> Vec<Run> {
    whole(reading, stretch).map_or(vec![], |run| parts(reading, run))
}

/// The values that go from turn to turn, as few as possible: in which places of a turn they stand, and where the last turn is.
fn cut(reading: &Reading<'_>, stretch: &Stretch) -> Option<(Vec<usize>, Range<usize>)> {
    let Stretch { period, nodes } = stretch;
    let (first, last) = (nodes.start + (nodes.len() / period - 1) * period, nodes.end - period);
    // From how many values of a turn before it to how few there are more that are read from a place on.
    let mut more = vec![0; last + 1 - first];
    let mut from = |place: usize, change: i64| {
        more.get_mut(place.max(first) - first).into_iter().for_each(|at: &mut i64| *at += change);
    };
    for k in first - period..last {
        from(k + 1, 1);
        from(reading.last_use(k).min(k + period).saturating_add(1), -1);
    }
    let crossing = more.iter().scan(0, |all, change| {
        *all += change;
        Some(*all)
    });
    let (at, _) = (first..).zip(crossing).min_by_key(|(_, count)| *count)?;
    let outs: Vec<usize> = (at - period..at).filter(|&k| reading.last_use(k) >= at).map(|k| k + period - at).collect();
    (1..=MOST_CARRIED).contains(&outs.len()).then_some((outs, at..at + period))
}

/// All turns of a stretch, and those before it that the order of nodes hides.
fn whole(reading: &Reading<'_>, stretch: &Stretch) -> Option<Run> {
    let (places, last) = cut(reading, stretch)?;
    let period = stretch.period;
    let outs_at = |first: usize| -> Vec<Value> { places.iter().map(|k| reading.sequence[first + k]).collect() };
    let (outs, ins) = (outs_at(last.start), outs_at(last.start - period));
    let nodes = reading.sequence[last.start]..=reading.sequence[last.end - 1];
    let left = Cell::new(MOST_COMPARED * reading.graph.nodes.len());
    let template = Template { reading, ins: &ins, nodes, left };
    let mut turns = vec![Like { images: template.images(&outs)?, ins: ins.clone() }];
    let mut given = vec![outs.clone()];
    while let Some(next) = turns.last().map(|turn| turn.ins.clone())
        && let Some(turn) = template.like(&outs, &next)
    {
        turns.push(turn);
        given.push(next);
    }
    let before = turns.last()?.ins.clone();
    turns.reverse();
    given.reverse();
    let own = own(reading, &ins, &turns);
    // What no turn before has a part in is carried by none.
    if !outs.iter().all(|out| own.binary_search(out).is_ok()) {
        return None;
    }
    let in_turn = |(turn, outs): (Like, Vec<Value>)| Turn {
        own: own.iter().map(|t| turn.images.get(t).copied().unwrap_or(*t)).collect(),
        outs,
    };
    let turns = turns.into_iter().zip(given).map(in_turn).collect();
    Some(Run { ins, outs, own, before, turns })
}

/// The nodes of the last turn that depend on what turns give or on parameters of their own.
fn own(reading: &Reading<'_>, ins: &[Value], turns: &[Like]) -> Vec<Value> {
    let Some(last) = turns.last() else { return vec![] };
    let is_other = |t: &Value| turns.iter().any(|turn| turn.images.get(t).is_some_and(|image| image != t));
    let mut own = BTreeSet::new();
    for &t in last.images.keys() {
        let node = reading.graph.node(t);
        let is_parameter = matches!(node.kind, Kind::Param(_)) && is_other(&t);
        if is_parameter || node.args.iter().any(|arg| ins.contains(arg) || own.contains(arg)) {
            own.insert(t);
        }
    }
    own.into_iter().collect()
}

/// The last turn of a stretch.
struct Template<'r> {
    reading: &'r Reading<'r>,
    ins: &'r [Value],
    /// Where its nodes are.
    nodes: std::ops::RangeInclusive<Value>,
    /// How many nodes may still be compared.
    left: Cell<usize>,
}

impl Template<'_> {
    /// All that it computes from what it takes, as itself.
    fn images(&self, outs: &[Value]) -> Option<BTreeMap<Value, Value>> {
        let (mut images, mut rest) = (BTreeMap::new(), outs.to_vec());
        while let Some(t) = rest.pop() {
            if self.ins.contains(&t) || images.insert(t, t).is_some() || self.is_around(t) {
                continue;
            }
            rest.extend(&self.reading.graph.node(t).args);
        }
        // A turn that takes nothing of the one before it is no turn.
        let reads = |t: &Value| self.reading.graph.node(*t).args.iter().any(|arg| self.ins.contains(arg));
        images.keys().any(reads).then_some(images)
    }

    /// Whether a value is computed from arguments, and not in this turn.
    fn is_around(&self, t: Value) -> bool {
        self.reading.place(t).is_some() && !self.nodes.contains(&t)
            || matches!(self.reading.graph.node(t).kind, Kind::Input(_))
    }

    /// What gives `given` in the places of `outs`, where that is a turn that is alike.
    fn like(&self, outs: &[Value], given: &[Value]) -> Option<Like> {
        let graph = self.reading.graph;
        let (mut images, mut ins) = (BTreeMap::new(), vec![None; self.ins.len()]);
        let mut rest: Vec<(Value, Value)> = outs.iter().copied().zip(given.iter().copied()).collect();
        while let Some((t, other)) = rest.pop() {
            self.left.set(self.left.get().checked_sub(1)?);
            if let Some(k) = self.ins.iter().position(|own| *own == t) {
                let is_first = ins[k].is_none() && graph.node(t).ty == graph.node(other).ty;
                if !is_first && ins[k] != Some(other) {
                    return None;
                }
                ins[k] = Some(other);
                continue;
            }
            match images.insert(t, other) {
                Some(known) if known != other => return None,
                Some(_) => continue,
                None => {}
            }
            if t == other {
                continue;
            }
            if self.is_around(t) || !self.reading.are_alike(t, other) {
                return None;
            }
            rest.extend(graph.node(t).args.iter().copied().zip(graph.node(other).args.iter().copied()));
        }
        Some(Like { images, ins: ins.into_iter().collect::<Option<Vec<Value>>>()? })
    }
}

/// The turns between which nothing leaves a run but by its last turn.
fn parts(reading: &Reading<'_>, run: Run) -> Vec<Run> {
    // Of which turn a node is.
    let (mut turn_of, mut shared): (BTreeMap<Value, usize>, BTreeSet<usize>) = (BTreeMap::new(), BTreeSet::new());
    for (number, turn) in run.turns.iter().enumerate() {
        for &node in &turn.own {
            shared.extend(turn_of.insert(node, number).into_iter().flat_map(|other| [other, number]));
        }
    }
    let (mut all, mut open): (Vec<Run>, Vec<Turn>) = (vec![], vec![]);
    let mut before = run.before.clone();
    for (number, turn) in run.turns.iter().enumerate() {
        let (mut leaves, mut is_closed) = (shared.contains(&number), !shared.contains(&number));
        for &node in &turn.own {
            let is_out = turn.outs.contains(&node);
            let is_read = |user: &Option<Value>| match user.and_then(|user| turn_of.get(&user)) {
                Some(&other) => other == number || is_out && other == number + 1,
                None => false,
            };
            if !reading.users(node).all(|user| is_read(&user)) {
                (leaves, is_closed) = (true, is_closed && is_out);
            }
        }
        if is_closed {
            open.push(turn.clone());
        }
        if leaves {
            close(&run, &mut open, &before, &mut all);
            before.clone_from(&turn.outs);
        }
    }
    close(&run, &mut open, &before, &mut all);
    all
}

/// Ends a run with the turns that are open.
fn close(run: &Run, open: &mut Vec<Turn>, before: &[Value], all: &mut Vec<Run>) {
    let turns = std::mem::take(open);
    if turns.len() > 1 {
        let (ins, outs, own) = (run.ins.clone(), run.outs.clone(), run.own.clone());
        all.push(Run { ins, outs, own, before: before.to_vec(), turns });
    }
}

impl Run {
    /// What is saved where it is a region: the nodes of all turns but one that take a kernel or a part of one.
    pub(super) fn saved(&self, reading: &Reading<'_>) -> usize {
        let counts = |&&t: &&Value| match &reading.graph.node(t).kind {
            Kind::Prim(prim) => !matches!(prim, Prim::Const(_)) && !is_movement(prim),
            _ => false,
        };
        (self.turns.len() - 1) * self.own.iter().filter(counts).count()
    }
}
