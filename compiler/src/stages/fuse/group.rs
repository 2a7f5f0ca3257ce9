//! Decides which values share a kernel.
//!
//! Values are taken in order. A sum or product starts a kernel, or joins one with the same rows; an
//! elementwise value that has to be in memory joins the kernel that computes what it is made of, if it needs
//! it at the very position where it is computed and no cycle arises; otherwise it starts a map.

use super::edges::Edges;
use super::inline::{Body, Inliner, Stop, is_intricate};
use super::operand::Reading;
use super::scope::Scope;
use crate::ir::attend::Attention;
use crate::ir::dim::Dim;
use crate::ir::graph::Source;
use crate::ir::index::Index;
use crate::ir::kernel::{AccumulatorOp, Expr, ExprId};
use crate::ir::limits::{PLACES_OF_A_PRODUCT, PLACES_OF_ATTENTION, SCALARS_OF_A_KERNEL};
use crate::ir::pattern::Pattern;
use crate::ir::prim::{Cut, Prim, Window};
use crate::ir::{Kind, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Values that share a kernel.
pub(super) struct Group {
    /// The loops.
    pub(super) form: Form,
    /// The scalars.
    pub(super) body: Body,
    /// Shapes whose elements are positions of this kernel: shape and index.
    pub(super) spaces: Vec<(Vec<Dim>, Vec<Index>)>,
    /// Whether it computes a part of its value only: nothing else can be computed from that beside it.
    pub(super) partial: bool,
    /// How many values it computes.
    values: usize,
    /// Concatenations whose parts it computes: for each part the position of its elements in the whole.
    pub(super) parts: BTreeMap<Value, Vec<(Vec<Index>, ExprId)>>,
}

/// The loops of a group.
pub(super) enum Form {
    /// A map or row kernel; accumulators with their pass.
    Row { parallel: Vec<usize>, reduced: Vec<usize>, windows: Vec<Window>, accumulators: Vec<Accumulating> },
    /// A contraction.
    Contract { batch: Vec<usize>, m: Vec<usize>, n: Vec<usize>, k: Vec<usize>, lhs: Reading, rhs: Reading },
    /// A scatter of a value.
    Scatter {
        outer: Vec<usize>,
        target: usize,
        source: Vec<usize>,
        inner: Vec<usize>,
        index: ExprId,
        result: Value,
        addend: ExprId,
    },
    /// Attention, without its stores, and the arguments of the parts that share it.
    Attend { attention: Attention, args: Vec<Value> },
    /// A region.
    Region(Value),
}

impl Form {
    /// How many places its kernel writes at most.
    pub(super) fn places(&self) -> usize {
        match self {
            Form::Contract { .. } => PLACES_OF_A_PRODUCT,
            Form::Attend { .. } => PLACES_OF_ATTENTION,
            // A scatter adds up in one place.
            Form::Scatter { .. } => 1,
            Form::Row { .. } | Form::Region(_) => usize::MAX,
        }
    }
}

/// An accumulator of a row group.
pub(super) struct Accumulating {
    /// In which pass it is filled.
    pub(super) pass: usize,
    /// How.
    pub(super) op: AccumulatorOp,
    /// With what.
    pub(super) value: ExprId,
}

/// The groups of a graph.
pub(super) struct Grouping<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) groups: Vec<Group>,
    /// The group of every value that a kernel computes.
    pub(super) group_of: BTreeMap<Value, usize>,
    /// The same values as a set, for the inliner.
    pub(super) roots: BTreeSet<Value>,
    /// Who reads whom.
    edges: Edges,
    /// The groups that read a value from memory.
    readers: BTreeMap<Value, Vec<usize>>,
    /// The groups that read the pool of gradients.
    optimizers: BTreeSet<usize>,
    /// Gradients of parameters: reading the pool of gradients depends on them.
    gradients: BTreeSet<Value>,
    /// Values of which only the part that is set is written.
    in_place: BTreeSet<Value>,
}

