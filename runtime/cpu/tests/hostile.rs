//! What code without `unsafe` may ask of the kernels: whatever the numbers, a call panics or keeps to its slices. Run under
//! AddressSanitizer by `.ci/run`.

#![forbid(unsafe_code)]

use precast_cpu::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Far beyond every slice; four of it are no number.
const FAR: isize = 1 << (isize::BITS - 2);

fn refused(what: &str, call: impl FnOnce(Isa)) {
    let panic = catch_unwind(AssertUnwindSafe(|| call(Isa::best()))).expect_err(what);
    let message = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    let message = message.unwrap_or_default();
    let is_checked =
        ["contract: ", "attend: ", "recur: ", "outside a tile"].iter().any(|from| message.starts_with(from));
    assert!(is_checked, "{what} is refused where it comes in, not by `{message}`");
}

fn axes<const COUNT: usize>(axes: [(usize, Role); COUNT]) -> [Axis; COUNT] {
    axes.map(|(extent, role)| Axis { extent, role })
}

fn plain<'a, T>(data: &'a [T], strides: &'a [isize]) -> Operand<'a, T> {
    Operand { data, base: 0, strides, windows: &[] }
}

fn windowed<'a, T>(data: &'a [T], strides: &'a [isize], windows: &'a [Window<'a>]) -> Operand<'a, T> {
    Operand { data, base: 0, strides, windows }
}

/// A divisor of more than an `isize` holds is a negative one.
#[test]
fn a_window_of_no_divisor() {
    refused("a divisor", |isa| {
        let (data, mut out) = ([1.0; 64], [0.0; 64]);
        let axes = axes([(2, Role::M), (16, Role::N), (2, Role::K)]);
        let windows = [Window { base: 1 << 20, strides: &[0; 3], divisor: usize::MAX, extent: 1, stride: 1 }];
        let work = Contract { axes: &axes, lhs: windowed(&data, &[2, 0, 1], &windows), rhs: plain(&data, &[0, 1, 16]) };
        contract(
            isa,
            1,
            Algorithm::ALL,
            &work,
            &mut [Output { data: &mut out, base: 0, strides: &[16, 1, 0] }],
            &Plain,
        );
    });
}

/// Of an image of no rows nothing is read, however wide it says that it is.
#[test]
fn an_image_of_no_rows() {
    let (filters, image, mut out) = ([1.0; 12], [1.0; 64], [7.0; 28]);
    let axes = axes([(2, Role::Batch), (7, Role::N), (2, Role::N), (3, Role::K), (2, Role::K)]);
    let windows = [
        Window { base: -1, strides: &[0, 2, 0, 1, 0], divisor: 1, extent: 0, stride: 1 << 20 },
        Window { base: -1, strides: &[0, 0, 2, 0, 1], divisor: 1, extent: FAR.cast_unsigned() >> 6, stride: 1 },
    ];
    let work =
        Contract { axes: &axes, lhs: plain(&filters, &[6, 0, 0, 2, 1]), rhs: windowed(&image, &[0; 5], &windows) };
    let outs = &mut [Output { data: &mut out, base: 0, strides: &[14, 2, 1, 0, 0] }];
    contract(Isa::best(), 2, Algorithm::ALL, &work, outs, &Plain);
    assert_eq!(out, [0.0; 28]);
}

/// Coordinates from one end of the numbers to the other are no copy of no words.
#[test]
fn windows_whose_coordinates_overflow() {
    for (divisor, columns) in [(1, 1 << 16), (2, 64)] {
        refused("coordinates", |isa| {
            let (data, mut out) = ([1.0; 64], vec![0.0; 2 * columns]);
            let axes = axes([(2, Role::M), (columns, Role::N), (3, Role::K), (4, Role::K)]);
            let windows = [Window { base: 0, strides: &[0, 1, FAR, -FAR], divisor, extent: 1 << 22, stride: 0 }];
            let work =
                Contract { axes: &axes, lhs: plain(&data, &[12, 0, 4, 1]), rhs: windowed(&data, &[0; 4], &windows) };
            let strides = [columns.cast_signed(), 1, 0, 0];
            contract(
                isa,
                1,
                Algorithm::ALL,
                &work,
                &mut [Output { data: &mut out, base: 0, strides: &strides }],
                &Plain,
            );
        });
    }
}

/// Coordinates that only their indices below zero divide: no element is there.
#[test]
fn windows_whose_divisors_have_no_product() {
    let far = 1usize << (usize::BITS / 2);
    let window =
        |divisor: usize| Window { base: -divisor.cast_signed(), strides: &[0, 1, 0], divisor, extent: 2, stride: 1 };
    for isa in Isa::available() {
        let (data, mut out) = ([1.0; 4], [7.0; 3]);
        let (axes, windows) = (axes([(1, Role::M), (3, Role::N), (1, Role::K)]), [window(far), window(far + 1)]);
        let work = Contract { axes: &axes, lhs: plain(&data, &[0; 3]), rhs: windowed(&data, &[0; 3], &windows) };
        contract(isa, 1, &[], &work, &mut [Output { data: &mut out, base: 0, strides: &[0, 1, 0] }], &Plain);
        assert_eq!(out, [0.0; 3]);
    }
}

/// Attention over one word that stands for all elements.
fn attention(heads: &[usize], batch: usize, part: Attended, [queries, keys, features]: [usize; 3]) {
    refused("extents", |isa| {
        let (data, mut out, strides) = ([1.0], [0.0], vec![0; heads.len() + 4]);
        let word = Strided { data: &data, base: 0, strides: &strides };
        let work = Attend {
            part,
            heads,
            batch,
            queries,
            keys,
            features,
            values: 1,
            causal: false,
            scale: 1.0,
            inputs: [word; 3],
            derivative: (part != Attended::Output).then_some([word; 3]),
            mask: Mask::None,
        };
        attend(isa, 1, &work, [&mut [Output { data: &mut out, base: 0, strides: &strides }], &mut [], &mut []]);
    });
}

#[test]
fn attention_whose_extents_have_no_product() {
    attention(&[1], 1, Attended::Output, [3, 1 << 60, 16]);
    attention(&[1], 1, Attended::Output, [8, 8, 1 << 61]);
    attention(&[1], 1, Attended::Query, [1 << 61, 8, 8]);
    // Of which three are 2⁶⁴ + 1.
    attention(&[2, 3, 0xaaaa_aaaa_aaaa_aaab], 1, Attended::Key, [8, 8, 4]);
}

/// The cotangent of queries has the width of features, and a second result has no place.
#[test]
fn a_result_that_there_is_not() {
    refused("a result", |isa| {
        let (data, mut out, mut more) = ([1.0; 8192], [0.0; 64], [0.0]);
        let strides = [0, 4, 4, 1, 1];
        let all = Strided { data: &data, base: 0, strides: &strides };
        let work = Attend {
            part: Attended::Query,
            heads: &[1],
            batch: 1,
            queries: 2,
            keys: 600,
            features: 4,
            values: 4,
            causal: false,
            scale: 1.0,
            inputs: [all; 3],
            derivative: Some([all; 3]),
            mask: Mask::None,
        };
        let more = Output { data: &mut more, base: 0, strides: &[0, 1000, 0, 0, 1000] };
        attend(isa, 1, &work, [&mut [Output { data: &mut out, base: 0, strides: &strides }], &mut [more], &mut []]);
    });
}

/// Hands the sums on as the next state.
struct Same;

impl Cell for Same {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: S, _: usize, tile: &mut Cells<'_>) {
        let area = tile.area();
        for r in 0..area.rows {
            sweep!(S, j, at, area.cols, {
                let sums = tile.sum(s, 0, r, j, at);
                tile.next(s, 0, r, j, at, sums);
            });
        }
    }
}

