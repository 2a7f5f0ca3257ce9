//! First values of parameters: in comes a rule, a seed and a name, out come values. Always: a
//! value depends on the seed, the full name of its parameter and its position alone, so adding a
//! layer leaves every other parameter as it was.

use crate::random::{key, threefry};

/// How the values of a parameter are drawn.
///
/// Fans are those of PyTorch: for a weight `[out, in, …kernel]`, `fan_in` is `in · ∏kernel` and
/// `fan_out` is `out · ∏kernel`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// 0.
    Zeros,
    /// 1.
    Ones,
    /// One number.
    Constant(f32),
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
    /// He et al., "Delving Deep into Rectifiers" (2015), with the slope a = √5 that PyTorch takes
    /// for weights of `Linear` and `Conv2d`: uniform with bound √(6 / ((1 + a²) · fan_in)), which
    /// is 1/√fan_in.
    KaimingUniform {
        /// The number of inputs of one output.
        fan_in: usize,
    },
    /// He et al. (2015) for rectifiers: normal with standard deviation √(2 / fan_in).
    KaimingNormal {
        /// The number of inputs of one output.
        fan_in: usize,
    },
    /// PyTorch's rule for biases of `Linear` and `Conv2d`: uniform with bound 1/√fan_in.
    BiasUniform {
        /// The number of inputs of one output.
        fan_in: usize,
    },
    /// Glorot and Bengio, "Understanding the Difficulty of Training Deep Feedforward Neural
    /// Networks" (2010): uniform with bound √(6 / (fan_in + fan_out)).
    XavierUniform {
        /// The number of inputs of one output.
        fan_in: usize,
        /// The number of outputs of one input.
        fan_out: usize,
    },
    /// Glorot and Bengio (2010): normal with standard deviation √(2 / (fan_in + fan_out)).
    XavierNormal {
        /// The number of inputs of one output.
        fan_in: usize,
        /// The number of outputs of one input.
        fan_out: usize,
    },
    /// Normal with mean 0, drawn again while further than two standard deviations from it.
    TruncNormal {
        /// The standard deviation before truncation.
        std: f32,
    },
}

impl Init {
    /// Draws `values`, which are those of the parameter called `name`.
    pub(crate) fn fill(self, seed: u64, name: &str, values: &mut [f32]) {
        match self {
            Init::Zeros => values.fill(0.0),
            Init::Ones => values.fill(1.0),
            Init::Constant(value) => values.fill(value),
            Init::Normal { std } => Draws::new(seed, name).normal(values, f64::from(std)),
            Init::Uniform { bound } => Draws::new(seed, name).uniform(values, f64::from(bound)),
            Init::KaimingUniform { fan_in } | Init::BiasUniform { fan_in } => {
                Draws::new(seed, name).uniform(values, ratio(1, fan_in));
            }
            Init::KaimingNormal { fan_in } => {
                Draws::new(seed, name).normal(values, ratio(2, fan_in));
            }
            Init::XavierUniform { fan_in, fan_out } => {
                Draws::new(seed, name).uniform(values, ratio(6, fan_in + fan_out));
            }
            Init::XavierNormal { fan_in, fan_out } => {
                Draws::new(seed, name).normal(values, ratio(2, fan_in + fan_out));
            }
            Init::TruncNormal { std } => {
                Draws::new(seed, name).trunc_normal(values, f64::from(std));
            }
        }
    }
}

/// √(gain / fan).
fn ratio(gain: u32, fan: usize) -> f64 {
    (f64::from(gain) / fan.max(1) as f64).sqrt()
}

/// The draws of one parameter.
struct Draws {
    key: [u32; 2],
}

impl Draws {
    fn new(seed: u64, name: &str) -> Self {
        Draws { key: threefry(key(seed), key(fnv1a(name))) }
    }

    /// Two numbers in (0, 1), the same at every call with these arguments.
    fn at(&self, position: usize, attempt: u32) -> [f64; 2] {
        // 2⁴⁸ values and 2¹⁶ attempts are more than any parameter has.
        let [low, high] = key(position as u64);
        threefry(self.key, [low, high | attempt << 16]).map(|bits| (f64::from(bits) + 0.5) * (-32f64).exp2())
    }

    fn uniform(&self, values: &mut [f32], bound: f64) {
        for (position, value) in values.iter_mut().enumerate() {
            *value = ((2.0 * self.at(position, 0)[0] - 1.0) * bound) as f32;
        }
    }

    /// Box and Muller's transform of the two uniform numbers.
    fn standard(&self, position: usize, attempt: u32) -> f64 {
        let [u, v] = self.at(position, attempt);
        (-2.0 * u.ln()).sqrt() * (core::f64::consts::TAU * v).cos()
    }

    fn normal(&self, values: &mut [f32], std: f64) {
        for (position, value) in values.iter_mut().enumerate() {
            *value = (self.standard(position, 0) * std) as f32;
        }
    }

    fn trunc_normal(&self, values: &mut [f32], std: f64) {
        for (position, value) in values.iter_mut().enumerate() {
            let draw = (0..1 << 16).map(|attempt| self.standard(position, attempt)).find(|z| z.abs() <= 2.0);
            *value = (draw.unwrap_or(0.0) * std) as f32;
        }
    }
}

/// The 64-bit FNV-1a hash (Fowler, Noll and Vo).
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

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
        let uniform = |bound: f64| bound / 3f64.sqrt();
        // A normal cut at two standard deviations has 0.8796 of its standard deviation.
        for (init, std, bound) in [
            (Init::Normal { std: 0.02 }, 0.02, f64::INFINITY),
            (Init::Uniform { bound: 0.5 }, uniform(0.5), 0.5),
            (Init::KaimingUniform { fan_in: 16 }, uniform(0.25), 0.25),
            (Init::BiasUniform { fan_in: 4 }, uniform(0.5), 0.5),
            (Init::KaimingNormal { fan_in: 8 }, 0.5, f64::INFINITY),
            (Init::XavierUniform { fan_in: 10, fan_out: 14 }, uniform(0.5), 0.5),
            (Init::XavierNormal { fan_in: 3, fan_out: 5 }, 0.5, f64::INFINITY),
            (Init::TruncNormal { std: 0.02 }, 0.02 * 0.8796, 0.04),
        ] {
            let values = draw(init, 7, "weight");
            let (mean, found) = moments(&values);
            assert!(mean.abs() < 0.03 * std, "{init:?}: mean {mean}");
            assert!((found / std - 1.0).abs() < 0.03, "{init:?}: std {found}");
            let largest = values.iter().fold(0f32, |a, x| a.max(x.abs()));
            assert!(f64::from(largest) <= bound * 1.000_001, "{init:?}: {largest}");
        }
    }

    #[test]
    fn a_value_depends_on_seed_and_name_alone() {
        let init = Init::Normal { std: 1.0 };
        assert_eq!(draw(init, 1, "a"), draw(init, 1, "a"));
        assert_ne!(draw(init, 1, "a"), draw(init, 2, "a"));
        assert_ne!(draw(init, 1, "a"), draw(init, 1, "b"));
        let mut short = [0.0; 5];
        init.fill(1, "a", &mut short);
        assert_eq!(draw(init, 1, "a")[..5], short);
    }
}
