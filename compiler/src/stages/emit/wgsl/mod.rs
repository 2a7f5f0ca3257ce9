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
mod work;

use crate::ir::Model;
use crate::ir::dim::Dim;
use crate::ir::kernel::{Kernel, Skeleton};
use crate::ir::operand::Reading;
use crate::ir::plan::{Plan, Plans};
use crate::ir::program::{KernelId, Step};
use crate::ir::recurrence::Recurrent;
use crate::ir::tile::Way;
use crate::ir::workgroup::{Sides, Workgroup};
use contract::Contract;
use foreign::ForeignEntry;
use grid::{Grid, Run};
use names::Names;
use views::View;
use work::{Launched, Work};

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
    let of_kernel = entries.list.iter().map(|entry| entry.work.slots());
    let slots = of_kernel.chain(of_foreign).max();
    let slots = slots.unwrap_or(0).max(of_choice);
    let loops = plans.plans.iter().map(|plan| depth(&plan.program.steps)).max().unwrap_or(0);
    let of_choice = if entries.has_choice { choose::VIEWS.len() } else { 0 };
    let of_kernel = entries.list.iter().map(|entry| entry.work.variables());
    let of_all = of_kernel.chain(entries.foreign.iter().map(|entry| entry.views.written.len()));
    let views = of_all.max().unwrap_or(0).max(of_choice);
    let names = Names::new(loops, dims.clone(), slots, views);
    let mut own = Vec::with_capacity(entries.first_foreign());
    for entry in &mut entries.list {
        let printed = print(&names, entry, &plans.kernels);
        own.push((entry.enables(), printed.shared, printed.declarations + &printed.body + "\n"));
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

/// An entry point: kernels that see memory in a certain way.
pub struct EntryPoint {
    /// Its name in the text.
    pub name: String,
    /// What names begin with that all ways to do the same may have.
    base: String,
    /// What it runs.
    work: Work,
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
    /// What names begin with that are its own.
    fn prefix(&self) -> String {
        if self.nth > 0 { format!("{}w{}", self.base, self.nth) } else { self.base.clone() }
    }

    /// What its module begins with.
    fn enables(&self) -> &'static str {
        match self.way {
            Some(Way::Halves(_)) => contract::ENABLES,
            Some(Way::Plain(_)) | None => "",
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

    /// The number of the entry point that runs something, the first one if there are several ways.
    fn find(&self, work: &Work) -> Option<usize> {
        self.list.iter().position(|entry| entry.work == *work)
    }

    fn add(&mut self, work: Work, kernels: &[Kernel]) {
        if self.find(&work).is_some() {
            return;
        }
        let numbers = |work: &Work| work.parts.iter().map(|part| part.kernel).collect::<Vec<_>>();
        let is_same = |entry: &&EntryPoint| numbers(&entry.work) == numbers(&work) && entry.nth == 0;
        let variant = self.list.iter().filter(is_same).count();
        let variant = if variant > 0 { format!("_{variant}") } else { String::new() };
        let of_all = |of: &dyn Fn(usize) -> String| numbers(&work).into_iter().map(of).collect::<Vec<_>>().join("_");
        let (prefix, title) = (of_all(&|k| format!("k{k}")), of_all(&|k| titles::title(&kernels[k])));
        let ways: Vec<Option<Way>> = match (work.joint, kernels[work.parts[0].kernel].schedule.workgroup) {
            (None, Some(Workgroup::Tiles(tiles))) => tiles.ways().map(Some).collect(),
            _ => vec![None],
        };
        let new = |(nth, way): (usize, Option<Way>)| EntryPoint {
            name: format!("{prefix}{variant}_{title}{}", titles::suffix(nth, way)),
            base: format!("{prefix}{variant}"),
            work: work.clone(),
            way,
            nth,
            groups: Dim::from(0),
            threads: 0,
            bytes: 0,
        };
        self.list.extend(ways.into_iter().enumerate().map(new));
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
        Step::Branch { .. } | Step::Fused { .. } | Step::Joined { .. } => {
            step.bodies().into_iter().map(depth).max().unwrap_or(0)
        }
    };
    steps.iter().map(of).max().unwrap_or(0)
}

/// The launches of a dispatch.
fn launched<'p>(steps: impl IntoIterator<Item = &'p Step<KernelId>>) -> Vec<Launched<'p>> {
    steps.into_iter().filter_map(Step::launch).map(|(kernel, buffers)| (kernel.0, buffers)).collect()
}

