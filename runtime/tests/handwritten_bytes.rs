//! The public face of a model of numbers of fewer than 32 bits, written by hand as `model!` emits it. The tests are what a
//! program does with any such model.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod handwritten {
    pub(crate) mod allocations;
    pub(crate) mod bytes;
}

use std::path::PathBuf;

use handwritten::{
    allocations::allocations,
    bytes::{Bytes, BytesDims},
};
use precast::{__rt::half::f16, prelude::*};

/// Rows, and which of them are kept.
fn rows(len: usize) -> (Vec<[i8; 3]>, Vec<bool>) {
    (0..len).map(|k| ([k as i8, -(k as i8), 127], k % 3 != 1)).unzip()
}

fn shifted(x: &[[i8; 3]], keep: &[bool], by: i8) -> Vec<[i8; 3]> {
    let row = |(x, &keep): (&[i8; 3], &bool)| x.map(|x| if keep { x.wrapping_add(by) } else { x });
    x.iter().zip(keep).map(row).collect()
}

#[test]
fn arguments_and_results_of_any_length_are_copied() {
    let net = Bytes::init(0);
    for len in [1, 2, 3, 4, 5, 8, 21] {
        let (x, keep) = rows(len);
        let (found, dropped, next) = Cpu.wait(net.shifted_async(&x, &keep, -2)).unwrap();
        assert_eq!(found, shifted(&x, &keep, -2));
        assert!(dropped.iter().zip(&keep).all(|(dropped, keep)| dropped != keep));
        assert_eq!(next, -1);
        let (mut out0, mut out1, mut out2) = (vec![[9; 3]; len], vec![true; len], 9);
        Cpu.wait(net.shifted_into_async(&x, &keep, -2, &mut out0, &mut out1, &mut out2)).unwrap();
        assert_eq!((out0, out1, out2), (found, dropped, next));
    }
    let (mut out0, mut out1, mut out2) = ([[9; 3]; 2], [true; 3], 9);
    let (x, keep) = rows(3);
    let error = Cpu.wait(net.shifted_into_async(&x, &keep, 1, &mut out0, &mut out1, &mut out2)).unwrap_err();
    assert_eq!(error.to_string(), "`out0` has 2 elements, but 3 are needed");
    assert_eq!(Cpu.wait(net.shifted_async(&[], &[], 1)).unwrap_err().to_string(), "`x` is empty: B must be at least 1");
}

#[test]
fn sessions_lend_results_where_they_lie() {
    let net = Bytes::init(0);
    let mut session = net.session(BytesDims { S: 1 }).unwrap();
    let (x, keep) = rows(21);
    for (start, end) in [(0, 21), (1, 2), (2, 7), (3, 21), (0, 3)] {
        let (x, keep) = (&x[start..end], &keep[start..end]);
        let (found, dropped, next) = Cpu.wait(session.shifted_async(x, keep, 7)).unwrap();
        assert_eq!((found, dropped.len(), next), (&shifted(x, keep, 7)[..], x.len(), 8));
        assert!(dropped.iter().zip(keep).all(|(dropped, keep)| dropped != keep));
    }
    assert_eq!(allocations(|| assert!(Cpu.wait(session.shifted_async(&x, &keep, 7)).is_ok())), 0);
}

#[test]
fn halves_are_views() {
    let net = Bytes::init(0);
    let mut session = net.session(BytesDims { S: 1 }).unwrap();
    // The bits of 1, 2, 4, and so on, of which each is half of the next.
    let bits: Vec<u16> = (0..15).map(|k| (15 + k) << 10).collect();
    let all: &[f16] = bytemuck::cast_slice(&bits);
    let x = View::new(&all[1..], [2, 7]).unwrap();
    let owned = Cpu.wait(net.halved_async(x)).unwrap();
    assert_eq!((owned.data(), owned.dims()), (&all[..14], [2, 7]));
    for len in [7, 1, 3, 7] {
        let x = View::new(&all[1..=len], [len, 1]).unwrap();
        let lent = Cpu.wait(session.halved_async(x)).unwrap();
        assert_eq!((lent.data(), lent.dims()), (&all[..len], [len, 1]));
    }
}

#[test]
fn states_are_kept_and_saved() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("bytes-{}.safetensors", std::process::id()));
    let net = Bytes::init(0);
    let mut session = net.session(BytesDims { S: 5 }).unwrap();
    assert_eq!(Cpu.wait(session.next_async(&[1, 2, 3, 4, 255])).unwrap(), [1, 2, 3, 4, 255]);
    assert_eq!(Cpu.wait(session.next_async(&[9, 9, 9, 9, 9])).unwrap(), [10, 11, 12, 13, 8]);
    assert!(Cpu.wait(session.next_async(&[9; 4])).is_err());
    Cpu.wait(session.save_async(&path)).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(file.tensor("sum").unwrap().data(), [10, 11, 12, 13, 8]);
    assert_eq!(file.tensor("last").unwrap().data(), (-2i16).to_le_bytes());
    let mut other = net.session(BytesDims { S: 5 }).unwrap();
    Cpu.wait(other.load_async(&path)).unwrap();
    assert_eq!(Cpu.wait(other.next_async(&[0; 5])).unwrap(), [10, 11, 12, 13, 8]);
    assert!(Cpu.wait(net.session(BytesDims { S: 6 }).unwrap().load_async(&path)).is_err());
    std::fs::remove_file(&path).unwrap();
}
