//! An index with more than one `..`, which is a mistake: what the user wrote in, the report out.
//!
//! `..` is all axes that the other entries leave, so a second one leaves open which axis is meant. Parse knows the words
//! and shape the rank, which says what the user probably meant.

use crate::diag::{Code, Diagnostic, Place};

/// An index with more than one `..`, as the user wrote it.
#[derive(Clone, Debug)]
pub struct Ellipses {
    /// What is indexed.
    pub of: String,
    /// The entries between the brackets, with `None` for each `..`.
    pub entries: Vec<Option<String>>,
    /// Where the second `..` stands.
    pub second: Place,
}

impl Ellipses {
    /// How many of the entries are one axis each.
    pub fn named(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    /// The mistake, with the index as it was probably meant for a tensor of that rank; `None` where it is unknown.
    pub fn report(&self, rank: Option<usize>) -> Diagnostic {
        let written = self.text(&vec![".."; self.ellipses()]);
        let message = format!("`{written}` has a second `..`, but one stands for any number of axes");
        // More entries than axes are a mistake of their own, which neither `..` nor `_` mends.
        let help = match rank.is_some_and(|rank| rank < self.named()) {
            true => "a whole axis is `_`".to_owned(),
            false => format!("a whole axis is `_`: write `{}`", self.text(&self.meant(rank))),
        };
        Diagnostic::new(Code::SecondEllipsis, self.second, message).help(help)
    }

    fn ellipses(&self) -> usize {
        self.entries.len() - self.named()
    }

    /// What to write for each `..`. Whoever writes several means one axis by each, as by Rust's full range, so each is
    /// a whole axis as long as there are axes that no other entry takes. One at the end stays where it may be several.
    fn meant(&self, rank: Option<usize>) -> Vec<&'static str> {
        let ellipses = self.ellipses();
        let left = rank.map(|rank| rank.saturating_sub(self.named()));
        let mut meant = vec!["_"; left.map_or(ellipses, |left| ellipses.min(left))];
        if left.is_none_or(|left| left > ellipses)
            && let (Some(None), Some(last)) = (self.entries.last(), meant.last_mut())
        {
            *last = "..";
        }
        meant
    }

    /// The index with these in the places of its `..`; those without a place are left out.
    fn text(&self, ellipses: &[&str]) -> String {
        let mut ellipses = ellipses.iter().copied();
        let entries: Vec<&str> =
            self.entries.iter().filter_map(|entry| entry.as_deref().or_else(|| ellipses.next())).collect();
        let entries = if entries.is_empty() { "..".to_owned() } else { entries.join(", ") };
        format!("{}[{entries}]", self.of)
    }
}
