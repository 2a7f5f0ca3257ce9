//! Views: the variables through which an entry point sees the memory of a device.
//!
//! Comes in: where the buffers of a launch lie. Goes out: for each slot the number of its variable, and how that sees memory.
//! Always holds: view `n` is binding `1 + n`, as the runtime's `gpu::Program` has it; memory that a launch writes is seen through
//! one variable, because no device binds a buffer twice where it is written; a launch has no more views than every device binds
//! buffers, where it touches no more pools.

use crate::ir::DType;
use crate::ir::kernel::Kernel;
use crate::ir::neighbours::{Fours, is_packed};
use crate::ir::operand;
use crate::ir::plan::{self, Place};
use crate::ir::recurrence::Recurrent;
use crate::ir::tile::Way;
use crate::ir::workgroup::BUFFERS;
use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use std::collections::BTreeSet;

/// A buffer of the device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Pool {
    /// All parameters.
    Weights,
    /// All gradients, laid out as the parameters.
    Gradients,
    /// All states of the optimiser one after the other, each laid out as the parameters; outside of training those of
    /// the session.
    State,
    /// All arguments of the call one after the other.
    Inputs,
    /// The random key and the numbers of a step.
    Numbers,
    /// The parameter group of each chunk.
    Groups,
    /// A part of what dies with the call or is read from it.
    Bank(usize),
    /// The loss of a step, and whether it made its update.
    Outcome,
    /// A result of a call.
    Result(usize),
}

impl Pool {
    pub(super) fn of(pool: plan::Pool) -> Pool {
        match pool {
            plan::Pool::Argument(_) => Pool::Inputs,
            plan::Pool::Weights => Pool::Weights,
            plan::Pool::Gradients => Pool::Gradients,
            // A step of training knows no session, so that both kinds of state share a binding.
            plan::Pool::State(_) | plan::Pool::Session => Pool::State,
            plan::Pool::Numbers => Pool::Numbers,
            plan::Pool::Groups => Pool::Groups,
            plan::Pool::Bank(bank) => Pool::Bank(bank),
            plan::Pool::Outcome => Pool::Outcome,
            plan::Pool::Result(k) => Pool::Result(k),
            // What no step of a GPU uses has no words anywhere.
            plan::Pool::Scratch => Pool::Bank(0),
        }
    }