/// Reads sums in vectors that are not the driver's.
struct Wider;

impl Cell for Wider {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: S, _: usize, tile: &mut Cells<'_>) {
        let (wide, last) = (Twice::new(s), tile.area().cols - 1);
        let sum = wide.reduce_add_f(tile.sum(wide, 0, 0, last, Part::new(1)));
        tile.next(s, 0, 0, 0, Part::new(1), s.splat_f(sum));
    }
}

/// A turn of a row that is carried, through a matrix of one word.
fn recurrence<C: Cell>(isa: Isa, columns: usize, groups: usize, cell: &C) {
    let (mut state, mut spare) = (vec![0.0; columns], vec![0.0; columns]);
    let state = State::Carried { state: &mut state, spare: &mut spare };
    let matrix = Matrix { data: &[0.5], base: 0, column: 0, step: 0 };
    let (turns, rows, reverse) = (1, 1, false);
    recur(isa, 1, Recurrence { turns, reverse, rows, columns, groups, state, matrix, series: &mut [] }, cell);
}

#[test]
fn sums_of_other_vectors() {
    refused("a wider vector", |isa| recurrence(isa, 64, 1, &Wider));
}

#[test]
fn more_groups_than_there_are_words() {
    for groups in [1 << 60, 1 << 61, usize::MAX] {
        refused("groups", |isa| recurrence(isa, 1, groups, &Same));
    }
}

