//! Random index expressions, what they mean, and an evaluator of what printers make of them.
//!
//! In: a seed. Out: an index with the extents that it is about, its value at any position in exact arithmetic, and the value
//! of printed code under the rules of the language that it is printed in: what overflows there is an error here. Always: a
//! printed index means what the oracle, the simplifier and every other printer take it for, below zero too.

use crate::ir::Dim;
use crate::ir::index::{Atom, Index};
use syn::{BinOp, Expr, Lit, UnOp};

/// Lanes of the vectors that code is evaluated with.
pub(super) const LANES: usize = 4;

/// How many axes an index may mention.
pub(super) const AXES: usize = 3;

/// How many expressions are tried.
pub(super) const COUNT: u32 = 800;

/// Pseudo-random numbers (xorshift).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u32) -> Random {
        Random(u64::from(seed) * 2_654_435_761 + 88_172_645_463_325_252)
    }

    pub(super) fn below(&mut self, n: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as i64 % n
    }

    fn pick(&mut self, list: &[i64]) -> i64 {
        list[self.below(list.len() as i64) as usize]
    }

    /// A divisor: positive for every binding.
    pub(super) fn divisor(&mut self) -> Dim {
        let n = Dim::name("N");
        match self.below(8) {
            0 => n,
            1 => n + Dim::from(2),
            2 => (n + Dim::from(3)).floor_div(&Dim::from(2)),
            _ => Dim::from(self.pick(&[2, 3, 4, 5, 7, 16, 48])),
        }
    }

    fn coefficient(&mut self) -> Dim {
        let n = Dim::name("N");
        match self.below(8) {
            0 => n,
            1 => -n,
            2 => (n - Dim::from(4)).floor_div(&Dim::from(3)),
            _ => Dim::from(self.pick(&[-48, -7, -3, -2, -1, 1, 1, 1, 2, 3, 4, 6, 16])),
        }
    }

    /// An index with divisions up to `depth` in each other.
    pub(super) fn index(&mut self, depth: u32) -> Index {
        let mut index = match self.below(3) {
            0 => Index::default(),
            1 => Index::constant(Dim::from(self.below(41) - 20)),
            _ => Index::constant(self.coefficient()),
        };
        for _ in 0..1 + self.below(3) {
            let atom = match self.below(4) {
                0 if depth > 0 => Atom::Div(Box::new(self.index(depth - 1)), self.divisor()),
                1 if depth > 0 => Atom::Mod(Box::new(self.index(depth - 1)), self.divisor()),
                _ => Atom::Axis(self.below(AXES as i64) as usize),
            };
            index = index.plus(&Index::atom(atom).times(&self.coefficient()));
        }
        index
    }

    /// A value of `N`, and a position.
    pub(super) fn place(&mut self) -> Place {
        let n = self.pick(&[1, 2, 3, 5, 17, 1000, 40_000]);
        let mut at = [0; AXES];
        at.iter_mut().for_each(|i| *i = self.pick(&[0, 1, 2, 5, 11, 31, 1023]));
        Place { n, at }
    }
}

/// What names and axes stand for.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) n: i64,
    pub(super) at: [i64; AXES],
}

impl Place {
    pub(super) fn size(&self, dim: &Dim) -> i64 {
        dim.eval(&|_| Some(self.n)).unwrap_or_default()
    }

    /// The value by definition, and the largest magnitude on the way to it.
    pub(super) fn value(&self, index: &Index) -> (i64, i64) {
        let mut sum = self.size(&index.base);
        let mut largest = sum.abs();
        for (atom, c) in &index.terms {
            let (value, inner) = match atom {
                Atom::Axis(a) => (self.at[*a], 0),
                Atom::Loop(_) | Atom::Value(_) => (0, 0),
                Atom::Div(inner, by) => {
                    let (value, inner) = self.value(inner);
                    (value.div_euclid(self.size(by)), inner)
                }
                Atom::Mod(inner, by) => {
                    let (value, inner) = self.value(inner);
                    (value.rem_euclid(self.size(by)), inner)
                }
            };
            let product = value * self.size(c);
            sum += product;
            largest = largest.max(inner).max(product.abs() + sum.abs());
        }
        (sum, largest)
    }
}

/// A number of printed code.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Number {
    /// A literal without a suffix.
    Any(i128),
    Usize(i128),
    Isize(i128),
    /// A number of WGSL, or of one lane.
    I32(i32),
    Lanes([i32; LANES]),
}

