//! The UCI handwritten digits: out come images and labels, and one fixed split of them. Always: the
//! data is part of the program, so there is nothing to download. See `data/digits.LICENCE.md`.

use precast::prelude::*;

/// One channel of 8×8 pixels between 0 and 1.
pub type Image = [[[f32; 8]; 8]; 1];

/// Images and the digits that they show.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// The images.
    pub images: Vec<Image>,
    /// For every image the digit, 0 to 9.
    pub labels: Vec<u32>,
}

const CSV: &str = include_str!("../data/digits.csv");

/// The share of the samples that is held out.
const TEST: f32 = 0.2;

/// Which split of that share it is; the same for every program and every seed of training.
const SPLIT: u64 = 0;

/// All 1,797 samples in the order of the file.
pub fn all() -> Samples {
    let mut samples = Samples::default();
    for line in CSV.lines() {
        let mut numbers = line.split(',').map_while(|number| number.parse::<u8>().ok());
        let mut next = || numbers.next().unwrap_or_default();
        samples.images.push([core::array::from_fn(|_| core::array::from_fn(|_| f32::from(next()) / 16.0))]);
        samples.labels.push(u32::from(next()));
    }
    samples
}

/// Training samples and test samples: four fifths and one fifth of every digit.
///
/// # Errors
/// None with the data that is here.
pub fn split() -> precast::Result<(Samples, Samples)> {
    let all = all();
    let Split { train, test } = Split::stratified(&all.labels, TEST, SPLIT)?;
    let part = |positions: &[usize]| Samples {
        images: positions.iter().map(|&at| all.images[at]).collect(),
        labels: positions.iter().map(|&at| all.labels[at]).collect(),
    };
    Ok((part(&train), part(&test)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts that scikit-learn documents for its copy.
    #[test]
    fn the_data_is_whole() {
        let all = all();
        let count = |digit| all.labels.iter().filter(|&&label| label == digit).count();
        let counts: Vec<usize> = (0..10).map(count).collect();
        assert_eq!(counts, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
        assert_eq!(all.images[0][0][0], [0.0, 0.0, 5.0, 13.0, 9.0, 1.0, 0.0, 0.0].map(|x| x / 16.0));
        assert!(all.images.as_flattened().as_flattened().as_flattened().iter().all(|x| (0.0..=1.0).contains(x)));
    }

    #[test]
    fn the_split_is_stratified() {
        let (train, test) = split().unwrap();
        assert_eq!((train.labels.len(), test.labels.len()), (1438, 359));
        for digit in 0..10 {
            let count = |samples: &Samples| samples.labels.iter().filter(|&&label| label == digit).count();
            assert!((34..=37).contains(&count(&test)));
        }
    }
}
