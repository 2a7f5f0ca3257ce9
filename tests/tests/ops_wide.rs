//! Every op with floats of 64 bits, on the CPU: values, gradients and updates of the derived test programs against the oracle.

#![allow(dead_code, missing_docs, clippy::all, reason = "the models are generated, and only their plans are run")]

mod derived;

include!(concat!(env!("OUT_DIR"), "/ops_wide.rs"));