impl<'a> Grouping<'a> {
    pub(super) fn new(scope: &'a Scope<'a>, gradients: BTreeSet<Value>, in_place: BTreeSet<Value>) -> Grouping<'a> {
        let gradients = gradients.into_iter().map(|value| scope.canon(value)).collect();
        Grouping {
            scope,
            groups: vec![],
            group_of: BTreeMap::new(),
            roots: BTreeSet::new(),
            edges: Edges::default(),
            readers: BTreeMap::new(),
            optimizers: BTreeSet::new(),
            gradients,
            in_place,
        }
    }

    /// Makes sure that a kernel puts the value into memory.
    pub(super) fn materialise(&mut self, value: Value) {
        let value = self.scope.canon(value);
        if self.scope.homes.contains_key(&value) || self.group_of.contains_key(&value) {
            return;
        }
        match &self.scope.graph.node(value).kind {
            Kind::Result(_) => {
                let region = self.scope.graph.node(value).args[0];
                self.region(region);
            }
            Kind::Prim(Prim::SetSlice(cuts)) if self.in_place.contains(&value) => self.set(value, &cuts.clone()),
            Kind::Prim(prim) if self.scope.is_heavy(value) => self.heavy(value, &prim.clone()),
            Kind::Prim(Prim::Concat { axis }) if self.is_even(value) => self.concat(value, *axis),
            Kind::Prim(_) | Kind::Counter(_) | Kind::StopGradient => self.elementwise(value),
            Kind::Input(_) | Kind::Param(_) | Kind::State(_) | Kind::Source(_) => {
                unreachable!("inputs are in memory before any kernel")
            }
            Kind::Repeat(_) | Kind::Branch(_) | Kind::Foreign(_) => {
                unreachable!("a region is used through its results")
            }
            Kind::Op(_) | Kind::Transform(_) | Kind::Written(_) => {
                unreachable!("earlier stages leave primitives and regions")
            }
        }
    }

    pub(super) fn assign(&mut self, value: Value, group: usize) {
        self.group_of.insert(value, group);
        self.roots.insert(value);
        self.groups[group].values += 1;
        if self.gradients.contains(&value) {
            // Who reads the pool was there before.
            self.optimizers.iter().for_each(|reader| self.edges.add(*reader, group));
        }
    }

    /// Whether a value is the pool of gradients.
    fn is_gradients(&self, value: Value) -> bool {
        matches!(self.scope.graph.node(value).kind, Kind::Source(Source::Gradients))
    }

    pub(super) fn push(&mut self, form: Form, body: Body, spaces: Vec<(Vec<Dim>, Vec<Index>)>) -> usize {
        let group = self.groups.len();
        let reads = match &form {
            Form::Region(region) => self.scope.graph.node(*region).args.iter().map(|a| self.scope.canon(*a)).collect(),
            Form::Row { .. } | Form::Contract { .. } | Form::Scatter { .. } | Form::Attend { .. } => body.slots.clone(),
        };
        self.groups.push(Group { form, body, spaces, partial: false, values: 0, parts: BTreeMap::new() });
        self.edges.push();
        self.read(group, &reads);
        group
    }

    /// Whether several kernels read a value from memory.
    pub(super) fn is_shared(&self, value: Value) -> bool {
        self.readers.get(&self.scope.canon(value)).is_some_and(|readers| readers.len() > 1)
    }

    /// Runs `build` on a body of its own until it succeeds, putting into memory what it asks for.
    pub(super) fn alone<T>(
        &mut self,
        axes: Vec<Dim>,
        mut build: impl FnMut(&mut Inliner<'_>) -> Result<T, Stop>,
    ) -> (Body, T) {
        loop {
            let mut body = Body::over(axes.clone());
            let mut inliner = Inliner::new(self.scope, &self.roots, &mut body);
            match build(&mut inliner) {
                Ok(result) => {
                    inliner.settle();
                    return (body, result);
                }
                Err(Stop::Elsewhere) => unreachable!("a kernel of its own computes nothing elsewhere"),
                Err(Stop::Materialise(other)) => self.materialise(other),
            }
        }
    }

    /// Runs `build` on the body of a group, putting into memory what it asks for; the body stays as it was unless that
    /// succeeds and what was built is accepted.
    pub(super) fn within<T>(
        &mut self,
        group: usize,
        mut build: impl FnMut(&mut Inliner<'_>) -> Result<T, Stop>,
        accept: impl Fn(&Self, &Body, &T) -> bool,
    ) -> Option<T> {
        while self.groups[group].body.exprs.len() < SCALARS_OF_A_KERNEL {
            let mut body = std::mem::take(&mut self.groups[group].body);
            let mark = body.mark();
            let mut inliner = Inliner::new(self.scope, &self.roots, &mut body);
            let built = build(&mut inliner);
            let accepted = built.as_ref().is_ok_and(|built| accept(self, inliner.body, built));
            if accepted {
                inliner.settle();
            } else {
                body.undo(&mark);
            }
            let more = body.slots[mark.slots..].to_vec();
            self.groups[group].body = body;
            match built {
                Ok(built) if accepted => {
                    self.read(group, &more);
                    return Some(built);
                }
                Ok(_) | Err(Stop::Elsewhere) => return None,
                Err(Stop::Materialise(other)) => self.materialise(other),
            }
        }
        None
    }

    /// A group reads more values from memory.
    fn read(&mut self, group: usize, slots: &[Value]) {
        for &slot in slots {
            self.readers.entry(slot).or_default().push(group);
            if self.is_gradients(slot) {
                self.optimizers.insert(group);
            }
        }
        let needed = self.sources(slots);
        needed.into_iter().for_each(|other| self.edges.add(group, other));
    }

    /// The groups that a body reads from.
    pub(super) fn reads(&self, body: &Body) -> BTreeSet<usize> {
        self.sources(&body.slots)
    }

    /// The groups that compute these values.
    fn sources(&self, slots: &[Value]) -> BTreeSet<usize> {
        let mut groups = BTreeSet::new();
        for slot in slots {
            groups.extend(self.group_of.get(slot));
            if self.is_gradients(*slot) {
                groups.extend(self.gradients.iter().filter_map(|gradient| self.group_of.get(gradient)));
            }
        }
        groups
    }

    /// The groups that a group reads from.
    pub(super) fn dependencies(&self, group: usize) -> &BTreeSet<usize> {
        self.edges.reads(group)
    }

    /// Whether a body that joins a group would make a cycle.
    ///
    /// A body that reads the pool of gradients does so from memory, so it can share no kernel with one of them.
    pub(super) fn cyclic(&self, body: &Body, group: usize, value: Value) -> bool {
        let is_gradient = self.gradients.contains(&value);
        (is_gradient && body.slots.iter().any(|slot| self.is_gradients(*slot)))
            || self.reads(body).difference(self.edges.reads(group)).any(|other| self.edges.needs(*other, group))
    }

    fn elementwise(&mut self, value: Value) {
        let shape = self.scope.graph.ty(value).shape.clone();
        let at = positions(&shape);
        let (mut body, id) = self.alone(shape.clone(), |inliner| inliner.value(value, &at, &[]));
        for group in self.candidates(&body, &shape) {
            if self.join(value, group) {
                return;
            }
        }
        body.inside.insert(value, (at.clone(), id));
        let form =
            Form::Row { parallel: (0..shape.len()).collect(), reduced: vec![], windows: vec![], accumulators: vec![] };
        let group = self.push(form, body, vec![(shape, at)]);
        self.assign(value, group);
    }

    /// A kernel that writes the part that is set into the place of the whole.
    fn set(&mut self, value: Value, cuts: &[Cut]) {
        let part = self.scope.graph.node(value).args[1];
        let shape = self.scope.graph.ty(part).shape.clone();
        let at = positions(&shape);
        let (mut body, id) = self.alone(shape.clone(), |inliner| inliner.value(part, &at, &[]));
        let whole = at.iter().zip(cuts).map(|(i, cut)| i.times(&cut.step.into()).offset(cut.start.clone())).collect();
        body.inside.insert(value, (whole, id));
        let form =
            Form::Row { parallel: (0..shape.len()).collect(), reduced: vec![], windows: vec![], accumulators: vec![] };
        let group = self.push(form, body, vec![]);
        self.groups[group].partial = true;
        self.assign(value, group);
    }

    /// Groups that a value with this stand-alone body may join: those that it reads, and maps over the same
    /// shape that read the same; the latest first.
    pub(super) fn candidates(&self, body: &Body, shape: &[Dim]) -> Vec<usize> {
        let mut groups = self.reads(body);
        groups.extend(self.beside(body).into_iter().filter(|&g| {
            let is_map = matches!(&self.groups[g].form, Form::Row { reduced, .. } if reduced.is_empty());
            is_map && self.groups[g].body.axes == shape
        }));
        groups.into_iter().rev().collect()
    }

    /// The groups that read some value that a body reads.
    pub(super) fn beside(&self, body: &Body) -> BTreeSet<usize> {
        body.slots.iter().filter_map(|slot| self.readers.get(slot)).flatten().copied().collect()
    }

    /// Tries to compute an elementwise value in a group.
    fn join(&mut self, value: Value, group: usize) -> bool {
        let shape = self.scope.graph.ty(value).shape.clone();
        if self.groups[group].partial || self.is_full(group) {
            return false;
        }
        match &self.groups[group].form {
            Form::Row { parallel, reduced, .. } if !reduced.is_empty() && parallel.is_empty() => {
                // One row over everything would run alone; only what is as small as the row's result joins.
                if !shape.is_empty() {
                    return false;
                }
            }
            // The tiles of a product hold numbers of its type.
            Form::Contract { lhs, .. } if self.scope.graph.ty(value).dtype != self.scope.graph.ty(lhs.value).dtype => {
                return false;
            }
            Form::Row { .. } | Form::Contract { .. } | Form::Attend { .. } => {}
            Form::Scatter { .. } | Form::Region(_) => return false,
        }
        for at in self.places(&[value], group, &shape).into_iter().filter(|at| !is_intricate(at)) {
            let fits = |own: &Self, joined: &Body, id: &ExprId| {
                !own.cyclic(joined, group, value) && own.holds(group, &joined.exprs[*id], &at)
            };
            if let Some(id) = self.within(group, |inliner| inliner.value(value, &at, &[]), fits) {
                self.groups[group].body.inside.insert(value, (at, id));
                self.assign(value, group);
                return true;
            }
        }
        false
    }

    /// Positions of a group at which values of a shape may be computed.
    pub(super) fn places(&self, values: &[Value], group: usize, shape: &[Dim]) -> Vec<Vec<Index>> {
        let Group { body, spaces, .. } = &self.groups[group];
        let mut scratch = Body::over(body.axes.clone());
        let inliner = Inliner::new(self.scope, &self.roots, &mut scratch);
        let forward = values.iter().find_map(|value| forward(*value, &inliner, &body.inside, &mut BTreeMap::new()));
        forward.into_iter().chain(spaces.iter().filter(|(own, _)| own == shape).map(|(_, at)| at.clone())).collect()
    }

    /// Whether a group computes as many values as its kernel has places for.
    fn is_full(&self, group: usize) -> bool {
        self.groups[group].values >= self.groups[group].form.places()
    }

    /// Whether a group can store a scalar at a position: drivers of attention move results and do no arithmetic.
    fn holds(&self, group: usize, scalar: &Expr, at: &[Index]) -> bool {
        match &self.groups[group].form {
            Form::Attend { .. } => matches!(scalar, Expr::Accumulated { .. }) && at.iter().all(Index::is_affine),
            Form::Row { .. } | Form::Contract { .. } | Form::Scatter { .. } | Form::Region(_) => true,
        }
    }

    fn region(&mut self, region: Value) {
        for arg in self.scope.graph.node(region).args.clone() {
            self.materialise(arg);
        }
        let group = self.push(Form::Region(region), Body::default(), vec![]);
        let results = self.scope.graph.values().filter(|&v| {
            let node = self.scope.graph.node(v);
            matches!(node.kind, Kind::Result(_)) && node.args == [region]
        });
        for result in results.collect::<Vec<_>>() {
            self.assign(result, group);
        }
    }
}

/// The position of a value in a kernel that computes something that it is made of elementwise.
///
/// Of what other kernels put into memory nothing is made here: they would need this one, and it them.
fn forward(
    value: Value,
    inliner: &Inliner<'_>,
    inside: &BTreeMap<Value, (Vec<Index>, ExprId)>,
    memo: &mut BTreeMap<Value, Option<Vec<Index>>>,
) -> Option<Vec<Index>> {
    if let Some(known) = memo.get(&value) {
        return known.clone();
    }
    let node = inliner.scope.graph.node(value);
    let position = match inside.get(&value) {
        Some((position, _)) => Some(position.clone()),
        None if inliner.roots.contains(&value) => None,
        None if matches!(node.kind, Kind::StopGradient) || is_elementwise(&node.kind) => {
            node.args.iter().find_map(|&a| forward(a, inliner, inside, memo))
        }
        None => {
            let from = |memo| forward(node.args[0], inliner, inside, memo);
            if let Kind::Prim(Prim::Reshape(shape)) = &node.kind {
                from(memo).map(|at| inliner.unflatten(&inliner.flatten(node.args[0], &at), shape))
            } else if let Kind::Prim(Prim::Transpose(permutation)) = &node.kind {
                from(memo).map(|at| permutation.iter().map(|&p| at[p].clone()).collect())
            } else {
                None
            }
        }
    };
    memo.insert(value, position.clone());
    position
}

fn is_elementwise(kind: &Kind) -> bool {
    matches!(kind.pattern(), Some(Pattern::Elementwise { .. }))
}

/// The position along each axis. An axis of extent 1 is not walked, so that an index that went through a reshape is
/// still recognised.
pub(super) fn positions(extents: &[Dim]) -> Vec<Index> {
    let position = |(axis, extent): (usize, &Dim)| if extent.is(1) { Index::default() } else { Index::axis(axis) };
    extents.iter().enumerate().map(position).collect()
}

/// For every scalar the pass from which on it is known: one after the last accumulator that it uses.
pub(super) fn levels(exprs: &[Expr]) -> Vec<usize> {
    let mut levels: Vec<usize> = Vec::with_capacity(exprs.len());
    for expr in exprs {
        let mut level = 0;
        expr.operands(&mut |id| level = level.max(levels[id]));
        levels.push(match expr {
            Expr::Accumulated { pass, .. } => pass + 1,
            Expr::Load { .. }
            | Expr::Const(_)
            | Expr::Extent(_)
            | Expr::Index(_)
            | Expr::Inside(_)
            | Expr::Map(..)
            | Expr::Convert(..) => level,
        });
    }
    levels
}
