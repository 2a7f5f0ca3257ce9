//! What the names in a text mean, for editors.

use proc_macro2::Ident;

/// All that an editor can show of a text.
#[derive(Clone, Debug, Default)]
pub struct Mentions {
    /// The structs.
    pub structs: Vec<Fields>,
    /// Where layers of the language stand: `Conv2d`.
    pub layers: Vec<Ident>,
    /// Where functions of the language stand: `gelu`.
    pub functions: Vec<Ident>,
    /// Where structs of the text stand as blocks of fields.
    pub blocks: Vec<Ident>,
}

/// A struct of the macro's own text with its fields.
#[derive(Clone, Debug)]
pub struct Fields {
    /// Its name, where it is declared.
    pub name: Ident,
    /// Each field with what it is, and the name of the layer that it is, if it is one.
    pub fields: Vec<(Ident, String, Option<Ident>)>,
    /// Where fields stand behind `self.`.
    pub uses: Vec<Ident>,
}
