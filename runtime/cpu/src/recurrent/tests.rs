//! Recurrences against the same loop, one number at a time in binary64, on every instruction set and with several threads.

use super::{Cell, Cells, Matrix, Recurrence, Series, State, recur};
use crate::{Family, Isa, Simd};

/// `next = state / 2 + Σ sums / 8 + x[turn]`, with a running total and a list of what was there before.
struct Mean<'a> {
    x: &'a [f32],
    groups: usize,
}

impl Cell for Mean<'_> {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: S, turn: usize, tile: &mut Cells<'_>) {
        for r in 0..tile.area().rows {
            crate::sweep!(S, j, at, tile.area().cols, {
                let old = tile.state(s, r, j, at);
                let mut next = s.mul_add_f(old, s.splat_f(0.5), s.splat_f(self.x[turn]));
                for g in 0..self.groups {
                    next = s.mul_add_f(tile.sum(s, g, r, j, at), s.splat_f(0.125), next);
                }
                let total = s.add_f(tile.old(s, 0, 0, r, j, at), next);
                tile.store(s, 0, 0, r, j, at, total);
                tile.store(s, 1, 0, r, j, at, old);
                tile.next(s, 0, r, j, at, next);
            });
        }
    }
}

struct Case {
    turns: usize,
    reverse: bool,
    rows: usize,
    columns: usize,
    groups: usize,
    across: bool,
}

impl Case {
    fn matrix(&self) -> Vec<f32> {
        let words = self.groups * self.columns * self.columns;
        (0..words).map(|n| ((n * 37 % 101) as f32 - 50.0) / 50.0 / self.columns as f32).collect()
    }

    /// Words from column to column of the product, and from k to k.
    fn strides(&self) -> (usize, usize) {
        if self.across { (1, self.groups * self.columns) } else { (self.columns, 1) }
    }

    fn x(&self) -> Vec<f32> {
        (0..self.turns).map(|n| (n * 5 % 7) as f32 / 7.0 - 0.4).collect()
    }

    fn start(&self) -> Vec<f32> {
        (0..self.rows * self.columns).map(|n| (n * 13 % 29) as f32 / 29.0 - 0.5).collect()
    }

    /// The last state, the total and the list.
    fn on(&self, isa: impl Family, threads: usize) -> [Vec<f32>; 3] {
        let words = self.rows * self.columns;
        let (matrix, x, (column, step)) = (self.matrix(), self.x(), self.strides());
        let (mut state, mut spare) = (self.start(), vec![f32::NAN; words]);
        let (mut total, mut list) = (vec![0.0; words], vec![f32::NAN; words * self.turns]);
        let work = Recurrence {
            turns: self.turns,
            reverse: self.reverse,
            rows: self.rows,
            columns: self.columns,
            groups: self.groups,
            state: State::Carried { state: &mut state, spare: &mut spare },
            matrix: Matrix { data: &matrix, base: 0, column, step },
            series: &mut [
                Series { data: &mut total, base: 0, row: self.columns, turn: 0, parts: 1 },
                Series { data: &mut list, base: 0, row: self.columns, turn: words, parts: 1 },
            ],
        };
        recur(isa, threads, work, &Mean { x: &x, groups: self.groups });
        [state, total, list]
    }

    fn plainly(&self) -> [Vec<f64>; 3] {
        let Case { rows, columns, groups, .. } = *self;
        let (matrix, x, (column, step)) = (self.matrix(), self.x(), self.strides());
        let mut state: Vec<f64> = self.start().into_iter().map(f64::from).collect();
        let (mut total, mut list) = (vec![0.0; rows * columns], vec![0.0; rows * columns * self.turns]);
        for number in 0..self.turns {
            let turn = if self.reverse { self.turns - 1 - number } else { number };
            let mut next = vec![0.0; rows * columns];
            for (at, next) in next.iter_mut().enumerate() {
                let (r, j) = (at / columns, at % columns);
                *next = state[at] / 2.0 + f64::from(x[turn]);
                for (g, k) in (0..groups).flat_map(|g| (0..columns).map(move |k| (g, k))) {
                    let factor = f64::from(matrix[(g * columns + j) * column + k * step]);
                    *next += state[r * columns + k] * factor / 8.0;
                }
                total[at] += *next;
                list[turn * rows * columns + at] = state[at];
            }
            state = next;
        }
        [state, total, list]
    }
}

