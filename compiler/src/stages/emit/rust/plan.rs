//! Plans: the implementations of `rt::Function` and `rt::Step`, which slice the pools and launch kernels.

mod places;

use super::super::face::needs::room;
use super::super::{cost, names};
use super::arith;
use super::{counters, dims, function as kernel_function, used_by};
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::Kernel;
use crate::ir::model::{Effect, ParamId};
use crate::ir::parametric::Parametric;
use crate::ir::plan::{Place, Plan};
use crate::ir::program::{BufferId, KernelId, Role, Step};
use crate::ir::{DType, Dim, Function, Mode, Model, Type};
use places::{Named, part};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};
use std::cell::Cell;
use std::collections::BTreeSet;

/// The kernels as they are launched.
#[derive(Clone, Copy)]
pub(super) struct Launched<'a> {
    /// All of the model.
    pub(super) kernels: &'a [Kernel],
    /// What a launch adds to the start of each slot, by counters of loops.
    pub(super) starts: &'a [Vec<Index>],
    /// Which of the kernels each one is, with which numbers.
    pub(super) parametric: &'a [Parametric],
}

/// The plan of the function of that number.
pub(super) fn plan(
    model: &Model,
    number: usize,
    function: &Function,
    plan: &Plan,
    launched: &Launched<'_>,
) -> TokenStream {
    let printer =
        Printer { model, number, function, plan, launched: *launched, keeping: Cell::new(0), named: Named::default() };
    match &function.mode {
        Mode::Evaluate => printer.evaluate(),
        Mode::Train(optimizer) => printer.train(&format_ident!("{}", &**optimizer)),
    }
}

struct Printer<'a> {
    model: &'a Model,
    number: usize,
    function: &'a Function,
    plan: &'a Plan,
    launched: Launched<'a>,
    /// How many operands are kept packed so far.
    keeping: Cell<usize>,
    /// Places in scratch memory that have a name so far.
    named: Named,
}

/// The counters of the loops around a step.
type Loops = Vec<Ident>;

