//! The one sink of user mistakes: coded diagnostics at the guilty token, all collected before any kernel is made.

use proc_macro2::Span;

/// One mistake.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Which kind of mistake; stable, one per kind.
    pub code: &'static str,
    /// The guilty token.
    pub span: Span,
    /// Lower case, no full stop, in the user's names and numbers.
    pub message: String,
    /// Where the other side came from.
    pub notes: Vec<String>,
    /// What to write instead; can be pasted.
    pub help: Option<String>,
}

/// Collects mistakes. The same mistake at the same place is kept once.
#[derive(Default, Debug)]
pub struct Diags {
    list: Vec<Diagnostic>,
}

impl Diags {
    /// Records a mistake.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let key = |d: &Diagnostic| (d.code, format!("{:?}", d.span), d.message.clone());
        if !self.list.iter().any(|d| key(d) == key(&diagnostic)) {
            self.list.push(diagnostic);
        }
    }

    /// All mistakes, in the order of their discovery.
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
