//! The one sink of user mistakes: coded diagnostics at the guilty tokens, all collected before any kernel is made.
//!
//! Every code stands in the table `CODES` with the sentence that explains it.

use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Every kind of mistake and what it means, in alphabetical order.
pub const CODES: &[(&str, &str)] = &[
    ("annotation-contradicts", "the value does not have the type that its `let` declares"),
    ("assignment-to-immutable", "only a variable declared with `let mut` can be assigned"),
    ("axis-out-of-range", "the argument has no such axis"),
    ("bad-expression", "the expression has no meaning at this place"),
    ("bound-exceeded", "an extent may be larger than the bound that the signature declares"),
    ("bounded-constant", "a bound stands at a constant, and only dimensions that a call binds have bounds"),
    ("branch-types", "the branches of an `if` or `match` give different types"),
    ("branch-without-effect", "a branch gives nothing and assigns no variable"),
    ("broadcast-mismatch", "two shapes do not broadcast against each other"),
    ("captured-assignment", "a closure assigns a variable that is declared outside of it"),
    ("carried-type-changes", "a variable or state does not have the same type after a round of the loop as before it"),
    ("condition-not-scalar", "what chooses a branch must be one value, not a tensor of several"),
    ("condition-type", "what chooses a branch is neither a bool nor, for `match`, an integer"),
    ("conflicting-dimension", "one name would stand for two different extents"),
    ("control-flow", "Rust's `while`, `loop`, `return`, `break`, `continue` or `if let`, which the language has not"),
    ("duplicate-attribute", "an attribute is given twice"),
    ("duplicate-name", "two declarations of the same kind share a name"),
    ("dynamic-value", "a number must be known at build time here"),
    ("einsum-spec", "an einsum notation cannot be read or does not suit its arguments"),
    ("field-type", "a type stands where a field has its layer, block, parameter or state"),
    ("foreign-declaration", "an `extern fn` has what only functions of the language have"),
    ("foreign-wgsl", "the WGSL of a foreign function cannot be read, or is not what the declaration asks for"),
    ("function-form", "a function is generic, or has a word of Rust that the language has not"),
    ("gradient-signature", "the gradient of a foreign function does not fit the function"),
    ("index-out-of-range", "an index is outside of its axis"),
    ("inner-dimension", "the extents that a product sums over differ"),
    ("integer-derivative", "only floats have derivatives"),
    ("kernel-too-large", "a kernel or window is larger than its padded input"),
    ("key-reuse", "two draws of random numbers use one key, so that they give the same numbers"),
    ("literal-out-of-range", "a number is beyond what its element type or an extent holds"),
    ("loop-over-data", "a `for` runs over a tensor, or as often as only a call knows"),
    ("loop-without-effect", "a loop over blocks assigns no variable"),
    ("macro-call", "a macro of Rust is called"),
    ("map-axis", "what a function is mapped over has a first axis, the same for all arguments"),
    ("misplaced-attribute", "an attribute stands where it means nothing"),
    ("missing-argument", "a struct is not given a value for one of its parameters"),
    ("missing-arm", "a `match` leaves values that no arm takes"),
    ("missing-attribute", "a required attribute is not given"),
    ("missing-else", "an `if` that gives a value needs both branches"),
    ("missing-gradient", "training goes through a foreign function that has no gradient"),
    ("missing-key", "random numbers are drawn outside of training without a key"),
    ("missing-self", "a field or function of the struct is named without `self.`"),
    ("mixed-dtype", "values of several element types meet without a conversion"),
    ("nested-item", "an item stands inside of a function or `impl`"),
    ("no-forward", "a block that is called like a function needs `fn forward`"),
    ("non-divisible", "a division of extents does not come out even"),
    ("non-scalar-gradient", "the function gives something else than what can be differentiated"),
    ("non-scalar-loss", "what a training function minimises must be a single f32"),
    ("not-a-block", "what is imported is no block of a `model!`"),
    ("not-a-function", "a value stands where a function is needed"),
    ("not-a-key", "a number or another tensor stands where random numbers need their key"),
    ("not-a-model", "a struct with public functions needs a default for each of its parameters"),
    ("not-a-tensor", "a block, layer, tuple or word stands where a tensor is needed"),
    ("not-a-tuple", "a single value is taken apart"),
    ("not-assignable", "what stands left of `=` is neither a variable nor a state"),
    ("not-callable", "what is called is neither a layer, a block nor a function"),
    ("not-supported", "the language reserves this, but it is not built yet"),
    ("nothing-to-train", "the gradient of a loss reaches none of the parameters that it is computed from"),
    ("op", "the op cannot be applied to these arguments"),
    ("overlapping-patterns", "an arm of a `match` is never taken, because earlier ones take its values"),
    ("part-assignment", "a part of a variable is assigned, and only parts of states can be"),
    ("path-name", "a name is written with the module that it has in Rust or Python"),
    ("pattern-type", "a pattern of a `match` is no value of the matched type"),
    ("private-training", "a training function that nobody can call"),
    ("recursion", "a function or struct contains itself"),
    ("reference", "a value or type is borrowed, though nothing is moved"),
    ("reserved-name", "a public function has the name of a method that every model has, or a field a word of Rust's"),
    ("reshape-count", "a reshape would change the number of elements"),
    ("shape-mismatch", "two shapes that must agree do not"),
    ("shape-query", "the shape of a value is asked for as if it were known at run time alone"),
    ("slice-out-of-range", "a slice reaches beyond its axis"),
    ("slice-syntax", "a slice is written as in Python"),
    ("state-in-training", "a function that is trained changes the state of a session"),
    ("state-inside", "a branch or a function that is mapped or differentiated assigns a state"),
    ("state-needs-mut", "state is assigned, or a function with `&mut self` called, in a function with `&self`"),
    ("state-not-inferable", "nothing tells the type of a state that begins as zeros"),
    ("state-start", "a state is declared with a value to begin with"),
    ("step-result", "the closure of a scan gives something else than a state and a value"),
    ("syntax", "the text is not in the model language"),
    ("too-many-attributes", "a call gives more attributes than the op declares"),
    ("tuple-length", "a pattern has another length than its value"),
    ("type-syntax", "a type is written as in Rust or Python"),
    ("unassigned-state", "no function assigns a state"),
    ("unbound-dimension", "no argument of the function binds the dimension's name"),
    ("unknown-attribute", "the op or layer has no such attribute"),
    ("unknown-dimension", "the name in a shape is neither a constant nor a dimension"),
    ("unknown-field", "the struct has no such field"),
    ("unknown-function", "no op, layer or function has that name"),
    ("unknown-layer", "no layer, block or parameter type has that name"),
    ("unknown-operator", "an operator of Rust or Python that the language has not"),
    ("unknown-optimiser", "no optimiser has that name"),
    ("unknown-pattern", "a pattern of a `match` is no value, or has a condition"),
    ("unknown-struct", "the macro declares no such struct"),
    ("unknown-type", "no element type has that name"),
    ("unknown-variable", "no variable, constant or dimension has that name"),
    ("unused-derivative", "a function is differentiated by a value that it does not use"),
    ("unused-field", "a field takes part in no function"),
    ("unused-foreign", "nothing calls a foreign function"),
    ("unused-import", "an imported block is named nowhere"),
    ("wrong-arity", "a call gives another number of arguments than the declaration asks for"),
    ("wrong-attribute", "an attribute's value is not one that the op or layer accepts"),
    ("wrong-dimension", "an extent differs from the one that is asked for"),
    ("wrong-dtype", "an op or function is not defined for the element type"),
    ("wrong-features", "a layer is declared for another number of features or channels than it gets"),
    ("wrong-rank", "the value has another number of dimensions than is asked for"),
    ("wrong-result", "the body gives another type than the signature declares"),
];

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
    /// Which kind of mistake, from `CODES`; stable.
    pub code: &'static str,
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
    pub fn new(code: &'static str, place: impl Into<Place>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { code, place: place.into(), message: message.into(), notes: vec![], help: None }
    }

    /// The same with a note.
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
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

    /// Drops all reports but the first so many.
    pub(crate) fn forget(&mut self, kept: usize) {
        self.list.truncate(kept);
    }

    /// All mistakes, in the order of their discovery.
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
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

