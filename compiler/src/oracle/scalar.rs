//! Elementwise operations on single numbers: the meaning of every `MapOp` and of conversion.

use super::tensor::Data;
use crate::ir::prim::{MapOp, Scalar};
use crate::ir::{Category, DType};

/// Applies an elementwise operation; the types have been checked by `MapOp::dtype`.
pub(super) fn map(op: MapOp, args: &[&Data]) -> Data {
    use MapOp::*;
    match (op, args) {
        (Select, [Data::Bool(c), a, b]) => select(c, a, b),
        (Threefry, [Data::Int(dtype, k0), Data::Int(_, k1), Data::Int(_, counter)]) => {
            let bits = |((&k0, &k1), &counter)| threefry([k0, k1].map(word), [word(counter), 0])[0];
            Data::Int(*dtype, k0.iter().zip(k1).zip(counter).map(bits).map(i128::from).collect())
        }
        (MulAdd, [Data::Float(dtype, a), Data::Float(_, b), Data::Float(_, c)]) => {
            Data::Float(*dtype, a.iter().zip(b).zip(c).map(|((&a, &b), &c)| a.mul_add(b, c)).collect())
        }
        (Eq | Ne | Lt | Le, [a, b]) => Data::Bool(compare(op, a, b)),
        (_, [Data::Float(dtype, x)]) => Data::Float(*dtype, x.iter().map(|&x| unary(op, x)).collect()),
        (_, [Data::Int(dtype, x)]) => Data::Int(*dtype, x.iter().map(|&x| integer(op, *dtype, x, 0)).collect()),
        (_, [Data::Bool(x)]) => Data::Bool(x.iter().map(|&x| truth(op, x, false)).collect()),
        (_, [Data::Float(dtype, a), Data::Float(_, b)]) => Data::Float(*dtype, zip(a, b, |a, b| binary(op, a, b))),
        (_, [Data::Int(dtype, a), Data::Int(_, b)]) => Data::Int(*dtype, zip(a, b, |a, b| integer(op, *dtype, a, b))),
        (_, [Data::Bool(a), Data::Bool(b)]) => Data::Bool(zip(a, b, |a, b| truth(op, a, b))),
        _ => unreachable!("`{}` of these types was refused by the shape rule", op.name()),
    }
}

/// Applies an elementwise operation to single values.
pub(super) fn map_one(op: MapOp, args: &[Scalar]) -> Scalar {
    use MapOp::*;
    match (op, args) {
        (Select, [Scalar::Bool(c), a, b]) => *if *c { a } else { b },
        (Threefry, [Scalar::Int(dtype, k0), Scalar::Int(_, k1), Scalar::Int(_, n)]) => {
            Scalar::Int(*dtype, threefry([*k0, *k1].map(word), [word(*n), 0])[0].into())
        }
        (MulAdd, [Scalar::Float(dtype, a), Scalar::Float(_, b), Scalar::Float(_, c)]) => {
            Scalar::Float(*dtype, a.mul_add(*b, *c))
        }
        (_, [Scalar::Float(dtype, x)]) => Scalar::Float(*dtype, unary(op, *x)),
        (_, [Scalar::Float(dtype, a), Scalar::Float(_, b)]) if !matches!(op, Eq | Ne | Lt | Le) => {
            Scalar::Float(*dtype, binary(op, *a, *b))
        }
        _ => {
            let args: Vec<Data> = args.iter().map(|&x| super::Tensor::scalar(x).data).collect();
            map(op, &args.iter().collect::<Vec<_>>()).element(0)
        }
    }
}

/// A u32.
fn word(x: i128) -> u32 {
    x as u32
}

/// One value to another element type.
pub(super) fn convert_one(x: Scalar, to: DType) -> Scalar {
    convert(&super::Tensor::scalar(x).data, to).element(0)
}

fn zip<T: Copy, R>(a: &[T], b: &[T], f: impl Fn(T, T) -> R) -> Vec<R> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

