//! Nothing but its test: a model in a crate of edition 2024.
