//! What a program does with a model on the CPU, through `model!`: one small model in each module.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod attention;
mod bad_input;
mod batch_norm;
mod batches;
mod branches;
mod checkpoints;
mod checkpoints_vision;
mod corners;
mod costs;
mod defaults;
mod derivatives;
mod extents;
mod files;
mod foreign;
mod foreign_wgsl;
mod gradients;
mod lists;
mod optimisers;
mod other_names;
mod precision;
mod recurrent;
mod repeats;
mod resnet;
mod results;
mod rows;
mod state;
mod state_dicts;
mod stored;
mod threads;
mod trained;
mod transformer;
mod views;
mod vision;

use tests::numbers;
