//! Vectors as arrays, whose lanes are written out one by one: LLVM makes instructions of them.
//!
//! In: the lane numbers of a vector and an expression for a lane. Out: methods of [`Wide`](super::Wide). Always: plain Rust
//! arithmetic, which stands here once for every number of lanes. A set that uses these macros has methods that take its vectors
//! apart into arrays and make vectors of arrays: `floats` and `of_floats` for f32, `integers` for i32, `words` for u32,
//! `doubles` for f64, and `truths` for masks.

/// The array of a value for each lane, written out: LLVM would unroll a loop for each operation of a kernel, which takes
/// several times as long.
macro_rules! each_lane {
    ($lane:ident [$($number:literal)*] => $value:expr) => {
        [$({
            let $lane: usize = $number;
            $value
        }),*]
    };
}
pub(super) use each_lane;

/// The array of the lanes of a vector.
macro_rules! apart {
    ($self:ident F $x:expr) => {
        $self.floats($x)
    };
    ($self:ident I $x:expr) => {
        $self.integers($x)
    };
    ($self:ident U $x:expr) => {
        $self.words($x)
    };
    ($self:ident D $x:expr) => {
        $self.doubles($x)
    };
    ($self:ident M $x:expr) => {
        $self.truths($x)
    };
    ($self:ident $t:ident $x:expr) => {
        $x
    };
}
pub(super) use apart;

/// The vector of the lanes of an array.
macro_rules! together {
    ($self:ident F $x:expr) => {
        $self.of_floats($x)
    };
    ($self:ident I $x:expr) => {
        $self.of_integers($x)
    };
    ($self:ident U $x:expr) => {
        $self.of_words($x)
    };
    ($self:ident D $x:expr) => {
        $self.of_doubles($x)
    };
    ($self:ident M $x:expr) => {
        $self.of_truths($x)
    };
    ($self:ident $t:ident $x:expr) => {
        $x
    };
}
pub(super) use together;

/// Methods that do the same in every lane.
macro_rules! lanewise {
    ($self:ident $lanes:tt; $($name:ident($($arg:ident: $t:ident),+) -> $out:ident = $value:expr;)*) => {$(
        #[inline(always)]
        fn $name($self, $($arg: Self::$t),+) -> Self::$out {
            $(let $arg = $crate::lanes::apart!($self $t $arg);)+
            $crate::lanes::together!($self $out $crate::lanes::each_lane!(lane $lanes => {
                $(let $arg = $arg[lane];)+
                $value
            }))
        }
    )*};
}
pub(super) use lanewise;

/// Methods that fold an array: the halves, then the halves of what is left.
macro_rules! halving {
    ($self:ident; $($name:ident: $t:ident -> $e:ty, $a:ident $b:ident = $value:expr;)*) => {$(
        #[inline(always)]
        fn $name($self, x: Self::$t) -> $e {
            let mut lanes = $crate::lanes::apart!($self $t x);
            let mut half = lanes.len() / 2;
            while half > 0 {
                for lane in 0..half {
                    let ($a, $b) = (lanes[lane], lanes[lane + half]);
                    lanes[lane] = $value;
                }
                half /= 2;
            }
            lanes[0]
        }
    )*};
}
pub(super) use halving;