/// A loop whose states are listed: its sums after the last turn, and all states.
fn listed(threads: usize, [turns, rows, columns]: [usize; 3], turn: usize, addend: Option<usize>) -> [Vec<f32>; 2] {
    let numbers = (0..columns * columns).map(|at| ((at * 7919 % 1000) as f32 - 500.0) / 9000.0);
    let matrix = numbers.collect::<Vec<_>>();
    let mut sums = (0..rows * columns).map(|at| (at % 7) as f32).collect::<Vec<_>>();
    let mut memory = vec![1.0; (turns - 1) * turn + rows * columns];
    let states = Series { data: &mut memory, base: 0, row: columns, turn, parts: 1 };
    let state = State::Listed { states, sums: &mut sums, addend };
    let series = &mut [Series { data: &mut [], base: 0, row: 0, turn: 0, parts: 0 }][..];
    let matrix = Matrix { data: &matrix, base: 0, column: columns, step: 1 };
    let work = Recurrence { turns, reverse: false, rows, columns, groups: 1, state, matrix, series };
    recur(Isa::best(), threads, work, &Same);
    [sums, memory]
}

#[test]
fn an_addend_without_parts() {
    refused("an addend", |_| {
        listed(1, [1, 1, 64], 0, Some(0));
    });
}

/// Two threads would write and read the same words.
#[test]
fn turns_that_meet_are_one_threads() {
    for (shape, turn) in [([100, 1, 512], 0), ([100, 1, 512], 8), ([50, 64, 64], 64), ([50, 64, 64], 0)] {
        let alone = listed(1, shape, turn, None);
        for _ in 0..10 {
            assert!(listed(2, shape, turn, None) == alone, "{shape:?} {turn}");
        }
    }
}

/// Tiles of so short sums are shorter than a vector, and what packing writes beyond one is another thread's.
#[test]
fn packed_tiles_shorter_than_a_vector_are_one_threads() {
    let left: Vec<f32> = (0..120_000).map(|at| (at * 7919 % 1000) as f32 / 1000.0).collect();
    let right: Vec<f32> = (0..32).map(|at| at as f32 - 15.5).collect();
    let axes = axes([(200, Role::M), (200, Role::M), (16, Role::N), (2, Role::K)]);
    let work = Contract { axes: &axes, lhs: plain(&left, &[300, 1, 0, 60_000]), rhs: plain(&right, &[0, 0, 1, 16]) };
    for isa in Isa::available() {
        let product = |threads| {
            let mut out = vec![0.0; 200 * 200 * 16];
            let outputs = &mut [Output { data: &mut out, base: 0, strides: &[3200, 16, 1, 0] }];
            contract(isa, threads, Algorithm::ALL, &work, outputs, &Plain);
            out
        };
        let alone = product(1);
        for (row, sums) in alone.chunks(16).enumerate() {
            let [first, second] = [0, 60_000].map(|k| left[k + row / 200 * 300 + row % 200]);
            let near = |(n, sum): (usize, &f32)| (sum - first * right[n] - second * right[16 + n]).abs() < 1e-4;
            assert!(sums.iter().enumerate().all(near), "{isa:?}: row {row}");
        }
        assert!((0..20).all(|_| product(2) == alone), "{isa:?}");
    }
}

/// Panics on the threads of the pool with what panics again when it is dropped.
struct Explode;

struct Bomb;