#[test]
fn a_recurrence_is_its_loop_on_every_instruction_set_and_with_any_number_of_threads() {
    let mut across = false;
    for (rows, columns, groups) in
        [(1, 1, 1), (1, 128, 4), (1, 67, 3), (2, 33, 4), (3, 16, 1), (7, 40, 2), (19, 37, 4), (32, 64, 3), (70, 21, 5)]
    {
        for (turns, reverse) in [(1, false), (2, true), (5, false), (8, true)] {
            across = !across;
            let case = Case { turns, reverse, rows, columns, groups, across };
            let plain = case.plainly();
            #[cfg(feature = "deterministic")]
            crate::isa::assert_same_bits(|isa| case.on(isa, 2).concat(), &[rows, columns, groups, turns]);
            for isa in Isa::available() {
                let one = case.on(isa, 1);
                for (one, plain) in one.iter().zip(&plain) {
                    let near = |(a, b): (&f32, &f64)| (f64::from(*a) - b).abs() < 1e-5;
                    assert!(one.iter().zip(plain).all(near), "{isa:?}: {rows}×{columns}, {groups}, {turns} turns");
                }
                for threads in 2..4 {
                    assert!(case.on(isa, threads) == one, "{isa:?}: {rows}×{columns}, {groups}, {threads} threads");
                }
            }
        }
    }
}

/// Part `p` of a state is `tanh`-like in the mean of the sums and `x[turn]`, divided by `p + 1`; with a running total.
struct Slopes<'a> {
    x: &'a [f32],
    groups: usize,
    parts: usize,
    /// Whether half of the mean is added to the next sum.
    adds: bool,
}

impl Cell for Slopes<'_> {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: S, turn: usize, tile: &mut Cells<'_>) {
        for r in 0..tile.area().rows {
            crate::sweep!(S, j, at, tile.area().cols, {
                let mut mean = s.splat_f(self.x[turn]);
                for g in 0..self.groups {
                    mean = s.mul_add_f(tile.sum(s, g, r, j, at), s.splat_f(0.25), mean);
                }
                let total = s.add_f(tile.old(s, 0, 0, r, j, at), mean);
                tile.store(s, 0, 0, r, j, at, total);
                if self.adds {
                    tile.store(s, 1, 0, r, j, at, s.mul_f(mean, s.splat_f(0.5)));
                }
                for p in 0..self.parts {
                    tile.next(s, p, r, j, at, s.mul_f(mean, s.splat_f(1.0 / (p + 1) as f32)));
                }
            });
        }
    }
}

/// A loop whose turns begin with the map.
struct Backward {
    parts: usize,
    case: Case,
}

impl Backward {
    /// Whether half of the mean is added to the next sum.
    fn adds(&self) -> bool {
        self.case.groups == 1 && self.case.turns % 2 == 1
    }

    fn matrix(&self) -> Vec<f32> {
        let words = self.parts * self.case.groups * self.case.columns * self.case.columns;
        (0..words).map(|n| ((n * 37 % 101) as f32 - 50.0) / 50.0 / self.case.columns as f32).collect()
    }

    /// Words from column to column of the product, and from k to k.
    fn strides(&self) -> (usize, usize) {
        let Case { groups, columns, across, .. } = self.case;
        if across { (1, groups * columns) } else { (self.parts * columns, 1) }
    }

    fn start(&self) -> Vec<f32> {
        let Case { rows, columns, groups, .. } = self.case;
        (0..rows * columns * groups).map(|n| (n * 13 % 29) as f32 / 29.0 - 0.5).collect()
    }

    /// The sums of the last state, the total and the states.
    fn on(&self, isa: impl Family, threads: usize) -> [Vec<f32>; 3] {
        let Backward { parts, case: Case { turns, reverse, rows, columns, groups, .. } } = *self;
        let (matrix, x, (column, step)) = (self.matrix(), self.case.x(), self.strides());
        let row = parts * columns;
        let (mut sums, mut states) = (self.start(), vec![f32::NAN; rows * row * turns]);
        let (mut total, mut half) = (vec![0.0; rows * columns], vec![0.0; rows * columns]);
        let states_of = Series { data: &mut states, base: 0, row, turn: rows * row, parts };
        let work = Recurrence {
            turns,
            reverse,
            rows,
            columns,
            groups,
            state: State::Listed { states: states_of, sums: &mut sums, addend: self.adds().then_some(1) },
            matrix: Matrix { data: &matrix, base: 0, column, step },
            series: &mut [
                Series { data: &mut total, base: 0, row: columns, turn: 0, parts: 1 },
                Series { data: &mut half, base: 0, row: columns, turn: 0, parts: 1 },
            ],
        };
        recur(isa, threads, work, &Slopes { x: &x, groups, parts, adds: self.adds() });
        [sums, total, states]
    }