/// The reads and writes of vectors that are arrays.
macro_rules! array_memory {
    ($self:ident $lanes:tt; $($t:ident $e:ty: $load:ident $load_masked:ident $store:ident $store_masked:ident $gather:ident $scatter:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $load($self, p: *const $e) -> Self::$t {
            // SAFETY: `p` is valid for reading `LANES` words by this method's contract; no alignment is assumed.
            unsafe { p.cast::<Self::$t>().read_unaligned() }
        }
        #[inline(always)]
        unsafe fn $load_masked($self, p: *const $e, m: Self::M) -> Self::$t {
            let m = $self.truths(m);
            $crate::lanes::each_lane!(lane $lanes => match m[lane] {
                false => <$e>::default(),
                // SAFETY: the lane is in `m`, at each lane of which `p` is valid for reading by contract.
                true => unsafe { p.wrapping_add(lane).read_unaligned() },
            })
        }
        #[inline(always)]
        unsafe fn $store($self, p: *mut $e, v: Self::$t) {
            // SAFETY: `p` is valid for writing `LANES` words by this method's contract; no alignment is assumed.
            unsafe { p.cast::<Self::$t>().write_unaligned(v) }
        }
        #[inline(always)]
        unsafe fn $store_masked($self, p: *mut $e, m: Self::M, v: Self::$t) {
            let m = $self.truths(m);
            $crate::lanes::each_lane!(lane $lanes => if m[lane] {
                // SAFETY: the lane is in `m`, at each lane of which `p` is valid for writing by contract.
                unsafe { p.wrapping_add(lane).write_unaligned(v[lane]) };
            });
        }
        #[inline(always)]
        unsafe fn $gather($self, p: *const $e, idx: Self::I, m: Self::M) -> Self::$t {
            let (idx, m) = ($self.integers(idx), $self.truths(m));
            $crate::lanes::each_lane!(lane $lanes => match m[lane] {
                false => <$e>::default(),
                // SAFETY: the lane is in `m`, at the index of each lane of which `p` is valid for reading by contract.
                true => unsafe { p.wrapping_offset(idx[lane] as isize).read_unaligned() },
            })
        }
        #[inline(always)]
        unsafe fn $scatter($self, p: *mut $e, idx: Self::I, m: Self::M, v: Self::$t) {
            let (idx, m) = ($self.integers(idx), $self.truths(m));
            $crate::lanes::each_lane!(lane $lanes => if m[lane] {
                // SAFETY: the lane is in `m`, at the index of each lane of which `p` is valid for writing by contract.
                unsafe { p.wrapping_offset(idx[lane] as isize).write_unaligned(v[lane]) };
            });
        }
    )*};
}
pub(super) use array_memory;

/// `x`, where a set's conversion is asked for.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn same<S, T>(_: S, x: T) -> T {
    x
}