fn select(condition: &[bool], a: &Data, b: &Data) -> Data {
    fn choose<T: Copy>(condition: &[bool], a: &[T], b: &[T]) -> Vec<T> {
        condition.iter().zip(a.iter().zip(b)).map(|(&c, (&a, &b))| if c { a } else { b }).collect()
    }
    match (a, b) {
        (Data::Float(dtype, a), Data::Float(_, b)) => Data::Float(*dtype, choose(condition, a, b)),
        (Data::Int(dtype, a), Data::Int(_, b)) => Data::Int(*dtype, choose(condition, a, b)),
        (Data::Bool(a), Data::Bool(b)) => Data::Bool(choose(condition, a, b)),
        _ => unreachable!("the branches have one type"),
    }
}

fn compare(op: MapOp, a: &Data, b: &Data) -> Vec<bool> {
    fn by<T: PartialOrd + Copy>(op: MapOp, a: &[T], b: &[T]) -> Vec<bool> {
        match op {
            MapOp::Eq => zip(a, b, |a, b| a == b),
            MapOp::Ne => zip(a, b, |a, b| a != b),
            MapOp::Lt => zip(a, b, |a, b| a < b),
            MapOp::Le => zip(a, b, |a, b| a <= b),
            other => unreachable!("`{}` is not a comparison", other.name()),
        }
    }
    match (a, b) {
        (Data::Float(_, a), Data::Float(_, b)) => by(op, a, b),
        (Data::Int(_, a), Data::Int(_, b)) => by(op, a, b),
        (Data::Bool(a), Data::Bool(b)) => by(op, a, b),
        _ => unreachable!("compared values have one type"),
    }
}

fn unary(op: MapOp, x: f64) -> f64 {
    use MapOp::*;
    match op {
        Neg => -x,
        Abs => x.abs(),
        // Of NaN as of zeros it is 0, as PyTorch has it.
        Sign if x == 0.0 || x.is_nan() => 0.0,
        Sign => x.signum(),
        Exp => x.exp(),
        Expm1 => x.exp_m1(),
        Log => x.ln(),
        Log1p => x.ln_1p(),
        Sqrt => x.sqrt(),
        Rsqrt => 1.0 / x.sqrt(),
        Sin => x.sin(),
        Cos => x.cos(),
        Atan => x.atan(),
        Tanh => x.tanh(),
        Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Erf => erf(x),
        Floor => x.floor(),
        Ceil => x.ceil(),
        Round => x.round_ties_even(),
        Not | Add | Sub | Mul | Div | Rem | Pow | Max | Min | And | Or | Xor | Shl | Shr | Eq | Ne | Lt | Le
        | MulAdd | Select | Threefry => unreachable!("`{}` is not a function of one float", op.name()),
    }
}

fn binary(op: MapOp, a: f64, b: f64) -> f64 {
    use MapOp::*;
    match op {
        Add => a + b,
        Sub => a - b,
        Mul => a * b,
        Div => a / b,
        Rem => a % b,
        Pow => a.powf(b),
        Max => largest(a, b),
        Min => -largest(-a, -b),
        Neg | Abs | Sign | Exp | Expm1 | Log | Log1p | Sqrt | Rsqrt | Sin | Cos | Atan | Tanh | Sigmoid | Erf
        | Floor | Ceil | Round | Not | And | Or | Xor | Shl | Shr | Eq | Ne | Lt | Le | MulAdd | Select | Threefry => {
            unreachable!("`{}` is not a function of two floats", op.name())
        }
    }
}

/// The larger; NaN if either is.
pub(super) fn largest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// Of integers of that type, whose lowest bits stay.
fn integer(op: MapOp, dtype: DType, a: i128, b: i128) -> i128 {
    use MapOp::*;
    let shift = b.rem_euclid(dtype.bits().into());
    dtype.wrapped(match op {
        Neg => -a,
        Abs => a.abs(),
        Sign => a.signum(),
        Not => !a,
        Add => a + b,
        Sub => a - b,
        Mul => a.wrapping_mul(b),
        Div => a.checked_div(b).unwrap_or(0),
        Rem => a.checked_rem(b).unwrap_or(0),
        Max => a.max(b),
        Min => a.min(b),
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        Shl => a << shift,
        Shr => a >> shift,
        Exp | Expm1 | Log | Log1p | Sqrt | Rsqrt | Sin | Cos | Atan | Tanh | Sigmoid | Erf | Floor | Ceil | Round
        | Pow | Eq | Ne | Lt | Le | MulAdd | Select | Threefry => {
            unreachable!("`{}` does not map {dtype} to {dtype}", op.name())
        }
    })
}

