//! `einsum("bik,bkj->bij", a, b)`.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::Prim;
use crate::ir::{Dim, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&EINSUM)];

static EINSUM: Op = Op {
    name: "einsum",
    signature: "(x: float[...]*) -> float[...]",
    attrs: &[AttrDecl::required("spec", AttrKind::Text, "a letter for each axis of each argument, `->`, and the letters of the result")],
    doc: "A sum of products in Einstein's notation: letters that the result lacks are summed. Without `->` the result \
          has the letters that stand once, in alphabetical order.",
    torch: Some("torch.einsum"),
    onnx: Some("Einsum"),
    body: |b, args, attrs| {
        let spec = Spec::parse(attrs.word("spec"))?;
        spec.check(b, args)?;
        let mut sum = spec.sum_alone(b, 0, (args[0], spec.terms[0].clone()))?;
        for (k, &arg) in args.iter().enumerate().skip(1) {
            sum = spec.contract(b, k, sum, arg)?;
        }
        let order: Vec<usize> = spec.out.iter().filter_map(|l| sum.1.iter().position(|m| m == l)).collect();
        Ok(vec![b.transpose(sum.0, &order)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "f32[7, 17]", Domain::Normal)],
            call: "einsum(\"ik,kj->ij\", x, y)",
            result: "f32[5, 17]",
        },
        Example {
            inputs: &[("x", "f32[B, 5, 3]", Domain::Normal), ("y", "f32[B, 7, 3]", Domain::Normal), ("z", "f32[7]", Domain::Normal)],
            call: "einsum(\"bid,bjd,j->jbi\", x, y, z)",
            result: "f32[7, B, 5]",
        },
        Example { inputs: &[("x", "f32[5, 7, 17]", Domain::Normal)], call: "einsum(\"abc->ca\", x)", result: "f32[17, 5]" },
    ],
};

/// A parsed notation.
struct Spec {
    terms: Vec<Vec<u8>>,
    out: Vec<u8>,
}

/// A partial result and the letters of its axes.
type Partial = (Value, Vec<u8>);

fn wrong(message: String) -> OpError {
    OpError::new(Code::EinsumSpec, message).attr("spec")
}

impl Spec {
    fn parse(text: &str) -> Result<Spec, OpError> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        if let Some(bad) = text.replace("->", "").chars().find(|c| !c.is_ascii_alphabetic() && *c != ',') {
            return Err(wrong(format!("`{bad}` in the notation: axes are letters, arguments are separated by `,`")));
        }
        let (terms, out) = text.split_once("->").map_or((text.as_str(), None), |(terms, out)| (terms, Some(out)));
        let terms: Vec<Vec<u8>> = terms.split(',').map(|term| term.bytes().collect()).collect();
        let times = |letter: u8| terms.iter().flatten().filter(|&&l| l == letter).count();
        let out = match out {
            Some(out) => out.bytes().collect(),
            None => (b'A'..=b'z').filter(|&letter| times(letter) == 1).collect::<Vec<u8>>(),
        };
        for list in terms.iter().chain([&out]) {
            if let Some(&twice) = list.iter().find(|&l| list.iter().filter(|&m| m == l).count() > 1) {
                return Err(wrong(format!("`{}` stands twice in `{}`", twice as char, String::from_utf8_lossy(list))));
            }
        }
        match out.iter().find(|&&letter| times(letter) == 0) {
            Some(&letter) => Err(wrong(format!("`{}` of the result is in no argument", letter as char))),
            None => Ok(Spec { terms, out }),
        }
    }

    fn check(&self, b: &Builder<'_>, args: &[Value]) -> Result<(), OpError> {
        if args.len() != self.terms.len() {
            let message = format!("the notation has {} terms for {} arguments", self.terms.len(), args.len());
            return Err(wrong(message));
        }
        let mut seen: Vec<(u8, Dim, usize)> = vec![];
        for (k, (&arg, term)) in args.iter().zip(&self.terms).enumerate() {
            if b.rank(arg) != term.len() {
                let term = String::from_utf8_lossy(term);
                let message = format!("`{term}` has {} letters, but {{{k}}} is {}", term.len(), b.ty(arg));
                return Err(OpError::new(Code::WrongRank, message).arg(k));
            }
            for (&letter, extent) in term.iter().zip(b.shape(arg)) {
                match seen.iter().find(|(l, _, _)| *l == letter) {
                    Some((_, other, first)) if *other != extent => {
                        let letter = letter as char;
                        let message = format!("`{letter}` is {other} in {{{first}}}, but {extent} in {{{k}}}");
                        return Err(OpError::new(Code::InnerDimension, message).arg(k));
                    }
                    Some(_) => {}
                    None => seen.push((letter, extent, k)),
                }
            }
        }
        Ok(())
    }

    /// Whether a letter is still needed after the k-th argument has joined.
    fn needed(&self, letter: u8, k: usize) -> bool {
        self.out.contains(&letter) || self.terms[k + 1..].iter().any(|term| term.contains(&letter))
    }

    /// Sums the axes that nothing else of the formula mentions.
    fn sum_alone(&self, b: &mut Builder<'_>, k: usize, (x, letters): Partial) -> Result<Partial, OpError> {
        let (kept, gone): (Vec<usize>, Vec<usize>) = (0..letters.len()).partition(|&i| self.needed(letters[i], k));
        Ok((b.sum(x, &gone)?, kept.into_iter().map(|i| letters[i]).collect()))
    }

    fn contract(&self, b: &mut Builder<'_>, k: usize, (x, lhs): Partial, y: Value) -> Result<Partial, OpError> {
        let term = &self.terms[k];
        let alone: Vec<usize> =
            (0..term.len()).filter(|&i| !lhs.contains(&term[i]) && !self.needed(term[i], k)).collect();
        let y = b.sum(y, &alone)?;
        let rhs: Vec<u8> = (0..term.len()).filter(|i| !alone.contains(i)).map(|i| term[i]).collect();
        let mut left: Vec<u8> = lhs.iter().chain(rhs.iter().filter(|l| !lhs.contains(l))).copied().collect();
        left.retain(|&letter| self.needed(letter, k));
        // The last product gives the result's own order.
        let out = if k + 1 == self.terms.len() { self.out.clone() } else { left };
        let sum = b.prim(Prim::Contract { lhs, rhs, out: out.clone() }, &[x, y])?;
        Ok((sum, out))
    }
}
