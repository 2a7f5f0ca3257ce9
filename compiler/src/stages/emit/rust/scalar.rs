//! Scalars of a kernel as Rust over `rt::Simd`: one arm for each primitive.
//!
//! One axis runs through the lanes. A scalar that does not vary with it is the same in all lanes.

use super::arith;
use super::variables::{
    accumulator, base_name, position_name, skip_name, slot_name, suffix, suffix_of_lanes, variable,
};
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Expr, ExprId, Guard, Kernel, Store};
use crate::ir::prim::{MapOp, Scalar};
use crate::ir::varying::Varying;
use crate::ir::{Category, DType, Dim};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};

/// Prints scalars of one kernel.
pub(super) struct Printer<'a> {
    pub(super) kernel: &'a Kernel,
    /// The axis that runs through the lanes.
    pub(super) vector: Option<usize>,
    /// The slots of which a part of the kernel sees only its own words, from `base{slot}` on.
    pub(super) cut: Vec<usize>,
    /// The element type of every scalar.
    dtypes: Vec<DType>,
    /// Whether a scalar is used as a vector, not in positions alone.
    as_vectors: Vec<bool>,
    /// Which axes each scalar varies with.
    pub(super) varying: Varying,
}

impl<'a> Printer<'a> {
    pub(super) fn new(kernel: &'a Kernel, vector: Option<usize>) -> Printer<'a> {
        let varying = Varying::of(kernel);
        let mut as_vectors = vec![false; kernel.scalars.len()];
        kernel.clone().uses().into_iter().for_each(|id| as_vectors[*id] = true);
        for expr in &kernel.scalars {
            match expr {
                Expr::Map(..) | Expr::Convert(..) => expr.operands(&mut |id| as_vectors[id] = true),
                Expr::Load { .. }
                | Expr::Const(_)
                | Expr::Extent(_)
                | Expr::Index(_)
                | Expr::Inside(_)
                | Expr::Accumulated { .. } => {}
            }
        }
        Printer { kernel, vector, cut: vec![], dtypes: kernel.dtypes(), as_vectors, varying }
    }

    /// The element type of a scalar.
    pub(super) fn dtype(&self, id: ExprId) -> DType {
        self.dtypes[id]
    }

    /// Whether an index differs between lanes.
    fn index_varies(&self, index: &Index) -> bool {
        self.vector.is_some_and(|axis| self.varying.index_with(index, axis))
    }

    /// `let v3 = …;`
    pub(super) fn define(&self, id: ExprId) -> TokenStream {
        let (name, value) = (variable(id), self.expr(id));
        let Some(index) = self.position(id) else { return quote!(let #name = #value;) };
        // A position that a guard will drop may lie before the first one.
        let (at, position) = (position_name(id), arith::index(index, &|v| self.extract(v)));
        let vector = self.as_vectors[id].then(|| quote!(let #name = #value;));
        quote!(let #at = #position; #vector)
    }

    /// The index that a scalar is, where that is the same in all lanes.
    fn position(&self, id: ExprId) -> Option<&Index> {
        match &self.kernel.scalars[id] {
            Expr::Index(index) if !self.index_varies(index) => Some(index),
            Expr::Index(_) | Expr::Load { .. } | Expr::Const(_) | Expr::Extent(_) => None,
            Expr::Inside(_) | Expr::Map(..) | Expr::Convert(..) | Expr::Accumulated { .. } => None,
        }
    }

    fn expr(&self, id: ExprId) -> TokenStream {
        match &self.kernel.scalars[id] {
            Expr::Load { slot, index, guards, fill } => self.load(*slot, index, guards, *fill),
            Expr::Const(x) => constant(*x),
            Expr::Extent(dim) => {
                let dim = arith::dim(dim);
                quote!(s.splat_u((#dim) as u32))
            }
            Expr::Index(_) if self.position(id).is_some() => {
                let at = position_name(id);
                quote!(s.splat_u(#at as u32))
            }
            Expr::Index(index) => {
                let lanes = self.lanes(index);
                quote!(s.u_from_i(#lanes))
            }
            Expr::Inside(guards) => self.mask(guards),
            Expr::Map(op, args) => self.map(*op, args),
            Expr::Convert(to, arg) => convert(self.dtype(*arg), *to, &variable(*arg)),
            Expr::Accumulated { pass, slot, .. } => {
                let name = accumulator(*pass, *slot);
                quote!(#name)
            }
        }
    }

    /// A value that is the same in all lanes, as `usize`.
    fn extract(&self, id: ExprId) -> TokenStream {
        if self.position(id).is_some() {
            let at = position_name(id);
            return quote!(#at);
        }
        let name = variable(id);
        quote!((s.reduce_max_u(#name) as usize))
    }

    /// The place of an index in a slot.
    pub(super) fn place(&self, slot: usize, index: &Index) -> TokenStream {
        let at = arith::index(index, &|v| self.extract(v));
        match self.cut.contains(&slot) {
            true => {
                let base = base_name(slot);
                quote!(#at - #base)
            }
            false => at,
        }
    }

    /// The place of an index in a slot for every lane.
    fn places(&self, slot: usize, index: &Index) -> TokenStream {
        let lanes = self.lanes(index);
        match self.cut.contains(&slot) {
            true => {
                let base = base_name(slot);
                quote!(s.sub_i(#lanes, s.splat_i(#base as i32)))
            }
            false => lanes,
        }
    }

    fn load(&self, slot: usize, index: &Index, guards: &[Guard], fill: Scalar) -> TokenStream {
        let data = slot_name(slot);
        let dtype = self.kernel.slots[slot].dtype;
        // How it is in memory, and then in lanes of which a value is made.
        let (suffix, lanes_of) = (suffix(dtype), suffix_of_lanes(in_memory(dtype)));
        let guards_vary = guards.iter().any(|g| self.index_varies(g.index()));
        let stride = self.lane_stride(index);
        let plain = match stride.as_ref().and_then(Dim::as_const) {
            _ if guards_vary => None,
            Some(0) => {
                let (at, splat) = (self.place(slot, index), format_ident!("splat_{lanes_of}"));
                let element = quote!(#data[#at]);
                Some(if dtype.is_stored() { quote!(s.#splat(u32::from(#element))) } else { quote!(s.#splat(#element)) })
            }
            Some(1) => {
                let (at, load) = (self.place(slot, index), format_ident!("load_{suffix}"));
                Some(quote!(s.#load(#data, #at, at)))
            }
            _ => None,
        };
        let loaded = match plain {
            Some(plain) if guards.is_empty() => plain,
            Some(plain) => {
                let conditions = guards.iter().map(|g| self.condition(g));
                let fill = constant(raw(fill));
                quote!(if #(#conditions)&&* { #plain } else { #fill })
            }
            None => {
                let (lanes, gather) = (self.places(slot, index), format_ident!("gather_{suffix}"));
                let mask = match guards {
                    [] => quote!(s.mask_at(at)),
                    guards => {
                        let mask = self.mask(guards);
                        quote!(s.and_m(s.mask_at(at), #mask))
                    }
                };
                match fill.as_f64() == 0.0 || guards.is_empty() {
                    true => quote!(s.#gather(#data, #lanes, #mask)),
                    false => {
                        let (select, fill) = (format_ident!("select_{lanes_of}"), constant(raw(fill)));
                        quote!({ let m = #mask; s.#select(m, s.#gather(#data, #lanes, m), #fill) })
                    }
                }
            }
        };
        from_memory(dtype, loaded)
    }

    /// The distance between neighbouring lanes; `None` where it is not the same everywhere.
    pub(super) fn lane_stride(&self, index: &Index) -> Option<Dim> {
        match self.vector {
            Some(vector) => self.varying.lane_stride(index, vector),
            None => Some(Dim::default()),
        }
    }

    /// An index for every lane, as `S::I`.
    fn lanes(&self, index: &Index) -> TokenStream {
        let (mut uniform, mut total) = (Index::constant(index.base.clone()), None);
        for (atom, c) in &index.terms {
            let one = Index { base: Dim::default(), terms: vec![(atom.clone(), Dim::from(1))] };
            if !self.index_varies(&one) {
                uniform = uniform.plus(&one.times(c));
                continue;
            }
            let lanes = self.lane_atom(atom);
            let term = match c.as_const() {
                Some(1) => lanes,
                _ => {
                    let c = arith::signed(&Index::constant(c.clone()), &|v| self.extract(v));
                    quote!(s.mul_i(#lanes, s.splat_i((#c) as i32)))
                }
            };
            total = Some(match total {
                Some(total) => quote!(s.add_i(#total, #term)),
                None => term,
            });
        }
        let start = arith::signed(&uniform, &|v| self.extract(v));
        match total {
            Some(total) if uniform == Index::default() => total,
            Some(total) => quote!(s.add_i(#total, s.splat_i((#start) as i32))),
            None => quote!(s.splat_i((#start) as i32)),
        }
    }

    fn lane_atom(&self, atom: &Atom) -> TokenStream {
        match atom {
            Atom::Axis(a) => {
                let axis = arith::axis(*a);
                quote!(s.add_i(s.iota_i(), s.splat_i(#axis as i32)))
            }
            Atom::Loop(depth) => {
                let counter = arith::counter(*depth);
                quote!(s.splat_i(#counter as i32))
            }
            Atom::Value(v) => {
                let name = variable(*v);
                quote!(s.i_from_u(#name))
            }
            // Powers of two are shifts and masks, which round down.
            Atom::Div(inner, by) => {
                let lanes = self.lanes(inner);
                let by_value = arith::dim(by);
                match power_of_two(by) {
                    Some(n) => {
                        let n = Literal::i32_unsuffixed(n as i32);
                        quote!(s.shr_i(#lanes, s.splat_i(#n)))
                    }
                    None if inner.is_unsigned() => quote!(s.div_i(#lanes, s.splat_i((#by_value) as i32))),
                    None => quote!(rt::floor_div(s, #lanes, s.splat_i((#by_value) as i32))),
                }
            }
            Atom::Mod(inner, by) => {
                let lanes = self.lanes(inner);
                let by_value = arith::dim(by);
                match power_of_two(by) {
                    Some(_) => quote!(s.and_i(#lanes, s.splat_i((#by_value) as i32 - 1))),
                    None if inner.is_unsigned() => quote!(s.rem_i(#lanes, s.splat_i((#by_value) as i32))),
                    None => quote!(rt::floor_rem(s, #lanes, s.splat_i((#by_value) as i32))),
                }
            }
        }
    }

    /// A condition that is the same in all lanes.
    fn condition(&self, guard: &Guard) -> TokenStream {
        let index = arith::signed(guard.index(), &|v| self.extract(v));
        match guard {
            Guard::Within(_, extent) => {
                let extent = arith::dim(extent);
                quote!((0..(#extent) as isize).contains(&(#index)))
            }
            Guard::Multiple(_, by) => {
                let by = Literal::isize_unsuffixed(*by as isize);
                quote!((#index).rem_euclid(#by) == 0)
            }
        }
    }

    /// The lanes in which all guards hold.
    fn mask(&self, guards: &[Guard]) -> TokenStream {
        let mut mask: Option<TokenStream> = None;
        for guard in guards {
            let index = guard.index();
            let own = if !self.index_varies(index) {
                let condition = self.condition(guard);
                quote!(s.splat_m(#condition))
            } else {
                let lanes = self.lanes(index);
                match guard {
                    Guard::Within(_, extent) => {
                        // As unsigned numbers, negative positions lie beyond every extent.
                        let extent = arith::dim(extent);
                        quote!(s.lt_u(s.u_from_i(#lanes), s.splat_u((#extent) as u32)))
                    }
                    Guard::Multiple(_, by) => {
                        let by = Literal::i32_unsuffixed(*by as i32);
                        quote!(s.eq_i(s.rem_i(#lanes, s.splat_i(#by)), s.splat_i(0)))
                    }
                }
            };
            mask = Some(match mask {
                Some(mask) => quote!(s.and_m(#mask, #own)),
                None => own,
            });
        }
        mask.unwrap_or_else(|| quote!(s.splat_m(true)))
    }

    fn map(&self, op: MapOp, args: &[ExprId]) -> TokenStream {
        use MapOp::*;
        let dtype = self.dtype(args[args.len() - 1]);
        let suffix = suffix_of_lanes(dtype);
        let names: Vec<Ident> = args.iter().map(|&a| variable(a)).collect();
        let (a, b) = (&names[0], names.get(1).unwrap_or(&names[0]));
        let plain = |method: &str| {
            let method = format_ident!("{method}_{suffix}");
            quote!(s.#method(#(#names),*))
        };
        let maths = |name: &str| {
            let name = format_ident!("{name}");
            let of = (dtype == DType::F64).then(|| quote!(double::));
            quote!(rt::math::#of #name(s, #(#names),*))
        };
        match op {
            Neg if !matches!(dtype.category(), Category::Float | Category::Signed) => {
                unreachable!("shape has checked the types")
            }
            Rem if dtype.is_float() => maths("rem"),
            Neg | Abs | Sqrt | Floor | Ceil | Round | Add | Sub | Mul | Div | Rem | Max | Min => plain(op.name()),
            Not | And | Or | Xor | Shl | Shr | Select | MulAdd => plain(op.name()),
            Eq if dtype == DType::Bool => quote!(s.not_m(s.xor_m(#a, #b))),
            Ne if dtype == DType::Bool => quote!(s.xor_m(#a, #b)),
            Eq | Lt | Le => plain(op.name()),
            Ne => {
                let eq = plain("eq");
                quote!(s.not_m(#eq))
            }
            Sign => {
                let (zero, one) = (constant(Scalar::of(dtype, 0.0)), constant(Scalar::of(dtype, 1.0)));
                let (lt, select) = (format_ident!("lt_{suffix}"), format_ident!("select_{suffix}"));
                let neg = format_ident!("neg_{suffix}");
                quote!({
                    let (zero, one) = (#zero, #one);
                    s.#select(s.#lt(zero, #a), one, s.#select(s.#lt(#a, zero), s.#neg(one), zero))
                })
            }
            Exp | Expm1 | Log | Log1p | Rsqrt | Sin | Cos | Atan | Tanh | Sigmoid | Erf | Pow | Threefry => {
                maths(op.name())
            }
        }
    }

    /// Writes a scalar.
    pub(super) fn store(&self, store: &Store) -> TokenStream {
        let data = slot_name(store.slot);
        let dtype = self.dtype(store.value);
        let (name, suffix) = (variable(store.value), suffix(dtype));
        let value = to_memory(dtype, &name);
        match self.lane_stride(&store.index).as_ref().and_then(Dim::as_const) {
            Some(0) => {
                let at = self.place(store.slot, &store.index);
                let (first, element) =
                    (format_ident!("reduce_max_{}", suffix_of_lanes(in_memory(dtype))), super::element(dtype));
                let narrowed = dtype.is_stored().then(|| quote!(as #element));
                quote!(#data[#at] = s.#first(#value) #narrowed;)
            }
            Some(1) if self.kernel.schedule.streamed.contains(&store.slot) => {
                let (at, skip) = (self.place(store.slot, &store.index), skip_name(store.slot));
                quote!(s.stream_f(#data, #at, at, #value, #skip);)
            }
            Some(1) => {
                let (at, put) = (self.place(store.slot, &store.index), format_ident!("store_{suffix}"));
                quote!(s.#put(#data, #at, at, #value);)
            }
            _ => {
                let (lanes, put) = (self.places(store.slot, &store.index), format_ident!("scatter_{suffix}"));
                quote!(s.#put(#data, #lanes, s.mask_at(at), #value);)
            }
        }
    }
}

/// The type whose lanes hold what is read of an element: bits, or itself.
fn in_memory(dtype: DType) -> DType {
    if dtype == DType::Bool || dtype.is_stored() { DType::U32 } else { dtype }
}

/// A literal as it lies in memory.
fn raw(x: Scalar) -> Scalar {
    match x {
        Scalar::Bool(b) => Scalar::u32(u32::from(b)),
        Scalar::Float(dtype, x) if dtype.is_stored() => Scalar::u32(dtype.float_bits(dtype.nearest(x)) as u32),
        Scalar::Int(dtype, x) if dtype.is_stored() => Scalar::u32(x as u32 & (u32::MAX >> (32 - dtype.bits()))),
        Scalar::Float(..) | Scalar::Int(..) => x,
    }
}

/// The values of elements as they were read.
fn from_memory(dtype: DType, read: TokenStream) -> TokenStream {
    let function = format_ident!("{}_from_{dtype}", suffix_of_lanes(dtype));
    match dtype.category() {
        Category::Bool => quote!(s.m_from_u(#read)),
        Category::Float | Category::Signed if dtype.is_stored() => quote!(rt::bits::#function(s, #read)),
        Category::Float | Category::Signed | Category::Unsigned => read,
    }
}

/// What is written of values, which are numbers of that type.
fn to_memory(dtype: DType, name: &Ident) -> TokenStream {
    let function = format_ident!("{dtype}_from_f");
    match dtype.category() {
        Category::Bool => quote!(s.u_from_m(#name)),
        Category::Float if dtype.is_stored() => quote!(rt::bits::#function(s, #name)),
        Category::Signed if dtype.is_stored() => quote!(s.u_from_i(#name)),
        Category::Float | Category::Signed | Category::Unsigned => quote!(#name),
    }
}

/// The same literal in every lane.
pub(super) fn constant(x: Scalar) -> TokenStream {
    let (dtype, computed) = (x.dtype(), x.dtype().computed());
    let splat = format_ident!("splat_{}", suffix_of_lanes(dtype));
    let literal = match x {
        Scalar::Float(_, x) => float(computed, dtype.nearest(x)),
        Scalar::Int(_, x) => match format!("{x}{computed}").parse::<Literal>() {
            Ok(literal) => quote!(#literal),
            Err(why) => unreachable!("an integer is a literal: {why}"),
        },
        Scalar::Bool(x) => quote!(#x),
    };
    quote!(s.#splat(#literal))
}

/// A literal of exactly that value, which is one of the type.
fn float(dtype: DType, x: f64) -> TokenStream {
    let ty = format_ident!("{dtype}");
    let literal = || match dtype {
        DType::F64 => Literal::f64_suffixed(x.abs()),
        _ => Literal::f32_suffixed(x.abs() as f32),
    };
    match x {
        x if x.is_nan() => quote!(#ty::NAN),
        f64::INFINITY => quote!(#ty::INFINITY),
        f64::NEG_INFINITY => quote!(#ty::NEG_INFINITY),
        x if x.is_sign_negative() => {
            let literal = literal();
            quote!(-#literal)
        }
        _ => literal().into_token_stream(),
    }
}

fn convert(from: DType, to: DType, name: &Ident) -> TokenStream {
    let lanes = [from, to].map(suffix_of_lanes);
    let method = format_ident!("{}_from_{}", lanes[1], lanes[0]);
    let converted = if lanes[0] == lanes[1] { quote!(#name) } else { quote!(s.#method(#name)) };
    if from == to || !to.is_stored() {
        return converted;
    }
    let (least, greatest) = to.integers();
    let bound = |x| constant(Scalar::Int(to.computed(), x));
    let (round, extend) = (format_ident!("round_{to}"), format_ident!("i_from_{to}"));
    match (from.category(), to.category()) {
        (_, Category::Float) => quote!(rt::bits::#round(s, #converted)),
        // Floats saturate, and truth values fit.
        (Category::Float, Category::Signed) => {
            let (least, greatest) = (bound(least), bound(greatest));
            quote!(s.min_i(s.max_i(#converted, #least), #greatest))
        }
        (Category::Float, _) => {
            let greatest = bound(greatest);
            quote!(s.min_u(#converted, #greatest))
        }
        (Category::Bool, _) => converted,
        // Of integers the lowest bits stay.
        (_, Category::Signed) => quote!(rt::bits::#extend(s, s.u_from_i(#converted))),
        (_, Category::Unsigned | Category::Bool) => {
            let mask = bound(greatest);
            quote!(s.and_u(#converted, #mask))
        }
    }
}

fn power_of_two(dim: &Dim) -> Option<u32> {
    dim.as_const().filter(|n| *n > 0 && n & (n - 1) == 0).map(|n| n.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::super::super::positions::{AXES, COUNT, Evaluator, LANES, Number, Place, Random};
    use super::*;
    use crate::ir::schedule::Schedule;

    fn kernel() -> Kernel {
        Kernel {
            name: "map".into(),
            slots: vec![],
            axes: vec![Dim::from(1024); AXES],
            scalars: vec![],
            skeleton: crate::ir::kernel::Skeleton::Row {
                parallel: (0..AXES).collect(),
                reduced: vec![],
                passes: vec![],
                stores: vec![],
            },
            schedule: Schedule::default(),
        }
    }

    fn evaluated(code: TokenStream, place: &Place) -> Result<Number, String> {
        let variable = |name: &str| match name {
            "dim_N" => Some(Number::Usize(place.n.into())),
            axis => Some(Number::Usize(place.at[axis.strip_prefix('i')?.parse::<usize>().ok()?].into())),
        };
        let expr = syn::parse2(code).map_err(|why| why.to_string())?;
        Evaluator { variable: &variable }.eval(&expr)
    }

    #[test]
    fn printed_indices_mean_what_they_are() {
        let kernel = kernel();
        let printer = Printer::new(&kernel, Some(AXES - 1));
        let (mut negative, mut in_lanes) = (0, 0);
        for seed in 0..COUNT {
            let mut random = Random::new(seed);
            let index = random.index(3);
            let none = |_| unreachable!("these indices use no scalars");
            for _ in 0..4 {
                let place = random.place();
                let (value, largest) = place.value(&index);
                let what = format!("seed {seed}: {index} at {place:?}");
                let signed = evaluated(arith::signed(&index, &none), &place);
                assert_eq!(signed, Ok(Number::Isize(value.into())), "{what}");
                negative += u32::from(value < 0);
                if value >= 0 {
                    let found = evaluated(arith::index(&index, &none), &place);
                    assert!(
                        matches!(found, Ok(Number::Usize(x) | Number::Any(x)) if x == value.into()),
                        "{what}: {found:?}"
                    );
                }
                // Lanes are numbers of 32 bits: the places of tensors that can be.
                if largest < i64::from(i32::MAX) / 64 {
                    let expected = std::array::from_fn(|lane| {
                        let mut there = place.clone();
                        there.at[AXES - 1] += lane as i64;
                        there.value(&index).0 as i32
                    });
                    let _: &[i32; LANES] = &expected;
                    assert_eq!(evaluated(printer.lanes(&index), &place), Ok(Number::Lanes(expected)), "{what}");
                    in_lanes += 1;
                }
            }
        }
        assert!(negative > COUNT / 2 && in_lanes > COUNT, "{negative} below zero, {in_lanes} in lanes");
    }
}
