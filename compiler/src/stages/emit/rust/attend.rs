//! Attention: a call of the runtime's driver with numbers.

use super::arith;
use super::product::{base, strides};
use super::scalar::slot_name;
use crate::ir::DType;
use crate::ir::attend::{Attention, Part};
use crate::ir::dim::product;
use crate::ir::index::Index;
use crate::ir::kernel::{Expr, ExprId, Kernel, Store};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

/// The driver's call.
pub(super) fn call(kernel: &Kernel, attention: &Attention) -> TokenStream {
    let order = [&attention.batch[..], &attention.shared].concat();
    let rest = [&attention.queries, &attention.keys, &attention.features, &attention.values];
    let extents = order.iter().map(|&a| arith::dim(&kernel.axes[a]));
    let batch = Literal::usize_unsuffixed(attention.batch.len());
    let [queries, keys, features, values] =
        rest.map(|list| arith::dim(&product(list.iter().map(|&a| &kernel.axes[a]))));
    // An axis of extent 1 is no longer there; nothing moves along it.
    let walk = |index: &Index| {
        let mut all = strides(index, &order);
        all.extend(rest.iter().map(|list| strides(index, list).pop().unwrap_or_else(|| quote!(0))));
        all
    };
    let load = |id: ExprId| {
        let Expr::Load { slot, index, .. } = &kernel.scalars[id] else { unreachable!("attention reads by loads") };
        let (base, strides, data) = (base(index), walk(index), slot_name(*slot));
        (kernel.slots[*slot].dtype, quote!(rt::Strided { data: #data, base: #base, strides: &[#(#strides),*] }))
    };
    let reads: Vec<TokenStream> = attention.reads.iter().map(|&id| load(id).1).collect();
    let (inputs, derivative) = reads.split_at(3);
    let derivative = match derivative {
        [] => quote!(None),
        all => quote!(Some([#(#all),*])),
    };
    let mask = match attention.mask.map(load) {
        None => quote!(rt::Mask::None),
        Some((DType::F32, mask)) => quote!(rt::Mask::Added(#mask)),
        Some((DType::Bool, mask)) => quote!(rt::Mask::Seen(#mask)),
        Some((DType::I32 | DType::U32, _)) => unreachable!("the shape rule refused a mask of integers"),
    };
    let output = |store: &Store| {
        let (data, base, strides) = (slot_name(store.slot), base(&store.index), walk(&store.index));
        quote!(rt::Output { data: #data, base: #base, strides: &[#(#strides),*] })
    };
    let of = |wanted: usize| {
        let is = |s: &&Store| matches!(kernel.scalars[s.value], Expr::Accumulated { slot, .. } if slot == wanted);
        let outputs = attention.stores.iter().filter(is).map(output);
        quote!(&mut [#(#outputs),*])
    };
    let (first, second) = (of(0), of(1));
    let part = match attention.attend.part {
        Part::Output | Part::Norm => quote!(rt::Attended::Output),
        Part::Query => quote!(rt::Attended::Query),
        Part::Key | Part::Value => quote!(rt::Attended::Key),
    };
    let (causal, scale) = (attention.attend.causal, attention.attend.scale.as_f64() as f32);
    let (sign, scale) = (scale.is_sign_negative().then(|| quote!(-)), Literal::f32_suffixed(scale.abs()));
    quote! {
        rt::attend(isa, threads, &rt::Attend {
            part: #part,
            heads: &[#(#extents),*],
            batch: #batch,
            queries: #queries,
            keys: #keys,
            features: #features,
            values: #values,
            causal: #causal,
            scale: #sign #scale,
            inputs: [#(#inputs),*],
            derivative: #derivative,
            mask: #mask,
        }, #first, #second);
    }
}
