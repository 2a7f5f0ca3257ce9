//! Attention on a GPU, with its derivatives: heads of several sizes, lengths that are no multiples of tiles, masks, and keys that
//! nobody sees.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast::prelude::*;
use precast::{Tensor, View};
use tests::{gpu, numbers};

/// Query heads of an example, and the heads of keys and values that they share.
const HEADS: [usize; 2] = [8, 4];

/// What hides keys.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mask {
    Nothing,
    Causal,
    Added,
}

/// The sizes of an example.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    batch: usize,
    queries: usize,
    keys: usize,
    features: usize,
    values: usize,
}

/// Queries, keys, values, and the cotangent of the output.
struct Arguments([Vec<f32>; 4], Vec<f32>);

impl Sizes {
    fn arguments(&self) -> Arguments {
        let Sizes { batch, queries, keys, features, values } = *self;
        let [heads, shared] = HEADS.map(|heads| heads * batch);
        let lens =
            [heads * queries * features, shared * keys * features, shared * keys * values, heads * queries * values];
        let mut mask = numbers(queries * keys, 5);
        // Each key is hidden from some, and the second query sees none.
        mask.iter_mut().for_each(|x| *x = if *x < -0.7 { f32::NEG_INFINITY } else { 2.0 * *x });
        mask.iter_mut().skip(keys).take(keys).for_each(|x| *x = f32::NEG_INFINITY);
        let mut seed = 0;
        let mut of = lens.map(|len| {
            seed += 1;
            numbers(len, seed)
        });
        of[0].iter_mut().for_each(|x| *x *= 3.0);
        Arguments(of, mask)
    }

    /// The output and the cotangents of queries, keys and values, in 64 bits.
    fn oracle(&self, Arguments([q, k, v, g], added): &Arguments, mask: Mask) -> [Vec<f64>; 4] {
        let Sizes { batch, queries, keys, features, values } = *self;
        let dot = |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum() };
        let mut results = [q, k, v, g].map(|x| vec![0.0; x.len()]);
        results.rotate_right(1);
        let [out, dq, dk, dv] = &mut results;
        let scale = f64::from((features as f32).sqrt().recip());
        for (row, head) in (0..batch * HEADS[0] * queries).map(|row| (row, row / queries)) {
            let t = row % queries;
            let first = head / (HEADS[0] / HEADS[1]) * keys;
            let [q_row, g_row] = [(q, features), (g, values)].map(|(x, n)| &x[row * n..][..n]);
            let score = |s: usize| match mask {
                Mask::Causal if s > t => f64::NEG_INFINITY,
                Mask::Added => f64::from(added[t * keys + s]),
                _ => 0.0,
            } + scale * dot(q_row, &k[(first + s) * features..][..features]);
            let scores: Vec<f64> = (0..keys).map(score).collect();
            let most = scores.iter().copied().fold(f64::MIN, f64::max);
            let total: f64 = scores.iter().map(|s| (s - most).exp()).sum();
            let weights = scores.iter().map(|s| if total == 0.0 { 0.0 } else { (s - most).exp() / total });
            let weights: Vec<f64> = weights.collect();
            let slopes: Vec<f64> = (0..keys).map(|s| dot(g_row, &v[(first + s) * values..][..values])).collect();
            let mean: f64 = weights.iter().zip(&slopes).map(|(w, s)| w * s).sum();
            for (s, (weight, slope)) in weights.iter().zip(&slopes).enumerate() {
                let (key, ds) = (first + s, scale * weight * (slope - mean));
                for c in 0..features {
                    dq[row * features + c] += ds * f64::from(k[key * features + c]);
                    dk[key * features + c] += ds * f64::from(q_row[c]);
                }
                for c in 0..values {
                    out[row * values + c] += weight * f64::from(v[key * values + c]);
                    dv[key * values + c] += weight * f64::from(g_row[c]);
                }
            }
        }
        results
    }
}

