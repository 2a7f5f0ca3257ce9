//! Names of a file as names of a program.

use proc_macro2::Ident;
use std::collections::BTreeMap;

/// Names that are taken. Always: none is given twice, in about the same time however many there are.
#[derive(Default)]
pub(super) struct Names {
    /// With each the number that was last put behind it.
    taken: BTreeMap<String, u32>,
}

impl Names {
    /// The name, or with a number behind it where it is taken.
    pub(super) fn unique(&mut self, name: String) -> String {
        let Some(last) = self.taken.get(&name) else {
            self.taken.insert(name.clone(), 1);
            return name;
        };
        let numbered = (last + 1..).find_map(|k| {
            let numbered = format!("{name}_{k}");
            (!self.taken.contains_key(&numbered)).then_some((k, numbered))
        });
        let Some((k, numbered)) = numbered else { unreachable!("fewer names are taken than there are numbers") };
        self.taken.insert(name, k);
        self.taken.insert(numbered.clone(), 1);
        numbered
    }

    /// A name of a file as a Rust identifier that is not taken.
    pub(super) fn identifier(&mut self, name: &str) -> String {
        let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            text.insert_str(0, "x_");
        }
        if syn::parse_str::<Ident>(&text).is_err() {
            text.push('_');
        }
        self.unique(text)
    }
}
