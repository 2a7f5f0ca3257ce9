//! Shared parts of the tests.

pub mod narrow;
pub mod reference;

use precast_compiler::ir::DType;

/// Numbers between −1 and 1, the same in every run.
pub fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9) ^ 0x85EB_CA6B;
    let mut number = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / u32::MAX as f32 * 2.0 - 1.0
    };
    (0..count).map(|_| number()).collect()
}

/// So many rows of such numbers.
pub fn rows<const N: usize>(count: usize, seed: u32) -> Vec<[f32; N]> {
    let mut all = vec![[0.0; N]; count];
    all.as_flattened_mut().copy_from_slice(&numbers(count * N, seed));
    all
}

/// Words that begin where an f64 may.
#[derive(Debug)]
pub struct Aligned {
    pairs: Vec<f64>,
    len: usize,
}

impl Aligned {
    /// A copy of words.
    pub fn new(words: &[f32]) -> Aligned {
        let bits = |word: Option<&f32>| u64::from(word.map_or(0, |word| word.to_bits()));
        let pair = |pair: &[f32]| f64::from_bits(bits(pair.first()) | bits(pair.get(1)) << 32);
        Aligned { pairs: words.chunks(2).map(pair).collect(), len: words.len() }
    }

    /// The words.
    pub fn words(&self) -> &[f32] {
        &precast::__rt::words(&self.pairs)[..self.len]
    }
}

/// The words of an element.
pub fn words_of(dtype: DType) -> usize {
    dtype.bits() as usize / 32
}

/// A device of the adapter of [`gpu`] whose limits are changed.
///
/// # Panics
/// As [`gpu`], and where the adapter has less.
#[cfg(feature = "gpu")]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
pub fn limited(change: impl FnOnce(&mut wgpu::Limits)) -> Option<precast::Gpu> {
    let name = gpu()?.name();
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    let adapter = adapters.into_iter().find(|adapter| adapter.get_info().name == name).unwrap();
    let mut required_limits = adapter.limits();
    change(&mut required_limits);
    let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
    Some(precast::Gpu::from_device(device, queue))
}

/// An adapter, for which all is compiled anew; without one the test fails, unless the environment says that there is none.
///
/// # Panics
/// Where there is none.
#[cfg(feature = "gpu")]
#[expect(clippy::panic, reason = "tests fail by panicking")]
pub fn gpu() -> Option<precast::Gpu> {
    match precast::Gpu::options().without_cache().open() {
        Ok(gpu) => Some(gpu),
        Err(error) if std::env::var_os("PRECAST_WITHOUT_GPU").is_some() => {
            println!("not run: {error}");
            None
        }
        Err(error) => panic!("{error}; PRECAST_WITHOUT_GPU=1 lets GPU tests pass on machines without one"),
    }
}

/// The programs of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}
