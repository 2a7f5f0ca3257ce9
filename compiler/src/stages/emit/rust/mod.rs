//! Kernels and plans for the CPU as Rust.
//!
//! In: a model and its memory plans. Out: one function for each unique kernel, and the implementations of
//! `rt::Function` and `rt::Step` that launch them. Always: no `unsafe`, and every index is checked or inside by the
//! shapes.

pub(super) mod arith;
mod attend;
mod epilogue;
mod plan;
mod product;
mod recurrent;
mod row;
mod scalar;
mod scatter;
mod variables;

use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Kernel, Skeleton};
use crate::ir::parametric::{self, Parametric};
use crate::ir::plan::Plans;
use crate::ir::program::{KernelId, Step};
use crate::ir::schedule::{Threads, Unroll};
use crate::ir::turns;
use crate::ir::{DType, Dim, Model};
use epilogue::Epilogues;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::collections::BTreeSet;
use std::ops::Range;
use variables::slot_name;

/// Kernels that LLVM may inline into the plan that launches them. With hundreds, what the plan costs LLVM grows faster than
/// their number; with a few, the calls are what a small model would wait for.
const INLINED: usize = 32;

/// The kernels of a model and the plans that launch them.
pub(super) fn kernels(model: &Model, plans: &Plans) -> TokenStream {
    let (mut own, starts): (Vec<Kernel>, Vec<_>) = plans.kernels.iter().map(turns::relative).unzip();
    // How a GPU runs them makes no difference here.
    own.iter_mut().for_each(|kernel| kernel.schedule.workgroup = None);
    let mut used = BTreeSet::new();
    plans.plans.iter().for_each(|plan| used_by(&plan.program.steps, &mut used));
    let is_called = used.len() > INLINED;
    let parametric = match is_called {
        true => parametric::parametrize(&mut own, &used),
        false => (0..own.len()).map(Parametric::alone).collect(),
    };
    let launched = plan::Launched { kernels: &own, starts: &starts, parametric: &parametric };
    let used: BTreeSet<usize> = used.into_iter().map(|id| parametric[id.0].kernel).collect();
    let mut epilogues = Epilogues::default();
    let kernels: Vec<TokenStream> =
        used.into_iter().map(|number| kernel(number, &own[number], is_called, &mut epilogues)).collect();
    let epilogues = epilogues.definitions;
    let functions = model.functions.iter().zip(&plans.plans).enumerate();
    let functions = functions.map(|(k, (f, p))| plan::plan(model, k, f, p, &launched));
    // Kernels are compiled for the instruction sets of one family.
    let family = format_ident!("{}", if model.deterministic.is_some() { "Deterministic" } else { "Isa" });
    quote!(type Isa_ = rt::#family; #(#epilogues)* #(#kernels)* #(#functions)*)
}

/// The kernels that a CPU launches.
fn used_by(steps: &[Step<KernelId>], used: &mut BTreeSet<KernelId>) {
    for step in steps {
        match step {
            Step::Launch { kernel, .. } | Step::Fused { kernel, .. } => _ = used.insert(*kernel),
            Step::Loop { .. } | Step::Branch { .. } | Step::Foreign { .. } | Step::Joined { .. } => {
                step.bodies().into_iter().for_each(|body| used_by(body, used));
            }
        }
    }
}

/// The Rust type of an element in memory. What is in memory only is read as the bits that it has there.
pub(super) fn element(dtype: DType) -> Ident {
    match dtype {
        DType::Bool => format_ident!("u32"),
        _ if dtype.is_stored() => format_ident!("u{}", dtype.bits()),
        _ => format_ident!("{dtype}"),
    }
}

/// The function of a kernel: `k3(isa, threads, slots…, dimensions…, counters…)`.
fn function(number: usize) -> Ident {
    format_ident!("k{number}")
}

/// The names of the dimensions that a kernel needs.
fn dims(kernel: &Kernel) -> Vec<String> {
    let mut all: Vec<Dim> = kernel.schedule.streamed.iter().map(|&slot| kernel.slots[slot].len.clone()).collect();
    kernel.clone().for_each_dim(&mut |dim| all.push(dim.clone()));
    kernel.indices().iter().for_each(|index| divided(index, &mut all));
    let mut names = arith::names(&all);
    names.sort();
    names
}

/// The dimensions in the divisions of an index.
fn divided(index: &Index, into: &mut Vec<Dim>) {
    for (atom, _) in &index.terms {
        if let Atom::Div(inner, by) | Atom::Mod(inner, by) = atom {
            into.extend([by.clone(), inner.base.clone()]);
            into.extend(inner.terms.iter().map(|(_, factor)| factor.clone()));
            divided(inner, into);
        }
    }
}

/// The loops whose counters a kernel needs from outside, by their depth: a recurrence counts its turns itself.
fn counters(kernel: &Kernel) -> Range<usize> {
    fn deepest(index: &Index) -> usize {
        let depth = |atom: &Atom| match atom {
            Atom::Loop(depth) => depth + 1,
            Atom::Div(inner, _) | Atom::Mod(inner, _) => deepest(inner),
            Atom::Axis(_) | Atom::Value(_) => 0,
        };
        index.terms.iter().map(|(atom, _)| depth(atom)).max().unwrap_or(0)
    }
    let own = usize::from(matches!(kernel.skeleton, Skeleton::Recur(_)));
    own..kernel.indices().iter().map(deepest).max().unwrap_or(0).max(own)
}

fn kernel(number: usize, kernel: &Kernel, is_called: bool, epilogues: &mut Epilogues) -> TokenStream {
    let function = function(number);
    let dims: Vec<TokenStream> = dims(kernel).iter().map(|n| arith::name(n)).map(|n| quote!(#n)).collect();
    let counters: Vec<TokenStream> = counters(kernel).map(arith::counter).map(|n| quote!(#n)).collect();
    let slots: Vec<(Ident, TokenStream)> = kernel
        .slots
        .iter()
        .enumerate()
        .map(|(slot, s)| {
            let element = element(s.dtype);
            (slot_name(slot), if s.write { quote!(&mut [#element]) } else { quote!(&[#element]) })
        })
        .collect();
    let parameters = slots.iter().map(|(name, ty)| quote!(#name: #ty));
    let kept = kernel.schedule.packed_once.then(|| quote!(kept: core::option::Option<&mut rt::Steady>,));
    let never = is_called.then(|| quote!(#[inline(never)]));
    let head = quote! {
        #never
        fn #function(isa: Isa_, threads: usize, #(#parameters,)* #(#dims: usize,)* #(#counters: usize,)* #kept)
    };
    let body = match &kernel.skeleton {
        Skeleton::Contract { .. } => {
            let call = product::call(kernel, &dims, &counters, epilogues);
            return quote!(#head { #call });
        }
        Skeleton::Attend(attention) => {
            let call = attend::call(kernel, attention);
            return quote!(#head { #call });
        }
        Skeleton::Recur(_) => {
            let (definition, call) = recurrent::parts(kernel, number, &dims, &counters);
            return quote!(#definition #head { #call });
        }
        Skeleton::Row { .. } => row::body(&shared(kernel)),
        Skeleton::Scatter { .. } => scatter::body(&shared(kernel)),
    };
    let names: Vec<&Ident> = slots.iter().map(|(name, _)| name).collect();
    loops(number, kernel, &head, &body, &names, &dims, &counters)
}

/// The kernel as it is printed.
fn shared(kernel: &Kernel) -> Kernel {
    let mut kernel = kernel.clone();
    kernel.share_divisions();
    kernel
}

/// A kernel whose loops are emitted: a struct that runs them, and the function that runs the struct.
fn loops(
    number: usize,
    kernel: &Kernel,
    head: &TokenStream,
    body: &TokenStream,
    names: &[&Ident],
    dims: &[TokenStream],
    counters: &[TokenStream],
) -> TokenStream {
    let name = format_ident!("K{number}_");
    let fields = kernel.slots.iter().zip(names).map(|(s, name)| {
        let element = element(s.dtype);
        if s.write { quote!(#name: &'a mut [#element]) } else { quote!(#name: &'a [#element]) }
    });
    let threads = kernel.schedule.rows.threads.as_ref();
    let part = threads.map(|_| quote!(first, count,));
    let part_fields = threads.map(|_| quote!(first: usize, count: usize,));
    let bases = threads.iter().flat_map(|threads| &threads.slots).map(|(slot, words)| {
        let (base, words) = (variables::base_name(*slot), arith::dim(words));
        quote!(let #base = first * (#words);)
    });
    let (whole, launch, split) = match threads {
        Some(threads) => {
            let extent = arith::dim(&kernel.axes[threads.axis]);
            let split = splits(&name, threads, names, dims, counters);
            (Some(quote!(first: 0, count: #extent,)), quote!(rt::parallel(isa, threads, kernel)), Some(split))
        }
        None if kernel.schedule.streamed.is_empty() => (None, quote!(rt::run(isa, kernel)), None),
        None => (None, quote!(rt::run_streaming(isa, kernel)), None),
    };
    let run = runs(
        &name,
        body,
        kernel.schedule.rows.unroll,
        &quote! {
            let Self { #(#names,)* #(#dims,)* #(#counters,)* #part } = self;
            #(#bases)*
            let at = rt::Part::new(1);
        },
    );
    quote! {
        struct #name<'a> { #(#fields,)* #(#dims: usize,)* #(#counters: usize,)* #part_fields }
        #run
        #split
        #head { let kernel = #name { #(#names,)* #(#dims,)* #(#counters,)* #whole }; #launch; }
    }
}

/// What runs a kernel's struct, on so many vectors at a time: what comes before its loops, and they.
fn runs(name: &Ident, body: &TokenStream, unroll: Unroll, before: &TokenStream) -> TokenStream {
    let several = match unroll {
        Unroll::One => None,
        Unroll::Two => Some(quote!(rt::Twice::new(s))),
        Unroll::Four => Some(quote!(rt::Twice::new(rt::Twice::new(s)))),
    };
    let (run, other) = match several {
        None => (quote!(#before #body), None),
        Some(several) => {
            let other = quote! {
                impl #name<'_> {
                    #[inline(always)]
                    fn run_on<S: rt::Simd>(self, s: S) { #before #body }
                }
            };
            (quote!(self.run_on(#several)), Some(other))
        }
    };
    quote! {
        impl rt::Kernel for #name<'_> {
            #[inline(always)]
            fn run<S: rt::Simd>(self, s: S) { #run }
        }
        #other
    }
}

/// The cut of a kernel for threads: the first positions of its outermost axis, and the rest.
fn splits(
    name: &Ident,
    threads: &Threads,
    names: &[&Ident],
    dims: &[TokenStream],
    counters: &[TokenStream],
) -> TokenStream {
    let work = arith::dim(&threads.work);
    let halves: Vec<TokenStream> = threads
        .slots
        .iter()
        .map(|(slot, words)| {
            let (name, words) = (slot_name(*slot), arith::dim(words));
            let rest = format_ident!("rest{slot}");
            quote!(let (#name, #rest) = #name.split_at_mut(at * (#words));)
        })
        .collect();
    let rest = names.iter().map(|n| match threads.slots.iter().find(|(slot, _)| slot_name(*slot) == **n) {
        Some((slot, _)) => {
            let rest = format_ident!("rest{slot}");
            quote!(#n: #rest)
        }
        None => quote!(#n),
    });
    quote! {
        impl rt::Split for #name<'_> {
            fn len(&self) -> usize { self.count }
            fn work(&self) -> usize {
                let Self { #(#dims,)* #(#counters,)* .. } = *self;
                self.count * (#work)
            }
            fn split(self, at: usize) -> (Self, Self) {
                let Self { #(#names,)* #(#dims,)* #(#counters,)* first, count } = self;
                #(#halves)*
                let rest = Self { #(#rest,)* #(#dims,)* #(#counters,)* first: first + at, count: count - at };
                (Self { #(#names,)* #(#dims,)* #(#counters,)* first, count: at }, rest)
            }
        }
    }
}
