//! Scalar bodies: loads, arithmetic and stores as WGSL statements.
//!
//! Comes in: the scalars of a kernel and what is wanted of them. Goes out: statements in a block, each scalar defined
//! once per scope. Always holds: one arm per primitive, and a load runs only where all its guards hold.

use super::convert::convert;
use super::elements::{Memory, mask};
use super::names::Names;
use super::pairs;
use crate::ir::index::Index;
use crate::ir::kernel::{Expr, ExprId, Guard, Kernel, Store};
use crate::ir::prim::{MapOp, Scalar};
use crate::ir::ty::{Category, DType};
use crate::ir::varying::Varying;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A kernel with its slots bound to pools, as the printers see it.
pub(super) struct Scalars<'a> {
    pub(super) names: &'a Names,
    pub(super) kernel: &'a Kernel,
    /// For each slot where it lies.
    memory: Vec<Memory>,
    dtypes: Vec<DType>,
    varying: Varying,
}

impl<'a> Scalars<'a> {
    pub(super) fn new(names: &'a Names, kernel: &'a Kernel, memory: Vec<Memory>) -> Scalars<'a> {
        let varying = Varying::of(kernel);
        Scalars { names, kernel, memory, dtypes: kernel.dtypes(), varying }
    }

    pub(super) fn dtype(&self, id: ExprId) -> DType {
        self.dtypes[id]
    }

    /// Whether a scalar varies with one of the axes.
    fn varies(&self, id: ExprId, axes: &[usize]) -> bool {
        axes.iter().any(|&axis| self.varying.with(id, axis))
    }

    /// The element of a slot at an index.
    pub(super) fn load(&self, slot: usize, index: &str) -> String {
        self.memory[slot].load(self.kernel.slots[slot].dtype, &self.names.slot(slot), index)
    }

    /// A statement that writes the word of a store's neighbours.
    pub(super) fn fill(&self, store: &Store, index: &str, count: &str, word: &str) -> String {
        self.memory[store.slot].fill(self.dtype(store.value), &self.names.slot(store.slot), index, count, word)
    }

    /// A statement that writes the value of a store, where all that its index mentions is defined.
    pub(super) fn store(&self, store: &Store, value: &str) -> String {
        let index = self.names.index(&store.index);
        self.memory[store.slot].store(self.dtype(store.value), &self.names.slot(store.slot), &index, value)
    }
}

/// A function body in the making. Scalars are defined when they are first wanted, in the innermost open scope.
pub(super) struct Body<'a, 'k> {
    pub(super) scalars: &'a Scalars<'k>,
    pub(super) text: String,
    scopes: Vec<BTreeMap<ExprId, String>>,
}

impl<'a, 'k> Body<'a, 'k> {
    pub(super) fn new(scalars: &'a Scalars<'k>) -> Body<'a, 'k> {
        Body { scalars, text: String::new(), scopes: vec![BTreeMap::new()] }
    }

