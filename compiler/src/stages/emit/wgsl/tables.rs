//! The static tables of a model's GPU program as Rust items.
//!
//! Comes in: entry points and memory plans. Goes out: `PROGRAM` and `PLANS`. Always holds: the tables match the
//! runtime's `gpu::Program`, and every size is an integer formula over the named dimensions.

use super::names::Names;
use super::{Entry, kernel_number, pools};
use crate::ir::dim::{Atom, Dim};
use crate::ir::graph::{CHUNK, GROUPS};
use crate::ir::kernel::{BufferId, Role, Step};
use crate::ir::model::{Effect, Function, Mode};
use crate::ir::plan::{self, Plan, Plans, number_offset};
use crate::ir::{Model, Type};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

/// Prints `PROGRAM` and `PLANS`.
pub(super) fn tables(model: &Model, plans: &Plans, names: &Names, entries: &[Entry], wgsl: &str) -> TokenStream {
    let tables = Tables { model, plans, names, entries };
    let listed = entries.iter().map(|entry| {
        let pool = |write| {
            let pools = entry.bound(&plans.kernels[entry.kernel], write);
            let pools = pools.iter().map(|pool| quote::format_ident!("{}", pool.rust()));
            quote!(&[#(rt::gpu::Pool::#pools),*])
        };
        let (name, reads, writes) = (&entry.name, pool(false), pool(true));
        quote!(rt::gpu::Entry { name: #name, reads: #reads, writes: #writes })
    });
    let call = names.call_words();
    let weights = Literal::u64_suffixed(model.pool_len() as u64);
    let bytes = entries.iter().map(|entry| entry.bytes).max().unwrap_or(0);
    let threads = entries.iter().map(|entry| entry.threads).max().unwrap_or(0);
    let functions = model.functions.iter().zip(&plans.plans).map(|(function, plan)| tables.plan(function, plan));
    let count = plans.plans.len();
    quote! {
        pub(super) static PROGRAM: rt::gpu::Program = rt::gpu::Program {
            wgsl: #wgsl,
            entries: &[#(#listed),*],
            call: #call,
            weights: #weights,
            needs: rt::gpu::Needs { workgroup_bytes: #bytes, workgroup_threads: #threads },
        };
        pub(super) static PLANS: [rt::gpu::Plan; #count] = [#(#functions),*];
    }
}

struct Tables<'a> {
    model: &'a Model,
    plans: &'a Plans,
    names: &'a Names,
    entries: &'a [Entry],
}

impl Tables<'_> {
    fn plan(&self, function: &Function, plan: &Plan) -> TokenStream {
        let name = function.name.to_string();
        let sizes = self.sizes(function, plan);
        let inputs = function.args.iter().enumerate().map(|(k, argument)| {
            self.span(&argument.name.to_string(), &argument_offset(function, k), &argument.ty.count())
        });
        let results = (0..).map_while(|k| role(plan, Role::Result(k)));
        let outputs = results.enumerate().map(|(k, buffer)| {
            let (place, len) = (&plan.places[buffer.0], &plan.program.buffers[buffer.0].len);
            self.span(&format!("result {k}"), &place.offset, len)
        });
        let updated = match role(plan, Role::Effect(Effect::Updated)) {
            Some(buffer) => {
                let offset = self.formula(&plan.places[buffer.0].offset);
                quote!(::core::option::Option::Some(#offset))
            }
            None => quote!(::core::option::Option::None),
        };
        let commands = self.commands(&plan.program.steps, function, plan);
        quote! {
            rt::gpu::Plan {
                name: #name,
                pools: &[#(#sizes),*],
                inputs: &[#(#inputs),*],
                outputs: &[#(#outputs),*],
                updated: #updated,
                commands: &[#(#commands),*],
            }
        }
    }

    /// The sizes of the pools that a plan needs besides the parameters.
    fn sizes(&self, function: &Function, plan: &Plan) -> Vec<TokenStream> {
        let mut sizes =
            vec![("Inputs", argument_offset(function, function.args.len())), ("Scratch", plan.scratch.clone())];
        if let Mode::Train(optimizer) = function.mode {
            let weights = self.model.pool_len();
            sizes.push(("Gradients", weights.into()));
            sizes.push(("State", (weights * optimizer.states.len()).into()));
            sizes.push(("Numbers", number_offset(optimizer.numbers.len()).into()));
            sizes.push(("Groups", (weights / CHUNK).into()));
        }
        let size = |(pool, words): (&str, Dim)| {
            let (pool, words) = (quote::format_ident!("{pool}"), self.formula(&words));
            quote!(rt::gpu::Size { pool: rt::gpu::Pool::#pool, words: #words })
        };
        sizes.into_iter().map(size).collect()
    }

    fn span(&self, name: &str, offset: &Dim, words: &Dim) -> TokenStream {
        let (offset, words) = (self.formula(offset), self.formula(words));
        quote!(rt::gpu::Span { name: #name, offset: #offset, words: #words })
    }

    fn commands(&self, steps: &[Step], function: &Function, plan: &Plan) -> Vec<TokenStream> {
        let command = |step: &Step| match step {
            Step::Launch { kernel, buffers } => {
                let pools = pools(plan, buffers);
                let number = kernel_number(kernel, self.plans);
                let find = |entry: &Entry| entry.kernel == number && entry.pools == pools;
                let Some(entry) = self.entries.iter().position(find) else {
                    unreachable!("an entry point was made for every launch")
                };
                let launch = self.launch(&self.entries[entry], buffers, function, plan);
                let entry = entry as u16;
                quote!(rt::gpu::Command::Dispatch { entry: #entry, launch: #launch })
            }
            Step::Loop { count, reverse, body } => {
                let (count, body) = (*count as u32, self.commands(body, function, plan));
                quote!(rt::gpu::Command::Repeat { count: #count, reverse: #reverse, body: &[#(#body),*] })
            }
        };
        steps.iter().map(command).collect()
    }

    fn launch(&self, entry: &Entry, buffers: &[BufferId], function: &Function, plan: &Plan) -> TokenStream {
        let offsets: Vec<Dim> = buffers.iter().map(|&buffer| self.offset(buffer, function, plan)).collect();
        let mut formulas = vec![&entry.groups];
        formulas.extend(&offsets);
        let dims = self.parameter(&formulas);
        let groups = self.value(&entry.groups);
        let offsets = offsets.iter().map(|offset| self.value(offset));
        quote!(|#dims, launch| launch.set(#groups, &[#(#offsets),*]))
    }

    /// The first word of a buffer in the device's buffer of its role.
    fn offset(&self, buffer: BufferId, function: &Function, plan: &Plan) -> Dim {
        let place = &plan.places[buffer.0];
        let base = match place.pool {
            plan::Pool::Argument(k) => argument_offset(function, k),
            plan::Pool::State(k) => (k * self.model.pool_len()).into(),
            plan::Pool::Weights
            | plan::Pool::Gradients
            | plan::Pool::Numbers
            | plan::Pool::Groups
            | plan::Pool::Scratch => Dim::default(),
        };
        base + place.offset.clone()
    }

    /// A dimension as a function of the named ones.
    fn formula(&self, dim: &Dim) -> TokenStream {
        let (parameter, value) = (self.parameter(&[dim]), self.value(dim));
        quote!(|#parameter| #value)
    }

    /// The parameter of a formula: unnamed where nothing mentions it, so that no warning arises.
    fn parameter(&self, dims: &[&Dim]) -> TokenStream {
        match dims.iter().all(|dim| dim.as_const().is_some()) {
            true => quote!(_),
            false => quote!(dims),
        }
    }

    /// A dimension as an expression of type u64.
    fn value(&self, dim: &Dim) -> TokenStream {
        match dim.as_const() {
            Some(n) => {
                let n = Literal::u64_unsuffixed(n.max(0) as u64);
                quote!(#n)
            }
            None => {
                let sum = self.sum(dim);
                quote!((#sum) as u64)
            }
        }
    }

    /// A dimension as an expression of type i64.
    fn sum(&self, dim: &Dim) -> TokenStream {
        let terms = dim.terms().iter().map(|(atoms, c)| {
            let c = Literal::i64_suffixed(*c);
            let factors = atoms.iter().map(|atom| self.atom(atom));
            quote!(#c #(* #factors)*)
        });
        if dim.terms().is_empty() {
            return quote!(0i64);
        }
        quote!(#(#terms)+*)
    }

    fn atom(&self, atom: &Atom) -> TokenStream {
        match atom {
            Atom::Name(name) => {
                let at = self.names.dims().iter().position(|known| known == name);
                let at = Literal::usize_unsuffixed(at.unwrap_or_default());
                quote!((dims[#at] as i64))
            }
            Atom::FloorDiv(a, b) => {
                let (a, b) = (self.sum(a), self.sum(b));
                quote!((#a).div_euclid(#b))
            }
            Atom::Max(a, b) => {
                let (a, b) = (self.sum(a), self.sum(b));
                quote!(::core::cmp::Ord::max(#a, #b))
            }
        }
    }
}

/// Where the k-th argument starts in the buffer of arguments.
fn argument_offset(function: &Function, k: usize) -> Dim {
    function.args[..k].iter().fold(Dim::default(), |sum, argument| sum + Type::count(&argument.ty))
}

fn role(plan: &Plan, role: Role) -> Option<BufferId> {
    plan.program.buffers.iter().position(|buffer| buffer.role == role).map(BufferId)
}

const _: () = assert!(GROUPS == 8, "the runtime's numbers have rows of 8 groups");
