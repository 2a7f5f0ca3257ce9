//! Random bits on the host: in comes a key and a counter, out come two words. Always: the same key
//! and counter give the same words on every machine; nothing is carried from draw to draw.

/// Threefry-2x32 with 20 rounds, as in Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As
/// Easy as 1, 2, 3" (SC 2011).
pub(crate) fn threefry(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    const PARITY: u32 = 0x1BD1_1BDA;
    let schedule = [key[0], key[1], PARITY ^ key[0] ^ key[1]];
    let [mut x, mut y] = [counter[0].wrapping_add(key[0]), counter[1].wrapping_add(key[1])];
    for group in 0..5 {
        for rotation in ROTATIONS[group % 2] {
            x = x.wrapping_add(y);
            y = y.rotate_left(rotation) ^ x;
        }
        x = x.wrapping_add(schedule[(group + 1) % 3]);
        y = y.wrapping_add(schedule[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    [x, y]
}

/// The key made of a seed, for functions of a model that draw random numbers: `vae.sample(&key(7))`.
pub fn key(seed: u64) -> [u32; 2] {
    [seed as u32, (seed >> 32) as u32]
}

/// A stream of draws: one key, counted up.
pub(crate) struct Stream {
    key: [u32; 2],
    counter: u64,
}

impl Stream {
    /// The stream of a seed, kept apart from other uses of the seed by `purpose`.
    pub(crate) fn new(seed: u64, purpose: u32) -> Self {
        Stream { key: threefry(key(seed), [purpose, 0]), counter: 0 }
    }

    /// A number below `bound`, every one as likely as any other up to 2⁻⁶⁴ · `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        let [x, y] = threefry(self.key, key(self.counter));
        self.counter += 1;
        let bits = u64::from(x) << 32 | u64::from(y);
        ((u128::from(bits) * u128::from(bound)) >> 64) as u64
    }

    /// Fisher and Yates' shuffle.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that come with the authors' implementation, Random123.
    #[test]
    fn threefry_gives_the_known_answers() {
        assert_eq!(threefry([0, 0], [0, 0]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry([!0, !0], [!0, !0]), [0x1cb9_96fc, 0xbb00_2be7]);
        assert_eq!(threefry([0x1319_8a2e, 0x0370_7344], [0x243f_6a88, 0x85a3_08d3]), [0xc492_3a9c, 0x483d_f7a0]);
    }

    #[test]
    fn a_shuffle_keeps_all_and_depends_on_the_seed() {
        let shuffled = |seed| {
            let mut items: [u32; 50] = core::array::from_fn(|i| i as u32);
            Stream::new(seed, 1).shuffle(&mut items);
            items
        };
        let mut sorted = shuffled(3);
        sorted.sort_unstable();
        assert_eq!(sorted, core::array::from_fn(|i| i as u32));
        assert_eq!(shuffled(3), shuffled(3));
        assert_ne!(shuffled(3), shuffled(4));
    }
}
