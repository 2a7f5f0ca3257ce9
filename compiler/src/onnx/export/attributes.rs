//! Attributes of nodes: a name and a value in, the message out.

use super::super::proto::{AttributeProto, GraphProto, TensorProto, attribute_type};
use prost::bytes::Bytes;

fn of(name: &str, r#type: i32) -> AttributeProto {
    AttributeProto { name: name.into(), r#type, ..AttributeProto::default() }
}

/// An integer.
pub(super) fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { i, ..of(name, attribute_type::INT) }
}

/// Integers.
pub(super) fn ints(name: &str, ints: impl IntoIterator<Item = i64>) -> AttributeProto {
    AttributeProto { ints: ints.into_iter().collect(), ..of(name, attribute_type::INTS) }
}

/// Axes or other small numbers.
pub(super) fn axes(name: &str, axes: &[usize]) -> AttributeProto {
    ints(name, axes.iter().map(|&axis| axis as i64))
}

/// A text.
pub(super) fn text(name: &str, s: &str) -> AttributeProto {
    AttributeProto { s: Bytes::copy_from_slice(s.as_bytes()), ..of(name, attribute_type::STRING) }
}

/// A tensor.
pub(super) fn tensor(name: &str, tensor: TensorProto) -> AttributeProto {
    AttributeProto { t: Some(tensor), ..of(name, attribute_type::TENSOR) }
}

/// A graph.
pub(super) fn graph(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(graph), ..of(name, attribute_type::GRAPH) }
}
