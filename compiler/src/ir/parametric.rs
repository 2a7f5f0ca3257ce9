//! Kernels that differ in numbers alone, as one kernel with the numbers as parameters.
//!
//! In: the kernels of a model. Out: kernels in which numbers have become named dimensions, and for each kernel which of them it
//! is and the numbers. Always: with its numbers put in for the names, a kernel is what it was. Numbers that decide how a kernel
//! is printed stay: the small ones, which may be loops that a compiler unrolls, and what divides.

use super::dim::Dim;
use super::kernel::{Kernel, Skeleton};
use super::program::KernelId;
use std::collections::{BTreeSet, HashMap};

/// The least number that becomes a parameter.
pub const LEAST: i64 = 32;

/// A kernel as one with parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parametric {
    /// The number of the kernel, among those that were given.
    pub kernel: usize,
    /// The parameters that have a number, and the numbers.
    pub numbers: Vec<(String, i64)>,
}

impl Parametric {
    /// A kernel without parameters.
    pub fn alone(kernel: usize) -> Parametric {
        Parametric { kernel, numbers: vec![] }
    }

    /// The kernel itself, of one with parameters.
    fn of(&self, parametric: &Kernel) -> Kernel {
        let mut kernel = parametric.clone();
        for_each_dim(&mut kernel, &mut |dim| *dim = self.dim(dim));
        kernel
    }

    /// A dimension of the kernel itself, of that of one with parameters.
    pub fn dim(&self, parametric: &Dim) -> Dim {
        parametric
            .substitute(&|name| self.numbers.iter().find(|(own, _)| own == name).map(|(_, number)| Dim::from(*number)))
    }
}

/// Lets used kernels that are the same but for numbers be the first of them, which gets parameters.
pub fn parametrize(kernels: &mut [Kernel], used: &BTreeSet<KernelId>) -> Vec<Parametric> {
    let mut alike: HashMap<Kernel, Vec<usize>> = HashMap::new();
    let mut all = vec![];
    for (number, kernel) in kernels.iter().enumerate() {
        let mut form = kernel.clone();
        let numbers = if has_parameters(kernel) { take_numbers(&mut form) } else { vec![] };
        form.name.clear();
        if used.contains(&KernelId(number)) {
            alike.entry(form).or_default().push(number);
        }
        all.push(numbers);
    }
    let mut members: Vec<Parametric> = (0..kernels.len()).map(Parametric::alone).collect();
    for group in alike.into_values().filter(|group| group.len() > 1) {
        let rows: Vec<&[i64]> = group.iter().map(|&kernel| all[kernel].as_slice()).collect();
        let (dims, parameters) = parameters(&rows);
        let mut first = kernels[group[0]].clone();
        put_dims(&mut first, &dims);
        for (at, &kernel) in group.iter().enumerate() {
            let numbers = parameters.iter().enumerate().map(|(k, column)| (name(k), column[at])).collect();
            members[kernel] = Parametric { kernel: group[0], numbers };
            debug_assert_eq!(
                members[kernel].of(&first),
                Kernel { name: first.name.clone(), ..kernels[kernel].clone() }
            );
        }
        kernels[group[0]] = first;
    }
    members
}

/// The name of a parameter, which no dimension of a program can have.
fn name(parameter: usize) -> String {
    parameter.to_string()
}

/// Whether a kernel's loops are the same for all numbers: where it stores scalars for later passes, an array has their number.
fn has_parameters(kernel: &Kernel) -> bool {
    match kernel.skeleton {
        Skeleton::Row { .. } => kernel.schedule.rows.buffers.is_empty(),
        Skeleton::Contract { .. } => true,
        Skeleton::Scatter { .. } | Skeleton::Attend(_) | Skeleton::Recur(_) => false,
    }
}