    /// Writes one line.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        let indent = 4 * self.scopes.len();
        let _ = writeln!(self.text, "{:indent$}{}", "", line.as_ref());
    }

    /// Opens a block, as `for (…)`.
    pub(super) fn open(&mut self, head: impl AsRef<str>) {
        self.line(format!("{} {{", head.as_ref()));
        self.scopes.push(BTreeMap::new());
    }

    /// Closes the innermost block.
    pub(super) fn close(&mut self) {
        self.scopes.pop();
        self.line("}");
    }

    /// Declares that a scalar, an accumulator, is in a variable already.
    pub(super) fn define(&mut self, id: ExprId, name: String) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(id, name);
        }
    }

    /// Splits a linear position into the axes, the last varying fastest. Positions and extents have no sign, without which they
    /// are divided in fewer instructions.
    pub(super) fn split(&mut self, position: &str, axes: &[usize]) {
        let Some((&first, rest)) = axes.split_first() else { return };
        if rest.is_empty() {
            return self.line(format!("let i{first} = {position};"));
        }
        let mut left = format!("u32({position})");
        for &axis in rest.iter().rev() {
            let extent = self.scalars.names.unsigned(&self.scalars.kernel.axes[axis]);
            self.line(format!("let i{axis} = i32({left} % {extent});"));
            self.line(format!("let r{axis} = {left} / {extent};"));
            left = format!("r{axis}");
        }
        self.line(format!("let i{first} = i32({left});"));
    }

    /// Defines, here, everything that `wanted` needs and that does not vary with `axes`.
    pub(super) fn hoist(&mut self, wanted: &[ExprId], axes: &[usize]) {
        for &id in wanted {
            if self.scalars.varies(id, axes) {
                let mut operands = Vec::new();
                self.scalars.kernel.scalars[id].operands(&mut |o| operands.push(o));
                self.hoist(&operands, axes);
            } else {
                self.value(id);
            }
        }
    }

    /// An expression for a scalar.
    pub(super) fn value(&mut self, id: ExprId) -> String {
        if let Some(name) = self.scopes.iter().rev().find_map(|scope| scope.get(&id)) {
            return name.clone();
        }
        let scalars = self.scalars;
        let names = scalars.names;
        let text = match &scalars.kernel.scalars[id] {
            Expr::Const(scalar) => return literal(*scalar),
            Expr::Load { slot, index, guards, fill } => {
                self.load(id, *slot, index, guards, *fill);
                return self.named(id);
            }
            Expr::Extent(dim) => format!("u32({})", names.dim(dim)),
            Expr::Index(index) => {
                self.index_values(index);
                format!("u32({})", names.index(index))
            }
            Expr::Inside(guards) => self.guards(guards),
            Expr::Map(op, args) => {
                let dtype = scalars.dtype(args[args.len() - 1]);
                let args = self.operands(args);
                map(*op, dtype, &args)
            }
            Expr::Convert(to, arg) => {
                let value = self.operands(&[*arg]).remove(0);
                convert(scalars.dtype(*arg), *to, &value)
            }
            Expr::Accumulated { pass, slot, .. } => format!("a{pass}_{slot}"),
        };
        self.line(format!("let v{id} = {text};"));
        self.named(id)
    }

    /// Expressions for what an operation takes. One of them is no constant expression for WGSL, which computes those
    /// while it compiles and refuses what overflows, is infinite, or is NaN.
    fn operands(&mut self, ids: &[ExprId]) -> Vec<String> {
        let constant = |id: &ExprId| matches!(self.scalars.kernel.scalars[*id], Expr::Const(_));
        let all = ids.iter().all(constant);
        let mut operands: Vec<String> = ids.iter().map(|&id| self.value(id)).collect();
        if let (true, Some(&first)) = (all, ids.first())
            && operands[0] != format!("v{first}")
        {
            self.line(format!("let v{first} = {};", operands[0]));
            operands[0] = self.named(first);
        }
        operands
    }

    fn named(&mut self, id: ExprId) -> String {
        let name = format!("v{id}");
        self.define(id, name.clone());
        name
    }

    fn load(&mut self, id: ExprId, slot: usize, index: &Index, guards: &[Guard], fill: Scalar) {
        self.index_values(index);
        let value = self.scalars.load(slot, &self.scalars.names.index(index));
        if guards.is_empty() {
            self.line(format!("let v{id} = {value};"));
            return;
        }
        let inside = self.guards(guards);
        self.line(format!("var v{id} = {};", literal(fill)));
        self.line(format!("if {inside} {{ v{id} = {value}; }}"));
    }

    fn guards(&mut self, guards: &[Guard]) -> String {
        let mut conditions = Vec::new();
        for guard in guards {
            self.index_values(guard.index());
            let names = self.scalars.names;
            let constant = guard.index().terms.is_empty().then(|| guard.index().base.as_const()).flatten();
            let condition = match (guard, constant) {
                (Guard::Multiple(_, of), Some(at)) => (at % of == 0).to_string(),
                (Guard::Multiple(index, of), None) => format!("{} == 0", names.remainder(index, &of.to_string())),
                // WGSL converts no negative constant to an unsigned number.
                (Guard::Within(..), Some(..0)) => "false".to_owned(),
                // As unsigned numbers, negative positions are beyond every extent.
                (Guard::Within(index, extent), Some(0..) | None) => {
                    format!("u32({}) < u32({})", names.index(index), names.dim(extent))
                }
            };
            conditions.push(condition);
        }
        match conditions.is_empty() {
            true => "true".to_owned(),
            false => conditions.join(" && "),
        }
    }

    /// Defines the scalars that an index mentions under the names by which it does.
    fn index_values(&mut self, index: &Index) {
        let mut values = Vec::new();
        index.values(&mut |value| values.push(value));
        for value in values {
            let name = self.value(value);
            if name != format!("v{value}") {
                self.line(format!("let v{value} = {name};"));
                self.define(value, format!("v{value}"));
            }
        }
    }

    /// Writes the stores of a position. A store may be in the place of a load, so all scalars come first.
    pub(super) fn stores(&mut self, stores: &[Store]) {
        for store in stores {
            _ = self.value(store.value);
        }
        stores.iter().for_each(|store| self.store(store));
    }

    /// Makes a store of the `u`-th of neighbouring elements, or adds it to the word that they share.
    pub(super) fn store_or_pack(&mut self, number: usize, store: &Store, neighbours: u32) {
        if !self.scalars.dtype(store.value).is_stored() {
            return self.store(store);
        }
        let value = self.value(store.value);
        let index = self.scalars.names.index(&store.index);
        self.line(format!("if u == 0 {{ at{number} = {index}; }}"));
        self.line(format!("word{number} |= {value} << (u32(u) * {}u);", u32::BITS / neighbours));
    }

    fn store(&mut self, store: &Store) {
        let value = self.value(store.value);
        self.index_values(&store.index);
        let statement = self.scalars.store(store, &value);
        self.line(statement);
    }
}

