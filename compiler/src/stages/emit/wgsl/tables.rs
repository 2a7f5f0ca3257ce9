//! The static tables of a model's GPU program as Rust items.
//!
//! Comes in: entry points and memory plans. Goes out: `PROGRAM` and `PLANS`. Always holds: the tables match the
//! runtime's `gpu::Program`, and every size is an integer formula over the named dimensions.

use super::super::face::needs::room;
use super::super::rust::arith;
use super::foreign::{self, ForeignEntry};
use super::names::Names;
use super::views::{Access, Pool};
use super::work::{Launched, Work};
use super::{Entries, EntryPoint, Module, choose, launched};
use crate::ir::dim::{Atom, Dim};
use crate::ir::index::Atom as IndexAtom;
use crate::ir::joint::Joint;
use crate::ir::kernel::Kernel;
use crate::ir::model::{Argument, Function};
use crate::ir::plan::{self, Plan, Plans};
use crate::ir::program::{BufferId, KernelId, Role, Step};
use crate::ir::turns;
use crate::ir::workgroup::PLAIN;
use crate::ir::{Model, Type};
use proc_macro2::{Literal, TokenStream, TokenTree};
use quote::quote;

/// Prints `PROGRAM` and `PLANS`.
pub(super) fn tables(
    model: &Model,
    plans: &Plans,
    names: &Names,
    entries: &Entries,
    (own, foreign_wgsl): (&Module, &str),
) -> TokenStream {
    let tables = Tables { model, kernels: &plans.kernels, names, entries };
    let listed = entries.list.iter().map(|entry| (entry.name.clone(), entry.work.views.written.clone()));
    let of_choice = choose::VIEWS.iter().map(|view| view.access == Access::Write).collect();
    let choice = entries.has_choice.then(|| (choose::NAME.to_owned(), of_choice));
    let foreign = entries.foreign.iter().enumerate();
    let foreign = foreign.map(|(number, entry)| (entry.name(number, model), entry.views.written.clone()));
    // Those that run WGSL of the user are in a module of their own.
    let shared = own.shared();
    let texts = own.entries.iter().map(|(enables, of_ways, text)| (*enables, of_ways.as_str(), text.as_str()));
    let texts = texts.chain(std::iter::repeat(("", "", "")));
    let listed = listed.chain(choice).chain(foreign).zip(texts).map(|((name, views), (enables, of_ways, wgsl))| {
        let of_ways = match shared.iter().position(|known| *known == of_ways && !known.is_empty()) {
            Some(number) => quote!(SHARED[#number]),
            None => quote!(""),
        };
        quote!(rt::gpu::Entry { name: #name, enables: #enables, shared: #of_ways, wgsl: #wgsl, writes: &[#(#views),*] })
    });
    let (wgsl, call) = (&own.common, names.call_words());
    let (loops, dims) = (names.loops(), names.dims().len());
    let first_foreign = entries.first_foreign();
    // Devices with cooperative matrices have what the others need.
    let plain = || entries.list.iter().filter(|entry| entry.enables().is_empty());
    let bytes = plain().map(|entry| entry.bytes).max().unwrap_or(0);
    let of_choice = if entries.has_choice { PLAIN } else { 0 };
    let of_foreign = if entries.foreign.is_empty() { 0 } else { PLAIN };
    let threads = plain().map(|entry| entry.threads).max().unwrap_or(0).max(of_choice).max(of_foreign);
    let functions = model.functions.iter().zip(&plans.plans).map(|(function, plan)| tables.of(function, plan).plan());
    let count = plans.plans.len();
    let gradients = model.functions.iter().zip(&plans.plans).enumerate().map(|(k, (function, plan))| {
        let before = &plan.program.steps[..plan.update(&plans.kernels)];
        let update = tables.of(function, plan).commands(before, &mut vec![]).len();
        quote! {
            rt::gpu::Plan { commands: PLANS[#k].commands.split_at(#update).0, ..PLANS[#k] }
        }
    });
    let shared_count = shared.len();
    quote! {
        const SHARED: [&str; #shared_count] = [#(#shared),*];
        pub(super) static PROGRAM: rt::gpu::Program = rt::gpu::Program {
            wgsl: #wgsl,
            foreign: rt::gpu::Foreign { wgsl: #foreign_wgsl, first: #first_foreign },
            entries: &[#(#listed),*],
            loops: #loops,
            dims: #dims,
            call: #call,
            needs: rt::gpu::Needs { workgroup_bytes: #bytes, workgroup_threads: #threads },
        };
        pub(super) static PLANS: [rt::gpu::Plan; #count] = [#(#functions),*];
        // The same without the update.
        pub(super) static GRADIENTS: [rt::gpu::Plan; #count] = [#(#gradients),*];
    }
}

struct Tables<'a> {
    model: &'a Model,
    kernels: &'a [Kernel],
    names: &'a Names,
    entries: &'a Entries,
}

impl<'a> Tables<'a> {
    fn of(&'a self, function: &'a Function, plan: &'a Plan) -> Table<'a> {
        Table { tables: self, function, plan }
    }
}

/// The table of a function.
struct Table<'a> {
    tables: &'a Tables<'a>,
    function: &'a Function,
    plan: &'a Plan,
}

impl Table<'_> {
    fn plan(&self) -> TokenStream {
        let names = self.tables.names;
        let position = |name: &String| names.dims().iter().position(|known| known == name).unwrap_or_default();
        let dims = self.function.dims.iter().map(|dim| position(&dim.name));
        let role = |role: Role| self.plan.program.buffers.iter().position(|buffer| buffer.role == role).map(BufferId);
        let results = (0..).map_while(|k| role(Role::Result(k))).map(|buffer| self.result(buffer));
        let commands = self.commands(&self.plan.program.steps, &mut vec![]);
        let apart = self.plan.sees_arguments_apart();
        let banks = self.plan.banks.iter().map(|words| words_of_bank(self.function, words));
        quote! {
            rt::gpu::Plan {
                dims: &[#(#dims),*],
                results: &[#(#results),*],
                banks: [#(#banks),*],
                arguments_apart: #apart,
                commands: &[#(#commands),*],
            }
        }
    }

    /// Where what is read after the last launch lies.
    fn result(&self, buffer: BufferId) -> TokenStream {
        let pool = Pool::of(self.plan.banked[buffer.0].pool).rust();
        let offset = self.offset(buffer);
        let offset = over_dims(&quote!(), &self.value(&offset));
        quote!(rt::gpu::Found { pool: #pool, offset: #offset })
    }

    /// Commands inside of loops with so many turns, outermost first.
    fn commands(&self, steps: &[Step<KernelId>], loops: &mut Vec<Dim>) -> Vec<TokenStream> {
        steps.iter().flat_map(|step| self.command(step, loops)).collect()
    }

    fn command(&self, step: &Step<KernelId>, loops: &mut Vec<Dim>) -> Vec<TokenStream> {
        let command = match step {
            Step::Fused { steps, kernel: _, buffers: _ } => return self.commands(steps, loops),
            Step::Launch { .. } => return self.dispatches(None, &launched([step]), loops),
            Step::Joined { joint, steps } => return self.dispatches(Some(*joint), &launched(steps), loops),
            Step::Foreign { function: number, args, results } => {
                if let Some(entry) = ForeignEntry::of(self.tables.model, *number, self.plan, args, results) {
                    return vec![self.foreign_dispatch(&entry, args, results)];
                }
                let call = self.foreign(args, results);
                let (name, number) = (&self.tables.model.foreign[*number].name, *number as u16);
                quote!(rt::gpu::Command::Foreign { function: #number, name: #name, call: #call })
            }
            Step::Branch { selector, cases } => {
                let entry = self.tables.entries.list.len() as u16;
                let selector = Slot { buffer: *selector, view: 0, turns: vec![] };
                let launch = self.launch(&Dim::from(1), &[selector], &[]);
                let cases = cases.iter().map(|case| {
                    let commands = self.commands(case, loops);
                    quote!(&[#(#commands),*])
                });
                quote!(rt::gpu::Command::Branch { entry: #entry, launch: #launch, cases: &[#(#cases),*] })
            }
            Step::Loop { count, reverse, body } => {
                loops.push(count.clone());
                let body = self.commands(body, loops);
                loops.pop();
                let count = over_dims(&quote!(), &self.value(count));
                quote!(rt::gpu::Command::Repeat { count: #count, reverse: #reverse, body: &[#(#body),*] })
            }
        };
        vec![command]
    }

    /// The dispatch of launches, or those of the ways to make a contraction, of which a call has one.
    fn dispatches(&self, joint: Option<Joint>, launches: &[Launched<'_>], loops: &[Dim]) -> Vec<TokenStream> {
        let (kernels, entries) = (self.tables.kernels, &self.tables.entries);
        let (work, buffers) = Work::of(self.plan, kernels, joint, launches);
        let Some(first) = entries.find(&work) else { unreachable!("an entry point was made for every launch") };
        let slots = self.slots(&work, &buffers, loops);
        let of_kernel = entries.list[first..].iter().take_while(|entry| entry.work == work);
        let of_kernel: Vec<&EntryPoint> = of_kernel.collect();
        if let [only] = of_kernel.as_slice() {
            let (launch, entry) = (self.launch(&only.groups, &slots, &[]), first as u16);
            return vec![quote!(rt::gpu::Command::Dispatch { entry: #entry, launch: #launch })];
        }
        let terms = kernels[work.parts[0].kernel].terms().and_then(|terms| terms.as_const());
        let ways = of_kernel.iter().map(|entry| {
            let (groups, halves) = (self.value(&entry.groups), !entry.enables().is_empty());
            let cost = Literal::u64_unsuffixed(entry.way.map_or(0, |way| way.cost(terms)).into());
            quote!(rt::gpu::Way { groups: #groups, cost: #cost, halves: #halves })
        });
        let (ways, slots): (Vec<_>, Vec<_>) = (ways.collect(), slots.iter().map(|slot| self.slot(slot)).collect());
        let of_way = |way: usize| {
            let (number, way) = ((first + way) as u16, Literal::usize_unsuffixed(way));
            let text = quote!({ launch.set_way(#way, &[#(#ways),*]) #(.#slots)*; });
            let launch = over_dims(&quote!(launch), &text);
            quote!(rt::gpu::Command::Dispatch { entry: #number, launch: #launch })
        };
        (0..of_kernel.len()).map(of_way).collect()
    }

    /// The slots of an entry point inside of loops.
    fn slots(&self, work: &Work, buffers: &[BufferId], loops: &[Dim]) -> Vec<Slot> {
        let slot = |(slot, &buffer): (usize, &BufferId)| {
            let of_parts = work.parts.iter().flat_map(|part| {
                let own = (0..part.slots.len()).filter(|own| part.slots[*own] == slot);
                own.map(|own| self.strides(part.kernel, own, loops.len()))
            });
            // What kernels walk by turns in different ways they see as a whole.
            let mut strides: Vec<Vec<Dim>> = of_parts.collect();
            strides.dedup();
            let strides = match strides.as_slice() {
                [only] => only.clone(),
                _ => vec![Dim::default(); loops.len()],
            };
            Slot {
                buffer,
                view: work.views.of_slot[slot],
                turns: strides.into_iter().zip(loops.iter().rev().cloned()).collect(),
            }
        };
        buffers.iter().enumerate().map(slot).collect()
    }

    /// How many words the turns of so many loops, the innermost first, go on in a slot of a kernel.
    fn strides(&self, kernel: usize, slot: usize, loops: usize) -> Vec<Dim> {
        let kernel = &self.tables.kernels[kernel];
        let (start, dtype) = (&turns::starts(kernel)[slot], kernel.slots[slot].dtype);
        // Of elements that share words a turn may begin within one.
        let begins = |stride: &Dim| !dtype.is_stored() || stride.is_multiple_of(u32::BITS / dtype.bits());
        let is_sliced = start.terms.iter().all(|(_, stride)| begins(stride));
        let of_level = |level: usize| {
            let mut terms = start.terms.iter().filter(|(atom, _)| is_sliced && *atom == IndexAtom::Loop(level));
            terms.next().map(|(_, stride)| dtype.words(stride)).unwrap_or_default()
        };
        (0..loops).map(of_level).collect()
    }

    /// The dispatch of a foreign function that has WGSL.
    fn foreign_dispatch(
        &self,
        entry: &ForeignEntry,
        args: &[(BufferId, Type)],
        results: &[(BufferId, Type)],
    ) -> TokenStream {
        let entries = &self.tables.entries;
        let Some(number) = entries.foreign.iter().position(|known| known == entry) else {
            unreachable!("an entry point was made for every call")
        };
        let numbers = foreign::numbers(&self.tables.model.foreign[entry.function], args, results);
        let groups = numbers[0].ceil_div(PLAIN.into());
        let buffers = args.iter().chain(results).zip(&entry.views.of_slot);
        let slots: Vec<Slot> =
            buffers.map(|((buffer, _), &view)| Slot { buffer: *buffer, view, turns: vec![] }).collect();
        let launch = self.launch(&groups, &slots, &numbers);
        let entry = (entries.first_foreign() + number) as u16;
        quote!(rt::gpu::Command::Dispatch { entry: #entry, launch: #launch })
    }

    /// Sets the workgroups and slots of a dispatch, and further numbers that it is given.
    fn launch(&self, groups: &Dim, slots: &[Slot], numbers: &[Dim]) -> TokenStream {
        let calls: Vec<TokenStream> = slots.iter().map(|slot| self.slot(slot)).collect();
        let numbers: Vec<TokenStream> = numbers.iter().map(|number| self.value(number)).collect();
        let groups = self.value(groups);
        over_dims(&quote!(launch), &quote!({ launch.set(#groups) #(.#calls)* #(.number(#numbers))*; }))
    }

    /// Tells a launch what one of its slots is.
    fn slot(&self, slot: &Slot) -> TokenStream {
        let (buffer, place) = (&self.plan.program.buffers[slot.buffer.0], &self.plan.banked[slot.buffer.0]);
        let own = |(stride, count): &(Dim, Dim)| stride.clone() * (count.clone() - 1.into());
        let others = slot.turns.iter().map(own).fold(Dim::default(), |sum, words| sum + words);
        let words = self.value(&(buffer.dtype.words(&place.len) - others));
        let (view, pool) = (Literal::usize_unsuffixed(slot.view), Pool::of(place.pool).rust());
        let offset = self.value(&self.offset(slot.buffer));
        match slot.turns.iter().all(|(stride, _)| stride.is(0)) {
            true => quote!(slot(#view, #pool, #offset, #words)),
            false => {
                let strides = slot.turns.iter().map(|(stride, _)| self.value(stride));
                quote!(slice(#view, #pool, #offset, #words, &[#(#strides),*]))
            }
        }
    }

    /// Fills in where the arguments and results of a foreign call lie.
    fn foreign(&self, args: &[(BufferId, Type)], results: &[(BufferId, Type)]) -> TokenStream {
        let operand = |method: &str, (buffer, ty): &(BufferId, Type)| {
            let method = quote::format_ident!("{method}");
            let pool = Pool::of(self.plan.banked[buffer.0].pool).rust();
            let offset = self.value(&self.offset(*buffer));
            let shape = ty.shape.iter().map(|extent| self.value(extent));
            quote!(call.#method(#pool, #offset, &[#(#shape),*]);)
        };
        let args: Vec<TokenStream> = args.iter().map(|arg| operand("arg", arg)).collect();
        let results: Vec<TokenStream> = results.iter().map(|result| operand("result", result)).collect();
        over_dims(&quote!(call), &quote!({ #(#args)* #(#results)* }))
    }

    /// The first word of a buffer in the device's buffer of its role.
    fn offset(&self, buffer: BufferId) -> Dim {
        let place = &self.plan.banked[buffer.0];
        let base = match place.pool {
            plan::Pool::Argument(k) => argument_offset(self.function, k),
            plan::Pool::State(k) => (k * self.tables.model.pool_len()).into(),
            plan::Pool::Weights
            | plan::Pool::Session
            | plan::Pool::Gradients
            | plan::Pool::Numbers
            | plan::Pool::Groups
            | plan::Pool::Scratch
            | plan::Pool::Bank(_)
            | plan::Pool::Outcome
            | plan::Pool::Result(_) => Dim::default(),
        };
        base + place.offset.clone()
    }

    /// A dimension as an expression of type u64.
    fn value(&self, dim: &Dim) -> TokenStream {
        value(self.function, dim)
    }
}

/// What a launch is bound to.
struct Slot {
    buffer: BufferId,
    view: usize,
    /// For each loop around, the innermost first, how many words its turns go on, and how many turns there are.
    turns: Vec<(Dim, Dim)>,
}

/// A closure over the named dimensions, and over `others`. A parameter that nothing mentions stays unnamed, so that no warning arises.
fn over_dims(others: &TokenStream, body: &TokenStream) -> TokenStream {
    let dims = if mentions_dims(body.clone()) { quote!(dims) } else { quote!(_) };
    quote!(|#dims, #others| #body)
}

/// Whether an expression mentions the named dimensions.
fn mentions_dims(text: TokenStream) -> bool {
    text.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "dims",
        TokenTree::Group(group) => mentions_dims(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// How many words of a bank there are, if a device can count them.
fn words_of_bank(function: &Function, words: &Dim) -> TokenStream {
    let mut names = vec![];
    words.names(&mut |name| names.push(name.to_owned()));
    let dims = function.dims.iter().enumerate().filter(|(_, dim)| names.contains(&dim.name)).map(|(at, dim)| {
        let (name, at) = (arith::name(&dim.name), Literal::usize_unsuffixed(at));
        quote!(let #name = rt::Count::dim(dims[#at]);)
    });
    let (room, dims) = (room(function, words), quote!(#(#dims)*));
    let (own, most) = (arith::count(words), arith::count(&room));
    let count = if room == *words { own } else { quote!(#own.larger(#most)) };
    over_dims(&quote!(), &quote!({ #dims #count.words() }))
}

/// A dimension as an expression of type u64 over the function's named dimensions.
fn value(function: &Function, dim: &Dim) -> TokenStream {
    match dim.as_const() {
        Some(n) => {
            let n = Literal::u64_unsuffixed(n.max(0) as u64);
            quote!(#n)
        }
        None => {
            let sum = sum(function, dim);
            quote!((#sum) as u64)
        }
    }
}

/// A dimension as an expression of type i64.
fn sum(function: &Function, dim: &Dim) -> TokenStream {
    let terms = dim.terms().iter().map(|(atoms, c)| {
        let c = Literal::i64_suffixed(*c);
        let factors = atoms.iter().map(|atom| factor(function, atom));
        quote!(#c #(* #factors)*)
    });
    match dim.terms().is_empty() {
        true => quote!(0i64),
        false => quote!(#(#terms)+*),
    }
}

fn factor(function: &Function, atom: &Atom) -> TokenStream {
    match atom {
        Atom::Name(name) => match function.dims.iter().position(|dim| dim.name == *name) {
            Some(at) => {
                let at = Literal::usize_unsuffixed(at);
                quote!((dims[#at] as i64))
            }
            None => unreachable!("a function's plan mentions its own dimensions"),
        },
        Atom::FloorDiv(a, b) => {
            let (a, b) = (sum(function, a), sum(function, b));
            quote!((#a).div_euclid(#b))
        }
        Atom::Max(a, b) => {
            let (a, b) = (sum(function, a), sum(function, b));
            quote!(::core::cmp::Ord::max(#a, #b))
        }
    }
}

/// Where the k-th argument starts in the buffer of arguments, on a line as all buffers do.
fn argument_offset(function: &Function, k: usize) -> Dim {
    let end = |sum: Dim, argument: &Argument| sum + argument.ty.words().ceil_div(plan::ALIGN) * plan::ALIGN.into();
    function.args[..k].iter().fold(Dim::default(), end)
}
