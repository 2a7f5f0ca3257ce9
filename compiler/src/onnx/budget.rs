//! How much a file may make of a build: what is to be made in, whether it may be made out.
//!
//! Always: it is asked before anything is made whose size a number of the file decides. Tensors and nodes of the graph have their
//! limits where they are made (`ir/limits.rs`); here is what many of them have together, and what is no part of a graph.

use super::Failure;
use super::operand::Operand;
use crate::ir::dim::Atom;
use crate::ir::limits::{EXPRESSIONS, INTEGER, TERMS, excess, terms};
use crate::ir::{Dim, Graph, Type};

/// Elements that are computed at build time, beside as many as the file has bytes: 16 bytes each.
const ELEMENTS: i64 = 1 << 26;

/// Steps of the oracle, which takes some nanoseconds for one, or a hundred where nothing is optimised.
const STEPS: i64 = 1 << 26;

/// How deep functions call each other, and graphs stand in each other.
const DEPTH: usize = 32;

/// The longest list of extents of which some are named.
pub(super) const LIST: usize = 4096;

/// Names, numbers and operations of a list of extents. Each operation is a call on the stack of whoever reads it.
const SIZE: usize = 1024;

/// What is left for a file.
#[derive(Debug)]
pub(super) struct Budget {
    elements: i64,
    steps: i64,
    nodes: usize,
    depth: usize,
    is_spent: bool,
}

impl Budget {
    /// That of a file with so many bytes.
    pub(super) fn of(bytes: usize) -> Budget {
        let elements = ELEMENTS.saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX));
        Budget { elements, steps: STEPS, nodes: EXPRESSIONS, depth: DEPTH, is_spent: false }
    }

    /// Whether something was asked for that one node may have, and all together may not: the rest of the file is not read.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// One more node of the file, with each time that a function is called.
    pub(super) fn node(&mut self) -> Result<(), Failure> {
        match self.nodes.checked_sub(1) {
            Some(left) => self.nodes = left,
            None => self.is_spent = true,
        }
        match self.is_spent {
            false => Ok(()),
            true => {
                let functions = "with those of its functions and of all turns of its loops";
                Err(Failure::new(format!("the file has more than {EXPRESSIONS} nodes, {functions}")))
            }
        }
    }

    /// One level of functions and graphs more, until it is left.
    pub(super) fn enter(&mut self) -> Result<(), Failure> {
        self.depth = self
            .depth
            .checked_sub(1)
            .ok_or_else(|| Failure::new(format!("functions and graphs are nested more than {DEPTH} deep")))?;
        Ok(())
    }

    /// One level less.
    pub(super) fn leave(&mut self) {
        self.depth += 1;
    }

    /// So many elements more that are computed at build time.
    pub(super) fn elements(&mut self, count: i64) -> Result<usize, Failure> {
        if let (Ok(elements), true) = (usize::try_from(count), count <= self.elements) {
            self.elements -= count;
            return Ok(elements);
        }
        let is_spent = (0..=ELEMENTS).contains(&count);
        self.is_spent |= is_spent;
        Err(Failure::new(match is_spent {
            true => format!("{count} elements at build time, beside those of the nodes before it, are too many"),
            false => format!("{count} elements are not computed at build time"),
        }))
    }

    /// Whether so many steps of the oracle and elements of their results are left, which then are taken.
    pub(super) fn has(&mut self, steps: i64, elements: i64) -> bool {
        let is_there = steps <= self.steps && elements <= self.elements;
        if is_there {
            (self.steps, self.elements) = (self.steps - steps, self.elements - elements);
        }
        is_there
    }
}

/// Refuses a result of a node that is too large.
pub(super) fn result(operand: &Operand, graph: &Graph) -> Result<(), Failure> {
    match operand {
        Operand::Value(value) => typed(graph.ty(*value)),
        Operand::Dims(of) => extents(&of.dims),
        // It was asked for before it was made.
        Operand::Known(_) => Ok(()),
    }
}

/// Refuses the type of an argument or a result that is too large, or has no number of elements.
pub(super) fn typed(ty: &Type) -> Result<(), Failure> {
    let beyond = |dim: &&Dim| dim.as_const().is_some_and(|extent| !(0..=INTEGER).contains(&extent));
    if let Some(extent) = ty.shape.iter().find(beyond) {
        let what = if extent.as_const() < Some(0) { "negative".to_owned() } else { format!("larger than {INTEGER}") };
        return Err(Failure::new(format!("{ty} has an extent that is {what}")));
    }
    match excess(ty) {
        Some(most) => Err(Failure::new(format!("it is {ty}, and a tensor has at most {most}"))),
        None => extents(&ty.shape),
    }
}

/// Refuses lists of extents that take long to compute with.
fn extents(dims: &[Dim]) -> Result<(), Failure> {
    let mut left = SIZE;
    match dims.len() <= LIST && terms(dims) <= TERMS && dims.iter().all(|dim| is_within(dim, &mut left)) {
        true => Ok(()),
        false => Err(Failure::new("its extents are too long to compute with")),
    }
}

/// Whether the names, numbers and operations of a dimension are not more than are left. Numbers alone are not counted.
fn is_within(dim: &Dim, left: &mut usize) -> bool {
    let mut take = |count: usize| {
        let rest = left.checked_sub(count);
        *left = rest.unwrap_or(0);
        rest.is_some()
    };
    if dim.as_const().is_some() || !take(dim.terms().iter().map(|(atoms, _)| 1 + atoms.len()).sum()) {
        return dim.as_const().is_some();
    }
    dim.terms().iter().flat_map(|(atoms, _)| atoms).all(|atom| match atom {
        Atom::Name(_) => true,
        Atom::FloorDiv(a, b) | Atom::Max(a, b) => is_within(a, left) && is_within(b, left),
    })
}
