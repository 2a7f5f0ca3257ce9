//! A text as numbers: in comes a text, out come the numbers of its characters and windows of them. Always: the
//! alphabet is sorted, so the same text gives the same numbers everywhere.

/// Forty thousand lines of Shakespeare. See `data/shakespeare.LICENCE.md`.
pub const SHAKESPEARE: &str = include_str!("../data/shakespeare.txt");

/// The characters of a text, sorted.
#[derive(Clone, Debug)]
pub struct Alphabet(Vec<char>);

impl Alphabet {
    /// The characters that occur in a text.
    pub fn of(text: &str) -> Self {
        let mut all: Vec<char> = text.chars().collect();
        all.sort_unstable();
        all.dedup();
        Alphabet(all)
    }

    /// How many characters there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The numbers of the characters of a text; a character that is not in the alphabet is left out.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        text.chars().filter_map(|c| self.0.binary_search(&c).ok()).map(|at| at as u32).collect()
    }

    /// The characters of those numbers; a number beyond the alphabet is left out.
    pub fn decode(&self, ids: &[u32]) -> String {
        ids.iter().filter_map(|&id| self.0.get(id as usize)).collect()
    }
}

/// Pairs of windows of a text at random places: what a language model sees, and what comes next.
///
/// The places are those of a linear congruential generator with D. Knuth's constants for MMIX, so that other programs
/// can be shown the very same windows.
#[derive(Clone, Debug)]
pub struct Windows<'t> {
    ids: &'t [u32],
    state: u64,
}

impl<'t> Windows<'t> {
    /// Windows of `ids`, which are those of the seed.
    pub fn new(ids: &'t [u32], seed: u64) -> Self {
        Windows { ids, state: seed }
    }

    /// `count` windows of `len` into `now`, and the same one further on into `next`. Both are cleared first. A text that
    /// is too short for one window gives none.
    pub fn draw(&mut self, count: usize, len: usize, now: &mut Vec<u32>, next: &mut Vec<u32>) {
        now.clear();
        next.clear();
        let Some(places) = self.ids.len().checked_sub(len).filter(|&places| places > 0) else { return };
        for _ in 0..count {
            self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let start = ((u128::from(self.state) * places as u128) >> 64) as usize;
            now.extend_from_slice(&self.ids[start..start + len]);
            next.extend_from_slice(&self.ids[start + 1..=start + len]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive() {
        let alphabet = Alphabet::of("to be or not");
        assert_eq!(alphabet.len(), 7);
        assert_eq!(alphabet.decode(&alphabet.encode("be not")), "be not");
        assert_eq!(alphabet.encode("x"), []);
        assert_eq!(Alphabet::of(SHAKESPEARE).len(), 65);
    }

    #[test]
    fn windows_go_on() {
        let ids: Vec<u32> = (0..50).collect();
        let (mut now, mut next) = (vec![], vec![]);
        Windows::new(&ids, 3).draw(9, 7, &mut now, &mut next);
        assert_eq!(now.len(), 63);
        assert!(now.iter().zip(&next).all(|(a, b)| a + 1 == *b));
        Windows::new(&ids[..7], 3).draw(9, 7, &mut now, &mut next);
        assert!(now.is_empty());
    }
}
