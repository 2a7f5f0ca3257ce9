//! Indices outside of an axis: they read NaN, or 0 where there is none, add nothing, and get no gradient, in lanes, alone
//! and on the GPU.

use super::on_every_isa;
use precast::prelude::*;

model! {
    /// What reads at indices, and what adds there.
    pub struct Outside { table: Embedding(5, 3), rows: Parameter([5], init = "ones") }

    impl Outside {
        /// Single elements of a row that all share.
        pub fn taken(&self, y: f32[5], k: i32[5], i: u32[B, 20]) -> (f32[B, 20], i32[B, 20]) { (take(y, i), take(k, i)) }
        /// Single elements of each row's own.
        pub fn gathered(&self, y: f32[B, 5], i: u32[B, 20]) -> f32[B, 20] { gather(y, i, axis = 1) }
        /// Whole rows.
        pub fn looked_up(&self, i: u32[B]) -> f32[B, 3] { self.table(i) }
        /// Rows and elements that get something.
        pub fn added(&self, y: f32[5], i: u32[B, 20], u: f32[B, 20]) -> f32[5] {
            index_add(y, reshape(i, [B * 20]), reshape(u, [B * 20]))
        }
        /// The parameters of those that are inside.
        #[train(Sgd)]
        pub fn loss(&self, i: u32[B, 20]) -> f32 { let y = take(self.rows, i); sum(where(isnan(y), 0, y)) }
    }
}

/// Inside, at the end, and far beyond it.
fn indices() -> [[u32; 20]; 2] {
    std::array::from_fn(|row| {
        std::array::from_fn(|k| match (row + k) % 7 {
            5 => 5 + k as u32,
            6 => u32::MAX - k as u32,
            inside => inside as u32,
        })
    })
}

fn same(found: f32, wanted: Option<f32>) -> bool {
    wanted.map_or(found.is_nan(), |wanted| found == wanted)
}

fn check<D: Device + precast::Blocking>(net: &Outside<D>, what: &str) {
    let (i, y, k) = (indices(), [10.0, 11.0, 12.0, 13.0, 14.0], [20, 21, 22, 23, 24]);
    let (floats, whole) = net.taken(&y, &k, &i).unwrap();
    let gathered = net.gathered(&[y, y.map(|y| -y)], &i).unwrap();
    for (row, i) in i.iter().enumerate() {
        for (at, &i) in i.iter().enumerate() {
            let i = i as usize;
            assert!(same(floats[row][at], y.get(i).copied()), "{what}: {} at {i}", floats[row][at]);
            assert_eq!(whole[row][at], k.get(i).copied().unwrap_or(0), "{what}: at {i}");
            let own = y.get(i).map(|y| if row == 0 { *y } else { -y });
            assert!(same(gathered[row][at], own), "{what}: {} at {i} of row {row}", gathered[row][at]);
        }
    }
    let rows = net.looked_up(&[4, 5, u32::MAX]).unwrap();
    assert!(rows[0].iter().all(|x| x.is_finite()) && rows[1..].as_flattened().iter().all(|x| x.is_nan()), "{what}");
    let mut sums = y;
    i.as_flattened().iter().filter(|i| **i < 5).for_each(|i| sums[*i as usize] += 1.0);
    assert_eq!(net.added(&y, &i, &[[1.0; 20]; 2]).unwrap(), sums, "{what}");
}

fn counts() -> [f32; 5] {
    std::array::from_fn(|at| indices().as_flattened().iter().filter(|i| **i as usize == at).count() as f32)
}

#[test]
fn indices_outside_of_an_axis_read_nan_and_add_nothing() {
    on_every_isa(|isa| {
        let mut net = Outside::init(1);
        check(&net, isa);
        let gradients = net.trainer(Sgd::default()).loss_gradients(&indices()).unwrap();
        assert_eq!(gradients.get("rows").unwrap(), counts(), "{isa}");
    });
}

#[cfg(feature = "gpu")]
#[test]
fn a_gpu_does_so_too() {
    let Some(gpu) = tests::gpu() else { return };
    let mut net = Outside::init(1).on(&gpu).unwrap();
    check(&net, "GPU");
    let gradients = net.trainer(Sgd::default()).loss_gradients(&indices()).unwrap();
    assert_eq!(gradients.get("rows").unwrap(), counts());
}