/// A literal of exactly that value.
pub(super) fn literal(scalar: Scalar) -> String {
    match scalar {
        Scalar::Float(dtype, x) if dtype.is_stored() => format!("{}u", dtype.float_bits(dtype.nearest(x))),
        Scalar::Float(_, x) => match x as f32 {
            x if x.is_nan() => "not_a_number()".to_owned(),
            f32::INFINITY => "infinity()".to_owned(),
            f32::NEG_INFINITY => "(-infinity())".to_owned(),
            x if x.is_sign_negative() => format!("({x:?}f)"),
            x => format!("{x:?}f"),
        },
        Scalar::Int(dtype, x) if dtype.is_stored() => format!("{}u", x as u32 & mask(dtype.bits())),
        Scalar::Int(dtype, x) if dtype.is_wide() => format!("vec2<u32>({}u, {}u)", x as u32, (x >> 32) as u32),
        // There is no literal of the least i32: its minus is an operator.
        Scalar::Int(_, x) if x == i128::from(i32::MIN) => "(-2147483647i - 1i)".to_owned(),
        Scalar::Int(_, x) if x < 0 => format!("({x}i)"),
        Scalar::Int(dtype, x) if dtype.category() == Category::Signed => format!("{x}i"),
        Scalar::Int(_, x) => format!("{x}u"),
        Scalar::Bool(x) => x.to_string(),
    }
}

/// Elementwise arithmetic; `dtype` is the type of the last argument.
fn map(op: MapOp, dtype: DType, args: &[String]) -> String {
    if dtype.is_wide() {
        return pairs::map(op, dtype, args);
    }
    let [a, b, c] = [0, 1, 2].map(|n| args.get(n).map_or("", String::as_str));
    let float = dtype.is_float();
    let truth = dtype == DType::Bool;
    let suffix = dtype.name();
    match op {
        MapOp::Neg => format!("-{a}"),
        MapOp::Abs => format!("abs({a})"),
        MapOp::Sign if float => format!("sign_f32({a})"),
        MapOp::Sign => format!("sign({a})"),
        MapOp::Exp => format!("exp_f32({a})"),
        MapOp::Expm1 => format!("expm1({a})"),
        MapOp::Log => format!("log_f32({a})"),
        MapOp::Log1p => format!("log1p({a})"),
        MapOp::Sqrt => format!("sqrt({a})"),
        MapOp::Rsqrt => format!("inverseSqrt({a})"),
        MapOp::Sin => format!("sin_f32({a})"),
        MapOp::Cos => format!("cos_f32({a})"),
        MapOp::Atan => format!("atan_f32({a})"),
        MapOp::Tanh => format!("tanh_f32({a})"),
        MapOp::Sigmoid => format!("sigmoid({a})"),
        MapOp::Erf => format!("erf({a})"),
        MapOp::Floor => format!("floor({a})"),
        MapOp::Ceil => format!("ceil({a})"),
        MapOp::Round => format!("round({a})"),
        MapOp::Not if truth => format!("!{a}"),
        MapOp::Not => format!("~{a}"),
        MapOp::Add => format!("{a} + {b}"),
        MapOp::Sub => format!("{a} - {b}"),
        MapOp::Mul => format!("{a} * {b}"),
        MapOp::Div if float => format!("{a} / {b}"),
        MapOp::Div => format!("div_{suffix}({a}, {b})"),
        MapOp::Rem => format!("rem_{suffix}({a}, {b})"),
        MapOp::Pow => format!("pow_f32({a}, {b})"),
        MapOp::Max if float => format!("max_nan({a}, {b})"),
        MapOp::Max => format!("max({a}, {b})"),
        MapOp::Min if float => format!("min_nan({a}, {b})"),
        MapOp::Min => format!("min({a}, {b})"),
        MapOp::And => format!("{a} & {b}"),
        MapOp::Or => format!("{a} | {b}"),
        MapOp::Xor if truth => format!("{a} != {b}"),
        MapOp::Xor => format!("{a} ^ {b}"),
        MapOp::Shl => format!("{a} << {b}"),
        MapOp::Shr => format!("{a} >> {b}"),
        MapOp::Eq => format!("{a} == {b}"),
        // WGSL lets a compiler assume that there is no NaN, and this question is about nothing else.
        MapOp::Ne if float && a == b => format!("is_nan({a})"),
        // naga makes `!=` of floats one that is false where either is NaN.
        MapOp::Ne if float => format!("!({a} == {b})"),
        MapOp::Ne => format!("{a} != {b}"),
        MapOp::Lt => format!("{a} < {b}"),
        MapOp::Le => format!("{a} <= {b}"),
        MapOp::Select => format!("select({c}, {b}, {a})"),
        MapOp::MulAdd => format!("fma({a}, {b}, {c})"),
        MapOp::Threefry => format!("threefry({a}, {b}, {c})"),
    }
}