/// The name among `known` that the user probably meant: at most a third of the letters differ.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = name.chars().count();
    let limit = letters.div_ceil(3).min(letters.saturating_sub(1));
    let distances = known.into_iter().map(|k| (edits(&name.to_lowercase(), &k.to_lowercase()), k));
    // Of equally near names one of the same length is likelier.
    let near = distances.filter(|&(d, k)| d <= limit && k != name);
    near.min_by_key(|&(d, k)| (d, k.chars().count().abs_diff(letters))).map(|(_, k)| k)
}

/// The least number of insertions, deletions, replacements and swaps of neighbours from `a` to `b`
/// (optimal string alignment; Damerau 1964).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = match (i, j) {
                (0, n) | (n, 0) => n,
                _ => {
                    let replace = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                    let swap = if swapped { table[i - 2][j - 2] + 1 } else { usize::MAX };
                    replace.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1).min(swap)
                }
            };
        }
    }
    table[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_distinct() {
        assert!(CODES.windows(2).all(|w| w[0].0 < w[1].0));
    }

    #[test]
    fn a_swap_is_one_edit() {
        assert_eq!(edits("sofmtax", "softmax"), 1);
        assert_eq!(edits("rleu", "relu"), 1);
        assert_eq!(closest("Liner", ["Linear", "LayerNorm"]), Some("Linear"));
        assert_eq!(closest("x", ["softmax"]), None);
    }

    #[test]
    fn an_error_carries_notes_and_help() {
        let mistake = Diagnostic::new("syntax", Span::call_site(), "wrong").note("why").help("right");
        let tokens = mistake.to_compile_error().to_string();
        assert!(tokens.contains("compile_error") && tokens.contains(r"wrong\n= note: why\n= help: right"));
    }
}
