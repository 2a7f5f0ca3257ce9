//! What only this crate can implement: memory is touched as far as its numbers say.

/// A supertrait that nobody else can name.
pub trait Sealed {}

#[cfg(feature = "stored")]
impl Sealed for crate::Bf16 {}
#[cfg(feature = "stored")]
impl Sealed for crate::F16 {}
#[cfg(feature = "stored")]
impl Sealed for crate::I8 {}
impl Sealed for crate::Full {}
impl Sealed for crate::Part {}
#[cfg(any(test, not(target_arch = "x86_64")))]
impl Sealed for crate::Portable {}
#[cfg(target_arch = "x86_64")]
impl Sealed for crate::Sse2 {}
#[cfg(target_arch = "x86_64")]
impl Sealed for crate::Avx2 {}
#[cfg(target_arch = "x86_64")]
impl Sealed for crate::Avx512 {}
impl<S: crate::Simd, const STRICT: bool> Sealed for crate::Twice<S, STRICT> {}
impl Sealed for crate::Isa {}
impl Sealed for crate::isa::Set {}
#[cfg(feature = "deterministic")]
impl Sealed for crate::Deterministic {}