type Evaluated = Result<Number, String>;

/// Evaluates printed code.
pub(super) struct Evaluator<'a> {
    /// What variables are.
    pub(super) variable: &'a dyn Fn(&str) -> Option<Number>,
}

impl Evaluator<'_> {
    pub(super) fn eval(&self, expr: &Expr) -> Evaluated {
        match expr {
            Expr::Paren(inner) => self.eval(&inner.expr),
            Expr::Lit(lit) => match &lit.lit {
                Lit::Int(n) => {
                    let value = n.base10_parse::<i128>().map_err(|why| why.to_string())?;
                    Ok(match n.suffix() {
                        "usize" => Number::Usize(value),
                        "isize" => Number::Isize(value),
                        _ => Number::Any(value),
                    })
                }
                _ => Err("a literal that is no integer".into()),
            },
            Expr::Path(path) => {
                let name = path.path.require_ident().map_err(|why| why.to_string())?.to_string();
                (self.variable)(&name).ok_or(format!("what is `{name}`?"))
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                self.binary('-', Number::Any(0), self.eval(&unary.expr)?)
            }
            Expr::Binary(binary) => {
                let op = match binary.op {
                    BinOp::Add(_) => '+',
                    BinOp::Sub(_) => '-',
                    BinOp::Mul(_) => '*',
                    BinOp::Div(_) => '/',
                    BinOp::Rem(_) => '%',
                    _ => return Err("an operator".into()),
                };
                self.binary(op, self.eval(&binary.left)?, self.eval(&binary.right)?)
            }
            Expr::Cast(cast) => {
                let ty = &cast.ty;
                self.cast(self.eval(&cast.expr)?, &quote::quote!(#ty).to_string())
            }
            Expr::MethodCall(call) => {
                let mut args = call.args.iter().map(|arg| self.eval(arg)).collect::<Result<Vec<_>, _>>()?;
                let method = call.method.to_string();
                if method.ends_with("_euclid") {
                    args.insert(0, self.eval(&call.receiver)?);
                }
                self.function(&method, &args)
            }
            Expr::Call(call) => {
                let Expr::Path(path) = &*call.func else { return Err("a call of no name".into()) };
                let name = path.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
                let is_token = |arg: &&Expr| !matches!(arg, Expr::Path(path) if path.path.is_ident("s"));
                let args = call.args.iter().filter(is_token).map(|arg| self.eval(arg));
                let args = args.collect::<Result<Vec<_>, _>>()?;
                match (args.is_empty(), (self.variable)(&name)) {
                    (true, Some(number)) => Ok(number),
                    _ => self.function(&name, &args),
                }
            }
            _ => Err("an expression of another kind".into()),
        }
    }

    fn binary(&self, op: char, a: Number, b: Number) -> Evaluated {
        use Number::{Any, I32, Isize, Usize};
        let compute = |a: i128, b: i128| match op {
            '+' => Some(a + b),
            '-' => Some(a - b),
            '*' => Some(a * b),
            '/' => a.checked_div(b),
            _ => a.checked_rem(b),
        };
        let overflow = || format!("{a:?} {op} {b:?} overflows");
        match (&a, &b) {
            (Usize(x), Usize(y) | Any(y)) | (Any(x), Usize(y)) => {
                compute(*x, *y).filter(|n| *n >= 0 && *n <= u64::MAX.into()).map(Usize).ok_or_else(overflow)
            }
            (Isize(x), Isize(y) | Any(y)) | (Any(x), Isize(y)) => {
                compute(*x, *y).filter(|n| i64::try_from(*n).is_ok()).map(Isize).ok_or_else(overflow)
            }
            (I32(x), I32(y)) => number32(compute((*x).into(), (*y).into())).map(I32).ok_or_else(overflow),
            (I32(x), Any(y)) => number32(compute((*x).into(), *y)).map(I32).ok_or_else(overflow),
            (Any(x), I32(y)) => number32(compute(*x, (*y).into())).map(I32).ok_or_else(overflow),
            (Any(x), Any(y)) => compute(*x, *y).map(Any).ok_or_else(overflow),
            _ => Err(format!("{a:?} {op} {b:?}: types differ")),
        }
    }

    fn cast(&self, number: Number, to: &str) -> Evaluated {
        let (Number::Any(n) | Number::Usize(n) | Number::Isize(n)) = number else {
            return Err(format!("{number:?} as {to}"));
        };
        match to {
            "usize" if n < 0 => Err(format!("{n} as usize")),
            "usize" => Ok(Number::Usize(n)),
            "isize" => Ok(Number::Isize(n)),
            "i32" => Ok(Number::I32(n as i32)),
            other => Err(format!("a cast to {other}")),
        }
    }

    fn function(&self, name: &str, args: &[Number]) -> Evaluated {
        use Number::{Any, I32, Isize, Lanes, Usize};
        let each = |a: &[i32; LANES], b: &[i32; LANES], f: fn(i32, i32) -> i32| {
            Ok(Lanes(std::array::from_fn(|lane| f(a[lane], b[lane]))))
        };
        match (name, args) {
            ("iota_i", []) => Ok(Lanes(std::array::from_fn(|lane| lane as i32))),
            ("splat_i", [I32(x)]) => Ok(Lanes([*x; LANES])),
            ("splat_i", [Any(x)]) => Ok(Lanes([*x as i32; LANES])),
            ("add_i", [Lanes(a), Lanes(b)]) => each(a, b, i32::wrapping_add),
            ("sub_i", [Lanes(a), Lanes(b)]) => each(a, b, i32::wrapping_sub),
            ("mul_i", [Lanes(a), Lanes(b)]) => each(a, b, i32::wrapping_mul),
            ("div_i", [Lanes(a), Lanes(b)]) => each(a, b, i32::wrapping_div),
            ("rem_i", [Lanes(a), Lanes(b)]) => each(a, b, i32::wrapping_rem),
            ("and_i", [Lanes(a), Lanes(b)]) => each(a, b, |a, b| a & b),
            ("shr_i", [Lanes(a), Lanes(b)]) => each(a, b, |a, b| a >> b),
            ("floor_div", [Lanes(a), Lanes(b)]) => each(a, b, i32::div_euclid),
            ("floor_rem", [Lanes(a), Lanes(b)]) => each(a, b, i32::rem_euclid),
            ("div_euclid", [Isize(a), Isize(b)]) => a.checked_div_euclid(*b).map(Isize).ok_or("a division".into()),
            ("rem_euclid", [Isize(a), Isize(b)]) => a.checked_rem_euclid(*b).map(Isize).ok_or("a division".into()),
            ("max", [Isize(a), Isize(b)]) => Ok(Isize(*a.max(b))),
            ("max", [Usize(a), Usize(b)]) => Ok(Usize(*a.max(b))),
            ("floor_div" | "floor_rem" | "max", [a, b]) => {
                let whole = |number: &Number| match number {
                    I32(x) => Ok(*x),
                    Any(x) => Ok(*x as i32),
                    other => Err(format!("`{name}` of {other:?}")),
                };
                let (a, b) = (whole(a)?, whole(b)?);
                Ok(I32(match name {
                    "floor_div" => a.div_euclid(b),
                    "floor_rem" => a.rem_euclid(b),
                    _ => a.max(b),
                }))
            }
            _ => Err(format!("`{name}` of {args:?}")),
        }
    }
}

fn number32(value: Option<i128>) -> Option<i32> {
    value.and_then(|n| i32::try_from(n).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::index::Ranges;
    use crate::oracle::kernels;

    #[test]
    fn the_simplifier_and_the_interpreter_divide_as_defined() {
        let reach = |atom: &Atom| matches!(atom, Atom::Axis(_)).then(|| Dim::from(1024));
        for seed in 0..COUNT {
            let mut random = Random::new(seed);
            let (index, by) = (random.index(3), random.divisor());
            let (quotient, rest) = Ranges(&reach).divide(&index, &by);
            for _ in 0..8 {
                let place = random.place();
                let (value, by) = (place.value(&index).0, place.size(&by));
                let found = (place.value(&quotient).0, place.value(&rest).0);
                assert_eq!(
                    found,
                    (value.div_euclid(by), value.rem_euclid(by)),
                    "seed {seed}: {index} by {by} at {place:?}"
                );
                let interpreted = kernels::position(&index, &place.at, &|dim| place.size(dim));
                assert_eq!(interpreted, Ok(value), "seed {seed}: {index} at {place:?}");
            }
        }
    }
}
