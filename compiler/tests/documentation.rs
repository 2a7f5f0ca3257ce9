//! What rustdoc shows of an emitted model: the user's functions first, in the order of the text, and each with the signature
//! that the user wrote.

#![allow(clippy::panic, reason = "tests fail by panicking")]

use precast_compiler::dump::Dumps;
use precast_compiler::pipeline::compile;
use syn::{Attribute, Expr, ExprLit, ImplItem, Item, ItemImpl, Lit, Meta, Type, Visibility};

const MODEL: &str = "
    const CLASSES: usize = 5;

    pub struct Reader { token: Embedding(100, 8), output: Linear(8, CLASSES), state last: f32[S, 8] }

    impl Reader {
        /// Scores, and the class with the largest.
        pub fn read(&self, ids: u32[B, T <= 512]) -> Reading { scores: f32[B, T, CLASSES], best: u32[B, T] } {
            let scores = self.output(self.token(ids));
            Reading { scores, best: argmax(scores, axis = -1) }
        }

        #[train(AdamW)]
        pub fn loss(&self, ids: u32[B, T <= 512], labels: u32[B, T], weights: f32[B, T]) -> f32 {
            mean(cross_entropy(self.read(ids).scores, labels) * weights)
        }

        /// What was there before.
        pub fn exchange(&mut self, x: f32[S, 8]) -> f32[S, 8] {
            let last = self.last;
            self.last = x;
            last
        }
    }";

/// The methods of a type that rustdoc shows, in order, with their documentation.
fn methods(of: &str) -> Vec<(String, String)> {
    let text: proc_macro2::TokenStream = MODEL.parse().unwrap_or_else(|why| panic!("{why}"));
    let emitted = compile(quote::quote!({ ::precast } #text), 0, &mut Dumps::default());
    let file: syn::File = syn::parse2(emitted).unwrap_or_else(|why| panic!("{why}"));
    let inherent = |item: Item| match item {
        Item::Impl(ItemImpl { trait_: None, self_ty, items, .. }) => match *self_ty {
            Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == of) => items,
            _ => vec![],
        },
        _ => vec![],
    };
    let shown = |item: ImplItem| match item {
        ImplItem::Fn(one) if matches!(one.vis, Visibility::Public(_)) => {
            Some((one.sig.ident.to_string(), documentation(&one.attrs)))
        }
        _ => None,
    };
    file.items.into_iter().flat_map(inherent).filter_map(shown).collect()
}

fn documentation(attrs: &[Attribute]) -> String {
    let line = |attr: &Attribute| match &attr.meta {
        Meta::NameValue(value) if value.path.is_ident("doc") => match &value.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    };
    attrs.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn functions_of_the_user_come_first() {
    let names = |of: &str| methods(of).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let model = names("Reader");
    assert_eq!(model[..4], ["read", "read_async", "read_into", "read_into_async"]);
    assert_eq!(model[4..7], ["loss", "loss_async", "init"]);
    let session = names("ReaderSession");
    assert_eq!(session[..7], ["read", "read_async", "loss", "loss_async", "exchange", "exchange_async", "reset"]);
    let trainer = names("ReaderTrainer");
    assert_eq!(trainer[..4], ["loss", "loss_async", "loss_gradients", "loss_gradients_async"]);
    assert_eq!(trainer[4..7], ["loss_batch", "loss_batch_async", "loss_arena_bytes"]);
}

#[test]
fn methods_show_the_signatures_that_the_user_wrote() {
    let of = |owner: &str, method: &str| {
        let found = methods(owner).into_iter().find(|(name, _)| name == method);
        found.unwrap_or_else(|| panic!("no `{method}`")).1
    };
    let read = " Scores, and the class with the largest.

 ```text
 fn read(
     &self,
     ids: u32[B, T <= 512],
 ) -> Reading { scores: f32[B, T, CLASSES], best: u32[B, T] }
 ```
 `B` is at least 1, `T` is 1 to 512, `CLASSES` is 5.";
    assert_eq!(of("Reader", "read"), read);
    assert_eq!(of("ReaderSession", "read"), read);
    let loss = " ```text
 fn loss(&self, ids: u32[B, T <= 512], labels: u32[B, T], weights: f32[B, T]) -> f32
 ```
 `B` is at least 1, `T` is 1 to 512.";
    assert_eq!(of("Reader", "loss").trim_start_matches('\n'), loss);
    assert_eq!(of("ReaderTrainer", "loss"), format!("A step of training by the model's `loss`.\n\n{loss}"));
    let exchange = " What was there before.

 ```text
 fn exchange(&mut self, x: f32[S, 8]) -> f32[S, 8]
 ```
 `S` is what the session was made with.";
    assert!(of("ReaderSession", "exchange").starts_with(exchange), "{}", of("ReaderSession", "exchange"));
    assert_eq!(of("Reader", "read_async"), "As `read`, without blocking.");
}