fn truth(op: MapOp, a: bool, b: bool) -> bool {
    match op {
        MapOp::Not => !a,
        MapOp::And => a & b,
        MapOp::Or => a | b,
        MapOp::Xor => a ^ b,
        other => unreachable!("`{}` does not map bool to bool", other.name()),
    }
}

/// To another element type, as `Prim::Convert` says.
pub(super) fn convert(data: &Data, to: DType) -> Data {
    match (data, to.category()) {
        (Data::Int(_, x), Category::Signed | Category::Unsigned) => {
            Data::Int(to, x.iter().map(|&x| to.wrapped(x)).collect())
        }
        (Data::Bool(x), Category::Bool) => Data::Bool(x.clone()),
        // Rust's `as` truncates, saturates and maps NaN to 0.
        (data, _) => Data::of(to, data.numbers()),
    }
}

/// Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
/// 2011): the block that `counter` becomes under `key`.
pub fn threefry(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let schedule = [key[0], key[1], key[0] ^ key[1] ^ 0x1BD1_1BDA];
    let mut x = [counter[0].wrapping_add(schedule[0]), counter[1].wrapping_add(schedule[1])];
    for group in 0..5 {
        for rotation in ROTATIONS[group % 2] {
            x[0] = x[0].wrapping_add(x[1]);
            x[1] = x[1].rotate_left(rotation) ^ x[0];
        }
        x[0] = x[0].wrapping_add(schedule[(group + 1) % 3]);
        x[1] = x[1].wrapping_add(schedule[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    x
}

/// The error function to about 1e-15: the Maclaurin series of erf(x)·exp(x²) near zero and Lentz's
/// evaluation of the continued fraction of erfc elsewhere (Abramowitz and Stegun, 7.1.6 and 7.1.14).
pub fn erf(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let (z, square) = (x.abs(), x * x);
    let magnitude = if z < 2.5 {
        let (mut term, mut sum, mut n) = (z, z, 0.0);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= 2.0 * square / (2.0 * n + 1.0);
            sum += term;
        }
        std::f64::consts::FRAC_2_SQRT_PI * (-square).exp() * sum
    } else if z > 6.0 {
        1.0
    } else {
        // erfc(z) = exp(−z²)/√π · 1/(z + (1/2)/(z + 1/(z + (3/2)/(z + …)))), from the inside out.
        let fraction = (1..=120).rev().fold(z, |tail, k| z + 0.5 * f64::from(k) / tail);
        1.0 - (-square).exp() * std::f64::consts::FRAC_2_SQRT_PI / 2.0 / fraction
    };
    magnitude.copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that the authors publish with Random123.
    #[test]
    fn threefry_has_the_published_answers() {
        let ones = u32::MAX;
        assert_eq!(threefry([0, 0], [0, 0]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry([ones, ones], [ones, ones]), [0x1cb9_96fc, 0xbb00_2be7]);
        assert_eq!(threefry([0x1319_8a2e, 0x0370_7344], [0x243f_6a88, 0x85a3_08d3]), [0xc492_3a9c, 0x483d_f7a0]);
    }

    #[test]
    fn erf_has_tabulated_values() {
        for (x, y) in [
            (0.1, 0.1124629160182849),
            (1.0, 0.8427007929497149),
            (2.4, 0.999311486103355),
            (2.6, 0.9997639655834707),
            (4.0, 0.9999999845827421),
        ] {
            assert!((erf(x) - y).abs() < 3e-15, "erf({x}) = {} not {y}", erf(x));
            assert_eq!(erf(-x), -erf(x));
        }
    }
}