/// For each number of the kernels, whose numbers are `rows`, what it is in the parametric kernel, and the parameters' numbers
/// by kernel. What is the same in all stays, what is equal to another one is that one, and what is a product of others is that.
fn parameters(rows: &[&[i64]]) -> (Vec<Dim>, Vec<Vec<i64>>) {
    let (mut columns, mut known) = (vec![], Vec::<(Dim, Vec<i64>)>::new());
    // Small numbers first, of which large ones are products.
    let mut order: Vec<usize> = (0..rows[0].len()).collect();
    order.sort_by_key(|&at| rows[0][at]);
    let mut dims = vec![Dim::default(); rows[0].len()];
    for at in order {
        let own: Vec<i64> = rows.iter().map(|row| row[at]).collect();
        dims[at] = in_terms_of(&known, &own).unwrap_or_else(|| {
            columns.push(own.clone());
            Dim::name(name(columns.len() - 1))
        });
        if dims[at].as_const().is_none() && known.iter().all(|(_, column)| *column != own) {
            known.push((dims[at].clone(), own));
        }
    }
    (dims, columns)
}

/// Numbers that are the same, or equal to known ones, products of two of them, or so many times one.
fn in_terms_of(known: &[(Dim, Vec<i64>)], own: &[i64]) -> Option<Dim> {
    if own.iter().all(|n| *n == own[0]) {
        return Some(Dim::from(own[0]));
    }
    if let Some((dim, _)) = known.iter().find(|(_, column)| column == own) {
        return Some(dim.clone());
    }
    let is = |column: &[i64], by: &dyn Fn(usize) -> i64| {
        own.iter().zip(column).enumerate().all(|(at, (n, factor))| factor.checked_mul(by(at)) == Some(*n))
    };
    for (dim, column) in known {
        for (other, by) in known {
            if is(column, &|at| by[at]) {
                return Some(dim.clone() * other.clone());
            }
        }
    }
    let times = |column: &[i64]| own[0] / column[0];
    let (dim, column) = known.iter().find(|(_, column)| is(column, &|_| times(column)))?;
    Some(dim.clone() * Dim::from(times(column)))
}

/// Replaces the numbers of a kernel by their places, and gives them.
fn take_numbers(kernel: &mut Kernel) -> Vec<i64> {
    let mut numbers = vec![];
    for_each_dim(kernel, &mut |dim| {
        *dim = with_numbers(dim, &mut |number| {
            numbers.push(number);
            Dim::name(name(numbers.len() - 1))
        });
    });
    numbers
}

/// Replaces the numbers of a kernel, in order.
fn put_dims(kernel: &mut Kernel, dims: &[Dim]) {
    let mut next = dims.iter();
    for_each_dim(kernel, &mut |dim| *dim = with_numbers(dim, &mut |_| next.next().cloned().unwrap_or_default()));
}

/// A dimension with its numbers replaced, signs and small ones aside.
fn with_numbers(dim: &Dim, with: &mut dyn FnMut(i64) -> Dim) -> Dim {
    let mut sum = Dim::default();
    for (monomial, number) in dim.split() {
        let number = match number.abs() {
            LEAST.. if number < 0 => -with(-number),
            LEAST.. => with(number),
            _ => Dim::from(number),
        };
        sum = sum + monomial * number;
    }
    sum
}

/// Calls `see` with every dimension whose numbers may be parameters, to change it.
fn for_each_dim(kernel: &mut Kernel, see: &mut dyn FnMut(&mut Dim)) {
    kernel.for_each_dim(see);
    kernel.slots.iter_mut().for_each(|slot| see(&mut slot.len));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_equal_or_a_product_is_no_parameter_of_its_own() {
        let rows: [&[i64]; 2] = [&[64, 56, 3136, 64, 200_704, 32], &[128, 28, 784, 128, 100_352, 32]];
        let (dims, columns) = parameters(&rows);
        assert_eq!(columns, [[56, 28], [64, 128]]);
        let [a, b] = [0, 1].map(|k| Dim::name(name(k)));
        let square = a.clone() * a.clone();
        assert_eq!(dims, [b.clone(), a, square.clone(), b.clone(), b * square, Dim::from(32)]);
    }
}
