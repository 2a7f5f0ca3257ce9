//! Einstein's notation: the axes that `...` stands for, letters that stand twice and extents of 1 that repeat are resolved here, and what
//! is left is the op of the language.
//!
//! Always: a label is a letter of the notation, or one of the axes of the ellipsis, which are counted from the end.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::{Operator, computes, one};
use crate::ir::attr::Attr;
use crate::ir::prim::MapOp;
use crate::ir::{DType, Dim, Value};

pub(super) const OPERATORS: &[Operator] = &[computes("Einsum", |n| one(einsum(n)))];

/// An axis: a letter as its byte, those of the ellipsis from [`HIDDEN`] on.
type Label = u8;

const HIDDEN: Label = 128;

/// The letters of the op's notation, one for each label.
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// A value and the labels of its axes.
struct Term {
    value: Value,
    labels: Vec<Label>,
}

fn einsum(n: &mut Node<'_>) -> Made {
    let (args, equation) = (n.args()?, n.text("equation", "").replace(' ', ""));
    let (given, result) = equation.split_once("->").map_or((equation.as_str(), None), |(of, to)| (of, Some(to)));
    let terms: Vec<&str> = given.split(',').collect();
    if terms.len() != args.len() {
        return Err(Failure::new(format!("`{equation}` has {} terms for {} arguments", terms.len(), args.len())));
    }
    let ranks: Vec<usize> = args.iter().map(|&arg| n.b.rank(arg)).collect();
    let labels = terms.iter().zip(&ranks).map(|(text, &rank)| labels(text, Some(rank)));
    let labels = labels.collect::<Made<Vec<Vec<Label>>>>()?;
    let hidden = labels.iter().flatten().copied().filter(|&label| label >= HIDDEN).max();
    let out = match result {
        Some(text) => {
            let shown = text.replace("...", "").len();
            let rank = hidden.map_or(0, |last| usize::from(last - HIDDEN) + 1);
            self::labels(text, text.contains("...").then_some(shown + rank))?
        }
        None => implied(&labels, hidden),
    };
    let mut all = vec![];
    for (value, labels) in args.into_iter().zip(labels) {
        all.push(diagonal(n, Term { value, labels })?);
    }
    repeated(n, &mut all)?;
    match all.iter().all(|term| n.b.dtype(term.value).is_float()) {
        true => floats(n, &all, &out),
        false => integers(n, &all, &out),
    }
}

/// The labels of a term with so many axes.
fn labels(text: &str, rank: Option<usize>) -> Made<Vec<Label>> {
    let (front, back) = text.split_once("...").map_or((text, None), |(front, back)| (front, Some(back)));
    let shown = front.len() + back.map_or(0, str::len);
    let wrong = || Failure::new(format!("`{text}` does not name the axes of an argument"));
    let hidden = rank.unwrap_or(shown).checked_sub(shown).filter(|&hidden| hidden == 0 || back.is_some());
    let hidden = hidden.filter(|&hidden| hidden < LETTERS.len()).ok_or_else(wrong)?;
    let letters = front.bytes().chain(back.unwrap_or_default().bytes());
    if !letters.clone().all(|letter| letter.is_ascii_alphabetic()) {
        return Err(wrong());
    }
    let hidden = (0..hidden as Label).rev().map(|from_end| HIDDEN + from_end);
    Ok(front.bytes().chain(hidden).chain(back.unwrap_or_default().bytes()).collect())
}

/// Without an arrow the result has the axes of the ellipsis, and the letters that stand once, in the order of the alphabet.
fn implied(labels: &[Vec<Label>], hidden: Option<Label>) -> Vec<Label> {
    let times = |letter: Label| labels.iter().flatten().filter(|&&label| label == letter).count();
    let hidden = hidden.map_or(0..0, |last| HIDDEN..last + 1).rev();
    hidden.chain((b'A'..=b'z').filter(|&letter| times(letter) == 1)).collect()
}

/// A term in which each label stands once: of two axes with one label only the elements at equal positions.
fn diagonal(n: &mut Node<'_>, mut term: Term) -> Made<Term> {
    while let Some((first, second)) = twice(&term.labels) {
        let shape = n.b.shape(term.value);
        if shape[first] != shape[second] {
            return Err(Failure::new(format!("one letter names two axes of {}", n.b.ty(term.value))));
        }
        let [row, column] = [n.b.iota(&shape, first)?, n.b.iota(&shape, second)?];
        let is_on = n.b.map(MapOp::Eq, &[row, column])?;
        let zero = n.b.constant(term.value, 0.0)?;
        let kept = n.b.select(is_on, term.value, zero)?;
        term.value = n.b.sum(kept, &[second])?;
        term.labels.remove(second);
    }
    Ok(term)
}

