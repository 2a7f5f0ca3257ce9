//! Every op with integers of 64 bits and with numbers of fewer than 32, on the CPU and the GPU: values, gradients and updates of
//! the derived test programs against the oracle.

#![allow(dead_code, missing_docs, clippy::all, reason = "the models are generated, and only their plans are run")]

mod derived;

include!(concat!(env!("OUT_DIR"), "/ops_other_types.rs"));
