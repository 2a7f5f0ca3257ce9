//! Batches: in come samples and targets, out come slices of them in a drawn order. Always: an epoch
//! visits every sample once, the last batch has what is left over, and an epoch depends on its seed
//! alone, not on the epochs before.

use alloc::{collections::BTreeMap, vec::Vec};

use crate::{
    error::{LoaderError, Result},
    random::Stream,
};

/// The purposes of the random bits here, apart from every other use of a seed.
const SHUFFLE: u32 = 2;
const SPLIT: u32 = 3;

/// What a [`Loader`] serves: a number, or an array of one size.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no sample of a fixed size",
    label = "a sample is a number or an array, such as `[f32; 784]`",
    note = "flat numbers become samples by `precast::rows::<[f32; 784], _>(&flat)?`, and nested ones are made flat by \
            `nested.concat()`"
)]
pub trait Sample: Copy {}

#[diagnostic::do_not_recommend]
impl<T: Copy> Sample for T {}

/// Inputs and targets, served in batches.
///
/// A shuffled epoch copies the samples into their new order once, and its batches are slices of the
/// copy; the second epoch on allocates nothing.
#[derive(Clone, Debug)]
pub struct Loader<'a, X, Y> {
    inputs: &'a [X],
    targets: &'a [Y],
    batch: usize,
    order: Vec<u32>,
    shuffled: (Vec<X>, Vec<Y>),
}

impl<'a, X: Sample, Y: Sample> Loader<'a, X, Y> {
    /// Serves `inputs` and their `targets` in batches of `batch`.
    ///
    /// # Errors
    /// If there are no samples, more than 4294967295, not as many targets as inputs, or `batch` is 0.
    pub fn new(inputs: &'a [X], targets: &'a [Y], batch: usize) -> Result<Self> {
        if inputs.len() != targets.len() {
            return Err(LoaderError::Lengths { inputs: inputs.len(), targets: targets.len() }.into());
        }
        if inputs.is_empty() {
            return Err(LoaderError::NoSamples.into());
        }
        if u32::try_from(inputs.len()).is_err() {
            return Err(LoaderError::TooMany { samples: inputs.len() }.into());
        }
        if batch == 0 {
            return Err(LoaderError::NoBatch.into());
        }
        Ok(Loader { inputs, targets, batch, order: Vec::new(), shuffled: Default::default() })
    }

    /// The number of batches in an epoch.
    pub fn batches(&self) -> usize {
        self.inputs.len().div_ceil(self.batch)
    }

    /// An epoch in the order of the samples.
    pub fn ordered(&self) -> impl ExactSizeIterator<Item = (&[X], &[Y])> {
        self.inputs.chunks(self.batch).zip(self.targets.chunks(self.batch))
    }

    /// An epoch in an order drawn from `seed`.
    pub fn shuffled(&mut self, seed: u64) -> impl ExactSizeIterator<Item = (&[X], &[Y])> {
        self.order.clear();
        self.order.extend(0..self.inputs.len() as u32);
        Stream::new(seed, SHUFFLE).shuffle(&mut self.order);
        let (inputs, targets) = &mut self.shuffled;
        inputs.clear();
        inputs.extend(self.order.iter().map(|&at| self.inputs[at as usize]));
        targets.clear();
        targets.extend(self.order.iter().map(|&at| self.targets[at as usize]));
        inputs.chunks(self.batch).zip(targets.chunks(self.batch))
    }
}

/// The positions of samples in the two parts of a split, each in rising order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The larger part, for training.
    pub train: Vec<usize>,
    /// The part that was held out.
    pub test: Vec<usize>,
}

impl Split {
    /// Holds out `fraction` of the samples, drawn from `seed`, and of every label as nearly the same
    /// fraction as whole numbers allow.
    ///
    /// # Errors
    /// If `fraction` is not between 0 and 1.
    pub fn stratified<L: Ord>(labels: &[L], fraction: f32, seed: u64) -> Result<Split> {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(LoaderError::Fraction(fraction).into());
        }
        let mut classes: BTreeMap<&L, Vec<usize>> = BTreeMap::new();
        for (at, label) in labels.iter().enumerate() {
            classes.entry(label).or_default().push(at);
        }
        let mut stream = Stream::new(seed, SPLIT);
        let mut split = Split { train: Vec::new(), test: Vec::new() };
        let mut before = 0;
        for members in classes.values_mut() {
            stream.shuffle(members);
            // Rounding the running total keeps the whole split at `fraction`, too.
            let total = before + members.len();
            let share = |count: usize| (count as f64 * f64::from(fraction)).round() as usize;
            let (test, train) = members.split_at(share(total) - share(before));
            split.test.extend_from_slice(test);
            split.train.extend_from_slice(train);
            before = total;
        }
        split.train.sort_unstable();
        split.test.sort_unstable();
        Ok(split)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{string::ToString, vec};

