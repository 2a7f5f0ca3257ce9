//! Scalar bodies: loads, arithmetic and stores as WGSL statements.
//!
//! Comes in: the scalars of a kernel and what is wanted of them. Goes out: statements in a block, each scalar defined
//! once per scope. Always holds: one arm per primitive, and a load runs only where all its guards hold.

use super::convert::convert;
use super::elements::mask;
use super::grid::{COUNTED, Run};
use super::names::{Called, Names};
use super::pairs;
use super::positions::Positions;
use super::views::{Access, View};
use crate::ir::index::Index;
use crate::ir::kernel::{Expr, ExprId, Guard, Kernel, Store};
use crate::ir::neighbours::Fours;
use crate::ir::prim::{MapOp, Scalar};
use crate::ir::ty::{Category, DType};
use crate::ir::varying::Varying;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A kernel with its slots bound to pools, as the printers see it.
pub(super) struct Scalars<'a> {
    pub(super) names: &'a Names,
    pub(super) kernel: &'a Kernel,
    pub(super) run: Run,
    /// For each slot where it lies.
    memory: Vec<View>,
    /// The loads and stores of four neighbours, where invocations have such.
    pub(super) fours: Option<Fours<'a>>,
    dtypes: Vec<DType>,
    varying: Varying,
}

impl<'a> Scalars<'a> {
    pub(super) fn new(names: &'a Names, kernel: &'a Kernel, memory: Vec<View>, run: Run) -> Scalars<'a> {
        let (varying, fours) = (Varying::of(kernel), Fours::scheduled(kernel));
        Scalars { names, kernel, run, memory, fours, dtypes: kernel.dtypes(), varying }
    }

    pub(super) fn dtype(&self, id: ExprId) -> DType {
        self.dtypes[id]
    }

    /// Whether a scalar varies with one of the axes.
    pub(super) fn varies(&self, id: ExprId, axes: &[usize]) -> bool {
        axes.iter().any(|&axis| self.varying.with(id, axis))
    }

    /// The first word of a slot: what a workgroup keeps is there from the first word on.
    fn first(&self, slot: usize) -> String {
        match self.memory[slot].access {
            Access::Kept => "0".to_owned(),
            Access::Read | Access::Write | Access::Atomic | Access::ReadFours | Access::WriteFours => {
                self.names.slot(slot)
            }
        }
    }

    /// The element of a slot at an index.
    pub(super) fn load(&self, slot: usize, index: &str) -> String {
        self.memory[slot].load(self.kernel.slots[slot].dtype, &self.first(slot), index)
    }

    /// A vector of four neighbours of a slot, the first of which is at an index.
    pub(super) fn load_four(&self, slot: usize, index: &str) -> String {
        self.memory[slot].load_four(self.kernel.slots[slot].dtype, &self.first(slot), index)
    }

    /// A statement that writes an f32 to the element of a slot at an index.
    pub(super) fn store_word(&self, slot: usize, index: &str, value: &str) -> String {
        self.memory[slot].store(DType::F32, &self.first(slot), index, value)
    }

    /// A statement that writes the values of a store at four neighbours, the first of which is at an index.
    pub(super) fn store_four(&self, store: &Store, index: &str, values: &[String; 4]) -> String {
        self.memory[store.slot].store_four(self.dtype(store.value), &self.first(store.slot), index, values)
    }

    /// A statement that writes the word of a store's neighbours.
    pub(super) fn fill(&self, store: &Store, index: &str, count: &str, word: &str) -> String {
        self.memory[store.slot].fill(self.dtype(store.value), &self.first(store.slot), index, count, word)
    }

    /// A statement that writes the value of a store, where all that its index mentions is defined.
    pub(super) fn store(&self, store: &Store, value: &str) -> String {
        self.store_at(store, &self.names.index(&store.index), value)
    }

    /// A statement that writes the value of a store to the element at an index.
    fn store_at(&self, store: &Store, index: &str, value: &str) -> String {
        let memory = self.memory[store.slot];
        let statement = memory.store(self.dtype(store.value), &self.first(store.slot), index, value);
        match self.run.is_repeated && memory.access != Access::Kept {
            true => format!("if {COUNTED} == 0u {{ {statement} }}"),
            false => statement,
        }
    }
}

