//! The syntax tree of fields: layers, blocks, parameters, states and lists of them.

use super::ast::{Arg, Expr, TypeExpr};
use crate::diag::Place;
use proc_macro2::Ident;

/// `hidden: Linear(128, 64)`
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Ident,
    /// What files call it: `#[name = "features.0"]`.
    pub(super) file: Option<String>,
    pub(super) ty: FieldType,
}

/// What a field is.
#[derive(Debug)]
pub(super) enum FieldType {
    /// A layer, block or parameter with its arguments.
    One { name: Ident, args: Vec<Arg>, place: Place },
    /// `[Block(128); 6]`
    Repeat { item: Box<FieldType>, count: Expr },
    /// `[Block(128, dilation = pow(2, i)) for i in 0..6]`
    Each { item: Box<FieldType>, name: Ident, start: Expr, end: Expr },
    /// `[First(128), Second(64)]`, or, as a chain, `Sequential(Linear(8, 4), relu)`
    List { entries: Vec<Entry>, is_chain: bool },
    /// `state keys: f32[B, 64]`
    State(TypeExpr),
    /// Unreadable.
    Error,
}

impl FieldType {
    /// The names of the layers, blocks and parameters.
    pub(super) fn blocks(&self) -> Vec<&Ident> {
        match self {
            FieldType::One { name, .. } => vec![name],
            FieldType::Repeat { item, .. } | FieldType::Each { item, .. } => item.blocks(),
            FieldType::List { entries, .. } => entries.iter().flat_map(Entry::blocks).collect(),
            FieldType::State(_) | FieldType::Error => vec![],
        }
    }

    /// The functions in chains.
    pub(super) fn functions(&self) -> Vec<&Expr> {
        match self {
            FieldType::Repeat { item, .. } | FieldType::Each { item, .. } => item.functions(),
            FieldType::List { entries, .. } => entries.iter().flat_map(Entry::functions).collect(),
            FieldType::One { .. } | FieldType::State(_) | FieldType::Error => vec![],
        }
    }
}

/// One of a list.
#[derive(Debug)]
pub(super) enum Entry {
    Field(FieldType),
    /// `relu`, or `|x| max_pool2d(x, window = 2)`
    Function(Expr),
}

impl Entry {
    fn blocks(&self) -> Vec<&Ident> {
        match self {
            Entry::Field(ty) => ty.blocks(),
            Entry::Function(_) => vec![],
        }
    }

    fn functions(&self) -> Vec<&Expr> {
        match self {
            Entry::Field(ty) => ty.functions(),
            Entry::Function(expr) => vec![expr],
        }
    }
}