/// The reads and writes of integers with the instructions for f64, which move bits as they are.
#[cfg(target_arch = "x86_64")]
macro_rules! memory_as_doubles {
    ($self:ident; $($t:ident $e:ty: $load:ident $load_masked:ident $store:ident $store_masked:ident $gather:ident $scatter:ident
        = $of_bits:path, $to_bits:path;)*) => {$(
        #[inline(always)]
        unsafe fn $load($self, p: *const $e) -> Self::$t {
            // SAFETY: the contract is that of f64, which has as many bytes.
            $of_bits($self, $self.bits_d(unsafe { $self.load_raw_d(p.cast()) }))
        }
        #[inline(always)]
        unsafe fn $load_masked($self, p: *const $e, m: Self::M) -> Self::$t {
            // SAFETY: the contract is that of f64, which has as many bytes.
            $of_bits($self, $self.bits_d(unsafe { $self.load_masked_raw_d(p.cast(), m) }))
        }
        #[inline(always)]
        unsafe fn $store($self, p: *mut $e, v: Self::$t) {
            // SAFETY: the contract is that of f64, which has as many bytes.
            unsafe { $self.store_raw_d(p.cast(), $self.d_of_bits($to_bits($self, v))) }
        }
        #[inline(always)]
        unsafe fn $store_masked($self, p: *mut $e, m: Self::M, v: Self::$t) {
            // SAFETY: the contract is that of f64, which has as many bytes.
            unsafe { $self.store_masked_raw_d(p.cast(), m, $self.d_of_bits($to_bits($self, v))) }
        }
        #[inline(always)]
        unsafe fn $gather($self, p: *const $e, idx: Self::I, m: Self::M) -> Self::$t {
            // SAFETY: the contract is that of f64, which has as many bytes.
            $of_bits($self, $self.bits_d(unsafe { $self.gather_raw_d(p.cast(), idx, m) }))
        }
        #[inline(always)]
        unsafe fn $scatter($self, p: *mut $e, idx: Self::I, m: Self::M, v: Self::$t) {
            // SAFETY: the contract is that of f64, which has as many bytes.
            unsafe { $self.scatter_raw_d(p.cast(), idx, m, $self.d_of_bits($to_bits($self, v))) }
        }
    )*};
    ($self:ident) => {
        $crate::lanes::memory_as_doubles! { $self;
            L i64: load_raw_l load_masked_raw_l store_raw_l store_masked_raw_l gather_raw_l scatter_raw_l
                = $crate::Wide::l_from_q, $crate::Wide::q_from_l;
            Q u64: load_raw_q load_masked_raw_q store_raw_q store_masked_raw_q gather_raw_q scatter_raw_q
                = $crate::lanes::same, $crate::lanes::same;
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(super) use memory_as_doubles;

/// The methods of [`Wide`](super::Wide) on 64-bit integers, for vectors of them that are arrays.
macro_rules! long_integers {
    ($self:ident $lanes:tt) => {
        #[inline(always)]
        fn splat_l($self, x: i64) -> Self::L {
            [x; LANES]
        }
        #[inline(always)]
        fn splat_q($self, x: u64) -> Self::Q {
            [x; LANES]
        }
        #[inline(always)]
        fn shl_const_l<const N: u32>($self, x: Self::L) -> Self::L {
            $self.shl_l(x, [i64::from(N); LANES])
        }
        #[inline(always)]
        fn shr_const_l<const N: u32>($self, x: Self::L) -> Self::L {
            $self.shr_l(x, [i64::from(N); LANES])
        }
        #[inline(always)]
        fn shl_const_q<const N: u32>($self, x: Self::Q) -> Self::Q {
            $self.shl_q(x, [u64::from(N); LANES])
        }
        #[inline(always)]
        fn shr_const_q<const N: u32>($self, x: Self::Q) -> Self::Q {
            $self.shr_q(x, [u64::from(N); LANES])
        }

        $crate::lanes::lanewise! { $self $lanes;
            add_l(a: L, b: L) -> L = a.wrapping_add(b);
            sub_l(a: L, b: L) -> L = a.wrapping_sub(b);
            mul_l(a: L, b: L) -> L = a.wrapping_mul(b);
            div_l(a: L, b: L) -> L = if b == 0 { 0 } else { a.wrapping_div(b) };
            rem_l(a: L, b: L) -> L = if b == 0 { 0 } else { a.wrapping_rem(b) };
            max_l(a: L, b: L) -> L = if a > b { a } else { b };
            min_l(a: L, b: L) -> L = if a < b { a } else { b };
            neg_l(x: L) -> L = x.wrapping_neg();
            abs_l(x: L) -> L = x.wrapping_abs();
            and_l(a: L, b: L) -> L = a & b;
            or_l(a: L, b: L) -> L = a | b;
            xor_l(a: L, b: L) -> L = a ^ b;
            not_l(x: L) -> L = !x;
            shl_l(x: L, by: L) -> L = x << (by & 63);
            shr_l(x: L, by: L) -> L = x >> (by & 63);
            eq_l(a: L, b: L) -> M = a == b;
            lt_l(a: L, b: L) -> M = a < b;
            le_l(a: L, b: L) -> M = a <= b;
            select_l(m: M, a: L, b: L) -> L = if m { a } else { b };

            add_q(a: Q, b: Q) -> Q = a.wrapping_add(b);
            sub_q(a: Q, b: Q) -> Q = a.wrapping_sub(b);
            mul_q(a: Q, b: Q) -> Q = a.wrapping_mul(b);
            div_q(a: Q, b: Q) -> Q = a.checked_div(b).unwrap_or(0);
            rem_q(a: Q, b: Q) -> Q = a.checked_rem(b).unwrap_or(0);
            max_q(a: Q, b: Q) -> Q = if a > b { a } else { b };
            min_q(a: Q, b: Q) -> Q = if a < b { a } else { b };
            and_q(a: Q, b: Q) -> Q = a & b;
            or_q(a: Q, b: Q) -> Q = a | b;
            xor_q(a: Q, b: Q) -> Q = a ^ b;
            not_q(x: Q) -> Q = !x;
            shl_q(x: Q, by: Q) -> Q = x << (by & 63);
            shr_q(x: Q, by: Q) -> Q = x >> (by & 63);
            eq_q(a: Q, b: Q) -> M = a == b;
            lt_q(a: Q, b: Q) -> M = a < b;
            le_q(a: Q, b: Q) -> M = a <= b;
            select_q(m: M, a: Q, b: Q) -> Q = if m { a } else { b };

            bits_d(x: D) -> Q = x.to_bits();
            d_of_bits(x: Q) -> D = f64::from_bits(x);
            d_from_l(x: L) -> D = x as f64;
            d_from_q(x: Q) -> D = x as f64;
            f_from_l(x: L) -> F = x as f32;
            f_from_q(x: Q) -> F = x as f32;
            i_from_l(x: L) -> I = x as i32;
            i_from_q(x: Q) -> I = x as i32;
            u_from_l(x: L) -> U = x as u32;
            u_from_q(x: Q) -> U = x as u32;
            l_from_f(x: F) -> L = x as i64;
            l_from_d(x: D) -> L = x as i64;
            l_from_i(x: I) -> L = i64::from(x);
            l_from_u(x: U) -> L = i64::from(x);
            l_from_q(x: Q) -> L = x.cast_signed();
            q_from_f(x: F) -> Q = x as u64;
            q_from_d(x: D) -> Q = x as u64;
            q_from_i(x: I) -> Q = x as u64;
            q_from_u(x: U) -> Q = u64::from(x);
            q_from_l(x: L) -> Q = x.cast_unsigned();
        }

        $crate::lanes::halving! { $self;
            reduce_add_l: L -> i64, a b = a.wrapping_add(b);
            reduce_mul_l: L -> i64, a b = a.wrapping_mul(b);
            reduce_max_l: L -> i64, a b = if a > b { a } else { b };
            reduce_min_l: L -> i64, a b = if a < b { a } else { b };
            reduce_add_q: Q -> u64, a b = a.wrapping_add(b);
            reduce_mul_q: Q -> u64, a b = a.wrapping_mul(b);
            reduce_max_q: Q -> u64, a b = if a > b { a } else { b };
            reduce_min_q: Q -> u64, a b = if a < b { a } else { b };
        }
    };
}
pub(super) use long_integers;

/// The methods that take the registers of a set apart and put them together.
#[cfg(target_arch = "x86_64")]
macro_rules! as_arrays {
    ($set:ident, $floats:ty, $integers:ty, $doubles:ty) => {
        $crate::lanes::as_arrays! { $set;
            floats of_floats: $floats, [f32; LANES];
            integers of_integers: $integers, [i32; LANES];
            words of_words: $integers, [u32; LANES];
            doubles of_doubles: [$doubles; 2], [f64; LANES];
        }
    };
    ($set:ident; $($apart:ident $together:ident: $vector:ty, $array:ty;)*) => {
        impl $set {
            $(
            #[inline(always)]
            fn $apart(self, x: $vector) -> $array {
                // SAFETY: registers and arrays of as many lanes have the same bytes, which are valid in both.
                unsafe { core::mem::transmute::<$vector, $array>(x) }
            }
            #[inline(always)]
            fn $together(self, x: $array) -> $vector {
                // SAFETY: registers and arrays of as many lanes have the same bytes, which are valid in both.
                unsafe { core::mem::transmute::<$array, $vector>(x) }
            }
            )*
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(super) use as_arrays;