/// A function body in the making. Scalars are defined when they are first wanted, in the innermost open scope.
pub(super) struct Body<'a, 'k> {
    pub(super) scalars: &'a Scalars<'k>,
    pub(super) text: String,
    /// The positions that are printed one after the other, where there are several.
    pub(super) positions: Option<Positions>,
    /// A guard that holds at all positions that are printed.
    pub(super) known: Option<Guard>,
    /// What holds only at some of them, and has to for their loads.
    pub(super) condition: Option<String>,
    /// The names of scalars, each at a position if it is not the same at all of them.
    scopes: Vec<BTreeMap<(ExprId, Option<usize>), String>>,
}

impl<'a, 'k> Body<'a, 'k> {
    pub(super) fn new(scalars: &'a Scalars<'k>) -> Body<'a, 'k> {
        Body {
            scalars,
            text: String::new(),
            positions: None,
            known: None,
            condition: None,
            scopes: vec![BTreeMap::new()],
        }
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
        let key = self.key(id);
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(key, name);
        }
    }

    /// Whether a scalar is defined.
    pub(super) fn is_defined(&self, id: ExprId) -> bool {
        self.find(id).is_some()
    }

    fn find(&self, id: ExprId) -> Option<&String> {
        let key = self.key(id);
        self.scopes.iter().rev().find_map(|scope| scope.get(&key))
    }

    fn key(&self, id: ExprId) -> (ExprId, Option<usize>) {
        (id, self.positions.as_ref().and_then(|positions| positions.of(self.scalars, id)))
    }

    /// An index at the position that is printed.
    pub(super) fn index(&self, index: &Index) -> String {
        self.scalars.names.index_at(index, self)
    }

    /// Splits a linear position into the axes, the last varying fastest. Positions and extents have no sign, without which they
    /// are divided in fewer instructions.
    pub(super) fn split(&mut self, position: &str, axes: &[usize]) {
        self.split_turn(position, axes, "");
    }

    /// The same where names of axes end with the number of a turn.
    pub(super) fn split_turn(&mut self, position: &str, axes: &[usize], turn: &str) {
        let Some((&first, rest)) = axes.split_first() else { return };
        if rest.is_empty() {
            return self.line(format!("let i{first}{turn} = {position};"));
        }
        let mut left = format!("u32({position})");
        for &axis in rest.iter().rev() {
            let extent = self.scalars.names.unsigned(&self.scalars.kernel.axes[axis]);
            self.line(format!("let i{axis}{turn} = i32({left} % {extent});"));
            self.line(format!("let r{axis}{turn} = {left} / {extent};"));
            left = format!("r{axis}{turn}");
        }
        self.line(format!("let i{first}{turn} = i32({left});"));
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
        if let Some(name) = self.find(id) {
            return name.clone();
        }
        let scalars = self.scalars;
        let names = scalars.names;
        let text = match &scalars.kernel.scalars[id] {
            Expr::Const(scalar) => return literal(*scalar),
            Expr::Load { slot, index, guards, fill } if self.is_four(id) => {
                return self.load_four(id, *slot, (index, guards, *fill));
            }
            Expr::Load { slot, index, guards, fill } => {
                self.load(id, *slot, index, guards, *fill);
                return self.named(id);
            }
            Expr::Extent(dim) => format!("u32({})", names.dim(dim)),
            Expr::Index(index) => {
                self.index_values(index);
                format!("u32({})", self.index(index))
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
            Expr::Accumulated { pass, slot, .. } => {
                let of = self.positions.as_ref().map_or("".into(), Positions::of_sum);
                format!("a{pass}_{slot}{of}")
            }
        };
        let name = self.named(id);
        self.line(format!("let {name} = {text};"));
        name
    }

    /// Expressions for what an operation takes. One of them is no constant expression for WGSL, which computes those
    /// while it compiles and refuses what overflows, is infinite, or is NaN.
    fn operands(&mut self, ids: &[ExprId]) -> Vec<String> {
        let constant = |id: &ExprId| matches!(self.scalars.kernel.scalars[*id], Expr::Const(_));
        let all = ids.iter().all(constant);
        let mut operands: Vec<String> = ids.iter().map(|&id| self.value(id)).collect();
        if let (true, Some(&first)) = (all, ids.first())
            && operands[0] != self.called(first)
        {
            let name = self.named(first);
            self.line(format!("let {name} = {};", operands[0]));
            operands[0] = name;
        }
        operands
    }

    /// What a scalar is called where it is a variable.
    fn called(&self, id: ExprId) -> String {
        match self.key(id) {
            (_, None | Some(0)) => format!("v{id}"),
            (_, Some(number)) => format!("v{id}_{number}"),
        }
    }

    /// Declares that a scalar is in the variable of its name.
    pub(super) fn named(&mut self, id: ExprId) -> String {
        let name = self.called(id);
        self.define(id, name.clone());
        name
    }

    /// Whether a scalar is a load of four neighbours at once.
    pub(super) fn is_four(&self, id: ExprId) -> bool {
        self.scalars.fours.as_ref().is_some_and(|fours| fours.is_load(id))
    }

    fn load(&mut self, id: ExprId, slot: usize, index: &Index, guards: &[Guard], fill: Scalar) {
        self.index_values(index);
        let (name, value) = (self.called(id), self.scalars.load(slot, &self.index(index)));
        if self.is_always(guards) {
            self.line(format!("let {name} = {value};"));
            return;
        }
        let inside = self.of_load(guards);
        self.line(format!("var {name} = {};", literal(fill)));
        self.line(format!("if {inside} {{ {name} = {value}; }}"));
    }

    /// Whether a load with such guards is made at all positions that are printed.
    pub(super) fn is_always(&self, guards: &[Guard]) -> bool {
        self.condition.is_none() && guards.iter().all(|guard| self.known.as_ref() == Some(guard))
    }

    /// Where a load with such guards is made.
    pub(super) fn of_load(&mut self, guards: &[Guard]) -> String {
        let inside = self.guards(guards);
        match self.condition.clone() {
            Some(condition) if inside == "true" => condition,
            Some(condition) => format!("{condition} && {inside}"),
            None => inside,
        }
    }

    pub(super) fn guards(&mut self, guards: &[Guard]) -> String {
        let mut conditions = Vec::new();
        let known = self.known.clone();
        for guard in guards.iter().filter(|guard| known.as_ref() != Some(guard)) {
            self.index_values(guard.index());
            let names = self.scalars.names;
            let constant = guard.index().terms.is_empty().then(|| guard.index().base.as_const()).flatten();
            let condition = match (guard, constant) {
                (Guard::Multiple(_, of), Some(at)) => (at % of == 0).to_string(),
                (Guard::Multiple(index, of), None) => {
                    format!("{} == 0", names.remainder(index, &of.to_string(), self))
                }
                // WGSL converts no negative constant to an unsigned number.
                (Guard::Within(..), Some(..0)) => "false".to_owned(),
                // As unsigned numbers, negative positions are beyond every extent.
                (Guard::Within(index, extent), Some(0..) | None) => {
                    format!("u32({}) < u32({})", self.index(index), names.dim(extent))
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
    pub(super) fn index_values(&mut self, index: &Index) {
        let mut values = Vec::new();
        index.values(&mut |value| values.push(value));
        for value in values {
            let (name, called) = (self.value(value), self.called(value));
            if name != called {
                self.line(format!("let {called} = {name};"));
                self.define(value, called);
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

    pub(super) fn store(&mut self, store: &Store) {
        let value = self.value(store.value);
        self.index_values(&store.index);
        let statement = self.scalars.store_at(store, &self.index(&store.index), &value);
        self.line(statement);
    }
}

impl Called for Body<'_, '_> {
    fn axis(&self, axis: usize) -> String {
        self.positions.as_ref().map_or_else(|| format!("i{axis}"), |positions| positions.axis(axis))
    }

    fn value(&self, value: usize) -> String {
        self.called(value)
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