impl<'a> Printer<'a> {
    /// `let dim_B = dims[0];`
    fn bind(&self) -> TokenStream {
        let dims = self.function.dims.iter().enumerate().map(|(k, d)| {
            let (name, k) = (arith::name(&d.name), Literal::usize_unsuffixed(k));
            quote!(let #name = dims[#k];)
        });
        quote!(#(#dims)*)
    }

    /// What the function costs, as constant functions of the named dimensions.
    fn costs(&self) -> TokenStream {
        let marker = names::marker(self.function);
        let dims: Vec<_> = self.function.dims.iter().map(|d| arith::name(&d.name)).collect();
        let (words, flops) = (arith::count(&self.plan.scratch), arith::count(&cost::flops(&self.function.graph)));
        let room = room(self.function, &self.plan.scratch);
        let words = match room == self.plan.scratch {
            true => words,
            false => {
                let room = arith::count(&room);
                quote!(#words.larger(#room))
            }
        };
        let extents = self.unstored().into_iter().map(|extent| arith::count(&extent));
        let elements = self.smaller_than_words().into_iter().map(|elements| arith::count(&elements));
        let words = quote!(#words #(.beside(#extents))* #(.counting(#elements))*);
        quote! {
            impl #marker {
                #[inline]
                pub(super) const fn words(#(#dims: rt::Count),*) -> rt::Count { #words }
                pub(super) const fn flops(#(#dims: rt::Count),*) -> rt::Count { #flops }
            }
        }
    }

    /// Extents of axes that nothing in memory has: a value that is never stored may be larger than all memory.
    fn unstored(&self) -> BTreeSet<Dim> {
        let (mut used, mut extents) = (BTreeSet::new(), BTreeSet::new());
        used_by(&self.plan.program.steps, &mut used);
        for KernelId(id) in used {
            let parametric = &self.launched.parametric[id];
            let axes = &self.launched.kernels[parametric.kernel].axes;
            extents.extend(axes.iter().map(|extent| parametric.dim(extent)));
        }
        let holds = |place: &Place, extent: &Dim| !place.len.is(0) && place.len.exact_div(extent).is_some();
        let is_stored = |extent: &Dim| self.plan.places.iter().any(|place| holds(place, extent));
        extents.retain(|extent| extent.as_const().is_none() && extent.as_name().is_none() && !is_stored(extent));
        extents
    }

    /// How many elements there are of which several share a word: kernels count elements, and the others are no more than the
    /// words that are counted anyway.
    fn smaller_than_words(&self) -> BTreeSet<Dim> {
        let placed = self.plan.program.buffers.iter().zip(&self.plan.places);
        let smaller = placed.filter(|(buffer, place)| {
            buffer.dtype.is_stored() && place.len.as_const().is_none_or(|len| len > i64::from(i32::MAX))
        });
        smaller.map(|(_, place)| place.len.clone()).collect()
    }

    fn scratch(&self) -> TokenStream {
        let marker = names::marker(self.function);
        let dims = (0..self.function.dims.len()).map(Literal::usize_unsuffixed);
        quote! {
            #[inline]
            fn scratch(dims: &[usize]) -> core::option::Option<usize> {
                #marker::words(#(rt::Count::dim(dims[#dims])),*).words()
            }
        }
    }

    /// The plan of that table for the GPU, where the runtime has one.
    fn gpu(&self, table: &str) -> TokenStream {
        let table = format_ident!("{table}");
        let number = Literal::usize_unsuffixed(self.number);
        if !self.model.runs_on_gpus() {
            // `Gpu` does not compile with such a model.
            return quote! {
                rt::if_gpu! { fn gpu() -> (&'static rt::gpu::Program, &'static rt::gpu::Plan) { core::unreachable!() } }
            };
        }
        quote! {
            rt::if_gpu! {
                fn gpu() -> (&'static rt::gpu::Program, &'static rt::gpu::Plan) { (&PROGRAM, &#table[#number]) }
            }
        }
    }

    fn place(&self, role: Role) -> Option<&Place> {
        let at = self.plan.program.buffers.iter().position(|b| b.role == role)?;
        Some(&self.plan.places[at])
    }

    /// Where the results are.
    fn results(&self) -> TokenStream {
        let bind = self.bind();
        let results = (0..self.function.graph.outputs.len()).map(|k| {
            let number = Literal::usize_unsuffixed(k);
            let Some(place) = self.place(Role::Result(k)) else { unreachable!("every result has a place") };
            let words = self.function.graph.ty(self.function.graph.outputs[k]).dtype.words(&place.len);
            let (offset, len) = (arith::dim(&place.offset), arith::dim(&words));
            quote!(#number => rt::Place { offset: #offset, len: #len })
        });
        quote! {
            fn result(dims: &[usize], index: usize) -> rt::Place {
                #bind
                match index { #(#results,)* _ => rt::Place { offset: 0, len: 0 } }
            }
        }
    }

    fn evaluate(&self) -> TokenStream {
        let (marker, name) = (names::marker(self.function), self.function.name.to_string());
        let gpu = self.gpu("PLANS");
        let (costs, scratch) = (self.costs(), self.scratch());
        let (bind, steps) = (self.bind(), self.steps(&self.plan.program.steps, &mut vec![]));
        let (keeping, places) = (self.keeping(), self.named.definitions());
        let results = self.results();
        quote! {
            #costs
            impl rt::Function for #marker {
                const NAME: &'static str = #name;
                #scratch
                #results
                #gpu
                fn cpu(memory: rt::Memory<'_>, dims: &[usize]) -> rt::Result<()> {
                    let rt::Memory { parameters, session, inputs, foreign, scratch } = memory;
                    let (isa, threads): (Isa_, usize) = (rt::isa().into(), rt::threads());
                    #bind
                    #places
                    #keeping
                    #steps
                    core::result::Result::Ok(())
                }
            }
        }
    }

    /// Where the gradients lie that the plan does not write; nothing where it writes all.
    fn frozen(&self) -> Option<TokenStream> {
        let range = |id: &ParamId| {
            let param = self.model.param(*id);
            let len = param.stacked().count().as_const().map_or(0, |n| n as usize);
            let (first, end) = (param.offset, param.offset + len);
            let (first, end) = (Literal::usize_unsuffixed(first), Literal::usize_unsuffixed(end));
            quote!(#first..#end)
        };
        let ranges: Vec<TokenStream> = self.function.frozen.iter().map(range).collect();
        let frozen = || quote!(const FROZEN: &'static [::core::ops::Range<usize>] = &[#(#ranges),*];);
        (!ranges.is_empty()).then(frozen)
    }

    fn train(&self, optimizer: &Ident) -> TokenStream {
        let (marker, gradients) = (names::marker(self.function), names::gradients(self.function));
        let name = self.function.name.to_string();
        let (bind, costs, scratch) = (self.bind(), self.costs(), self.scratch());
        // The update stands last; a step that only wants gradients leaves it out.
        let (before, after) = self.plan.program.steps.split_at(self.plan.update(self.launched.kernels));
        let (before, after) = (self.steps(before, &mut vec![]), self.steps(after, &mut vec![]));
        let (keeping, places) = (self.keeping(), self.named.definitions());
        let place = |role: Role| match self.place(role) {
            Some(place) => arith::dim(&place.offset),
            None => unreachable!("a step of training has a loss and a flag"),
        };
        let (loss, updated) = (place(Role::Result(0)), place(Role::Effect(Effect::Updated)));
        let results = (self.function.graph.outputs.len() > 1).then(|| self.results());
        let count = results.iter().map(|_| Literal::usize_unsuffixed(self.function.graph.outputs.len()));
        let further = quote!(#(const RESULTS: usize = #count;)* #results);
        let step = format_ident!("step_{}", marker);
        let implement = |marker: &Ident, with_update: bool| {
            let (gpu, float) =
                (self.gpu(if with_update { "PLANS" } else { "GRADIENTS" }), super::element(self.model.float()));
            let frozen = self.frozen();
            let further = with_update.then_some(&further);
            quote! {
                impl rt::Step for #marker {
                    const NAME: &'static str = #name;
                    type Optimizer = rt::#optimizer;
                    type Float = #float;
                    #frozen
                    #scratch
                    fn outcome(dims: &[usize]) -> [usize; 2] { #bind [#loss, #updated] }
                    #further
                    #gpu
                    fn cpu(memory: rt::StepMemory<'_>, dims: &[usize]) -> rt::Result<()> {
                        #step(memory, dims, #with_update)
                    }
                }
            }
        };
        let (with, without) = (implement(&marker, true), implement(&gradients, false));
        let pool_len = arith::dim(&self.model.stored().words(&self.model.pool_len().into()));
        quote! {
            #costs
            fn #step(memory: rt::StepMemory<'_>, dims: &[usize], update: bool) -> rt::Result<()> {
                let rt::StepMemory { parameters, gradients, states, numbers, groups, inputs, foreign, scratch } = memory;
                let (isa, threads): (Isa_, usize) = (rt::isa().into(), rt::threads());
                let pool_len: usize = #pool_len;
                #bind
                #places
                #keeping
                #before
                if update { #after }
                core::result::Result::Ok(())
            }
            #with
            #without
        }
    }

    /// Room for the operands that loops keep packed.
    fn keeping(&self) -> Option<TokenStream> {
        let count = Literal::usize_unsuffixed(self.keeping.get());
        (self.keeping.get() > 0).then(|| quote!(let mut keeping = rt::Keeping::new(#count);))
    }

    fn steps(&self, steps: &'a [Step<KernelId>], loops: &mut Loops) -> TokenStream {
        let all = steps.iter().map(|step| match step {
            Step::Launch { kernel, buffers } | Step::Fused { kernel, buffers, steps: _ } => {
                self.launch(*kernel, buffers, loops)
            }
            Step::Branch { selector, cases } => {
                let word = self.read(*selector, DType::U32);
                let Some((last, cases)) = cases.split_last() else { unreachable!("a branch has cases") };
                let arms = cases.iter().enumerate().map(|(n, case)| {
                    let (n, body) = (Literal::u32_suffixed(n as u32), self.steps(case, loops));
                    quote!(#n => { #body })
                });
                let arms: Vec<TokenStream> = arms.collect();
                let last = self.steps(last, loops);
                quote!(match (#word)[0] { #(#arms)* _ => { #last } })
            }
            Step::Joined { steps, joint: _ } => self.steps(steps, loops),
            Step::Foreign { function, args, results } => self.foreign(*function, args, results),
            Step::Loop { count, reverse, body } => self.turns(count, *reverse, body, loops),
        });
        let all: Vec<TokenStream> = all.collect();
        quote!(#(#all)*)
    }

    /// A loop around steps.
    fn turns(&self, count: &Dim, reverse: bool, body: &'a [Step<KernelId>], loops: &mut Loops) -> TokenStream {
        let name = format_ident!("turn{}", loops.len());
        loops.push(name.clone());
        let first = self.keeping.get();
        let body = self.steps(body, loops);
        loops.pop();
        let (from, to) = (Literal::usize_unsuffixed(first), Literal::usize_unsuffixed(self.keeping.get()));
        let forget = (self.keeping.get() > first).then(|| quote!(keeping.forget(#from..#to);));
        let count = arith::dim(count);
        match reverse {
            true => quote!(#forget for #name in (0..(#count)).rev() { #body }),
            false => quote!(#forget for #name in 0..(#count) { #body }),
        }
    }

    /// Slices the pools and calls a kernel.
    fn launch(&self, id: KernelId, buffers: &[BufferId], loops: &Loops) -> TokenStream {
        let Parametric { kernel: number, numbers } = &self.launched.parametric[id.0];
        let kernel = &self.launched.kernels[*number];
        let bound: Vec<(BufferId, bool)> = buffers.iter().zip(&kernel.slots).map(|(b, s)| (*b, s.write)).collect();
        let (parts, taken) = self.parts(&bound);
        let slots = kernel.slots.iter().enumerate().map(|(slot, s)| {
            let buffer = buffers[slot];
            let words = match taken.contains(&slot) {
                true => part(slot, s.dtype, s.write),
                false => self.read(buffer, s.dtype),
            };
            match (from_turn(&self.launched.starts[id.0][slot], loops), s.write) {
                (None, _) => words,
                (Some(start), true) => quote!(&mut (#words)[#start..]),
                (Some(start), false) => quote!(&(#words)[#start..]),
            }
        });
        let function = kernel_function(*number);
        let dims =
            dims(kernel).into_iter().map(|name| match numbers.iter().find(|(parameter, _)| *parameter == name) {
                Some((_, number)) => {
                    let number = Literal::usize_unsuffixed(*number as usize);
                    quote!(#number)
                }
                None => {
                    let name = arith::name(&name);
                    quote!(#name)
                }
            });
        let around = counters(kernel);
        let turns = (0..around.len()).map(|depth| &loops[loops.len() - 1 - depth]);
        let kept = kernel.schedule.packed_once.then(|| {
            let number = Literal::usize_unsuffixed(self.keeping.replace(self.keeping.get() + 1));
            quote!(keeping.at(#number))
        });
        quote!({ #parts #function(isa, threads, #(#slots,)* #(#dims,)* #(#turns,)* #kept); })
    }

    /// Calls what the program has supplied; an error ends the plan.
    fn foreign(&self, function: usize, args: &[(BufferId, Type)], results: &[(BufferId, Type)]) -> TokenStream {
        // One buffer may be several arguments, but is one part.
        let mut read: Vec<BufferId> = vec![];
        for (buffer, _) in args {
            if !read.contains(buffer) {
                read.push(*buffer);
            }
        }
        let written = results.iter().map(|(buffer, _)| (*buffer, true));
        let bound: Vec<(BufferId, bool)> = read.iter().map(|b| (*b, false)).chain(written).collect();
        let (parts, taken) = self.parts(&bound);
        let shape = |ty: &Type| {
            let extents = ty.shape.iter().map(arith::dim);
            quote!(&[#(#extents),*])
        };
        let args = args.iter().map(|(buffer, ty)| {
            let slot = read.iter().position(|b| b == buffer).unwrap_or_default();
            let (name, shape) = (format_ident!("p{slot}"), shape(ty));
            let words = if taken.contains(&slot) { quote!(&*#name) } else { self.read(*buffer, DType::F32) };
            quote!((#words, #shape))
        });
        let results = results.iter().enumerate().map(|(k, (_, ty))| {
            let (name, shape) = (format_ident!("p{}", read.len() + k), shape(ty));
            quote!((&mut *#name, #shape))
        });
        let (number, name) = (Literal::usize_unsuffixed(function), &self.model.foreign[function].name);
        quote!({ #parts foreign.call(#number, #name, &[#(#args),*], &mut [#(#results),*])?; })
    }
}

/// A position that counts turns of the loops around, unless it is 0.
fn from_turn(start: &Index, loops: &Loops) -> Option<TokenStream> {
    let term = |(atom, stride): &(Atom, Dim)| {
        let Atom::Loop(depth) = atom else { unreachable!("starts count turns only") };
        let (turn, stride) = (&loops[loops.len() - 1 - depth], arith::dim(stride));
        quote!(#turn * (#stride))
    };
    let terms: Vec<TokenStream> = start.terms.iter().map(term).collect();
    (!terms.is_empty()).then(|| quote!(#(#terms)+*))
}
