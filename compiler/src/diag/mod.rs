//! The one sink of user mistakes: coded diagnostics at the guilty tokens, all collected before any kernel is made.
//!
//! Every kind stands in the table of `Code` with the sentence that explains it.

mod code;

pub use code::Code;

use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fmt::Display;
use strsim::osa_distance;

/// The user's text from one token to another.
///
/// Stable rustc cannot join spans, so both ends are kept.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The first token.
    pub first: Span,
    /// The last token; the same one where there is only one.
    pub last: Span,
}

impl Place {
    /// From the first token of one to the last of the other.
    pub fn to(self, end: Place) -> Place {
        Place { first: self.first, last: end.last }
    }

    /// Whether it lies within another of the same file.
    pub fn lies_in(self, other: Place) -> bool {
        let position = |span: Span, end: bool| {
            let at = if end { span.end() } else { span.start() };
            (at.line, at.column)
        };
        self.first.file() == other.first.file()
            && position(other.first, false) <= position(self.first, false)
            && position(self.last, true) <= position(other.last, true)
    }

    /// The line on which it starts, counted from one.
    pub fn line(self) -> usize {
        self.first.start().line
    }

    /// The line and, where rustc knows one, the file: `line 12 of src/blocks.rs`.
    pub fn whereabouts(self) -> String {
        let (line, file) = (self.line(), self.first.file());
        if file.is_empty() || file.starts_with('<') { format!("line {line}") } else { format!("line {line} of {file}") }
    }

    fn key(self) -> String {
        format!("{:?} {:?}", self.first, self.last)
    }
}

impl From<Span> for Place {
    fn from(span: Span) -> Place {
        Place { first: span, last: span }
    }
}

/// One mistake.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Which kind of mistake, from the table of `Code`; stable.
    pub code: Code,
    /// The guilty tokens.
    pub place: Place,
    /// Lower case, no full stop, in the user's names and numbers.
    pub message: String,
    /// Where the other side came from.
    pub notes: Vec<String>,
    /// What to write instead; can be pasted.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A mistake without notes.
    pub fn new(code: Code, place: impl Into<Place>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { code, place: place.into(), message: message.into(), notes: vec![], help: None }
    }

    /// The same with a note.
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Says where a number is used that the report blames where it was given: in the user's text at that place.
    pub fn used(mut self, text: &str, place: Place, line: &str) -> Diagnostic {
        if !self.place.lies_in(place) {
            self.notes.insert(0, format!("`{text}` stands on {line}"));
        }
        self
    }

    /// Leaves the name of an attribute out of the help unless the guilty number stands in that text, where it has the name.
    pub fn bare_outside(mut self, of: Place) -> Diagnostic {
        if !self.place.lies_in(of) {
            let bare = |help: String| match help.split_once(" = ") {
                Some((before, value)) if before.starts_with("write `") => format!("write `{value}"),
                _ => help,
            };
            self.help = self.help.map(bare);
        }
        self
    }

    /// The same with something to paste.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// The message, notes and help as rustc shows them.
    pub fn text(&self) -> String {
        let notes = self.notes.iter().map(|n| format!("\n= note: {n}"));
        let help = self.help.iter().map(|h| format!("\n= help: {h}"));
        std::iter::once(self.message.clone()).chain(notes).chain(help).collect()
    }

    /// `::core::compile_error! { "…" }`, underlined from the first guilty token to the last.
    pub fn to_compile_error(&self) -> TokenStream {
        let (first, last) = (self.place.first, self.place.last);
        let punct = |c, spacing| {
            let mut punct = Punct::new(c, spacing);
            punct.set_span(first);
            TokenTree::Punct(punct)
        };
        let mut text = Literal::string(&self.text());
        text.set_span(last);
        let mut group = Group::new(Delimiter::Brace, TokenTree::Literal(text).into());
        group.set_span(last);
        let path = || [punct(':', Spacing::Joint), punct(':', Spacing::Alone)];
        let mut tokens: Vec<TokenTree> = path().into();
        tokens.push(Ident::new("core", first).into());
        tokens.extend(path());
        tokens.push(Ident::new("compile_error", first).into());
        tokens.extend([punct('!', Spacing::Alone), group.into()]);
        tokens.into_iter().collect()
    }
}

/// Collects mistakes. Of several of one kind at one place the first is kept.
#[derive(Default, Debug)]
pub struct Diags {
    list: Vec<Diagnostic>,
    travelled: Vec<Travelled>,
    via: Option<Place>,
    lost: BTreeSet<String>,
}

/// A text from elsewhere, whose places the reader of a message does not see.
#[derive(Debug)]
pub struct Travelled {
    /// The block that was asked for.
    pub block: String,
    /// Where the macro's own text imports it.
    pub import: Place,
    /// All of it.
    pub text: TokenStream,
}

impl Travelled {
    fn holds(&self, span: Span) -> bool {
        holds(&self.text, &format!("{span:?}"))
    }
}

fn holds(text: &TokenStream, span: &str) -> bool {
    let is = |other: Span| format!("{other:?}") == span;
    text.clone().into_iter().any(|token| match token {
        TokenTree::Group(group) => {
            let ends = [group.span(), group.span_open(), group.span_close()];
            ends.into_iter().any(is) || holds(&group.stream(), span)
        }
        token => is(token.span()),
    })
}

