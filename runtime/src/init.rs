//! First values of parameters: in comes a rule, a seed and a name, out come values. Always: a
//! value depends on the seed, the full name of its parameter and its position alone (an orthogonal one on
//! the shape too), so adding a layer leaves every other parameter as it was; it is the same on every
//! machine; and what is drawn is a number of `f32`, so a model in `f64` starts where the same model in `f32` does.

use crate::float::Float;
use crate::launch::{isa, threads};
use crate::random::{key, threefry};
use alloc::{vec, vec::Vec};
use precast_cpu::Law;

/// How the values of a parameter are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// 0.
    Zeros,
    /// 1.
    Ones,
    /// One number, the nearest that the parameters have.
    Constant(f64),
    /// Normal with mean 0.
    Normal {
        /// The standard deviation.
        std: f32,
    },
    /// Uniform between `-bound` and `bound`.
    Uniform {
        /// The bound.
        bound: f32,
    },
    /// Normal with mean 0, drawn again while further than two standard deviations from it.
    TruncNormal {
        /// The standard deviation before truncation.
        std: f32,
    },
    /// A matrix with orthogonal rows, or columns where these are fewer, uniform among all such
    /// (Saxe, McClelland and Ganguli, "Exact Solutions to the Nonlinear Dynamics of Learning in
    /// Deep Linear Neural Networks", 2013).
    Orthogonal {
        /// The number of rows; all axes but the first are columns.
        rows: usize,
        /// The length of each row or column.
        gain: f32,
    },
}

impl Init {
    /// Draws `values`, which are those of the parameter called `name`.
    pub(crate) fn fill<T: Float>(self, seed: u64, name: &str, values: &mut [T]) {
        let draws = || Draws::new(seed, name);
        match self {
            Init::Zeros => values.fill(T::from_f64(0.0)),
            Init::Ones => values.fill(T::from_f64(1.0)),
            Init::Constant(value) => values.fill(T::from_f64(value)),
            Init::Normal { std } => draws().draw(Law::Normal(std.into()), values),
            Init::Uniform { bound } => draws().draw(Law::Uniform(bound.into()), values),
            Init::TruncNormal { std } => draws().draw(Law::TruncNormal(std.into()), values),
            Init::Orthogonal { rows, gain } => draws().orthogonal(values, rows.max(1), f64::from(gain)),
        }
    }
}

/// The draws of one parameter.
struct Draws {
    key: [u32; 2],
}

impl Draws {
    fn new(seed: u64, name: &str) -> Self {
        Draws { key: threefry(key(seed), key(fnv1a(name))) }
    }

    /// Draws numbers of `f32`, which are those of every type.
    fn draw<T: Float>(&self, law: Law, values: &mut [T]) {
        if let Some(values) = T::as_f32(values) {
            return precast_cpu::draw(isa(), threads(), self.key, law, 0, values);
        }
        let mut drawn = vec![0.0; values.len().min(PART)];
        for (part, values) in values.chunks_mut(PART).enumerate() {
            let drawn = &mut drawn[..values.len()];
            precast_cpu::draw(isa(), threads(), self.key, law, (part * PART) as u64, drawn);
            values.iter_mut().zip(drawn).for_each(|(value, drawn)| *value = T::from_f64(f64::from(*drawn)));
        }
    }

    /// Gram and Schmidt's method on normal vectors, which leaves no direction preferred. Each vector is cleared of the
    /// earlier ones twice: once loses digits where it is nearly in their span.
    fn orthogonal<T: Float>(&self, values: &mut [T], rows: usize, gain: f64) {
        let columns = values.len() / rows;
        let (count, len) = (rows.min(columns), rows.max(columns));
        let mut basis: Vec<Vec<f64>> = Vec::with_capacity(count);
        for k in 0..count {
            let mut vector = vec![0.0; len];
            precast_cpu::draw_standard(isa(), self.key, (k * len) as u64, &mut vector);
            for _ in 0..2 {
                for other in &basis {
                    let shared = dot(&vector, other);
                    vector.iter_mut().zip(other).for_each(|(x, y)| *x -= shared * y);
                }
            }
            let length = dot(&vector, &vector).sqrt();
            vector.iter_mut().for_each(|x| *x /= length);
            for (i, &x) in vector.iter().enumerate() {
                let at = if rows <= columns { k * columns + i } else { i * columns + k };
                values[at] = T::from_f64(f64::from((x * gain) as f32));
            }
            basis.push(vector);
        }
    }
}

