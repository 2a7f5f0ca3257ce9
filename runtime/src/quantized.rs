//! Parameters that are stored as integers of 8 bits: in come numbers, out come integers and a scale for each index of the
//! first axis, or the other way round. Always: of each row the number of the largest magnitude becomes ±127, all others the
//! nearest integer, so none is further from what it was than half of its scale.

use alloc::{vec, vec::Vec};

/// The largest integer.
const MOST: f32 = 127.0;
/// 2⁻¹¹⁰: rows whose largest magnitude is smaller are zeros, because the quotient of 127 and that would be infinite.
const LEAST: f32 = f32::from_bits((127 - 110) << 23);

/// A parameter of a model with `#[model(parameters = int8)]` that has two axes or more: each of its values is one of `codes`,
/// row-major, times the one of `scales` that belongs to its index of the first axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantized<'m> {
    /// From -127 to 127; a file may have -128, too.
    pub codes: &'m [i8],
    /// One for each index of the first axis.
    pub scales: &'m [f32],
}

impl Quantized<'_> {
    /// The values, row-major.
    ///
    /// # Examples
    /// ```
    /// let weight = precast::Quantized { codes: &[127, -64, 0, 1], scales: &[0.5, 2.0] };
    /// assert_eq!(weight.to_vec(), [63.5, -32.0, 0.0, 2.0]);
    /// ```
    pub fn to_vec(&self) -> Vec<f32> {
        let row = self.codes.len() / self.scales.len().max(1);
        let rows = self.codes.chunks(row.max(1)).zip(self.scales);
        rows.flat_map(|(codes, &scale)| codes.iter().map(move |&code| f32::from(code) * scale)).collect()
    }
}

/// The integers and the scales of so many rows of values. An error is a number that has no integer: ±∞ or NaN.
pub(crate) fn quantize(values: &[f32], rows: usize) -> Result<(Vec<i8>, Vec<f32>), f32> {
    if let Some(&number) = values.iter().find(|value| !value.is_finite()) {
        return Err(number);
    }
    let (mut codes, mut scales) = (Vec::with_capacity(values.len()), vec![0.0; rows]);
    let row = values.len() / rows.max(1);
    for (values, scale) in values.chunks(row.max(1)).zip(&mut scales) {
        let largest = values.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        let factor = if largest < LEAST { 0.0 } else { MOST / largest };
        *scale = if largest < LEAST { 0.0 } else { largest / MOST };
        codes.extend(values.iter().map(|value| (value * factor).round_ties_even() as i8));
    }
    Ok((codes, scales))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_near_to_what_they_were() {
        let values: Vec<f32> =
            (0..300).map(|k| ((k * 7919 % 601) as f32 - 300.0) * 1.7f32.powi(k / 100 * 20)).collect();
        let (codes, scales) = quantize(&values, 3).unwrap();
        let again = Quantized { codes: &codes, scales: &scales }.to_vec();
        for (at, (x, y)) in values.iter().zip(&again).enumerate() {
            assert!((x - y).abs() <= scales[at / 100] * 0.500_001, "{at}: {x} {y}");
        }
        assert!(codes.chunks(100).all(|row| row.iter().any(|code| code.unsigned_abs() == 127)));
        // What comes from integers becomes the same integers.
        assert_eq!(quantize(&again, 3).unwrap().0, codes);
    }

    #[test]
    fn rows_of_nothing_and_no_rows_have_integers() {
        assert_eq!(quantize(&[0.0, -0.0, 1e-38, 1.0], 2), Ok((vec![0, 0, 0, 127], vec![0.0, 1.0 / 127.0])));
        assert_eq!(quantize(&[], 0), Ok((vec![], vec![])));
        assert_eq!(quantize(&[], 2), Ok((vec![], vec![0.0, 0.0])));
        assert_eq!(quantize(&[f32::MAX, -1.0], 1).unwrap().0, [127, 0]);
    }

    #[test]
    fn infinite_numbers_have_none() {
        assert_eq!(quantize(&[1.0, f32::INFINITY], 1), Err(f32::INFINITY));
        assert!(quantize(&[f32::NAN], 1).is_err_and(f32::is_nan));
    }
}
