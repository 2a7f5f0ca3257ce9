//! Prints the WGSL of a model and the static tables of its dispatches.
//!
//! Comes in: a model with its memory plans. Goes out: a WGSL module, and another one of what users wrote, both validated, and
//! Rust items that hand them to the runtime, the first in parts. Always holds: one entry point per unique kernel and way of seeing
//! its memory, however
//! often and at whatever offset it is launched; nothing grows with the depth of a repeat; the same input gives the same bytes.

mod attend;
mod choose;
mod contract;
mod convert;
mod elements;
mod foreign;
mod grid;
mod names;
mod numbers;
mod pairs;
mod positions;
mod recur;
mod row;
mod scalars;
mod scatter;
mod tables;
mod titles;
mod validate;
mod views;

use crate::ir::dim::Dim;
use crate::ir::kernel::{Kernel, Skeleton};
use crate::ir::neighbours::{Fours, is_packed};
use crate::ir::operand::{self, Reading};
use crate::ir::plan::{Place, Plan, Plans};
use crate::ir::program::{BufferId, KernelId, Step};
use crate::ir::recurrence::Recurrent;
use crate::ir::tile::Way;
use crate::ir::workgroup::{Sides, Workgroup};
use crate::ir::{DType, Model};
use contract::Contract;
use foreign::ForeignEntry;
use grid::Grid;
use names::Names;
use views::{Access, View, Views};

use proc_macro2::TokenStream;
use scalars::Scalars;

/// What the GPU back end emits for a model.
pub struct Emitted {
    /// The module of all entry points that are the compiler's own and that every device runs.
    pub wgsl: String,
    /// The module of those for devices with cooperative matrices; empty if there are none.
    pub halves: String,
    /// The module of those that run WGSL of the user; empty if there are none.
    pub foreign: String,
    /// The named dimensions of all functions, in the order in which calls pass them.
    pub dims: Vec<String>,
    /// The entry points of the text that are kernels.
    pub entries: Vec<EntryPoint>,
    /// `PROGRAM` and, in the order of the functions, `PLANS`: items that name the runtime as `rt`.
    pub items: TokenStream,
}

/// Prints a model for the GPU.
pub fn wgsl(model: &Model, plans: &Plans) -> Emitted {
    let dims = named_dims(model);
    let mut entries = Entries::default();
    for plan in &plans.plans {
        collect(&plan.program.steps, plan, (model, plans), &mut entries);
    }
    let of_choice = if entries.has_choice { choose::SLOTS } else { 0 };
    let of_foreign = entries.foreign.iter().map(|entry| foreign::slots(&model.foreign[entry.function]));
    let of_kernel = entries.list.iter().map(|entry| plans.kernels[entry.kernel].slots.len());
    let slots = of_kernel.chain(of_foreign).max();
    let slots = slots.unwrap_or(0).max(of_choice);
    let loops = plans.plans.iter().map(|plan| depth(&plan.program.steps)).max().unwrap_or(0);
    let of_choice = if entries.has_choice { choose::VIEWS.len() } else { 0 };
    let of_kernel = entries.list.iter().map(|entry| &entry.views);
    let of_all = of_kernel.chain(entries.foreign.iter().map(|entry| &entry.views));
    let views = of_all.map(|views| views.written.len()).max().unwrap_or(0).max(of_choice);
    let names = Names::new(loops, dims.clone(), slots, views);
    let mut own = Vec::with_capacity(entries.first_foreign());
    for entry in &mut entries.list {
        let printed = print(&names, entry, &plans.kernels[entry.kernel]);
        own.push((entry.enables(), printed.shared, printed.text + "\n"));
        entry.groups = printed.groups;
        entry.threads = printed.threads;
        entry.bytes = printed.bytes;
    }
    own.extend(entries.has_choice.then(|| ("", String::new(), choose::print() + "\n")));
    let foreign = entries.foreign.iter().enumerate();
    let foreign = foreign.map(|(number, entry)| ("", String::new(), entry.print(number, model, &names) + "\n"));
    let (own, foreign) = (Module::new(&names, own), Module::new(&names, foreign).text(""));
    let items = tables::tables(model, plans, &names, &entries, (&own, &foreign));
    Emitted { wgsl: own.text(""), halves: own.text(contract::ENABLES), foreign, dims, entries: entries.list, items }
}

