//! The kernels of attention: which parts share one, and what they read where.

use super::group::{Form, Grouping, positions};
use super::inline::Body;
use crate::ir::attend::{Attend, Attention, Part};
use crate::ir::dim::Dim;
use crate::ir::index::Index;
use crate::ir::kernel::{Expr, ExprId};
use crate::ir::prim::Scalar;
use crate::ir::{DType, Value};

/// The part that names the kernel, and the accumulator, of a part.
fn kernel_of(part: Part) -> (Part, usize) {
    match part {
        Part::Output => (Part::Output, 0),
        Part::Max => (Part::Output, 1),
        Part::Reciprocal => (Part::Output, 2),
        Part::Query => (Part::Query, 0),
        Part::Key => (Part::Key, 0),
        Part::Value => (Part::Key, 1),
    }
}

/// The axes of a kernel and the positions along them.
struct Space {
    extents: Vec<Dim>,
    walked: Vec<Index>,
    /// Axes of batches; then follow those of `G`, `H/G`, `T`, `S`, `D`, `E`.
    lead: usize,
    /// `H/G`
    shared: Dim,
}

impl Space {
    fn new(q: &[Dim], k: &[Dim], v: &[Dim]) -> Space {
        let lead = q.len() - 3;
        let Some(shared) = q[lead].exact_div(&k[lead]) else { unreachable!("the shape rule has divided the heads") };
        let mut extents = k[..lead + 1].to_vec();
        extents.extend([&shared, &q[lead + 1], &k[lead + 1], &q[lead + 2], &v[lead + 2]].map(Dim::clone));
        Space { walked: positions(&extents), extents, lead, shared }
    }

    /// The position along batches, a head, and some of the last axes (0 is `T`).
    fn at(&self, of_queries: bool, last: &[usize]) -> Vec<Index> {
        let mut at = self.walked[..self.lead].to_vec();
        let own = &self.walked[self.lead];
        at.push(match of_queries {
            true => own.times(&self.shared).plus(&self.walked[self.lead + 1]),
            false => own.clone(),
        });
        at.extend(last.iter().map(|n| self.walked[self.lead + 2 + n].clone()));
        at
    }

    /// The position of a result.
    fn result(&self, part: Part) -> Vec<Index> {
        match part {
            Part::Output => self.at(true, &[0, 3]),
            Part::Max | Part::Reciprocal => self.at(true, &[0]),
            Part::Query => self.at(true, &[0, 2]),
            Part::Key => self.at(false, &[1, 2]),
            Part::Value => self.at(false, &[1, 3]),
        }
    }
}

impl Grouping<'_> {
    /// Adds a part of attention to the kernel of its like, or starts one.
    pub(super) fn attend(&mut self, value: Value, args: &[Value], attend: &Attend) {
        let (part, slot) = kernel_of(attend.part);
        let attend_ = Attend { part, ..attend.clone() };
        let shape = |k: usize| self.scope.graph.ty(args[k]).shape.clone();
        let space = Space::new(&shape(0), &shape(1), &shape(2));
        let position = space.result(attend.part);
        let known = self.groups.iter().position(|group| match &group.form {
            Form::Attend { attention, args: own } => attention.attend == attend_ && own == args,
            Form::Row { .. } | Form::Contract { .. } | Form::Scatter { .. } | Form::Region(_) => false,
        });
        let group = known.unwrap_or_else(|| self.start(space, args, attend_));
        let body = &mut self.groups[group].body;
        let id = body.scalar(Expr::Accumulated { pass: 0, slot, dtype: DType::F32 });
        body.inside.insert(value, (position, id));
        self.assign(value, group);
    }

    fn start(&mut self, space: Space, args: &[Value], attend: Attend) -> usize {
        let inputs = attend.part.inputs();
        let places = [
            space.at(true, &[0, 2]),
            space.at(false, &[1, 2]),
            space.at(false, &[1, 3]),
            space.at(true, &[0, 3]),
            space.at(true, &[0]),
            space.at(true, &[0]),
        ];
        let mut body = Body::over(space.extents.clone());
        let reads = (0..inputs).map(|k| self.load(&mut body, args[k], &places[k])).collect();
        let mask = args.get(inputs).map(|&mask| {
            let mut at = space.at(true, &[0, 1]);
            let extents = &self.scope.graph.ty(mask).shape;
            at.iter_mut().zip(extents).filter(|(_, extent)| extent.is(1)).for_each(|(i, _)| *i = Index::default());
            self.load(&mut body, mask, &at)
        });
        let axis = |n: usize| space.lead + n;
        let attention = Attention {
            attend,
            batch: (0..=space.lead).collect(),
            shared: vec![axis(1)],
            queries: vec![axis(2)],
            keys: vec![axis(3)],
            features: vec![axis(4)],
            values: vec![axis(5)],
            reads,
            mask,
            stores: vec![],
        };
        self.push(Form::Attend { attention, args: args.to_vec() }, body, vec![])
    }

    /// An argument as one plain load.
    fn load(&mut self, body: &mut Body, value: Value, at: &[Index]) -> ExprId {
        let axes = body.axes.clone();
        let mut reading = self.operand(&axes, value, at, &[]);
        if !reading.windows.is_empty() {
            self.materialise(value);
            reading = self.operand(&axes, value, at, &[]);
        }
        let slot = body.slot(reading.value);
        let fill = Scalar::of(self.scope.graph.ty(value).dtype, 0.0);
        body.scalar(Expr::Load { slot, index: reading.index, guards: vec![], fill })
    }
}
