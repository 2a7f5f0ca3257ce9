//! Attention as fields, both ways: the primitive, and the loops of its kernels.

use super::datum::{Datum, Fields, Read};
use super::kernels::is_atom;
use crate::ir::attend::{Attend, Attention, Part};
use crate::ir::kernel::Store;
use crate::ir::prim::Scalar;

/// The fields of the primitive.
pub(super) fn print(attend: &Attend) -> Fields {
    let Attend { part, causal, scale } = attend;
    let causal = Datum::Scalar(Scalar::Bool(*causal));
    let all = [("part", Datum::word(part.name())), ("causal", causal), ("scale", Datum::Scalar(*scale))];
    all.map(|(key, value)| (key.to_owned(), value)).to_vec()
}

/// The primitive of these fields.
pub(super) fn parse(read: &Read<'_>) -> Result<Attend, String> {
    let word = read.word("part")?;
    let part = Part::from_name(&word).ok_or_else(|| format!("no part `{word}`"))?;
    Ok(Attend { part, causal: read.flag("causal")?, scale: read.scalar("scale")? })
}

/// The fields of a skeleton, without its stores.
pub(super) fn print_loops(attention: &Attention) -> Fields {
    let atoms =
        |letter: char, ids: &[usize]| Datum::List(ids.iter().map(|id| Datum::word(&format!("{letter}{id}"))).collect());
    let mut fields = print(&attention.attend);
    fields.extend(attention.lists().map(|(key, list)| (key.to_owned(), atoms('i', list))));
    fields.push(("reads".to_owned(), atoms('v', &attention.reads)));
    fields.push(("mask".to_owned(), atoms('v', attention.mask.as_slice())));
    fields
}

/// The skeleton of these fields.
pub(super) fn parse_loops(read: &Read<'_>, stores: Vec<Store>) -> Result<Attention, String> {
    let atoms = |key: &str, letter: char| {
        let one = |word: &str| is_atom(word).filter(|(l, _)| *l == letter).map(|(_, n)| n);
        let words = read.dims(key)?;
        let all: Option<Vec<usize>> = words.iter().map(|d| one(d.as_name()?)).collect();
        all.ok_or_else(|| format!("`{key}` is not a list of `{letter}0` and the like"))
    };
    Ok(Attention {
        attend: parse(read)?,
        batch: atoms("batch", 'i')?,
        shared: atoms("shared", 'i')?,
        queries: atoms("queries", 'i')?,
        keys: atoms("keys", 'i')?,
        features: atoms("features", 'i')?,
        values: atoms("values", 'i')?,
        reads: atoms("reads", 'v')?,
        mask: atoms("mask", 'v')?.pop(),
        stores,
    })
}