fn is_worker() -> bool {
    std::thread::current().name() == Some("precast")
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!is_worker(), "again");
    }
}

impl Epilogue for Explode {
    fn apply<S: Simd>(&self, _: S, _: &mut Tile<'_>) {
        if is_worker() {
            std::panic::resume_unwind(Box::new(Bomb));
        }
    }
}

#[test]
fn panics_within_panics_leave_the_pool_usable() {
    let (data, mut out) = (vec![1.0; 256 * 256], vec![0.0; 256 * 256]);
    let axes = axes([(256, Role::M), (256, Role::N), (256, Role::K)]);
    let work = Contract { axes: &axes, lhs: plain(&data, &[256, 0, 1]), rhs: plain(&data, &[0, 1, 256]) };
    for _ in 0..3 {
        let outputs = &mut [Output { data: &mut out, base: 0, strides: &[256, 1, 0] }];
        // It does not panic where another test has the pool.
        let _ = catch_unwind(AssertUnwindSafe(|| contract(Isa::best(), 2, Algorithm::ALL, &work, outputs, &Explode)));
        contract(
            Isa::best(),
            2,
            Algorithm::ALL,
            &work,
            &mut [Output { data: &mut out, base: 0, strides: &[256, 1, 0] }],
            &Plain,
        );
        assert!(out.iter().all(|x| *x == 256.0));
    }
}

/// The same descriptions of a stored operand, on either side.
#[cfg(feature = "stored")]
mod stored {
    use super::*;

    const SIDES: [Factor; 2] = [Factor::Left, Factor::Right];

    fn product(
        (isa, threads): (Isa, usize),
        axes: &[Axis],
        parameter: Factor,
        (data, stored): (Operand<'_>, Operand<'_, u16>),
        output: Output<'_>,
        epilogue: &impl Epilogue,
    ) {
        let work = Stored::<Bf16> { axes, parameter, data, stored };
        contract_stored(isa, threads, Algorithm::ALL, &work, &mut [output], epilogue);
    }

    /// An operand or an output that ends one element before the last that is asked for, or starts one behind the first.
    #[test]
    fn slices_that_are_too_short() {
        for [m, n, k] in [[1, 33, 7], [33, 1, 7], [40, 40, 600], [1, 1, 1]] {
            let axes = axes([(m, Role::M), (n, Role::N), (k, Role::K)]);
            let [lhs, rhs, to] = [[k, 0, 1], [0, k, 1], [n, 1, 0]].map(|strides| strides.map(usize::cast_signed));
            for (short, parameter) in (0..6).flat_map(|short| SIDES.map(|side| (short, side))) {
                refused("a short slice", |isa| {
                    let less = |which: usize| usize::from(which == short);
                    let base = |which: usize| -less(which).cast_signed();
                    let (of_data, of_stored, [rows, columns]) = match parameter {
                        Factor::Left => (&rhs, &lhs, [n, m]),
                        Factor::Right => (&lhs, &rhs, [m, n]),
                    };
                    let (data, stored) = (vec![1.0; rows * k - less(0)], vec![0x3f80; columns * k - less(1)]);
                    let data = Operand { data: &data[..], base: base(3), strides: of_data, windows: &[] };
                    let stored = Operand { data: &stored[..], base: base(4), strides: of_stored, windows: &[] };
                    let mut out = vec![0.0; m * n - less(2)];
                    let output = Output { data: &mut out, base: base(5), strides: &to };
                    product((isa, 1), &axes, parameter, (data, stored), output, &Plain);
                });
            }
        }
    }

