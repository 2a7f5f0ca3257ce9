//! A transformer whose parameters are stored in f32, bf16, f16 and int8: what of it is resident, and how fast it is.
//!
//! In: a number of threads. Out: for each type of the parameters the bytes by which the process has grown when a place was
//! decoded and 128 were read, the median microseconds of a place, what part of the speed at which memory is read that is, and
//! the median milliseconds of 128 places; and the largest difference from f32, relative to the largest number. Always: one model at
//! a time, of parameters that no cache holds.

use crate::command::Part;
use precast::View;
use precast::prelude::*;
use std::hint::black_box;
use std::time::Instant;

model! {
    /// 12 blocks, 768 wide, 12 heads, inner 3072: 85 million parameters, as GPT-2 without its embeddings.
    pub struct Decoder(dim = 768, heads = 12) { blocks: [Block(dim, heads); 12], norm: LayerNorm(dim) }

    struct Block(dim, heads) {
        norm1: LayerNorm(dim), qkv: Linear(dim, 3 * dim), output: Linear(dim, dim),
        norm2: LayerNorm(dim), up: Linear(dim, 4 * dim), down: Linear(4 * dim, dim),
    }

    impl Block {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let (q, k, v) = split(self.qkv(self.norm1(x)), 3, axis = -1);
            let seen = attend(heads(q, heads), heads(k, heads), heads(v, heads), causal = true);
            let x = x + self.output(merge_heads(seen));
            x + self.down(gelu(self.up(self.norm2(x))))
        }
    }

    impl Decoder {
        /// Any number of places.
        pub fn read(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let mut x = x;
            for block in self.blocks { x = block(x); }
            self.norm(x)
        }
    }

    #[model(parameters = bf16)]
    pub struct Bf16 = Decoder;

    #[model(parameters = f16)]
    pub struct F16 = Decoder;

    #[model(parameters = int8)]
    pub struct Int8 = Decoder;
}

model! {
    /// What reads memory and does little else.
    pub struct Sum {}

    impl Sum {
        /// The sum of each row.
        pub fn rows(&self, x: f32[N, 8192]) -> f32[N] { sum(x, axis = -1) }
    }
}

/// Bytes of all parameters in f32.
const BYTES: f64 = (4 * Decoder::PARAMS) as f64;

/// How often a place is decoded, and how often 128 are read.
const TURNS: [usize; 2] = [30, 5];

pub(super) fn resident(part: &Part) {
    precast::set_threads(part.threads);
    let speed = speed().unwrap_or(f64::NAN);
    println!("{} threads, which read memory at {:.1} GB/s; {} parameters", part.threads, speed / 1e9, Decoder::PARAMS);
    let x: Vec<[f32; 768]> = (0..128).map(|t| std::array::from_fn(|k| ((t * 31 + k) as f32 * 0.7).sin())).collect();
    let mut exact: Vec<f32> = vec![];
    macro_rules! one {
        ($model:ident, $name:literal, $part:expr) => {
            if $name.contains(&part.only) {
                let before = bytes();
                let model = $model::init(0);
                let mut session = model.session();
                let mut run = |places: usize, turns: usize| -> precast::Result<(f64, Vec<f32>)> {
                    let mut times = vec![];
                    for _ in 0..turns {
                        let start = Instant::now();
                        black_box(session.read(View::new(&x[..places], [1, places])?)?.data()[0][0]);
                        times.push(start.elapsed().as_secs_f64());
                    }
                    times.sort_by(f64::total_cmp);
                    let last = session.read(View::new(&x[..places], [1, places])?)?.data().as_flattened().to_vec();
                    Ok((times[turns / 2], last))
                };
                match run(128, TURNS[1]).and_then(|many| Ok((many, run(1, TURNS[0])?))) {
                    Ok(((many, found), (place, _))) => {
                        let grown = bytes() - before;
                        if exact.is_empty() {
                            exact.clone_from(&found);
                        }
                        let largest = exact.iter().fold(0.0f32, |most, x| most.max(x.abs()));
                        let error = found.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / largest;
                        println!(
                            "{:<5} {:>6.1} MB ({:>4.1} %)   place {:>7.0} µs, {:>5.1} % of the speed of memory   128 places {:>6.1} ms   error {error:.1e}",
                            $name,
                            grown / 1e6,
                            100.0 * grown / BYTES,
                            place * 1e6,
                            100.0 * $part * BYTES / place / speed,
                            many * 1e3,
                        );
                    }
                    Err(why) => println!("{}: {why}", $name),
                }
            }
        };
    }
    one!(Decoder, "f32", 1.0);
    one!(Bf16, "bf16", 0.5);
    one!(F16, "f16", 0.5);
    one!(Int8, "int8", 0.25);
}

/// What of the process is in memory, in bytes; 0 where the system does not say.
fn bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or_default() * 1024.0
}

/// Bytes in a second that are read of memory that no cache holds, by sums.
fn speed() -> precast::Result<f64> {
    let (model, numbers) = (Sum::init(0), vec![[1.0f32; 8192]; 1 << 14]);
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        black_box(model.rows(&numbers)?);
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(size_of_val(numbers.as_slice()) as f64 / best)
}
