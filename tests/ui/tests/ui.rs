//! What rustc shows of mistakes in models: one error for each, at the guilty tokens, and nothing that follows from it.
//!
//! `TRYBUILD=overwrite cargo test -p ui` rewrites the expected texts.

#[test]
fn rustc_shows_each_mistake_once() {
    trybuild::TestCases::new().compile_fail("mistakes/*.rs");
}
