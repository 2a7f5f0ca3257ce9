//! ONNX's operators: what a node of a file means, in primitives and ops. A family is a file, and a line in the list.
//!
//! Versions of an operator differ in where they find the same numbers, which is asked where it matters. Formulas are those of
//! ONNX's own reference (`Operators.md` of ONNX 1.23).

use super::Failure;
use super::node::{Made, Node};
use super::operand::Operand;
use crate::ir::Value;

/// Declares the modules of operators and the list of what they define.
macro_rules! list {
    ($($module:ident)*) => {
        $(mod $module;)*

        static OPERATORS: &[&[Operator]] = &[$($module::OPERATORS),*];
    };
}

list! {
    activations
    arithmetic
    attention
    compare
    constants
    convolutions
    determinant
    einsum
    index
    losses
    max_roi_pool
    ml
    movement
    norms
    optional
    pools
    products
    quantize
    recurrent
    reduce
    regions
    resize
    sample
    selection
    shapes
    signal
    training
}

mod sliding;

/// What `FlexAttention` with graphs is made of.
pub(super) use attention::FLEX_PARTS;

/// An operator.
#[derive(Debug)]
pub(super) struct Operator {
    /// Its name.
    pub(super) name: &'static str,
    /// Its domain; that of ONNX itself has no name.
    domain: &'static str,
    /// Whether it takes elements of types of memory as they are, rather than computing with them.
    pub(super) moves: bool,
    /// What it gives.
    import: Import,
}

/// How an operator makes its results.
type Import = fn(&mut Node<'_>) -> Made<Vec<Operand>>;

/// An operator that computes.
const fn computes(name: &'static str, import: Import) -> Operator {
    Operator { name, domain: "", moves: false, import }
}

/// An operator that moves elements, or says itself in which types it computes.
const fn moves(name: &'static str, import: Import) -> Operator {
    Operator { name, domain: "", moves: true, import }
}

/// A value as the only result.
fn one(value: Made) -> Made<Vec<Operand>> {
    Ok(vec![value?.into()])
}

/// The operator of that name in a domain.
pub(super) fn operator(domain: &str, name: &str) -> Option<&'static Operator> {
    let domain = if domain == "ai.onnx" { "" } else { domain };
    let is_own = |operator: &&Operator| operator.domain == domain && operator.name == name;
    OPERATORS.iter().flat_map(|family| family.iter()).find(is_own)
}

/// The domains and the names of all operators.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    OPERATORS.iter().flat_map(|family| family.iter()).map(|operator| (operator.domain, operator.name))
}

impl Operator {
    /// The same in another domain.
    const fn of(self, domain: &'static str) -> Operator {
        Operator { domain, ..self }
    }

    /// What a node gives.
    pub(super) fn apply(&'static self, node: &mut Node<'_>) -> Made<Vec<Operand>> {
        let mut made = (self.import)(node)?;
        if let Some(name) = node.unread() {
            return Err(Failure::new(format!("its attribute `{name}` is not supported")));
        }
        let Some(stored) = node.stored.filter(|_| !self.moves) else { return Ok(made) };
        for operand in &mut made {
            if let Operand::Value(value) = operand
                && node.b.dtype(*value) == stored.computed()
            {
                *value = node.b.convert(*value, stored)?;
            }
        }
        Ok(made)
    }
}

/// Values as results.
fn all(values: Vec<Value>) -> Vec<Operand> {
    values.into_iter().map(Operand::from).collect()
}