    /// The runtime's name of it.
    pub(super) fn rust(self) -> TokenStream {
        let name = match self {
            Pool::Weights => "Weights",
            Pool::Gradients => "Gradients",
            Pool::State => "State",
            Pool::Inputs => "Inputs",
            Pool::Numbers => "Numbers",
            Pool::Groups => "Groups",
            Pool::Outcome => "Outcome",
            Pool::Bank(bank) => {
                let bank = Literal::usize_unsuffixed(bank);
                return quote!(rt::gpu::Pool::Bank(#bank));
            }
            Pool::Result(k) => {
                let k = Literal::usize_unsuffixed(k);
                return quote!(rt::gpu::Pool::Result(#k));
            }
        };
        let name = format_ident!("{name}");
        quote!(rt::gpu::Pool::#name)
    }
}

/// The views of an entry point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Views {
    /// The view of each slot.
    pub of_slot: Vec<usize>,
    /// Whether the entry point may write through a view.
    pub written: Vec<bool>,
}

impl Views {
    /// Those of slots that lie in places, and of which some are written: one for each pool that is written and for each buffer
    /// that is only read, or for each pool, where these would be many.
    pub(super) fn of(places: &[&Place], is_written: &[bool]) -> Views {
        let pools: Vec<Pool> = places.iter().map(|place| Pool::of(place.pool)).collect();
        let written: BTreeSet<Pool> =
            pools.iter().zip(is_written).filter(|(_, is)| **is).map(|(pool, _)| *pool).collect();
        let apart = Views::by(places.len(), &|a, b| {
            let is_same = places[a].pool == places[b].pool && places[a].offset == places[b].offset;
            is_same || pools[a] == pools[b] && written.contains(&pools[a])
        });
        let of_slot = match apart.iter().max() {
            Some(&last) if last >= BUFFERS => Views::by(places.len(), &|a, b| pools[a] == pools[b]),
            _ => apart,
        };
        let count = of_slot.iter().max().map_or(0, |last| last + 1);
        let is_written = |view| of_slot.iter().zip(&pools).any(|(&of, pool)| of == view && written.contains(pool));
        let written = (0..count).map(is_written).collect();
        Views { of_slot, written }
    }

    /// How a kernel sees a view by itself.
    pub(super) fn access(&self, kernel: &Kernel, way: Option<Way>, view: usize) -> Access {
        let of_view = |slot: usize| self.of_slot.get(slot) == Some(&view);
        let written = kernel.slots.iter().enumerate().filter(|(slot, own)| of_view(*slot) && own.write);
        let written: Vec<DType> = written.map(|(_, slot)| slot.dtype).collect();
        let of_scalars = Fours::scheduled(kernel).is_some_and(|fours| fours.sees(&of_view));
        // An operand that is read word by word is read sooner where words are seen.
        let of_operands = way.and_then(|way| operand::sees_fours(kernel, way, &of_view));
        let of_matrix = Recurrent::of(kernel).is_some_and(|Recurrent { own, .. }| {
            kernel.schedule.workgroup.is_some()
                && (0..kernel.slots.len()).all(|slot| of_view(slot) == (slot == own.matrix))
        });
        let of_operands = of_operands.or(of_matrix.then_some(true));
        let has_fours = of_operands.unwrap_or(true) && (of_scalars || written.is_empty() && of_operands.is_some());
        match (written.as_slice(), has_fours) {
            ([], false) => Access::Read,
            ([], true) => Access::ReadFours,
            (all, _) if all.iter().any(|dtype| dtype.is_stored()) && !is_packed(kernel) => Access::Atomic,
            (_, false) => Access::Write,
            (_, true) => Access::WriteFours,
        }
    }

    /// Numbers things so that those which are the same have the same number.
    fn by(count: usize, same: &dyn Fn(usize, usize) -> bool) -> Vec<usize> {
        let (mut numbers, mut next): (Vec<usize>, usize) = (vec![], 0);
        for this in 0..count {
            let known = (0..this).find(|&before| same(before, this)).map(|before| numbers[before]);
            numbers.push(known.unwrap_or(next));
            next += usize::from(known.is_none());
        }
        numbers
    }
}

/// A variable.
#[derive(Clone, Copy)]
pub(super) struct View {
    /// Its number.
    pub(super) number: usize,
    /// How it sees memory.
    pub(super) access: Access,
}

/// What the names of all variables begin with.
pub(super) const PREFIX: &str = "buffer";

impl View {
    /// Its name.
    pub(super) fn name(self) -> String {
        let suffix = match self.access {
            Access::Read => "r",
            Access::Write => "w",
            Access::Atomic => "a",
            Access::ReadFours => "r4",
            Access::WriteFours => "w4",
            Access::Kept => "k",
        };
        format!("{PREFIX}{}_{suffix}", self.number)
    }

    /// Its declaration. Entry points that see a buffer in several ways bind it to one number.
    pub(super) fn declaration(self) -> String {
        let (mode, word) = match self.access {
            Access::Kept => return format!("var<workgroup> {}: array<u32, 1>;\n", self.name()),
            Access::Read => ("read", "u32"),
            Access::Write => ("read_write", "u32"),
            Access::Atomic => ("read_write", "atomic<u32>"),
            Access::ReadFours => ("read", "vec4<u32>"),
            Access::WriteFours => ("read_write", "vec4<u32>"),
        };
        let (binding, name) = (1 + self.number, self.name());
        format!("@group(0) @binding({binding}) var<storage, {mode}> {name}: array<{word}>;\n")
    }
}

/// How an entry point sees a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// It only reads it.
    Read,
    /// It writes whole words, each in one invocation.
    Write,
    /// It writes elements of which several share a word, and different invocations write them.
    Atomic,
    /// It only reads it, four words at a time where it can.
    ReadFours,
    /// All that it writes is four words at a time, each four in one invocation, and it reads so where it can. A write of
    /// one of four words may write all of them, so there is none.
    WriteFours,
    /// It is a word that a workgroup keeps for itself.
    Kept,
}

impl Access {
    pub(super) const ALL: [Access; 6] =
        [Access::Read, Access::ReadFours, Access::WriteFours, Access::Write, Access::Atomic, Access::Kept];

    /// How memory is seen that one kernel would see so, and another one otherwise: single words are read of what is seen in
    /// fours, but not written.
    pub(super) fn with(self, other: Access) -> Access {
        let rank = |access: &Access| Access::ALL.iter().position(|known| known == access);
        if rank(&self) < rank(&other) { other } else { self }
    }

    /// Whether it sees vectors of four words.
    pub(super) fn sees_fours(self) -> bool {
        match self {
            Access::Read | Access::Write | Access::Atomic | Access::Kept => false,
            Access::ReadFours | Access::WriteFours => true,
        }
    }
}

/// The names in a text that are variables, or functions of variables.
pub(super) fn mentioned(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(PREFIX)).collect()
}
