//! The dispatches of a plan in order.
//!
//! Comes in: a plan, values of the named dimensions, and what a device binds. Goes out: the dispatches, repeats written out, the
//! parts of pools that each sees, the `call` uniform of each, and the records of those in branches. Always holds: nothing is left
//! out but dispatches of no workgroup.

use super::bindings::{Bindings, Room};
use super::program::{Command, ForeignCall, Launch, Plan, Pool};
use crate::error::Result;

/// Words of a record.
const RECORD: usize = 6;

/// One dispatch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispatch {
    /// Index into the program's entries.
    pub(super) entry: u16,
    /// What it sees: which of the arena's bind groups.
    pub(super) bound: usize,
    /// Workgroups, where there is no record.
    pub(super) groups: [u32; 2],
    /// The first word of its record in the pool of dispatches, where it is inside of a branch.
    pub(super) record: Option<u32>,
}

/// A call of a function that the program has supplied.
#[derive(Clone, Debug)]
pub(super) struct Foreign {
    /// How many dispatches come before it.
    pub(super) at: usize,
    /// Which of the model's foreign functions, and its name.
    pub(super) function: usize,
    pub(super) name: &'static str,
    pub(super) call: ForeignCall,
    /// The record of the branch around it, and the case in which it is made.
    pub(super) case: Option<(u32, u32)>,
}

/// Lists the dispatches of a plan.
pub(super) struct CallTable<'a> {
    /// The `call` uniforms one after the other.
    pub(super) words: &'a mut Vec<u32>,
    /// Which of these words are first words of slots in pools of which each step of a submission has a part of its own.
    pub(super) of_steps: &'a mut Vec<(usize, Pool)>,
    pub(super) dispatches: &'a mut Vec<Dispatch>,
    pub(super) foreign: &'a mut Vec<Foreign>,
    /// The pool of dispatches before anything is chosen.
    pub(super) records: &'a mut Vec<u32>,
    pub(super) launch: &'a mut Launch,
    /// Bind groups, what the device binds, and the number of the layout of each entry point.
    pub(super) of_device: (&'a mut Bindings, &'a Room, &'a dyn Fn(u16) -> usize),
    /// Words from one `call` uniform to the next.
    pub(super) stride: usize,
    pub(super) plan: &'a Plan,
    pub(super) dims: &'a [usize],
    /// How deep repeats are nested in the model.
    pub(super) loops: usize,
    /// The number of named dimensions of the model.
    pub(super) all: usize,
    /// The turns of the repeats around a command, outermost first.
    pub(super) turns: Vec<u32>,
}

/// The record of the innermost branch around a command, and the case.
type Case = Option<(u32, u32)>;

impl CallTable<'_> {
    /// Lists everything.
    ///
    /// # Errors
    /// If a dispatch sees more than the device binds.
    pub(super) fn list(&mut self) -> Result<()> {
        self.walk(self.plan.commands, None)
    }

    fn walk(&mut self, commands: &[Command], around: Case) -> Result<()> {
        for command in commands {
            match command {
                Command::Dispatch { entry, launch } => {
                    launch(self.dims, self.launch);
                    self.push(*entry, around)?;
                }
                Command::Repeat { count, reverse, body } => {
                    // More turns than a word counts have a table of calls that no memory holds.
                    let count = count(self.dims) as u32;
                    for turn in 0..count {
                        self.turns.push(if *reverse { count - 1 - turn } else { turn });
                        self.walk(body, around)?;
                        self.turns.pop();
                    }
                }
                Command::Foreign { function, name, call: fill } => {
                    let mut call = ForeignCall::default();
                    fill(self.dims, &mut call);
                    let (at, function) = (self.dispatches.len(), usize::from(*function));
                    self.foreign.push(Foreign { at, function, name, call, case: around });
                }
                Command::Branch { entry, launch, cases } => {
                    launch(self.dims, self.launch);
                    self.branch(*entry, cases, around)?;
                }
            }
        }
        Ok(())
    }

    /// The choice, which always runs, and the dispatches of all cases.
    fn branch(&mut self, entry: u16, cases: &[&[Command]], around: Case) -> Result<()> {
        let record = self.records.len();
        self.records.resize(record + RECORD, 0);
        let first = self.records.len();
        let (outer, case) = around.unwrap_or((u32::MAX, 0));
        let last = cases.len().saturating_sub(1) as u64;
        for number in [last, outer.into(), case.into(), record as u64, first as u64] {
            self.launch.number(number);
        }
        let count = self.words.len() + self.loops + self.all + self.launch.words.len();
        self.launch.number(0).slot(1, Pool::Dispatch, 0, 0);
        self.push(entry, None)?;
        for (number, commands) in cases.iter().enumerate() {
            self.walk(commands, Some((record as u32, number as u32)))?;
        }
        self.words[count] = ((self.records.len() - first) / RECORD) as u32;
        Ok(())
    }

    fn push(&mut self, entry: u16, around: Case) -> Result<()> {
        let groups = self.launch.groups;
        if groups == 0 {
            return Ok(());
        }
        // As few as can be are beyond the last one: a device takes time to start those, too.
        let down = groups.div_ceil(Launch::SIDE);
        let groups = [groups.div_ceil(down) as u32, u32::try_from(down).unwrap_or(u32::MAX)];
        let record = around.map(|(_, case)| {
            let record = self.records.len() as u32;
            self.records.extend([0, 0, 0, groups[0], groups[1], case]);
            record
        });
        let (bindings, room, layout) = &mut self.of_device;
        let bound = bindings.bind(layout(entry), self.launch, &self.turns, room)?;
        self.dispatches.push(Dispatch { entry, bound, groups, record });
        let end = self.words.len() + self.stride;
        let turns = self.turns.iter().rev().copied().chain(core::iter::repeat(0));
        self.words.extend(turns.take(self.loops));
        let dims = self.words.len();
        self.words.resize(dims + self.all, 0);
        for (&at, &value) in self.plan.dims.iter().zip(self.dims) {
            self.words[dims + at] = value as u32;
        }
        // Slots count from where their views begin, and a kernel adds the turns: in 32 bits both together are what they are.
        let slots = self.words.len();
        self.words.extend(self.launch.words.iter().map(|&word| word as u32));
        let own = self.launch.slots.iter().filter(|slot| matches!(slot.pool, Pool::Numbers | Pool::Outcome));
        self.of_steps.extend(own.map(|slot| (slots + slot.word, slot.pool)));
        self.words.resize(end, 0);
        Ok(())
    }
}