    fn plainly(&self) -> [Vec<f64>; 3] {
        let Backward { parts, case: Case { turns, reverse, rows, columns, groups, .. } } = *self;
        let (matrix, x, (column, step)) = (self.matrix(), self.case.x(), self.strides());
        let row = parts * columns;
        let mut sums: Vec<f64> = self.start().into_iter().map(f64::from).collect();
        let (mut total, mut states) = (vec![0.0; rows * columns], vec![0.0; rows * row * turns]);
        for number in 0..turns {
            let turn = if reverse { turns - 1 - number } else { number };
            let state = &mut states[turn * rows * row..][..rows * row];
            let mut half = vec![0.0; rows * columns];
            for (r, j) in (0..rows).flat_map(|r| (0..columns).map(move |j| (r, j))) {
                let sum: f64 = (0..groups).map(|g| sums[(r * groups + g) * columns + j]).sum();
                let mean = sum * 0.25 + f64::from(x[turn]);
                total[r * columns + j] += mean;
                half[r * columns + j] = mean / 2.0;
                (0..parts).for_each(|p| state[r * row + p * columns + j] = mean / (p + 1) as f64);
            }
            for (r, n) in (0..rows).flat_map(|r| (0..groups * columns).map(move |n| (r, n))) {
                let product = (0..row).map(|k| state[r * row + k] * f64::from(matrix[n * column + k * step]));
                let half = if self.adds() { half[r * columns + n] } else { 0.0 };
                sums[r * groups * columns + n] = half + product.sum::<f64>();
            }
        }
        [sums, total, states]
    }
}

#[test]
fn a_recurrence_whose_map_comes_first_is_its_loop_on_every_instruction_set_and_with_any_number_of_threads() {
    let mut across = false;
    let shapes = [
        (1, 1, 1, 1),
        (1, 128, 1, 4),
        (1, 67, 2, 3),
        (2, 33, 1, 4),
        (3, 16, 1, 1),
        (7, 40, 2, 2),
        (19, 37, 1, 4),
        (32, 64, 1, 3),
        (70, 21, 3, 2),
    ];
    for (rows, columns, groups, parts) in shapes {
        for (turns, reverse) in [(1, false), (2, true), (5, false), (8, true)] {
            across = !across;
            let backward = Backward { parts, case: Case { turns, reverse, rows, columns, groups, across } };
            let plain = backward.plainly();
            for isa in Isa::available() {
                let one = backward.on(isa, 1);
                for (one, plain) in one.iter().zip(&plain) {
                    let near = |(a, b): (&f32, &f64)| (f64::from(*a) - b).abs() < 2e-5;
                    assert!(one.iter().zip(plain).all(near), "{isa:?}: {rows}×{columns}, {groups}, {parts}, {turns}");
                }
                for threads in 2..4 {
                    assert!(backward.on(isa, threads) == one, "{isa:?}: {rows}×{columns}, {parts}, {threads} threads");
                }
            }
        }
    }
}

struct Fail;

impl Cell for Fail {
    #[inline(always)]
    fn apply<S: Simd>(&self, _: S, turn: usize, tile: &mut Cells<'_>) {
        assert!(turn < 3 || tile.area().n == 0, "the last columns fail");
    }
}

#[test]
fn a_panic_in_one_part_ends_the_others() {
    let (matrix, mut state, mut spare) = (vec![0.0; 4 * 256 * 256], vec![0.0; 256], vec![0.0; 256]);
    for _ in 0..3 {
        let work = Recurrence {
            turns: 10,
            reverse: false,
            rows: 1,
            columns: 256,
            groups: 4,
            state: State::Carried { state: &mut state, spare: &mut spare },
            matrix: Matrix { data: &matrix, base: 0, column: 256, step: 1 },
            series: &mut [],
        };
        let run = std::panic::AssertUnwindSafe(|| recur(Isa::best(), 2, work, &Fail));
        assert!(std::panic::catch_unwind(run).is_err());
    }
}

struct Set;

impl Cell for Set {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: S, _: usize, tile: &mut Cells<'_>) {
        for r in 0..tile.area().rows {
            crate::sweep!(S, j, at, tile.area().cols, {
                tile.next(s, 0, r, j, at, s.splat_f(7.0));
                tile.store(s, 0, 0, r, j, at, s.splat_f(7.0));
            });
        }
    }
}

/// Eight turns of 2⁶¹ words are none.
#[test]
fn strides_whose_products_overflow_are_refused() {
    const FAR: usize = 1 << (usize::BITS - 3);
    let matrix = vec![1.0; 9 * 9];
    for (turn, row, column, step) in [(FAR, 9, 9, 1), (9, FAR, 9, 1), (9, 9, FAR, 1), (9, 9, 9, FAR)] {
        let (mut state, mut spare, mut data) = (vec![0.0; 81], vec![0.0; 81], vec![0.0; 81]);
        let work = Recurrence {
            turns: 9,
            reverse: false,
            rows: 9,
            columns: 9,
            groups: 1,
            state: State::Carried { state: &mut state, spare: &mut spare },
            matrix: Matrix { data: &matrix, base: 0, column, step },
            series: &mut [Series { data: &mut data, base: 0, row, turn, parts: 1 }],
        };
        let run = std::panic::AssertUnwindSafe(|| recur(Isa::best(), 1, work, &Set));
        assert!(std::panic::catch_unwind(run).is_err(), "{turn} {row} {column} {step}");
    }
}