fn collect(steps: &[Step<KernelId>], plan: &Plan, of: (&Model, &Plans), entries: &mut Entries) {
    let (model, plans) = of;
    for step in steps {
        match step {
            Step::Launch { .. } => {
                entries.add(Work::of(plan, &plans.kernels, None, &launched([step])).0, &plans.kernels);
            }
            Step::Joined { joint, steps } => {
                entries.add(Work::of(plan, &plans.kernels, Some(*joint), &launched(steps)).0, &plans.kernels);
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
    /// Functions that other ways to do the same have, too.
    shared: String,
    /// Functions of its own and shared memory.
    declarations: String,
    /// The statements of an entry point; none where that is among the declarations.
    body: String,
    groups: Dim,
    threads: u32,
    bytes: u32,
}

/// More workgroups than a device runs, which is an error at run time.
const NEVER: i64 = 1 << 40;

fn print(names: &Names, entry: &EntryPoint, kernels: &[Kernel]) -> Printed {
    let name = &entry.name;
    let mut printed = entry.print(names, kernels);
    if !printed.body.is_empty() {
        printed.body = grid::entry(name, printed.threads, &printed.body);
    }
    let fits = [&printed.shared, &printed.declarations, &printed.body].into_iter().all(|text| numbers::fit(text));
    if fits && !printed.groups.is(0) {
        return printed;
    }
    // What is never launched need not be valid: extents of 0 would divide positions, and positions beyond 32 bits are of
    // buffers that no device has.
    let groups = if fits { printed.groups } else { Dim::from(NEVER) };
    let body = grid::entry(name, 1, "");
    Printed { shared: String::new(), declarations: String::new(), body, groups, threads: 1, bytes: 0 }
}

/// What the names of an entry point, of its functions and of those that other ways may have begin with, its array of slabs, how it
/// sees slots, and how it runs a kernel.
struct Around<'a> {
    name: &'a str,
    prefix: &'a str,
    base: &'a str,
    slabs: &'a str,
    memory: Vec<View>,
    run: Run,
}

fn print_kernel(names: &Names, kernel: &Kernel, way: Option<Way>, around: Around<'_>) -> Printed {
    let Some(workgroup) = kernel.schedule.workgroup else { unreachable!("schedule has chosen for what a GPU runs") };
    let (threads, bytes) = match way {
        Some(way) => (way.invocations(), way.bytes()),
        None => (workgroup.invocations(), workgroup.bytes(kernel)),
    };
    let Around { name, prefix, base, slabs, memory, run } = around;
    let mut shared = String::new();
    let unrolled = Recurrent::of(kernel).map(|Recurrent { own, .. }| recur::unrolled(kernel, own));
    let scalars = Scalars::new(names, unrolled.as_ref().map_or(kernel, |(unrolled, _)| unrolled), memory, run);
    let other = || unreachable!("verify refuses {workgroup:?}");
    let (declarations, body, groups) = match &kernel.skeleton {
        Skeleton::Row { parallel, reduced, passes, stores } => {
            let Workgroup::Rows(group) = workgroup else { other() };
            let grid = Grid::new(kernel, group, parallel, reduced);
            (String::new(), row::row(&scalars, &grid, parallel, reduced, passes, stores), grid.groups())
        }
        Skeleton::Scatter { outer, target, source, inner, index, store } => {
            let Workgroup::Rows(group) = workgroup else { other() };
            let axes = scatter::Axes { outer, target: *target, source, inner };
            let grid = Grid::new(kernel, group, &axes.elements(), source);
            (String::new(), scatter::scatter(&scalars, &grid, &axes, *index, store), grid.groups())
        }
        Skeleton::Attend(attention) => {
            let Workgroup::Attend(group) = workgroup else { other() };
            let attend = attend::Attend { scalars: &scalars, name, attention, group };
            (attend.print(), String::new(), attend.groups())
        }
        Skeleton::Contract { k, stores, .. } => {
            let (Some(way), Some(sides)) = (way, Sides::of(kernel)) else { other() };
            let Some(operands) = Reading::both(kernel, &sides) else { other() };
            let Workgroup::Tiles(tiles) = workgroup else { other() };
            let (sides, terms) = (&sides, k);
            let contract =
                Contract { scalars: &scalars, prefix, functions: prefix, slabs, way, sides, terms, operands, stores };
            let (contract, functions) = contract.sharing(tiles.ways().next().unwrap_or(way), base);
            shared = functions;
            let (declarations, body) = contract.print();
            (declarations, body, contract.groups())
        }
        Skeleton::Recur(own) => {
            let (Workgroup::Recur(group), Some((_, stores))) = (workgroup, &unrolled) else { other() };
            let recur = recur::Recur { scalars: &scalars, name, recurrent: Recurrent { kernel, own }, stores, group };
            (recur.print(), String::new(), recur.groups())
        }
    };
    Printed { shared, declarations, body, groups, threads, bytes }
}