/// Modules in parts: what their entry points have in common, and with which each of them is a module, too.
struct Module {
    common: String,
    entries: Vec<ModuleOfEntry>,
}

/// What the module of an entry point begins with, what it has in common with those of other ways to do the same, and its own text.
type ModuleOfEntry = (&'static str, String, String);

impl Module {
    /// The modules of these entry points, validated; nothing if there are none.
    fn new(names: &Names, entries: impl IntoIterator<Item = ModuleOfEntry>) -> Module {
        let entries: Vec<ModuleOfEntry> = entries.into_iter().collect();
        let text: String = entries.iter().flat_map(|(_, shared, own)| [shared.as_str(), own]).collect();
        if text.is_empty() {
            return Module { common: String::new(), entries };
        }
        let blocks = precast_shaders::used_by(&text);
        let common = names.preamble(&format!("{blocks}{text}")) + &blocks;
        let module = Module { common, entries };
        ["", contract::ENABLES].into_iter().for_each(|enables| validate::validate(&module.text(enables)));
        module
    }

    /// What entry points have in common with some others, each once.
    fn shared(&self) -> Vec<&str> {
        let mut all: Vec<&str> = vec![];
        for (_, shared, _) in &self.entries {
            // Ways to do the same follow one another.
            if all.last() != Some(&shared.as_str()) {
                all.push(shared);
            }
        }
        all
    }

    /// The module of all entry points that begins so.
    fn text(&self, enables: &str) -> String {
        let (mut text, mut before) = (String::new(), "");
        for (_, shared, own) in self.entries.iter().filter(|(of, ..)| *of == enables) {
            if shared != before {
                text += shared;
            }
            text += own;
            before = shared;
        }
        if text.is_empty() { text } else { format!("{enables}{}{text}", self.common) }
    }
}

/// An entry point: a kernel that sees memory in a certain way.
pub struct EntryPoint {
    /// Its name in the text.
    pub name: String,
    /// What names begin with that are its own.
    prefix: String,
    /// What those begin with that all ways to do the same may have.
    base: String,
    /// The number of the kernel.
    pub kernel: usize,
    /// How it sees the memory of its slots.
    pub views: Views,
    /// Which way to make a contraction it is; those for the same kernel follow one another.
    pub way: Option<Way>,
    /// Its number among these.
    nth: usize,
    /// How many workgroups run.
    pub groups: Dim,
    /// Invocations of a workgroup.
    pub threads: u32,
    /// Bytes of shared memory of a workgroup.
    pub bytes: u32,
}

impl EntryPoint {
    /// What its module begins with.
    fn enables(&self) -> &'static str {
        match self.way {
            Some(Way::Halves(_)) => contract::ENABLES,
            Some(Way::Plain(_)) | None => "",
        }
    }

    /// How the entry point sees a buffer.
    fn access(&self, kernel: &Kernel, view: usize) -> Access {
        let of_view = |slot: usize| self.views.of_slot[slot] == view;
        let written = kernel.slots.iter().enumerate().filter(|(slot, own)| of_view(*slot) && own.write);
        let written: Vec<DType> = written.map(|(_, slot)| slot.dtype).collect();
        let of_scalars = Fours::scheduled(kernel).is_some_and(|fours| fours.sees(&of_view));
        // An operand that is read word by word is read sooner where words are seen.
        let of_operands = self.way.and_then(|way| operand::sees_fours(kernel, way, &of_view));
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
}

#[derive(Default)]
struct Entries {
    list: Vec<EntryPoint>,
    /// Whether there are branches; the entry point that chooses a case follows those of the list.
    has_choice: bool,
    /// Foreign functions with WGSL; their entry points are the last ones.
    foreign: Vec<ForeignEntry>,
}

impl Entries {
    /// The number of the first entry point that runs WGSL of the user.
    fn first_foreign(&self) -> usize {
        self.list.len() + usize::from(self.has_choice)
    }

    /// The number of the entry point of a kernel, the first one if there are several ways.
    fn find(&self, kernel: usize, views: &Views) -> Option<usize> {
        self.list.iter().position(|entry| entry.kernel == kernel && entry.views == *views)
    }

    fn add(&mut self, number: usize, kernel: &Kernel, views: &Views) {
        if self.find(number, views).is_none() {
            let variant = self.list.iter().filter(|entry| entry.kernel == number && entry.nth == 0).count();
            let variant = if variant > 0 { format!("_{variant}") } else { String::new() };
            let title = titles::title(kernel);
            let ways: Vec<Option<Way>> = match kernel.schedule.workgroup {
                Some(Workgroup::Tiles(tiles)) => tiles.ways().map(Some).collect(),
                Some(Workgroup::Rows(_) | Workgroup::Attend(_) | Workgroup::Recur(_)) | None => vec![None],
            };
            let new = |(nth, way): (usize, Option<Way>)| EntryPoint {
                name: format!("k{number}{variant}_{title}{}", titles::suffix(nth, way)),
                prefix: format!("k{number}{variant}{}", if nth > 0 { format!("w{nth}") } else { String::new() }),
                base: format!("k{number}{variant}"),
                kernel: number,
                views: views.clone(),
                way,
                nth,
                groups: Dim::from(0),
                threads: 0,
                bytes: 0,
            };
            self.list.extend(ways.into_iter().enumerate().map(new));
        }
    }
}

fn named_dims(model: &Model) -> Vec<String> {
    let mut dims: Vec<String> = Vec::new();
    for dim in model.functions.iter().flat_map(|function| &function.dims) {
        if !dims.contains(&dim.name) {
            dims.push(dim.name.clone());
        }
    }
    dims
}

/// How many loops are around the innermost step.
fn depth(steps: &[Step<KernelId>]) -> usize {
    let of = |step: &Step<KernelId>| match step {
        Step::Launch { .. } | Step::Foreign { .. } => 0,
        Step::Loop { body, .. } => 1 + depth(body),
        Step::Branch { .. } | Step::Fused { .. } => step.bodies().into_iter().map(depth).max().unwrap_or(0),
    };
    steps.iter().map(of).max().unwrap_or(0)
}

/// Where the buffers of a launch's slots lie.
fn places<'p>(plan: &'p Plan, buffers: &[BufferId]) -> Vec<&'p Place> {
    buffers.iter().map(|buffer| &plan.banked[buffer.0]).collect()
}

