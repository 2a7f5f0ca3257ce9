//! The static tables of a model's GPU program as Rust items.
//!
//! Comes in: entry points and memory plans. Goes out: `PROGRAM` and `PLANS`. Always holds: the tables match the
//! runtime's `gpu::Program`, and every size is an integer formula over the named dimensions.

use super::super::face::needs::room;
use super::super::rust::arith;
use super::foreign::{self, ForeignEntry};
use super::names::Names;
use super::{Entries, EntryPoint, Module, choose, pools};
use crate::ir::dim::{Atom, Dim};
use crate::ir::model::{Argument, Function};
use crate::ir::plan::{self, Plan, Plans};
use crate::ir::program::{BufferId, KernelId, Role, Step};
use crate::ir::workgroup::PLAIN;
use crate::ir::{Model, Type};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

/// Prints `PROGRAM` and `PLANS`.
pub(super) fn tables(
    model: &Model,
    plans: &Plans,
    names: &Names,
    entries: &Entries,
    (own, foreign_wgsl): (&Module, &str),
) -> TokenStream {
    let tables = Tables { model, names, entries };
    let (of_list, of_choices) = own.entries.split_at(entries.list.len());
    let listed = entries.list.iter().zip(of_list).map(|(entry, wgsl)| {
        let pool = |write| {
            let pools = entry.bound(&plans.kernels[entry.kernel], write);
            let pools = pools.iter().map(|pool| quote::format_ident!("{}", pool.rust()));
            quote!(&[#(rt::gpu::Pool::#pools),*])
        };
        let (name, reads, writes) = (&entry.name, pool(false), pool(true));
        quote!(rt::gpu::Entry { name: #name, wgsl: #wgsl, reads: #reads, writes: #writes })
    });
    let (wgsl, call) = (&own.common, names.call_words());
    let (loops, dims) = (names.loops(), names.dims().len());
    let choices = entries.choices.iter().zip(of_choices).map(|(&pool, wgsl)| {
        let (name, pool) = (choose::name(pool), quote::format_ident!("{}", pool.rust()));
        let (reads, writes) = (quote!(&[rt::gpu::Pool::#pool]), quote!(&[rt::gpu::Pool::Dispatch]));
        quote!(rt::gpu::Entry { name: #name, wgsl: #wgsl, reads: #reads, writes: #writes })
    });
    let foreign = entries.foreign.iter().enumerate().map(|(number, entry)| {
        let pools = |write| entry.bound(write).into_iter().map(|pool| quote::format_ident!("{}", pool.rust()));
        let (name, reads, writes) = (entry.name(number, model), pools(false), pools(true));
        quote!(rt::gpu::Entry {
            name: #name, wgsl: "", reads: &[#(rt::gpu::Pool::#reads),*], writes: &[#(rt::gpu::Pool::#writes),*],
        })
    });
    let listed = listed.chain(choices).chain(foreign);
    let first_foreign = entries.first_foreign();
    let bytes = entries.list.iter().map(|entry| entry.bytes).max().unwrap_or(0);
    let of_choice = if entries.choices.is_empty() { 0 } else { PLAIN };
    let of_foreign = if entries.foreign.is_empty() { 0 } else { PLAIN };
    let threads = entries.list.iter().map(|entry| entry.threads).max().unwrap_or(0).max(of_choice).max(of_foreign);
    let functions = model.functions.iter().zip(&plans.plans).map(|(function, plan)| tables.plan(function, plan));
    let count = plans.plans.len();
    let gradients = model.functions.iter().zip(&plans.plans).enumerate().map(|(k, (function, plan))| {
        let before = &plan.program.steps[..plan.update(&plans.kernels)];
        let update = tables.commands(before, function, plan).len();
        quote! {
            rt::gpu::Plan { commands: PLANS[#k].commands.split_at(#update).0, ..PLANS[#k] }
        }
    });
    quote! {
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
    names: &'a Names,
    entries: &'a Entries,
}

impl Tables<'_> {
    fn plan(&self, function: &Function, plan: &Plan) -> TokenStream {
        let position = |name: &String| self.names.dims().iter().position(|known| known == name).unwrap_or_default();
        let dims = function.dims.iter().map(|dim| position(&dim.name));
        let results = (0..).take_while(|&k| plan.program.buffers.iter().any(|b| b.role == Role::Result(k))).count();
        let commands = self.commands(&plan.program.steps, function, plan);
        let partial = partial(function, &plan.partial);
        quote! {
            rt::gpu::Plan { dims: &[#(#dims),*], results: #results, partial: #partial, commands: &[#(#commands),*] }
        }
    }

    fn commands(&self, steps: &[Step<KernelId>], function: &Function, plan: &Plan) -> Vec<TokenStream> {
        steps.iter().flat_map(|step| self.command(step, function, plan)).collect()
    }

    fn command(&self, step: &Step<KernelId>, function: &Function, plan: &Plan) -> Vec<TokenStream> {
        let command = match step {
            Step::Fused { steps, kernel: _, buffers: _ } => return self.commands(steps, function, plan),
            Step::Launch { kernel, buffers } => {
                let pools = pools(plan, buffers);
                let find = |entry: &EntryPoint| entry.kernel == kernel.0 && entry.pools == pools;
                let Some(entry) = self.entries.list.iter().position(find) else {
                    unreachable!("an entry point was made for every launch")
                };
                return self.dispatches(entry, buffers, function, plan);
            }
            Step::Foreign { function: number, args, results } => {
                if let Some(entry) = ForeignEntry::of(self.model, *number, plan, args, results) {
                    return vec![self.foreign_dispatch(&entry, args, results, function, plan)];
                }
                let call = self.foreign(args, results, function, plan);
                let (name, number) = (&self.model.foreign[*number].name, *number as u16);
                quote!(rt::gpu::Command::Foreign { function: #number, name: #name, call: #call })
            }
            Step::Branch { selector, cases } => {
                let pool = pools(plan, &[*selector])[0];
                let Some(choice) = self.entries.choices.iter().position(|&known| known == pool) else {
                    unreachable!("an entry point was made for every choice")
                };
                let entry = (self.entries.list.len() + choice) as u16;
                let launch = self.launch(&Dim::from(1), &[*selector], function, plan);
                let cases = cases.iter().map(|case| {
                    let commands = self.commands(case, function, plan);
                    quote!(&[#(#commands),*])
                });
                quote!(rt::gpu::Command::Branch { entry: #entry, launch: #launch, cases: &[#(#cases),*] })
            }
            Step::Loop { count, reverse, body } => {
                // A parameter that nothing mentions stays unnamed, so that no warning arises.
                let dims = if count.as_const().is_some() { quote!(_) } else { quote!(dims) };
                let (count, body) = (value(function, count), self.commands(body, function, plan));
                quote!(rt::gpu::Command::Repeat { count: |#dims| #count, reverse: #reverse, body: &[#(#body),*] })
            }
        };
        vec![command]
    }

    /// The dispatch of a kernel, or those of its two tiles, of which a call has one.
    fn dispatches(&self, entry: usize, buffers: &[BufferId], function: &Function, plan: &Plan) -> Vec<TokenStream> {
        let own = &self.entries.list[entry];
        let larger = self.entries.list.get(entry + 1).filter(|larger| larger.is_larger);
        let Some(larger) = larger else {
            let (launch, entry) = (self.launch(&own.groups, buffers, function, plan), entry as u16);
            return vec![quote!(rt::gpu::Command::Dispatch { entry: #entry, launch: #launch })];
        };
        let ways = [own, larger].map(|way| {
            let (groups, cost) = (value(function, &way.groups), Literal::u64_unsuffixed(way.cost.into()));
            quote!((#groups, #cost))
        });
        let slot = |&buffer: &BufferId| value(function, &self.offset(buffer, function, plan));
        let slots: Vec<TokenStream> = buffers.iter().map(slot).collect();
        let of_way = |way: usize| {
            let (number, way) = ((entry + way) as u16, Literal::usize_unsuffixed(way));
            let launch = quote!(|dims, launch| launch.set_way(#way, [#(#ways),*], &[#(#slots),*]));
            quote!(rt::gpu::Command::Dispatch { entry: #number, launch: #launch })
        };
        vec![of_way(0), of_way(1)]
    }

    /// The dispatch of a foreign function that has WGSL.
    fn foreign_dispatch(
        &self,
        entry: &ForeignEntry,
        args: &[(BufferId, Type)],
        results: &[(BufferId, Type)],
        function: &Function,
        plan: &Plan,
    ) -> TokenStream {
        let Some(number) = self.entries.foreign.iter().position(|known| known == entry) else {
            unreachable!("an entry point was made for every call")
        };
        let numbers = foreign::numbers(&self.model.foreign[entry.function], args, results);
        let groups = numbers[0].ceil_div(PLAIN.into());
        let buffers = args.iter().chain(results).map(|(buffer, _)| self.offset(*buffer, function, plan));
        let launch = launch(&groups, buffers.chain(numbers), function);
        let entry = (self.entries.first_foreign() + number) as u16;
        quote!(rt::gpu::Command::Dispatch { entry: #entry, launch: #launch })
    }

    fn launch(&self, groups: &Dim, buffers: &[BufferId], function: &Function, plan: &Plan) -> TokenStream {
        launch(groups, buffers.iter().map(|&buffer| self.offset(buffer, function, plan)), function)
    }

    /// Fills in where the arguments and results of a foreign call lie.
    fn foreign(
        &self,
        args: &[(BufferId, Type)],
        results: &[(BufferId, Type)],
        function: &Function,
        plan: &Plan,
    ) -> TokenStream {
        let operand = |method: &str, (buffer, ty): &(BufferId, Type)| {
            let method = quote::format_ident!("{method}");
            let pool = quote::format_ident!("{}", pools(plan, &[*buffer])[0].rust());
            let offset = value(function, &self.offset(*buffer, function, plan));
            let shape = ty.shape.iter().map(|extent| value(function, extent));
            quote!(call.#method(rt::gpu::Pool::#pool, #offset, &[#(#shape),*]);)
        };
        let args: Vec<TokenStream> = args.iter().map(|arg| operand("arg", arg)).collect();
        let results: Vec<TokenStream> = results.iter().map(|result| operand("result", result)).collect();
        // Not every call mentions a dimension.
        quote!(|dims, call| { let _ = dims; #(#args)* #(#results)* })
    }

    /// The first word of a buffer in the device's buffer of its role.
    fn offset(&self, buffer: BufferId, function: &Function, plan: &Plan) -> Dim {
        let place = &plan.places[buffer.0];
        let base = match place.pool {
            plan::Pool::Argument(k) => argument_offset(function, k),
            plan::Pool::State(k) => (k * self.model.pool_len()).into(),
            plan::Pool::Weights
            | plan::Pool::Session
            | plan::Pool::Gradients
            | plan::Pool::Numbers
            | plan::Pool::Groups
            | plan::Pool::Scratch => Dim::default(),
            plan::Pool::Partial => plan.scratch.clone(),
        };
        base + place.offset.clone()
    }
}

/// Sets the workgroups and slots of a dispatch.
fn launch(groups: &Dim, slots: impl IntoIterator<Item = Dim>, function: &Function) -> TokenStream {
    let slots: Vec<Dim> = slots.into_iter().collect();
    // A parameter that nothing mentions stays unnamed, so that no warning arises.
    let constant = slots.iter().chain([groups]).all(|dim| dim.as_const().is_some());
    let dims = if constant { quote!(_) } else { quote!(dims) };
    let groups = value(function, groups);
    let slots = slots.iter().map(|slot| value(function, slot));
    quote!(|#dims, launch| launch.set(#groups, &[#(#slots),*]))
}

/// How many words of partial results there are, if a device can count them.
fn partial(function: &Function, words: &Dim) -> TokenStream {
    let mut names = vec![];
    words.names(&mut |name| names.push(name.to_owned()));
    let dims = function.dims.iter().enumerate().filter(|(_, dim)| names.contains(&dim.name)).map(|(at, dim)| {
        let (name, at) = (arith::name(&dim.name), Literal::usize_unsuffixed(at));
        quote!(let #name = rt::Count::dim(dims[#at]);)
    });
    let (room, dims) = (room(function, words), quote!(#(#dims)*));
    let (own, most) = (arith::count(words), arith::count(&room));
    let count = if room == *words { own } else { quote!(#own.larger(#most)) };
    // A parameter that nothing mentions stays unnamed, so that no warning arises.
    let parameter = if dims.is_empty() { quote!(_) } else { quote!(dims) };
    quote!(|#parameter| { #dims #count.words() })
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