/// Numbers that are drawn before they are given another type.
const PART: usize = 1 << 16;

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// The 64-bit FNV-1a hash (Fowler, Noll and Vo).
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(init: Init, seed: u64, name: &str) -> Vec<f32> {
        let mut values = vec![f32::NAN; 20_000];
        init.fill(seed, name, &mut values);
        values
    }

    fn moments(values: &[f32]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
        let square = values.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
        (mean, square.sqrt())
    }

    #[test]
    fn distributions_have_their_moments_and_bounds() {
        // A normal cut at two standard deviations has 0.8796 of its standard deviation.
        for (init, std, bound) in [
            (Init::Normal { std: 0.02 }, 0.02, f64::INFINITY),
            (Init::Uniform { bound: 0.5 }, 0.5 / 3f64.sqrt(), 0.5),
            (Init::TruncNormal { std: 0.02 }, 0.02 * 0.8796, 0.04),
            (Init::Orthogonal { rows: 100, gain: 2.0 }, 2.0 / 200f64.sqrt(), 2.0),
        ] {
            let values = draw(init, 7, "weight");
            let (mean, found) = moments(&values);
            assert!(mean.abs() < 0.03 * std, "{init:?}: mean {mean}");
            assert!((found / std - 1.0).abs() < 0.03, "{init:?}: std {found}");
            let largest = values.iter().fold(0f32, |a, x| a.max(x.abs()));
            assert!(f64::from(largest) <= bound * 1.000_001, "{init:?}: {largest}");
        }
    }

    /// Of 20000 draws 900 are further away, and are drawn again until they are not.
    #[test]
    fn what_is_too_far_is_drawn_again() {
        assert!(draw(Init::TruncNormal { std: 1.0 }, 7, "weight").iter().all(|x| *x != 0.0));
    }

    /// The share of draws below each tenth of the distribution is that of the distribution itself.
    #[test]
    fn distributions_have_their_quantiles() {
        // The deciles of the standard normal distribution, from tables.
        let normal = [-1.281_552, -0.841_621, -0.524_401, -0.253_347, 0.0, 0.253_347, 0.524_401, 0.841_621, 1.281_552];
        let uniform = [-0.8, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8];
        for (init, deciles) in [(Init::Normal { std: 1.0 }, normal), (Init::Uniform { bound: 1.0 }, uniform)] {
            let values = draw(init, 11, "weight");
            for (k, decile) in deciles.into_iter().enumerate() {
                let below = values.iter().filter(|&&x| f64::from(x) < decile).count() as f64 / values.len() as f64;
                // Four standard deviations of a share of 20000 draws.
                assert!((below - (k + 1) as f64 / 10.0).abs() < 0.0142, "{init:?}: {below} below {decile}");
            }
        }
    }

    #[test]
    fn orthogonal_vectors_are_orthogonal_whichever_are_fewer() {
        for (rows, columns) in [(5, 17), (17, 5), (8, 8), (1, 3)] {
            let mut values = vec![0f32; rows * columns];
            Init::Orthogonal { rows, gain: 3.0 }.fill(1, "w", &mut values);
            let at = |k: usize, i: usize| {
                f64::from(if rows <= columns { values[k * columns + i] } else { values[i * columns + k] })
            };
            for a in 0..rows.min(columns) {
                for b in 0..=a {
                    let product: f64 = (0..rows.max(columns)).map(|i| at(a, i) * at(b, i)).sum();
                    let expected = if a == b { 9.0 } else { 0.0 };
                    assert!((product - expected).abs() < 1e-5, "{rows}×{columns}: {a} · {b} = {product}");
                }
            }
        }
    }

    #[test]
    fn a_value_depends_on_seed_and_name_alone() {
        let init = Init::Normal { std: 1.0 };
        assert_eq!(draw(init, 1, "a"), draw(init, 1, "a"));
        assert_ne!(draw(init, 1, "a"), draw(init, 2, "a"));
        assert_ne!(draw(init, 1, "a"), draw(init, 1, "b"));
        let mut short = [0f32; 5];
        init.fill(1, "a", &mut short);
        assert_eq!(draw(init, 1, "a")[..5], short);
    }

    #[test]
    fn a_constant_is_the_nearest_number_of_its_type() {
        let (mut values, mut wide) = ([0f32; 2], [0f64; 2]);
        Init::Constant(0.1).fill(1, "w", &mut values);
        Init::Constant(0.1).fill(1, "w", &mut wide);
        assert_eq!((values, wide), ([0.1; 2], [0.1; 2]));
        Init::Ones.fill(1, "w", &mut wide);
        assert_eq!(wide, [1.0; 2]);
    }

    /// Bits that another program computed from the definitions, with the logarithm and cosine of another library.
    #[test]
    fn values_are_those_of_every_machine() {
        let bits = |init: Init| {
            let (mut values, mut wide) = ([0f32; 6], [0f64; 6]);
            init.fill(42, "weight", &mut values);
            init.fill(42, "weight", &mut wide);
            assert_eq!(wide, values.map(f64::from));
            values.map(f32::to_bits)
        };
        assert_eq!(bits(Init::Normal { std: 1.0 }), NORMAL);
        assert_eq!(bits(Init::Orthogonal { rows: 2, gain: 1.0 }), ORTHOGONAL);
    }

    const NORMAL: [u32; 6] = [3_169_648_729, 3_208_456_086, 3_206_169_815, 1_062_932_585, 1_064_496_497, 3_216_768_439];
    const ORTHOGONAL: [u32; 6] =
        [3_170_399_314, 3_209_055_140, 3_206_658_386, 1_055_078_821, 1_057_902_026, 3_207_852_084];
}
