//! What an entry point runs: a kernel, or several that share a dispatch.
//!
//! Comes in: the launches of a dispatch, and where their buffers lie. Goes out: for each slot of a kernel its number among those
//! of the entry point, and how the entry point sees memory. Always holds: a buffer that several kernels touch is one slot; what
//! workgroups keep for themselves comes behind all that a launch binds, and is bound to nothing.

use super::grid::{COUNTED, NUMBER, Run};
use super::names::Names;
use super::views::{Access, View, Views};
use super::{Around, EntryPoint, Printed, print_kernel};
use crate::ir::joint::{self, Joint};
use crate::ir::kernel::{Kernel, Slot};
use crate::ir::plan::{Place, Plan};
use crate::ir::program::BufferId;
use crate::ir::tile::Way;

/// The kernels of an entry point, and how it sees their memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Work {
    /// How it runs them, where they are several.
    pub(super) joint: Option<Joint>,
    pub(super) parts: Vec<Part>,
    /// How it sees the memory of its slots.
    pub(super) views: Views,
}

/// One of the kernels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// Its number.
    pub(super) kernel: usize,
    /// The numbers of its slots among those of the entry point.
    pub(super) slots: Vec<usize>,
}

/// A launch of a kernel by its number.
pub(super) type Launched<'p> = (usize, &'p [BufferId]);

impl Work {
    /// That of launches, and the buffers of its slots.
    pub(super) fn of(
        plan: &Plan,
        kernels: &[Kernel],
        joint: Option<Joint>,
        launches: &[Launched<'_>],
    ) -> (Work, Vec<BufferId>) {
        let is_written = |launches: &[Launched<'_>], buffer: BufferId| {
            let slots = launches.iter().flat_map(|&(kernel, buffers)| kernels[kernel].slots.iter().zip(buffers));
            slots.into_iter().any(|(slot, other)| slot.write && *other == buffer)
        };
        if let (None, &[(kernel, buffers)]) = (joint, launches) {
            let is_written: Vec<bool> = kernels[kernel].slots.iter().map(|slot| slot.write).collect();
            let views = Views::of(&places(plan, buffers), &is_written);
            let part = Part { kernel, slots: (0..buffers.len()).collect() };
            return (Work { joint, parts: vec![part], views }, buffers.to_vec());
        }
        let kept = match (joint, launches) {
            (Some(Joint::Each), &[first, second]) => {
                joint::kept((&kernels[first.0], first.1), (&kernels[second.0], second.1))
            }
            _ => Default::default(),
        };
        let mut bound: Vec<BufferId> = vec![];
        for &buffer in launches.iter().flat_map(|(_, buffers)| *buffers).filter(|buffer| !kept.contains(buffer)) {
            if !bound.contains(&buffer) {
                bound.push(buffer);
            }
        }
        let all: Vec<BufferId> = bound.iter().copied().chain(kept).collect();
        let number = |buffer: &BufferId| all.iter().position(|other| other == buffer).unwrap_or_default();
        let part = |&(kernel, buffers): &Launched<'_>| Part { kernel, slots: buffers.iter().map(number).collect() };
        let parts = launches.iter().map(part).collect();
        let is_written: Vec<bool> = bound.iter().map(|buffer| is_written(launches, *buffer)).collect();
        (Work { joint, parts, views: Views::of(&places(plan, &bound), &is_written) }, bound)
    }

    /// How many views there are, with those of what is kept.
    pub(super) fn variables(&self) -> usize {
        self.views.written.len() + self.slots() - self.views.of_slot.len()
    }

    /// How many slots there are, with those of what is kept.
    pub(super) fn slots(&self) -> usize {
        self.parts.iter().flat_map(|part| &part.slots).max().map_or(0, |last| last + 1)
    }

    /// The kernel of a part, whose slots have their numbers in the entry point.
    fn kernel(&self, part: &Part, kernels: &[Kernel]) -> Kernel {
        let mut own = kernels[part.kernel].clone();
        if self.joint.is_none() {
            return own;
        }
        let slot = |number: usize| {
            let of_part = |part: &Part| {
                let at = part.slots.iter().position(|slot| *slot == number)?;
                Some(kernels[part.kernel].slots[at].clone())
            };
            let Some(any) = self.parts.iter().find_map(of_part) else { unreachable!("a slot is that of a part") };
            of_part(part).unwrap_or(Slot { read: false, write: false, ..any })
        };
        own.slots = (0..self.slots()).map(slot).collect();
        own.for_each_slot(&mut |slot| *slot = part.slots[*slot]);
        own
    }

    /// How the entry point sees its slots.
    fn memory(&self, parts: &[(Kernel, Option<Way>)]) -> Vec<View> {
        let (bound, views) = (&self.views.of_slot, self.views.written.len());
        let access = |view: usize| {
            let of_parts = parts.iter().map(|(kernel, way)| self.views.access(kernel, *way, view));
            of_parts.fold(Access::Read, Access::with)
        };
        let seen = bound.iter().map(|&number| View { number, access: access(number) });
        let kept =
            (bound.len()..self.slots()).map(|slot| View { number: views + slot - bound.len(), access: Access::Kept });
        seen.chain(kept).collect()
    }
}

/// Where buffers lie.
pub(super) fn places<'p>(plan: &'p Plan, buffers: &[BufferId]) -> Vec<&'p Place> {
    buffers.iter().map(|buffer| &plan.banked[buffer.0]).collect()
}