    #[test]
    fn an_epoch_visits_every_sample_once_with_its_target() {
        let inputs: Vec<[u32; 2]> = (0..10).map(|i| [i, i]).collect();
        let targets: Vec<u32> = (0..10).map(|i| i * 3).collect();
        let mut loader = Loader::new(&inputs, &targets, 4).unwrap();
        let mut seen = vec![];
        let mut sizes = vec![];
        for (x, y) in loader.shuffled(1) {
            sizes.push(x.len());
            assert!(x.iter().zip(y).all(|(x, y)| x[0] * 3 == *y));
            seen.extend_from_slice(y);
        }
        assert_eq!((sizes, loader.batches()), (vec![4, 4, 2], 3));
        let again: Vec<u32> = loader.shuffled(1).flat_map(|(_, y)| y).copied().collect();
        let other: Vec<u32> = loader.shuffled(2).flat_map(|(_, y)| y).copied().collect();
        assert_eq!(again, seen);
        assert_ne!(other, seen);
        seen.sort_unstable();
        assert_eq!(seen, targets);
        assert_eq!(loader.ordered().next(), Some((&inputs[..4], &targets[..4])));
    }

    /// Samples of any size, from data that begin inside of a word.
    #[test]
    fn samples_may_be_of_fewer_bits() {
        let flat: Vec<u8> = (0..22).collect();
        let (inputs, targets) = (crate::rows::<[u8; 3], _>(&flat[1..]).unwrap(), [3i16, -1, 4, -1, 5, -9, 2]);
        let mut loader = Loader::new(inputs, &targets, 3).unwrap();
        let sizes: Vec<usize> = loader.ordered().map(|(x, _)| x.len()).collect();
        assert_eq!(sizes, [3, 3, 1]);
        let mut seen: Vec<([u8; 3], i16)> =
            loader.shuffled(1).flat_map(|(x, y)| x.iter().copied().zip(y.iter().copied())).collect();
        seen.sort_unstable();
        assert_eq!(seen, inputs.iter().copied().zip(targets).collect::<Vec<_>>());
    }

    #[cfg(feature = "half")]
    #[test]
    fn samples_may_be_floats_of_16_bits() {
        use half::{bf16, f16};
        let (inputs, targets) = ([[f16::ONE; 3], [f16::EPSILON; 3]], [bf16::ONE, bf16::ZERO]);
        let mut loader = Loader::new(&inputs, &targets, 1).unwrap();
        assert!(loader.shuffled(5).all(|(x, y)| (x[0] == [f16::ONE; 3]) == (y[0] == bf16::ONE)));
    }

    #[test]
    fn a_split_keeps_the_share_of_every_label() {
        let labels: Vec<u8> = (0..1000).map(|i| u8::from(i % 10 == 0) + 2 * u8::from(i % 7 == 0)).collect();
        let split = Split::stratified(&labels, 0.2, 5).unwrap();
        assert_eq!((split.train.len(), split.test.len()), (800, 200));
        for label in 0..4 {
            let count = |part: &[usize]| part.iter().filter(|&&at| labels[at] == label).count();
            let (train, test) = (count(&split.train), count(&split.test));
            assert!((test as f64 - 0.2 * (train + test) as f64).abs() <= 1.0);
        }
        let mut all: Vec<_> = split.train.iter().chain(&split.test).copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
        assert_ne!(split, Split::stratified(&labels, 0.2, 6).unwrap());
    }

    #[test]
    fn small_labels_do_not_add_up_to_another_share() {
        let labels: Vec<u32> = (0..30).map(|i| i / 3).collect();
        let split = Split::stratified(&labels, 0.5, 5).unwrap();
        assert_eq!((split.train.len(), split.test.len()), (15, 15));
        for label in 0..10 {
            assert!((1..3).contains(&split.test.iter().filter(|&&at| labels[at] == label).count()), "{label}");
        }
    }

    #[test]
    fn what_makes_no_batches_is_an_error() {
        let error = Loader::new(&[1, 2], &[1], 2).unwrap_err();
        assert_eq!(error.to_string(), "a loader needs as many targets as inputs, but there are 1 targets and 2 inputs");
        assert!(Loader::<u8, u8>::new(&[], &[], 2).is_err());
        assert!(Loader::new(&[1], &[1], 0).is_err());
        #[cfg(target_pointer_width = "64")]
        assert!(Loader::new(&[(); 1 << 32], &[(); 1 << 32], 1).is_err());
        assert!(Split::stratified(&[1], 1.5, 0).is_err());
    }
}
