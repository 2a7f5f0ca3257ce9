//! What the tests of lanes of 32 and of 64 bits share: an operation on every instruction set against scalar Rust.

/// One test for each operation on two vectors of `N` elements; `Simd` and what runs a kernel must be in scope.
macro_rules! binary {
    ($load:ident $store:ident $values:ident $e:ty, $same:expr; $($name:ident($a:ident, $b:ident) = $want:expr;)*) => {$(
        #[test]
        fn $name() {
            struct Both<'a>(&'a [$e], &'a [$e], &'a mut [$e]);
            impl Kernel for Both<'_> {
                #[inline(always)]
                fn run<S: Simd>(self, s: S) {
                    for at in (0..N).step_by(S::LANES) {
                        let (a, b) = (s.$load(self.0, at, Full), s.$load(self.1, at, Full));
                        s.$store(self.2, at, Full, s.$name(a, b));
                    }
                }
            }
            let (left, right) = $values();
            for isa in Isa::available() {
                let mut out = [<$e>::default(); N];
                run(isa, Both(&left, &right, &mut out));
                for (($a, $b), got) in left.into_iter().zip(right).zip(out) {
                    let want: $e = $want;
                    assert!($same(got, want), "{isa:?}: {:?} and {:?} give {got:?}, not {want:?}", $a, $b);
                }
            }
        }
    )*};
}

pub(crate) use binary;