/// The views of a launch.
fn views(plan: &Plan, kernel: &Kernel, buffers: &[BufferId]) -> Views {
    let is_written: Vec<bool> = kernel.slots.iter().map(|slot| slot.write).collect();
    Views::of(&places(plan, buffers), &is_written)
}

fn collect(steps: &[Step<KernelId>], plan: &Plan, of: (&Model, &Plans), entries: &mut Entries) {
    let (model, plans) = of;
    for step in steps {
        match step {
            Step::Launch { kernel, buffers } => {
                let (number, kernel) = (kernel.0, &plans.kernels[kernel.0]);
                entries.add(number, kernel, &views(plan, kernel, buffers));
            }
            Step::Foreign { function, args, results } => {
                let new = ForeignEntry::of(model, *function, plan, args, results);
                entries.foreign.extend(new.filter(|new| !entries.foreign.contains(new)));
            }
            Step::Branch { selector: _, cases } => {
                entries.has_choice = true;
                cases.iter().for_each(|case| collect(case, plan, of, entries));
            }
            Step::Loop { body, count: _, reverse: _ } => collect(body, plan, of, entries),
            Step::Fused { steps, kernel: _, buffers: _ } => collect(steps, plan, of, entries),
        }
    }
}

struct Printed {
    /// What other ways to do the same have, too.
    shared: String,
    text: String,
    groups: Dim,
    threads: u32,
    bytes: u32,
}

