//! Examples read: the texts of an op's examples in, types and test numbers out.

use super::{Domain, Example};
use crate::ir::{DType, Dim, Type};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{BinOp, Expr, Lit, Token};

impl Example {
    /// The types of the inputs, in order.
    ///
    /// # Errors
    /// Names a type that does not parse.
    pub fn input_types(&self) -> Result<Vec<Type>, String> {
        self.inputs.iter().map(|(_, ty, _)| read_type(ty)).collect()
    }

    /// The types of the results; several stand in parentheses.
    ///
    /// # Errors
    /// Names a type that does not parse.
    pub fn result_types(&self) -> Result<Vec<Type>, String> {
        let Some(list) = self.result.strip_prefix('(').and_then(|r| r.strip_suffix(')')) else {
            return Ok(vec![read_type(self.result)?]);
        };
        // A comma inside of brackets is followed by an extent, never by an element type.
        let mut parts: Vec<String> = vec![];
        for part in list.split(", ") {
            let starts = DType::ALL.iter().any(|d| part.split('[').next() == Some(d.name()));
            match parts.last_mut() {
                Some(last) if !starts => *last = format!("{last}, {part}"),
                _ => parts.push(part.to_owned()),
            }
        }
        parts.iter().map(|part| read_type(part)).collect()
    }
}

/// Reads `f32[2 * B, 3]`.
fn read_type(text: &str) -> Result<Type, String> {
    let wrong = || format!("`{text}` is no type");
    let (dtype, axes) = text.split_once('[').unwrap_or((text, "]"));
    let dtype = DType::from_name(dtype).ok_or_else(wrong)?;
    let axes = axes.strip_suffix(']').ok_or_else(wrong)?;
    let axes = Punctuated::<Expr, Token![,]>::parse_terminated.parse_str(axes).map_err(|_| wrong())?;
    let shape = axes.iter().map(read_dim).collect::<Option<Vec<Dim>>>().ok_or_else(wrong)?;
    Ok(Type::new(dtype, shape))
}

/// An extent: an integer, a name, or their sum, difference or product.
pub fn read_dim(expr: &Expr) -> Option<Dim> {
    match expr {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(n) => n.base10_parse::<i64>().ok().map(Dim::from),
            _ => None,
        },
        Expr::Path(path) => Some(Dim::name(path.path.get_ident()?.to_string())),
        Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => Some(-read_dim(&unary.expr)?),
        Expr::Binary(binary) => {
            let (a, b) = (read_dim(&binary.left)?, read_dim(&binary.right)?);
            match binary.op {
                BinOp::Add(_) => Some(a + b),
                BinOp::Sub(_) => Some(a - b),
                BinOp::Mul(_) => Some(a * b),
                _ => None,
            }
        }
        _ => None,
    }
}

impl Domain {
    /// `count` numbers of this domain from a generator of uniform random words. All are exact in binary32.
    pub fn sample(self, count: usize, word: &mut dyn FnMut() -> u32) -> Vec<f64> {
        let unit = |word: u32| f64::from((word >> 8) + 1) / f64::from((1 << 24) + 1);
        let between = |low: f64, high: f64, unit: f64| f64::from((low + (high - low) * unit) as f32);
        match self {
            Domain::Normal => ranks(count, word)
                .into_iter()
                .map(|rank| {
                    // One number from the middle half of each of `count` equally likely ranges keeps them apart.
                    let u = (rank as f64 + 0.25 + 0.5 * unit(word())) / count as f64;
                    let x = (u / (1.0 - u)).ln() / LOGISTIC;
                    f64::from((x + 0.01_f64.copysign(x)) as f32)
                })
                .collect(),
            Domain::Positive => (0..count).map(|_| between(0.2, 3.0, unit(word()))).collect(),
            Domain::Unit => (0..count).map(|_| between(0.05, 0.95, unit(word()))).collect(),
            Domain::Below(n) => (0..count).map(|_| f64::from(word() % n)).collect(),
        }
    }
}

/// The logistic distribution of this rate is within 0.01 of the normal one everywhere (Camilli 1994).
const LOGISTIC: f64 = 1.702;

/// The numbers from 0 below `count` in random order.
fn ranks(count: usize, word: &mut dyn FnMut() -> u32) -> Vec<usize> {
    let mut ranks: Vec<usize> = (0..count).collect();
    for i in (1..count).rev() {
        ranks.swap(i, word() as usize % (i + 1));
    }
    ranks
}