impl EntryPoint {
    /// Prints the entry point.
    pub(super) fn print(&self, names: &Names, kernels: &[Kernel]) -> Printed {
        let work = &self.work;
        let parts: Vec<(Kernel, Option<Way>)> = work
            .parts
            .iter()
            .map(|part| {
                let kernel = work.kernel(part, kernels);
                let way = self.way.or_else(|| joint::tile(&kernel).map(Way::Plain));
                (kernel, way)
            })
            .collect();
        let memory = work.memory(&parts);
        let run = match work.joint {
            None => Run::ALONE,
            Some(Joint::Beside) => Run::PART,
            Some(Joint::Rows) => Run::FIRST,
            Some(Joint::Each) => Run::EACH,
        };
        let slabs = format!("{}_s", self.prefix());
        let last = parts.len() - 1;
        let run = |number: usize| if number == last && number > 0 { Run::PART } else { run };
        let printed = parts.iter().enumerate().map(|(number, (kernel, way))| {
            let own = |begin: &str| match work.joint {
                None => begin.to_owned(),
                Some(_) => format!("{begin}p{number}"),
            };
            let (prefix, base) = (own(&self.prefix()), own(&self.base));
            let (name, memory) = (self.name.as_str(), memory.clone());
            let around = Around { name, prefix: &prefix, base: &base, slabs: &slabs, memory, run: run(number) };
            print_kernel(names, kernel, *way, around)
        });
        let printed: Vec<Printed> = printed.collect();
        let mut printed = match work.joint {
            None => printed.into_iter().next().unwrap_or_else(|| unreachable!("an entry point has a kernel")),
            Some(joint) => {
                let bytes = joint::bytes(parts.iter().map(|(kernel, _)| kernel));
                Printed { bytes, ..join(names, joint, printed) }
            }
        };
        let words = parts.iter().filter_map(|(_, way)| way.and_then(Way::plain)).map(|tile| tile.words()).max();
        if let Some(words) = words {
            printed.declarations += &format!("var<workgroup> {slabs}: array<vec4<f32>, {words}>;\n\n");
        }
        printed
    }
}

/// Kernels as the statements of one entry point.
fn join(names: &Names, joint: Joint, parts: Vec<Printed>) -> Printed {
    let threads = parts.iter().map(|part| part.threads).max().unwrap_or(0);
    let declarations = parts.iter().flat_map(|part| [part.shared.as_str(), &part.declarations]).collect();
    let block = |part: &Printed| format!("    {{\n{}    }}\n", indented(&part.body));
    let (statements, groups) = match joint {
        Joint::Beside => {
            let last = parts.len() - 1;
            let of_part = |rest: String, (at, part): (usize, &Printed)| {
                let groups = names.unsigned(&part.groups);
                match at == last {
                    true => part.body.clone(),
                    false => format!(
                        "    if {COUNTED} < {groups} {{\n{}    }} else {{\n        let {COUNTED} = {COUNTED} - {groups};\n{}    }}\n",
                        indented(&part.body),
                        indented(&rest)
                    ),
                }
            };
            let text = parts.iter().enumerate().rev().fold(String::new(), of_part);
            let groups = parts.iter().fold(0.into(), |sum, part| sum + part.groups.clone());
            (text, groups)
        }
        Joint::Rows | Joint::Each => {
            // What lies in buffers is there for all invocations of the workgroup behind a barrier of buffers.
            let barrier = if joint == Joint::Rows { "storageBarrier" } else { "workgroupBarrier" };
            let blocks: Vec<String> = parts.iter().map(block).collect();
            let groups = parts.last().map(|part| part.groups.clone()).unwrap_or_default();
            (blocks.join(&format!("    {barrier}();\n")), groups)
        }
    };
    let body = format!("    let {COUNTED} = {NUMBER};\n{statements}");
    Printed { shared: String::new(), declarations, body, groups, threads, bytes: 0 }
}

/// Statements one level further in.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