/// Whether results are those of the oracle.
#[track_caller]
fn agree(what: &str, found: &[Vec<f32>; 4], wanted: &[Vec<f64>; 4]) {
    for (name, (found, wanted)) in ["output", "queries", "keys", "values"].iter().zip(found.iter().zip(wanted)) {
        assert_eq!(found.len(), wanted.len());
        // Where a query has one key its slopes cancel, up to roundings.
        let most = wanted.iter().fold(0.1, |most: f64, x| most.max(x.abs()));
        for (at, (a, b)) in found.iter().zip(wanted).enumerate() {
            assert!((f64::from(*a) - b).abs() <= 2e-5 * most, "{what}: {name}[{at}] is {a} on the GPU, not {b}");
        }
    }
}

fn flat<const N: usize, const R: usize>(tensor: &Tensor<[f32; N], R>) -> Vec<f32> {
    tensor.data().as_flattened().to_vec()
}

macro_rules! attention {
    ($($name:ident $model:ident $features:literal $values:literal,)*) => { $(
        #[allow(unreachable_pub, reason = "a model is public")]
        mod $name {
            use super::*;

            model! {
                /// Attention of heads of a size.
                pub struct $model {}

                impl $model {
                    /// To all keys.
                    pub fn all(&self,
                        q: f32[B, 8, T, $features], k: f32[B, 4, S, $features], v: f32[B, 4, S, $values],
                        g: f32[B, 8, T, $values],
                    ) -> (f32[B, 8, T, $values], f32[B, 8, T, $features], f32[B, 4, S, $features], f32[B, 4, S, $values]) {
                        let (dq, dk, dv) = grad(|q, k, v| sum(attend(q, k, v) * g))(q, k, v);
                        (attend(q, k, v), dq, dk, dv)
                    }

                    /// To the keys before.
                    pub fn causal(&self,
                        q: f32[B, 8, T, $features], k: f32[B, 4, S, $features], v: f32[B, 4, S, $values],
                        g: f32[B, 8, T, $values],
                    ) -> (f32[B, 8, T, $values], f32[B, 8, T, $features], f32[B, 4, S, $features], f32[B, 4, S, $values]) {
                        let (dq, dk, dv) = grad(|q, k, v| sum(attend(q, k, v, causal = true) * g))(q, k, v);
                        (attend(q, k, v, causal = true), dq, dk, dv)
                    }

                    /// With a mask that is added.
                    pub fn masked(&self,
                        q: f32[B, 8, T, $features], k: f32[B, 4, S, $features], v: f32[B, 4, S, $values],
                        g: f32[B, 8, T, $values], mask: f32[T, S],
                    ) -> (f32[B, 8, T, $values], f32[B, 8, T, $features], f32[B, 4, S, $features], f32[B, 4, S, $values]) {
                        let mask = reshape(mask, [1, 1, T, S]);
                        let (dq, dk, dv) = grad(|q, k, v| sum(attend(q, k, v, mask) * g))(q, k, v);
                        (attend(q, k, v, mask), dq, dk, dv)
                    }
                }
            }

            #[test]
            fn as_the_oracle() {
                let Some(gpu) = gpu() else { return };
                let net = $model::init(1).on(&gpu).unwrap();
                for (batch, queries, keys) in [(1, 1, 1), (2, 7, 7), (1, 65, 130), (1, 130, 65), (1, 130, 130), (1, 64, 64)] {
                    let sizes = Sizes { batch, queries, keys, features: $features, values: $values };
                    let arguments = sizes.arguments();
                    let Arguments([q, k, v, g], mask) = &arguments;
                    let q = View::new(q.as_chunks::<$features>().0, [batch, 8, queries]).unwrap();
                    let k = View::new(k.as_chunks::<$features>().0, [batch, 4, keys]).unwrap();
                    let v = View::new(v.as_chunks::<$values>().0, [batch, 4, keys]).unwrap();
                    let g = View::new(g.as_chunks::<$values>().0, [batch, 8, queries]).unwrap();
                    let mask = View::new(mask, [queries, keys]).unwrap();
                    for kind in [Mask::Nothing, Mask::Causal, Mask::Added] {
                        let (y, dq, dk, dv) = match kind {
                            Mask::Nothing => net.all(q, k, v, g).unwrap(),
                            Mask::Causal => net.causal(q, k, v, g).unwrap(),
                            Mask::Added => net.masked(q, k, v, g, mask).unwrap(),
                        };
                        let found = [flat(&y), flat(&dq), flat(&dk), flat(&dv)];
                        agree(&format!("{kind:?} {sizes:?}"), &found, &sizes.oracle(&arguments, kind));
                    }
                }
            }
        }
    )* };
}