/// Two axes of one label.
fn twice(labels: &[Label]) -> Option<(usize, usize)> {
    let first = |second: usize| labels[..second].iter().position(|label| *label == labels[second]);
    (1..labels.len()).find_map(|second| Some((first(second)?, second)))
}

/// Drops the axes of extent 1 of which another term has more: they repeat.
fn repeated(n: &mut Node<'_>, all: &mut [Term]) -> Made<()> {
    let mut extents: Vec<(Label, Dim)> = vec![];
    for term in all.iter() {
        for (&label, extent) in term.labels.iter().zip(n.b.shape(term.value)) {
            match extents.iter_mut().find(|(known, _)| *known == label) {
                Some((_, known)) if known.is(1) => *known = extent,
                Some(_) => {}
                None => extents.push((label, extent)),
            }
        }
    }
    let is_wide = |label: Label| extents.iter().any(|(known, extent)| *known == label && !extent.is(1));
    for term in all {
        let shape = n.b.shape(term.value);
        let kept = |axis: &usize| !(shape[*axis].is(1) && is_wide(term.labels[*axis]));
        let kept: Vec<usize> = (0..shape.len()).filter(kept).collect();
        term.value = n.b.reshape(term.value, &kept.iter().map(|&axis| shape[axis].clone()).collect::<Vec<_>>())?;
        term.labels = kept.into_iter().map(|axis| term.labels[axis]).collect();
    }
    Ok(())
}

/// The op of the language. A scalar is a factor of all.
fn floats(n: &mut Node<'_>, all: &[Term], out: &[Label]) -> Made {
    let (scalars, terms): (Vec<&Term>, Vec<&Term>) = all.iter().partition(|term| term.labels.is_empty());
    let mut known: Vec<Label> = terms.iter().flat_map(|term| &term.labels).copied().collect();
    known.sort_unstable();
    known.dedup();
    let letter = |label: &Label| {
        let letter = known.iter().position(|known| known == label).and_then(|at| LETTERS.get(at));
        letter.copied().map(char::from).ok_or_else(|| Failure::new("its result has an axis that no argument has"))
    };
    let word = |labels: &[Label]| labels.iter().map(letter).collect::<Made<String>>();
    let mut factors: Vec<Value> = scalars.iter().map(|term| term.value).collect();
    if !terms.is_empty() {
        let words = terms.iter().map(|term| word(&term.labels)).collect::<Made<Vec<String>>>()?;
        let spec = format!("{}->{}", words.join(","), word(out)?);
        let args: Vec<Value> = terms.iter().map(|term| term.value).collect();
        factors.push(n.call("einsum", &args, &[("spec", Attr::Text(spec))])?);
    }
    let mut factors = factors.into_iter();
    let first = factors.next().ok_or_else(|| Failure::new("it has no arguments"))?;
    factors.try_fold(first, |product, factor| Ok(n.b.mul(product, factor)?))
}

/// Products of integers, which are added up as such.
fn integers(n: &mut Node<'_>, all: &[Term], out: &[Label]) -> Made {
    let mut order: Vec<Label> = out.to_vec();
    order.extend(all.iter().flat_map(|term| &term.labels).copied().filter(|label| !out.contains(label)));
    order.sort_unstable();
    order.dedup();
    order.sort_by_key(|label| out.iter().position(|own| own == label).unwrap_or(usize::MAX));
    let mut product: Option<Value> = None;
    for term in all {
        let axis = |label: &Label| term.labels.iter().position(|own| own == label);
        let moved = n.b.transpose(term.value, &order.iter().filter_map(axis).collect::<Vec<_>>())?;
        let own = n.b.shape(term.value);
        let wide: Vec<Dim> = order.iter().map(|label| axis(label).map_or(1.into(), |axis| own[axis].clone())).collect();
        let moved = n.b.reshape(moved, &wide)?;
        product = Some(product.map_or(Ok(moved), |product| n.b.mul(product, moved))?);
    }
    let product = product.ok_or_else(|| Failure::new("it has no arguments"))?;
    let dtype: DType = n.b.dtype(product);
    let sum = n.b.sum(product, &(out.len()..order.len()).collect::<Vec<_>>())?;
    Ok(n.b.convert(sum, dtype)?)
}