    #[test]
    fn descriptions_that_do_not_fit_together() {
        let (data, bits) = ([1.0; 64], [0x3f80; 64]);
        let few = axes([(2, Role::M), (2, Role::M), (3, Role::N), (2, Role::K)]);
        let good = [[8, 4, 0, 1], [0, 0, 1, 4], [6, 3, 1, 0]];
        for [lhs, rhs, out] in
            [[[8, 4, 1, 1], good[1], good[2]], [good[0], [1, 0, 1, 4], good[2]], [good[0], good[1], [7, 3, 1, 0]]]
        {
            for parameter in SIDES {
                refused("strides", |isa| {
                    let (of_data, of_stored) = if parameter == Factor::Left { (&rhs, &lhs) } else { (&lhs, &rhs) };
                    let sides = (plain(&data[..], of_data), plain(&bits[..], of_stored));
                    let output = Output { data: &mut [0.0; 64], base: 0, strides: &out };
                    product((isa, 1), &few, parameter, sides, output, &Plain);
                });
            }
        }
        for (of_data, of_stored) in [(&good[0][..3], &good[1][..]), (&good[0][..], &good[1][..3])] {
            refused("strides of fewer axes", |isa| {
                let sides = (plain(&data[..], of_data), plain(&bits[..], of_stored));
                let output = Output { data: &mut [0.0; 64], base: 0, strides: &good[2] };
                product((isa, 1), &few, Factor::Right, sides, output, &Plain);
            });
        }
        let many = axes([(1, Role::K); 17]);
        refused("more axes than there may be", |isa| {
            let output = Output { data: &mut [0.0], base: 0, strides: &[0; 17] };
            let sides = (windowed(&data, &[0; 17], &[]), plain(&bits[..], &[0; 17]));
            let windows = [Window { base: 0, strides: &[0; 17], divisor: 1, extent: 1, stride: 1 }];
            let data = Operand { windows: &windows, ..sides.0 };
            product((isa, 1), &many, Factor::Right, (data, sides.1), output, &Plain);
        });
        refused("a window of the stored operand", |isa| {
            let windows = [Window { base: 0, strides: &[0; 4], divisor: 1, extent: 1, stride: 1 }];
            let sides = (plain(&data[..], &good[0]), windowed(&bits[..], &good[1], &windows));
            let output = Output { data: &mut [0.0; 64], base: 0, strides: &good[2] };
            product((isa, 1), &few, Factor::Right, sides, output, &Plain);
        });
    }

    #[test]
    fn extents_and_strides_that_have_no_product() {
        for extents in [[1 << 30, 1 << 30, 1], [usize::MAX, 1, 1], [1, usize::MAX, 3], [0, usize::MAX, 1 << 9]] {
            for parameter in SIDES {
                refused("extents", |isa| {
                    let [m, n, k] = extents;
                    let axes = axes([(m, Role::M), (n, Role::N), (k, Role::K)]);
                    let sides = (plain(&[1.0][..], &[0; 3][..]), plain(&[0x3f80][..], &[0; 3][..]));
                    let output = Output { data: &mut [0.0], base: 0, strides: &[0; 3] };
                    product((isa, 1), &axes, parameter, sides, output, &Plain);
                });
            }
        }
        refused("strides", |isa| {
            let axes = axes([(1, Role::Batch), (2, Role::N), (5, Role::N), (9, Role::K)]);
            let sides = (plain(&[1.0; 9][..], &[0, 0, 0, 1][..]), plain(&[0x3f80; 90][..], &[0, FAR, FAR, FAR][..]));
            let output = Output { data: &mut [0.0; 10], base: 0, strides: &[0, 5, 1, 0] };
            product((isa, 1), &axes, Factor::Right, sides, output, &Plain);
        });
    }

    /// Sums of nothing have no elements, wherever these would lie.
    #[test]
    fn sums_of_nothing_read_nothing() {
        let axes = axes([(1, Role::M), (3000, Role::N), (900, Role::N), (2, Role::K), (0, Role::K)]);
        let sides = (plain(&[][..], &[0, 0, 0, FAR, FAR][..]), plain(&[][..], &[0, FAR, -FAR, 3, FAR][..]));
        let mut out = vec![1.0; 3000 * 900];
        let output = Output { data: &mut out, base: 0, strides: &[0, 900, 1, 0, 0] };
        product((Isa::best(), 2), &axes, Factor::Right, sides, output, &Plain);
        assert!(out.iter().all(|x| *x == 0.0));
    }

