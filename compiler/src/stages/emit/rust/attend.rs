//! Attention: a call of the runtime's driver with numbers.

use super::arith;
use super::product::{base, strides};
use super::variables::slot_name;
use crate::ir::DType;
use crate::ir::attend::{Attention, Part};
use crate::ir::dim::product;
use crate::ir::index::Index;
use crate::ir::kernel::{Expr, ExprId, Kernel, Store};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

/// The driver's call.
pub(super) fn call(kernel: &Kernel, attention: &Attention) -> TokenStream {
    let arrays = Arrays { kernel, attention };
    let heads = [&attention.batch[..], &attention.shared].concat();
    let extents = heads.iter().map(|&a| arith::dim(&kernel.axes[a]));
    let batch = Literal::usize_unsuffixed(attention.batch.len());
    let [queries, keys, features, values] =
        arrays.rest().map(|list| arith::dim(&product(list.iter().map(|&a| &kernel.axes[a]))));
    let reads: Vec<TokenStream> = attention.reads.iter().map(|&id| arrays.load(id).1).collect();
    let (inputs, derivative) = reads.split_at(3);
    let derivative = match derivative {
        [] => quote!(None),
        all => quote!(Some([#(#all),*])),
    };
    let mask = match attention.mask.map(|id| arrays.load(id)) {
        None => quote!(rt::Mask::None),
        Some((DType::Bool, mask)) => quote!(rt::Mask::Seen(#mask)),
        Some((_, mask)) => quote!(rt::Mask::Added(#mask)),
    };
    let outputs = [0, 1, 2].map(|slot| arrays.outputs(slot));
    let part = match attention.attend.part {
        Part::Output | Part::Max | Part::Reciprocal => quote!(rt::Attended::Output),
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
        }, [#(#outputs),*]);
    }
}

/// What the driver reads and writes, with a stride for each axis.
struct Arrays<'a> {
    kernel: &'a Kernel,
    attention: &'a Attention,
}

impl Arrays<'_> {
    /// The axes besides the heads.
    fn rest(&self) -> [&Vec<usize>; 4] {
        let Attention { queries, keys, features, values, .. } = self.attention;
        [queries, keys, features, values]
    }

    /// The strides of an index. An axis of extent 1 is no longer there; nothing moves along it.
    fn walk(&self, index: &Index) -> Vec<TokenStream> {
        let mut all = strides(index, &[&self.attention.batch[..], &self.attention.shared].concat());
        all.extend(self.rest().map(|list| strides(index, list).pop().unwrap_or_else(|| quote!(0))));
        all
    }

    /// The element type and the array of a load.
    fn load(&self, id: ExprId) -> (DType, TokenStream) {
        let Expr::Load { slot, index, .. } = &self.kernel.scalars[id] else { unreachable!("attention reads by loads") };
        let (base, strides, data) = (base(index), self.walk(index), slot_name(*slot));
        (self.kernel.slots[*slot].dtype, quote!(rt::Strided { data: #data, base: #base, strides: &[#(#strides),*] }))
    }

    /// The places of a result.
    fn outputs(&self, wanted: usize) -> TokenStream {
        let is = |s: &&Store| matches!(self.kernel.scalars[s.value], Expr::Accumulated { slot, .. } if slot == wanted);
        let outputs = self.attention.stores.iter().filter(is).map(|store| {
            let (data, base, strides) = (slot_name(store.slot), base(&store.index), self.walk(&store.index));
            quote!(rt::Output { data: #data, base: #base, strides: &[#(#strides),*] })
        });
        quote!(&mut [#(#outputs),*])
    }
}
