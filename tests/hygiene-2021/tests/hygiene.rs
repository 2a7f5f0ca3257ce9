//! Models compile where everything is forbidden, denied or shadowed, in edition 2021.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs)]

#[path = "../../hygiene/models.rs"]
pub mod models;
#[path = "../../hygiene/places.rs"]
pub mod places;
#[path = "../../hygiene/travel.rs"]
pub mod travel;
