//! Shared parts of the tests.

pub mod reference;

/// An adapter; without one the test fails, unless the environment says that there is none.
///
/// # Panics
/// Where there is none.
#[cfg(feature = "gpu")]
#[expect(clippy::panic, reason = "tests fail by panicking")]
pub fn gpu() -> Option<precast::Gpu> {
    match precast::Gpu::new() {
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
