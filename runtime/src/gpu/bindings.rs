//! Bind groups: the parts of pools that dispatches see.
//!
//! Comes in: launches, and what a device binds. Goes out: a bind group for each way in which dispatches see memory. Always holds:
//! a pool that fits into one binding is bound as a whole, so that few groups serve all dispatches; otherwise a view has the words
//! that one turn of the repeats around touches.

use super::arena::pool_error;
use super::program::{Launch, Pool};
use crate::error::Result;
use core::ops::Range;
use std::collections::HashMap;

/// The most groups that are kept for shapes that are not the present one.
const KEPT: usize = 4096;

/// What a device binds, and how large its pools are.
#[derive(Debug)]
pub(super) struct Room {
    /// Bytes of each pool.
    pub(super) pools: [u64; Pool::COUNT],
    /// The words that each argument has in the pool of arguments, where each is a piece of a buffer of its own; otherwise none.
    pub(super) arguments: Vec<Range<u64>>,
    /// The most bytes of a binding.
    pub(super) binding: u64,
    /// What the first byte of a binding is a multiple of.
    pub(super) alignment: u64,
}

/// A pool, or an argument that is apart, as a view sees it: all of it, or some bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Part {
    pub(super) pool: Pool,
    pub(super) argument: Option<usize>,
    pub(super) bytes: Option<Range<u64>>,
}

/// The groups of an arena.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    numbers: HashMap<(usize, Vec<Part>), usize>,
    groups: Vec<Group>,
}

/// A layout with the parts of pools that it binds, and the group, once it was made of the present buffers.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) layout: usize,
    pub(super) parts: Vec<Part>,
    pub(super) made: Option<wgpu::BindGroup>,
}

impl Bindings {
    /// Forgets the groups of other shapes, if they are many.
    pub(super) fn begin(&mut self) {
        if self.groups.len() > KEPT {
            self.numbers.clear();
            self.groups.clear();
        }
    }

    /// The number of a group.
    pub(super) fn group(&self, number: usize) -> &Group {
        &self.groups[number]
    }

    /// Makes those of some groups that are not made.
    pub(super) fn make(
        &mut self,
        numbers: impl Iterator<Item = usize>,
        make: impl Fn(&Group) -> Option<wgpu::BindGroup>,
    ) {
        for number in numbers {
            if self.groups[number].made.is_none() {
                self.groups[number].made = make(&self.groups[number]);
            }
        }
    }

    /// Takes apart those that bind a part whose buffer is another one now.
    pub(super) fn forget(&mut self, is_other: impl Fn(&Part) -> bool) {
        for group in &mut self.groups {
            if group.parts.iter().any(&is_other) {
                group.made = None;
            }
        }
    }

    /// Takes all apart.
    pub(super) fn forget_all(&mut self) {
        self.groups.iter_mut().for_each(|group| group.made = None);
    }

    /// The number of the group of a launch, in some turns of the repeats around it, outermost first. Its slots count from where
    /// their views begin afterwards.
    pub(super) fn bind(&mut self, layout: usize, launch: &mut Launch, turns: &[u32], room: &Room) -> Result<usize> {
        let mut parts: Vec<Part> = Vec::new();
        for view in 0.. {
            let Some(pool) = launch.slots.iter().find(|slot| slot.view == view).map(|slot| slot.pool) else { break };
            let argument = room.argument(launch, view, pool);
            let size = match argument {
                Some(argument) => {
                    go_back(launch, view, room.arguments[argument].start);
                    4 * (room.arguments[argument].end - room.arguments[argument].start)
                }
                None => room.pools[pool.index()],
            };
            let bytes = if size <= room.binding { None } else { Some(part(launch, view, turns, (room, size))?) };
            if let Some(bytes) = &bytes {
                go_back(launch, view, bytes.start / 4);
            }
            parts.push(Part { pool, argument, bytes });
        }
        let groups = &mut self.groups;
        Ok(*self.numbers.entry((layout, parts)).or_insert_with_key(|(layout, parts)| {
            groups.push(Group { layout: *layout, parts: parts.clone(), made: None });
            groups.len() - 1
        }))
    }
}

impl Room {
    /// The argument that a view sees, if arguments are apart.
    fn argument(&self, launch: &Launch, view: usize, pool: Pool) -> Option<usize> {
        let slot = launch.slots.iter().find(|slot| slot.view == view && pool == Pool::Inputs)?;
        let word = launch.words[slot.word];
        // What is empty has no words, and begins where another one does, or behind all.
        let of = |is: &dyn Fn(&Range<u64>) -> bool| self.arguments.iter().position(is);
        of(&|words| words.contains(&word)).or_else(|| of(&|words| words.start == word))
    }
}

/// Lets the slots of a view count from so many words on.
fn go_back(launch: &mut Launch, view: usize, words: u64) {
    for slot in launch.slots.iter().filter(|slot| slot.view == view) {
        let word = &mut launch.words[slot.word];
        *word = word.wrapping_sub(words);
    }
}

/// The bytes that a view needs, of so many.
fn part(launch: &Launch, view: usize, turns: &[u32], (room, size): (&Room, u64)) -> Result<Range<u64>> {
    let (mut start, mut end, mut pool) = (u64::MAX, 0, Pool::Weights);
    for slot in launch.slots.iter().filter(|slot| slot.view == view) {
        let strides = &launch.strides[slot.strides.0..slot.strides.1];
        let before: u64 = strides.iter().zip(turns.iter().rev()).map(|(stride, &turn)| stride * u64::from(turn)).sum();
        let first = launch.words[slot.word] + before;
        (start, end, pool) = (start.min(first), end.max(first + slot.len), slot.pool);
    }
    let start = 4 * start / room.alignment * room.alignment;
    // Kernels see buffers as vectors of four words, and a binding is not empty.
    let end = (4 * end).next_multiple_of(16).max(start + 16).min(size);
    match end.saturating_sub(start) {
        bytes if bytes <= room.binding => Ok(start..end),
        bytes => Err(pool_error(pool.name(), bytes, "binding", room.binding)),
    }
}
