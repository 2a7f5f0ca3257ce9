//! The divisor of an extent that is next to a number which does not divide it.

/// How many numbers on both sides are tried: extents may be huge.
const TRIED: i64 = 4096;

/// The divisor of `of` nearest to `near`, the smaller one of two; none where only 1 is near.
pub fn nearest_divisor(of: i64, near: i64) -> Option<i64> {
    if of < 1 {
        return None;
    }
    let near = near.clamp(1, of);
    let mut around = (0..TRIED).flat_map(|step| [near - step, near.saturating_add(step)]);
    around.find(|&n| n > 0 && n <= of && of % n == 0).filter(|&n| n > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_divisor_is_found_quickly() {
        assert_eq!(nearest_divisor(128, 5), Some(4));
        assert_eq!(nearest_divisor(10, 4), Some(5));
        assert_eq!(nearest_divisor(10, 10_000_000_000), Some(10));
        assert_eq!(nearest_divisor(7, 3), None);
        assert_eq!(nearest_divisor(i64::MAX - 24, i64::MAX / 2), None);
    }
}
