//! Optional values that are tensors: what is there is the tensor itself.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::super::operand::Operand;
use super::{Operator, moves};
use crate::oracle::{Data, Tensor};

pub(super) const OPERATORS: &[Operator] = &[
    moves("Optional", element),
    moves("OptionalGetElement", element),
    moves("OptionalHasElement", |n| {
        let is_there = Data::Bool(vec![n.has(0)]);
        Ok(vec![Operand::known(Tensor::new([], is_there))])
    }),
];

fn element(n: &mut Node<'_>) -> Made<Vec<Operand>> {
    match n.has(0) {
        true => Ok(vec![n.operand(0)?]),
        false => Err(Failure::new("a value that is not there is not supported")),
    }
}