/// More workgroups than a device runs, which is an error at run time.
const NEVER: i64 = 1 << 40;

fn print(names: &Names, entry: &EntryPoint, kernel: &Kernel) -> Printed {
    let printed = print_skeleton(names, entry, kernel);
    let fits = numbers::fit(&printed.text) && numbers::fit(&printed.shared);
    if fits && !printed.groups.is(0) {
        return printed;
    }
    // What is never launched need not be valid: extents of 0 would divide positions, and positions beyond 32 bits are of
    // buffers that no device has.
    let groups = if fits { printed.groups } else { Dim::from(NEVER) };
    let text = format!("@compute @workgroup_size(1)\nfn {}() {{}}\n", entry.name);
    Printed { shared: String::new(), text, groups, threads: 1, bytes: 0 }
}

fn print_skeleton(names: &Names, entry: &EntryPoint, kernel: &Kernel) -> Printed {
    let Some(workgroup) = kernel.schedule.workgroup else { unreachable!("schedule has chosen for what a GPU runs") };
    let (threads, bytes) = match entry.way {
        Some(way) => (way.invocations(), way.bytes()),
        None => (workgroup.invocations(), workgroup.bytes(kernel)),
    };
    let mut shared = String::new();
    let of_slot = entry.views.of_slot.iter();
    let memory = of_slot.map(|&number| View { number, access: entry.access(kernel, number) }).collect();
    let unrolled = Recurrent::of(kernel).map(|Recurrent { own, .. }| recur::unrolled(kernel, own));
    let scalars = Scalars::new(names, unrolled.as_ref().map_or(kernel, |(unrolled, _)| unrolled), memory);
    let name = &entry.name;
    let other = || unreachable!("verify refuses {workgroup:?}");
    let (text, groups) = match &kernel.skeleton {
        Skeleton::Row { parallel, reduced, passes, stores } => {
            let Workgroup::Rows(group) = workgroup else { other() };
            let grid = Grid::new(kernel, group, parallel, reduced);
            (row::row(&scalars, name, &grid, parallel, reduced, passes, stores), grid.groups())
        }
        Skeleton::Scatter { outer, target, source, inner, index, store } => {
            let Workgroup::Rows(group) = workgroup else { other() };
            let axes = scatter::Axes { outer, target: *target, source, inner };
            let grid = Grid::new(kernel, group, &axes.elements(), source);
            (scatter::scatter(&scalars, name, &grid, &axes, *index, store), grid.groups())
        }
        Skeleton::Attend(attention) => {
            let Workgroup::Attend(group) = workgroup else { other() };
            let attend = attend::Attend { scalars: &scalars, name, attention, group };
            (attend.print(), attend.groups())
        }
        Skeleton::Contract { k, stores, .. } => {
            let (Some(way), Some(sides)) = (entry.way, Sides::of(kernel)) else { other() };
            let Some(operands) = Reading::both(kernel, &sides) else { other() };
            let Workgroup::Tiles(tiles) = workgroup else { other() };
            let (prefix, sides, terms) = (entry.prefix.as_str(), &sides, k);
            let contract =
                Contract { scalars: &scalars, name, prefix, functions: prefix, way, sides, terms, operands, stores };
            let (contract, functions) = contract.sharing(tiles.ways().next().unwrap_or(way), &entry.base);
            shared = functions;
            (contract.print(), contract.groups())
        }
        Skeleton::Recur(own) => {
            let (Workgroup::Recur(group), Some((_, stores))) = (workgroup, &unrolled) else { other() };
            let recur = recur::Recur { scalars: &scalars, name, recurrent: Recurrent { kernel, own }, stores, group };
            (recur.print(), recur.groups())
        }
    };
    Printed { shared, text, groups, threads, bytes }
}