attention! {
    heads8 Heads8 8 8,
    heads16 Heads16 16 12,
    heads20 Heads20 20 20,
    heads64 Heads64 64 64,
    uneven Uneven 72 33,
    heads128 Heads128 128 128,
    heads192 Heads192 192 192,
}

model! {
    /// Attention whose lengths are known, or whose scores are large.
    pub struct Known {}

    impl Known {
        /// Few heads of a known length.
        pub fn short(&self, x: f32[3, 70, 48]) -> f32[3, 70, 48] { attend(x, x, x, causal = true) }

        /// How much each value weighs, over all queries.
        pub fn weights(&self, q: f32[B, T, 20], k: f32[B, S, 20], v: f32[B, S]) -> f32[B, S] {
            grad(|v| sum(attend(q, k, reshape(v, [B, S, 1]))))(v)
        }
    }
}

#[test]
fn a_known_length() {
    let Some(gpu) = gpu() else { return };
    let host = Known::init(1);
    let net = host.on(&gpu).unwrap();
    let mut x = [[[0.0; 48]; 70]; 3];
    let all = x.as_flattened_mut().as_flattened_mut();
    all.iter_mut().zip(numbers(3 * 70 * 48, 1)).for_each(|(x, y)| *x = y);
    // NaN reaches the queries that see it.
    x[1][69][3] = f32::NAN;
    let [on_cpu, on_gpu] = [host.short(&x).unwrap(), net.short(&x).unwrap()];
    let pairs = on_cpu.as_flattened().as_flattened().iter().zip(on_gpu.as_flattened().as_flattened());
    for (at, (a, b)) in pairs.enumerate() {
        let hidden = (70 + 64..2 * 70).contains(&(at / 48));
        assert!(hidden || (a - b).abs() <= 2e-6, "element {at} is {a} on the CPU, {b} on the GPU");
    }
    assert!(on_gpu[1][69].iter().all(|x| x.is_nan()));
}

#[test]
fn weights_of_large_scores_add_up_to_one() {
    let Some(gpu) = gpu() else { return };
    let net = Known::init(3).on(&gpu).unwrap();
    for (queries, keys) in [(3, 3), (70, 1), (1, 1), (40, 90)] {
        for factor in [1.0, 30.0, 5e3, 5e5] {
            let [q, k] = [queries, keys].map(|rows| numbers(2 * rows * 20, 7).iter().map(|x| x * factor).collect());
            let [q, k]: [Vec<f32>; 2] = [q, k];
            let q = View::new(q.as_chunks::<20>().0, [2, queries]).unwrap();
            let k = View::new(k.as_chunks::<20>().0, [2, keys]).unwrap();
            let v = vec![1.0; 2 * keys];
            let weights = net.weights(q, k, View::new(&v, [2, keys]).unwrap()).unwrap();
            let (sum, all) = (weights.data().iter().sum::<f32>(), (2 * queries) as f32);
            assert!((sum - all).abs() <= 2e-5 * all, "weights of {all} queries times {factor} add up to {sum}");
        }
    }
}
