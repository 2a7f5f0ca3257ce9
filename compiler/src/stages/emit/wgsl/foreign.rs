//! The entry points of foreign functions that have WGSL: one for each choice of buffers.
//!
//! Comes in: a foreign call in a plan. Goes out: an entry point with one invocation for each element of the result, and
//! the numbers that a dispatch of it takes. Always: slots are the arguments, the result, how many elements that has, and
//! then the extents that are no constants.

use super::elements::to_word;
use super::grid::{BUILTINS, NUMBER};
use super::names::Names;
use super::views::{Access, View, Views};
use crate::ir::Model;
use crate::ir::dim::Dim;
use crate::ir::model::{ForeignFn, Wgsl};
use crate::ir::plan::Plan;
use crate::ir::program::BufferId;
use crate::ir::workgroup::PLAIN;
use crate::ir::{Category, DType, Type};
use std::fmt::Write;

/// A foreign function bound to buffers of the device.
#[derive(PartialEq, Eq)]
pub(super) struct ForeignEntry {
    /// Which of the model's foreign functions.
    pub(super) function: usize,
    /// The views of its arguments, and of its result.
    pub(super) views: Views,
}

impl ForeignEntry {
    /// The entry point of a call; none where a closure of the program is called.
    pub(super) fn of(
        model: &Model,
        function: usize,
        plan: &Plan,
        args: &[(BufferId, Type)],
        results: &[(BufferId, Type)],
    ) -> Option<ForeignEntry> {
        model.foreign[function].wgsl.as_ref()?;
        let buffers: Vec<BufferId> = args.iter().chain(results).map(|(buffer, _)| *buffer).collect();
        let is_written: Vec<bool> = (0..buffers.len()).map(|slot| slot >= args.len()).collect();
        Some(ForeignEntry { function, views: Views::of(&super::work::places(plan, &buffers), &is_written) })
    }

    /// The variable of a slot.
    fn variable(&self, slot: usize) -> String {
        let number = self.views.of_slot[slot];
        let access = if self.views.written[number] { Access::Write } else { Access::Read };
        View { number, access }.name()
    }

    /// Its name, as the `number`-th of the model's.
    pub(super) fn name(&self, number: usize, model: &Model) -> String {
        format!("foreign{number}_{}", model.foreign[self.function].name)
    }

    /// The entry point with all that it calls.
    pub(super) fn print(&self, number: usize, model: &Model, names: &Names) -> String {
        let function = &model.foreign[self.function];
        let Some(Wgsl { text, .. }) = &function.wgsl else {
            unreachable!("only functions with WGSL have entry points")
        };
        let prefix = format!("f{number}_");
        let word = |k: usize, at: &str| {
            let word = format!("{}[u32({}) + {at}]", self.variable(k), names.slot(k));
            of_word(function.args[k].1.dtype, word)
        };
        let mut out = function.surroundings(&prefix, &word);
        let _ = writeln!(out, "{}", function.prefixed(text, &prefix));
        let (first, result) = (function.args.len(), &function.results[0]);
        let mut extents = String::new();
        for k in 0..function.open_extents().len() {
            let _ = writeln!(extents, "    {} = u32({});", function.extent(&prefix, k), names.slot(first + 2 + k));
        }
        let (position, call) = function.element(&prefix);
        let value = to_word(result.dtype, &call);
        let (name, to) = (self.name(number, model), self.variable(first));
        let (start, count) = (names.slot(first), names.slot(first + 1));
        let _ = writeln!(
            out,
            "@compute @workgroup_size({PLAIN})\n\
             fn {name}({BUILTINS}) {{\n\
             \x20   let at = ({NUMBER}) * {PLAIN}u + lane;\n\
             \x20   if at >= u32({count}) {{ return; }}\n{extents}{position}    {to}[u32({start}) + at] = {value};\n}}"
        );
        out
    }
}

/// How many slots a call takes.
pub(super) fn slots(function: &ForeignFn) -> usize {
    function.args.len() + 2 + function.open_extents().len()
}

/// The slots of a call behind those of its buffers: the elements of the result, then the open extents.
pub(super) fn numbers(function: &ForeignFn, args: &[(BufferId, Type)], results: &[(BufferId, Type)]) -> Vec<Dim> {
    let extents = function.open_extents().into_iter().map(|(_, operand)| {
        let ty = operand.of.map_or(&results[0].1, |k| &args[k].1);
        ty.shape[operand.axis].clone()
    });
    std::iter::once(results[0].1.count()).chain(extents).collect()
}

/// The value that a word holds.
fn of_word(dtype: DType, word: String) -> String {
    match dtype.category() {
        Category::Float | Category::Signed => format!("bitcast<{dtype}>({word})"),
        Category::Unsigned | Category::Bool => word,
    }
}