    /// Outputs whose indices meet are written by one thread, within their slice.
    #[test]
    fn outputs_that_meet_themselves() {
        let (data, bits) = (vec![1.0; 600 * 600], vec![0x3f80; 600 * 600]);
        let axes = axes([(600, Role::M), (600, Role::N), (600, Role::K)]);
        for (strides, parameter) in
            [[0, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 0], [8, 1, 0]].iter().flat_map(|to| SIDES.map(|side| (to, side)))
        {
            let (lhs, rhs): ([isize; 3], [isize; 3]) = ([600, 0, 1], [0, 1, 600]);
            let (of_data, of_stored) = if parameter == Factor::Left { (&rhs, &lhs) } else { (&lhs, &rhs) };
            let mut out = vec![0.0; 599 * strides.iter().sum::<isize>().cast_unsigned() + 1];
            let sides = (plain(&data[..], of_data), plain(&bits[..], of_stored));
            let output = Output { data: &mut out, base: 0, strides };
            product((Isa::best(), 2), &axes, parameter, sides, output, &Plain);
        }
    }

    /// An operand whose elements are read at very many indices is not copied as often.
    #[test]
    fn elements_that_are_read_at_many_indices() {
        let axes = axes([(1, Role::M), (40, Role::N), (1 << 10, Role::K), (1 << 11, Role::K)]);
        let (data, bits) = (vec![1.0; 1 << 12], vec![0x3f80; 1 << 13]);
        let sides = (plain(&data[..], &[0, 0, 1, 1][..]), plain(&bits[..], &[0, 1, 1, 1][..]));
        let mut out = vec![0.0; 40];
        let output = Output { data: &mut out, base: 0, strides: &[0, 1, 0, 0] };
        product((Isa::best(), 2), &axes, Factor::Right, sides, output, &Plain);
        assert!(out.iter().all(|x| *x == (1 << 21) as f32));
    }

    /// Writes a column beyond its tile.
    struct Beyond;

    impl Epilogue for Beyond {
        fn apply<S: Simd>(&self, s: S, tile: &mut Tile<'_>) {
            let sum = tile.load(s, 0, 0, Part::new(1));
            tile.store(s, 0, 0, tile.area().cols, Part::new(1), sum);
        }
    }

    #[test]
    fn an_epilogue_keeps_to_its_tile() {
        let axes = axes([(40, Role::M), (33, Role::N), (7, Role::K)]);
        refused("a column", |isa| {
            let sides = (plain(&[1.0; 280][..], &[7, 0, 1][..]), plain(&[0x3f80; 231][..], &[0, 1, 33][..]));
            let mut out = [0.0; 40 * 33];
            let output = Output { data: &mut out, base: 0, strides: &[33, 1, 0] };
            product((isa, 1), &axes, Factor::Right, sides, output, &Beyond);
        });
    }
}

/// The same descriptions of elements of 64 bits.
#[cfg(feature = "f64")]
mod wide {
    use super::*;

    fn product(isa: Isa, threads: usize, work: &Contract<'_, f64>, out: &mut [f64], strides: &[isize]) {
        contract_wide(isa, threads, work, &mut [Output { data: out, base: 0, strides }], &Plain);
    }

    #[test]
    fn windows_that_are_malformed() {
        let strides = [0, 1, FAR, -FAR];
        let window = |divisor, extent| Window { base: 0, strides: &strides, divisor, extent, stride: 0 };
        let all = [window(1, 1 << 22), window(2, 1 << 22), window(usize::MAX, 1), window(1, usize::MAX)];
        for (at, window) in all.iter().enumerate() {
            refused("a window", |isa| {
                let (data, mut out) = ([1.0; 64], [0.0; 128]);
                let axes = axes([(2, Role::M), (64, Role::N), (3, Role::K), (if at < 2 { 4 } else { 1 }, Role::K)]);
                let lhs = plain(&data, &[12, 0, 4, 1]);
                let work = Contract { axes: &axes, lhs, rhs: windowed(&data, &[0; 4], core::slice::from_ref(window)) };
                product(isa, 1, &work, &mut out, &[64, 1, 0, 0]);
            });
        }
    }

