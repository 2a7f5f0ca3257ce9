//! Layers of a file as turns of a loop: a graph in which they stand one after the other in, the same values from regions out, as
//! repeated blocks are in the language.
//!
//! Always: all numbers are those of the graph as it was. What turns have of their own are parameters of the file, of which a region
//! reads stacks; names of parameters stay those of the file.

mod region;
mod runs;
mod turns;

use crate::ir::limits::AXES;
use crate::ir::model::{Param, ParamId};
use crate::ir::{Graph, Kind, Prim, Type, Value};
use std::collections::{BTreeSet, HashMap};
use turns::Run;

/// The nodes that at least have to be saved. A region costs that nothing is fused across its borders, and what it carries may be
/// copied; what it saves is text and the time of building.
const LEAST: usize = 24;

/// So few nodes are no layer.
const LEAST_OF_A_TURN: usize = 8;

/// The most stretches that are looked at, those first that save most.
const MOST_LOOKED_AT: usize = 64;

/// A graph with regions where it has such layers, and for each of its parameters those that it is made of: one, or one for each turn.
pub(super) fn rolled(graph: Graph, params: &[Param]) -> (Graph, Vec<Vec<ParamId>>) {
    let reading = Reading::of(&graph, params);
    let (mut all, mut taken): (Vec<Run>, BTreeSet<Value>) = (vec![], BTreeSet::new());
    for stretch in runs::stretches(&reading.signs(), LEAST_OF_A_TURN).iter().take(MOST_LOOKED_AT) {
        for run in turns::runs(&reading, stretch) {
            let nodes = || run.turns.iter().flat_map(|turn| &turn.own);
            if run.saved(&reading) >= LEAST && nodes().all(|node| !taken.contains(node)) {
                taken.extend(nodes());
                all.push(run);
            }
        }
    }
    if all.is_empty() {
        let alone = (0..params.len() as u32).map(|id| vec![ParamId(id)]).collect();
        return (graph, alone);
    }
    region::replaced(&reading, all)
}

/// Whether a primitive only moves what is there, which costs nothing where it is read.
fn is_movement(prim: &Prim) -> bool {
    matches!(prim, Prim::Reshape(_) | Prim::Transpose(_) | Prim::Broadcast { .. } | Prim::Slice(_))
}

/// A graph, and what is asked of it again and again.
struct Reading<'g> {
    graph: &'g Graph,
    params: &'g [Param],
    /// The nodes that depend on arguments, without these.
    sequence: Vec<Value>,
    /// Where each node is in the sequence.
    places: Vec<Option<usize>>,
    /// Whether each node depends on neither arguments nor parameters.
    constant: Vec<bool>,
    /// What reads each node; `None` for results.
    users: Vec<Vec<Option<Value>>>,
}

impl<'g> Reading<'g> {
    fn of(graph: &'g Graph, params: &'g [Param]) -> Reading<'g> {
        let (mut sequence, mut places) = (vec![], vec![None; graph.nodes.len()]);
        let mut users = vec![vec![]; graph.nodes.len()];
        let is_input = |value: Value| matches!(graph.node(value).kind, Kind::Input(_));
        let mut constant: Vec<bool> = vec![];
        for value in graph.values() {
            let node = graph.node(value);
            let args = &node.args;
            constant.push(matches!(node.kind, Kind::Prim(_)) && args.iter().all(|arg| constant[arg.0 as usize]));
            args.iter().for_each(|arg| users[arg.0 as usize].push(Some(value)));
            if args.iter().any(|&arg| places[arg.0 as usize].is_some() || is_input(arg)) {
                places[value.0 as usize] = Some(sequence.len());
                sequence.push(value);
            }
        }
        graph.outputs.iter().for_each(|output| users[output.0 as usize].push(None));
        Reading { graph, params, sequence, places, constant, users }
    }

    fn place(&self, value: Value) -> Option<usize> {
        self.places[value.0 as usize]
    }

    /// Whether a value that is the same for all turns is made in each of them where it is read.
    fn is_inside(&self, value: Value) -> bool {
        let moves = matches!(&self.graph.node(value).kind, Kind::Prim(prim) if is_movement(prim));
        moves || self.constant[value.0 as usize]
    }

    fn users(&self, value: Value) -> impl Iterator<Item = Option<Value>> + '_ {
        self.users[value.0 as usize].iter().copied()
    }

    /// The last place of the sequence that reads the one at a place.
    fn last_use(&self, place: usize) -> usize {
        let of_user = |user: Option<Value>| user.map_or(usize::MAX, |user| self.place(user).unwrap_or(place));
        self.users(self.sequence[place]).map(of_user).max().unwrap_or(place)
    }

    /// A number for each node of the sequence: one for all that are the same primitive, with results of one type.
    fn signs(&self) -> Vec<u32> {
        let mut known: HashMap<(Option<&Prim>, &Option<Type>), u32> = HashMap::new();
        let mut next = 0;
        let mut sign = |&value: &Value| {
            let node = self.graph.node(value);
            next += 1;
            let prim = match &node.kind {
                Kind::Prim(prim) => Some(prim),
                Kind::StopGradient => None,
                _ => return next,
            };
            *known.entry((prim, &node.ty)).or_insert(next)
        };
        self.sequence.iter().map(&mut sign).collect()
    }

    /// Whether two nodes are the same but for what they read, or parameters of which a stack can be made.
    fn are_alike(&self, a: Value, b: Value) -> bool {
        let (a, b) = (self.graph.node(a), self.graph.node(b));
        let same = match (&a.kind, &b.kind) {
            (Kind::Prim(a), Kind::Prim(b)) => a == b,
            (Kind::StopGradient, Kind::StopGradient) => true,
            (Kind::Param(a), Kind::Param(b)) => {
                let [a, b] = [a, b].map(|id| &self.params[id.0 as usize]);
                // A stack has an axis more.
                a.trained == b.trained && a.ty == b.ty && a.ty.rank() < AXES
            }
            _ => false,
        };
        same && a.ty == b.ty && a.args.len() == b.args.len()
    }
}