impl Diags {
    /// Declares a text from elsewhere: its mistakes are reported where the macro's own text uses it.
    pub fn travelled(&mut self, text: Travelled) {
        self.travelled.push(text);
    }

    /// Says what the macro's own text does with a block from elsewhere, whose mistakes follow.
    pub fn enter(&mut self, via: Option<Place>) {
        self.via = via;
    }

    /// What was said last.
    pub fn entered(&self) -> Option<Place> {
        self.via
    }

    /// Where a declaration stands: its line, and for a text from elsewhere its file.
    pub fn line(&self, place: Place) -> String {
        let elsewhere = self.travelled.iter().any(|text| text.holds(place.first));
        if elsewhere { place.whereabouts() } else { format!("line {}", place.line()) }
    }

    /// Records a mistake.
    pub fn push(&mut self, mut diagnostic: Diagnostic) {
        if let Some(text) = self.travelled.iter().find(|text| text.holds(diagnostic.place.first)) {
            let inside = diagnostic.place;
            diagnostic.place = self.via.unwrap_or(text.import);
            diagnostic.notes.insert(0, format!("inside `{}`, {}", text.block, inside.whereabouts()));
        }
        diagnostic.message = outer_names(&diagnostic.message);
        diagnostic.notes.iter_mut().for_each(|note| *note = outer_names(note));
        diagnostic.help = diagnostic.help.map(|help| outer_names(&help));
        let inside = |d: &Diagnostic| d.notes.first().filter(|n| n.starts_with("inside `")).cloned();
        let key = |d: &Diagnostic| (d.code, d.place.key(), inside(d));
        if !self.list.iter().any(|d| key(d) == key(&diagnostic)) {
            self.list.push(diagnostic);
        }
    }

    /// Remembers a text that could not be read: its words may declare and use anything.
    pub(crate) fn lose(&mut self, text: TokenStream) {
        for token in text {
            match token {
                TokenTree::Ident(word) => _ = self.lost.insert(word.to_string()),
                TokenTree::Group(group) => self.lose(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// Records that nothing declares or uses `name`, unless a text that could not be read may do so.
    pub(crate) fn push_about(&mut self, name: impl Display, diagnostic: Diagnostic) {
        if !self.lost.contains(&name.to_string()) {
            self.push(diagnostic);
        }
    }

    /// Drops all reports but the first so many.
    pub(crate) fn forget(&mut self, kept: usize) {
        self.list.truncate(kept);
    }

    /// All mistakes, in the order of their discovery.
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// Whether there is one of a kind.
    pub(crate) fn has(&self, code: Code) -> bool {
        self.list.iter().any(|one| one.code == code)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// One `compile_error!` for each mistake.
    pub fn to_compile_errors(&self) -> TokenStream {
        self.list.iter().map(Diagnostic::to_compile_error).collect()
    }
}

/// The text with the user's names of inner dimensions: the compiler numbers those of inlined calls (`D#3`).
fn outer_names(text: &str) -> String {
    let mut parts = text.split('#');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() < part.len() { out + rest } else { out + "#" + part }
    })
}

/// The name among `known` that the user probably meant: at most a third of the letters differ, rounded down unless the
/// first half is right, so that names of two letters are near to none. Only the order of digits may differ: `Conv3d` is
/// not near `Conv2d`. A swap of neighbours is one edit. A letter that was struck twice, `hh` for `h`, is a slip in any name.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let letters = lower.chars().count();
    let digits = |text: &str| {
        let mut digits: Vec<char> = text.chars().filter(char::is_ascii_digit).collect();
        digits.sort_unstable();
        digits
    };
    let limit = |other: &str| {
        let right = lower.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        if 2 * right > letters { letters.div_ceil(3).min(letters.saturating_sub(1)) } else { letters / 3 }
    };
    let twice = |other: &str| other.chars().count() == 1 && lower == other.repeat(2);
    let is_near =
        |other: &str| twice(other) || osa_distance(&lower, other) <= limit(other) && digits(&lower) == digits(other);
    let near = known.into_iter().filter(|k| *k != name && is_near(&k.to_lowercase()));
    // Of equally near names one of the same length is likelier.
    near.min_by_key(|k| (osa_distance(&lower, &k.to_lowercase()), k.chars().count().abs_diff(letters)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_is_one_edit() {
        assert_eq!(closest("rleu", ["relu"]), Some("relu"));
        assert_eq!(closest("ulre", ["relu"]), None);
        assert_eq!(closest("Liner", ["Linear", "LayerNorm"]), Some("Linear"));
        assert_eq!(closest("x", ["softmax"]), None);
        assert_eq!(closest("scatter", ["flatten"]), None);
        assert_eq!(closest("nn", ["RNN"]), None);
        assert_eq!(closest("Conv3d", ["Conv2d"]), None);
    }

    #[test]
    fn an_error_carries_notes_and_help() {
        let mistake = Diagnostic::new(Code::Syntax, Span::call_site(), "wrong").note("why").help("right");
        let tokens = mistake.to_compile_error().to_string();
        assert!(tokens.contains("compile_error") && tokens.contains(r"wrong\n= note: why\n= help: right"));
    }
}
