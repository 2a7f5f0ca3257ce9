//! grad: training functions in, the same with gradients, update and effects out.
//!
//! Derivatives are ordinary graph: reverse mode with one rule for each primitive. A failure here is a
//! compiler bug; the user's mistakes were reported before.

mod activity;
mod map;
mod movement;
mod repeat;
mod reverse;
mod rules;
mod train;
mod window;

pub use reverse::differentiate;

use crate::ir::Model;
use crate::ir::model::Mode;

/// Completes every training function; the others stay as they are.
pub fn grad(mut model: Model) -> Model {
    let mut functions = std::mem::take(&mut model.functions);
    for function in &mut functions {
        match function.mode {
            Mode::Evaluate => {}
            Mode::Train(optimizer) => train::complete(&model, function, optimizer),
        }
    }
    Model { functions, ..model }
}