    /// An operand or an output that ends one element before the last that is asked for, or starts one behind the first.
    #[test]
    fn slices_that_are_too_short() {
        for [m, n, k] in [[5, 33, 7], [1, 300, 40], [300, 1, 40], [40, 40, 600]] {
            let axes = axes([(m, Role::M), (n, Role::N), (k, Role::K)]);
            let [lhs, rhs, to] = [[k, 0, 1], [0, 1, n], [n, 1, 0]].map(|strides| strides.map(usize::cast_signed));
            for short in 0..6 {
                refused("a short slice", |isa| {
                    let less = |which: usize| usize::from(which == short);
                    let (left, right) = (vec![1.0; m * k - less(0)], vec![1.0; k * n - less(1)]);
                    let mut out = vec![0.0; m * n - less(2)];
                    let base = |which: usize| -less(which).cast_signed();
                    let operand = |data, strides, base| Operand { data, base, strides, windows: &[] };
                    let (lhs, rhs) = (operand(&left, &lhs, base(3)), operand(&right, &rhs, base(4)));
                    let work = Contract { axes: &axes, lhs, rhs };
                    let output = Output { data: &mut out[..], base: base(5), strides: &to };
                    contract_wide(isa, 1, &work, &mut [output], &Plain);
                });
            }
        }
    }

    #[test]
    fn extents_that_have_no_product() {
        for extents in [[1 << 30, 1 << 30, 1], [usize::MAX, 1, 1], [1, usize::MAX, 3], [0, usize::MAX, 1 << 9]] {
            refused("extents", |isa| {
                let [m, n, k] = extents;
                let axes = axes([(m, Role::M), (n, Role::N), (k, Role::K)]);
                let work = Contract { axes: &axes, lhs: plain(&[1.0], &[0; 3]), rhs: plain(&[1.0], &[0; 3]) };
                product(isa, 1, &work, &mut [0.0], &[0; 3]);
            });
        }
    }

    #[test]
    fn descriptions_that_do_not_fit_together() {
        let axes = axes([(2, Role::M), (2, Role::M), (3, Role::N), (2, Role::K)]);
        let data = [1.0; 64];
        let good = [[8, 4, 0, 1], [0, 0, 1, 4], [6, 3, 1, 0]];
        for [lhs, rhs, out] in
            [[[8, 4, 1, 1], good[1], good[2]], [good[0], [1, 0, 1, 4], good[2]], [good[0], good[1], [7, 3, 1, 0]]]
        {
            refused("strides", |isa| {
                let work = Contract { axes: &axes, lhs: plain(&data, &lhs), rhs: plain(&data, &rhs) };
                product(isa, 1, &work, &mut [0.0; 64], &out);
            });
        }
        refused("strides of fewer axes", |isa| {
            let work = Contract { axes: &axes, lhs: plain(&data, &good[0][..3]), rhs: plain(&data, &good[1]) };
            product(isa, 1, &work, &mut [0.0; 64], &good[2]);
        });
    }

    /// Outputs whose indices meet are written by one thread, within their slice.
    #[test]
    fn outputs_that_meet_themselves() {
        let (data, axes) = (vec![1.0; 600 * 600], axes([(600, Role::M), (600, Role::N), (600, Role::K)]));
        let work = Contract { axes: &axes, lhs: plain(&data, &[600, 0, 1]), rhs: plain(&data, &[0, 1, 600]) };
        for strides in [[0, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 0], [8, 1, 0]] {
            let mut out = vec![0.0; 599 * strides.iter().sum::<isize>().cast_unsigned() + 1];
            product(Isa::best(), 2, &work, &mut out, &strides);
        }
    }

    /// Reads and writes a column beyond its tile.
    struct Beyond;

    impl Epilogue<f64> for Beyond {
        fn apply<S: Simd>(&self, s: S, tile: &mut Tile<'_, f64>) {
            let sum = tile.load_d(s, 0, 0, Part::new(1));
            tile.store_d(s, 0, 0, tile.area().cols, Part::new(1), sum);
        }
    }

    #[test]
    fn an_epilogue_keeps_to_its_tile() {
        refused("a column", |isa| {
            let axes = axes([(5, Role::M), (33, Role::N), (7, Role::K)]);
            let (data, mut out) = ([1.0; 256], [0.0; 5 * 33]);
            let work = Contract { axes: &axes, lhs: plain(&data, &[7, 0, 1]), rhs: plain(&data, &[0, 1, 33]) };
            contract_wide(isa, 1, &work, &mut [Output { data: &mut out, base: 0, strides: &[33, 1, 0] }], &Beyond);
        });
    }
}
