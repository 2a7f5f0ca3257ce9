//! Rows of several passes, each a kernel of its own.
//!
//! In: a row kernel. Out: a kernel for the sums of each pass, and a map for what a pass stores; nothing where there are enough
//! rows to keep a GPU busy, or where rows are short. Always: kernels follow each other as the passes do, and what one has reduced
//! rows to, the others read from memory.

use super::row::is_worth_it;
use super::{Partial, Separated};
use crate::ir::kernel::{Accumulator, AccumulatorOp, Expr, Kernel, Pass, Skeleton, Store};

/// The kernels of a row kernel with several passes, where it is worth them.
pub(super) fn separated(kernel: &Kernel) -> Option<Separated> {
    let Skeleton::Row { parallel, reduced, passes, stores } = &kernel.skeleton else { return None };
    let is_merged = |accumulator: &Accumulator| matches!(accumulator.op, AccumulatorOp::Reduce(_));
    let last = passes.iter().rposition(|pass| !pass.accumulators.is_empty())?;
    let has_more = passes.len() > 1 || passes.iter().any(|pass| !pass.stores.is_empty());
    let fits = passes.iter().flat_map(|pass| &pass.accumulators).all(is_merged);
    if !(has_more && fits && is_worth_it(kernel, parallel, reduced) && is_apart(kernel, &passes[last..], stores)) {
        return None;
    }
    let dtypes = kernel.dtypes();
    let mut results = vec![];
    for (pass, Pass { accumulators, .. }) in passes.iter().enumerate() {
        let of = |(slot, accumulator): (usize, &Accumulator)| {
            ((pass, slot), Partial::of(dtypes[accumulator.value], kernel, parallel))
        };
        results.extend(accumulators.iter().enumerate().map(of));
    }
    let first = kernel.slots.len();
    let mut all = kernel.clone();
    all.slots.extend(results.iter().map(|(_, result)| result.slot()));
    let mut kernels = vec![];
    for (number, pass) in passes.iter().enumerate() {
        if !pass.accumulators.is_empty() {
            let mut sums = read(&all, &results, first, Some(number));
            let own = results.iter().enumerate().filter(|(_, ((pass, _), _))| *pass == number);
            let mut stored: Vec<Store> = if number == last { stores.clone() } else { vec![] };
            for (at, ((_, slot), result)) in own {
                stored.push(Store { slot: first + at, index: result.index.clone(), value: sums.scalars.len() });
                sums.scalars.push(Expr::Accumulated { pass: 0, slot: *slot, dtype: result.dtype });
            }
            let passes = vec![Pass { accumulators: pass.accumulators.clone(), stores: vec![] }];
            sums.skeleton =
                Skeleton::Row { parallel: parallel.clone(), reduced: reduced.clone(), passes, stores: stored };
            kernels.push(sums);
        }
        if !pass.stores.is_empty() {
            let mut map = read(&all, &results, first, None);
            map.name += "_stores";
            let parallel = [&parallel[..], reduced].concat();
            map.skeleton = Skeleton::Row { parallel, reduced: vec![], passes: vec![], stores: pass.stores.clone() };
            kernels.push(map);
        }
    }
    let partial = results.into_iter().map(|(_, result)| result).collect();
    Some(Separated { kernels, partial })
}

/// The kernel, which reads what rows were reduced to, but for one pass, which becomes its first.
fn read(kernel: &Kernel, results: &[((usize, usize), Partial)], first: usize, own: Option<usize>) -> Kernel {
    let mut kernel = kernel.clone();
    for scalar in &mut kernel.scalars {
        let Expr::Accumulated { pass, slot, dtype } = *scalar else { continue };
        if own == Some(pass) {
            *scalar = Expr::Accumulated { pass: 0, slot, dtype };
        } else if let Some(at) = results.iter().position(|(of, _)| *of == (pass, slot)) {
            *scalar = results[at].1.load(first + at);
        }
    }
    kernel
}

/// Whether what is stored for each row is nothing that the passes read or store, which then follow it.
fn is_apart(kernel: &Kernel, passes: &[Pass], stores: &[Store]) -> bool {
    let is_stored = |slot: usize| stores.iter().any(|store| store.slot == slot);
    let is_read = |scalar: &Expr| scalar.load().is_some_and(|load| is_stored(load.slot));
    let is_of_passes = passes.iter().flat_map(|pass| &pass.stores).any(|store| is_stored(store.slot));
    !is_of_passes && !kernel.scalars.iter().any(is_read)
}
