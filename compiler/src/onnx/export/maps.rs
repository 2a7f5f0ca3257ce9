//! Elementwise operations. Arguments broadcast in the file, so that what repeats is not written out.

use super::attributes::{int, text};
use super::elements::carrier;
use super::value::{Made, Thin};
use super::writer::{Call, Writer};
use crate::ir::prim::{MapOp, Prim, Scalar};
use crate::ir::{Category, DType, Graph, Kind, Value};

/// The literal that is every element of a value.
pub(super) fn literal(graph: &Graph, value: Value) -> Option<Scalar> {
    let node = graph.node(value);
    match &node.kind {
        Kind::Prim(Prim::Const(scalar)) => Some(*scalar),
        Kind::Prim(Prim::Broadcast { .. } | Prim::Reshape(_) | Prim::Barrier) => literal(graph, node.args[0]),
        _ => None,
    }
}

/// Whether a value is chosen that is 0 where another is not above 0, and otherwise that.
fn is_relu(graph: &Graph, args: &[Value]) -> bool {
    let is_zero = |value: Value| literal(graph, value).is_some_and(|scalar| scalar.as_f64() == 0.0);
    let compared = graph.operands(args[0], MapOp::Le);
    is_zero(args[1])
        && graph.ty(args[2]).dtype.is_float()
        && compared.is_some_and(|compared| compared[0] == args[2] && is_zero(compared[1]))
}

/// The only operand that what is written reads, where the other is a literal.
fn only(op: MapOp, dtype: DType, literals: &[Option<Scalar>]) -> Option<usize> {
    let is = |literal: &Option<Scalar>, number: f64| literal.is_some_and(|scalar| scalar.as_f64() == number);
    match op {
        MapOp::Max if dtype.is_float() => literals.iter().position(|literal| is(literal, 0.0)).map(|zero| 1 - zero),
        MapOp::Div if !dtype.is_float() && is(&literals[0], 1.0) => Some(1),
        _ => None,
    }
}

impl Writer<'_> {
    /// An elementwise operation.
    pub(super) fn map(&mut self, call: Call<'_>, op: MapOp) -> Made {
        let args: Vec<Thin> = (0..call.node.args.len()).map(|k| self.thin(call, k)).collect();
        let names: Vec<&str> = args.iter().map(|arg| arg.name.as_str()).collect();
        let dtype = call.arg_ty(call.node.args.len() - 1).dtype;
        let literals: Vec<Option<Scalar>> = call.node.args.iter().map(|&arg| literal(call.graph, arg)).collect();
        if op == MapOp::Select && is_relu(call.graph, &call.node.args) {
            let name = self.op("Relu", &names[2..], vec![]);
            return Made::Tensor(Thin { name, ..args[2].clone() });
        }
        let name = self.mapped(op, dtype, &names, &literals);
        let shape = only(op, dtype, &literals).map_or_else(|| joined(&args), |k| args[k].clone());
        Made::Tensor(Thin { name, ..shape })
    }

    /// A conversion.
    pub(super) fn converted(&mut self, call: Call<'_>, to: DType) -> Made {
        let within = self.is_constant(call.graph, call.arg(0));
        let thin = self.thin(call, 0);
        let name = self.convert(thin.name.clone(), call.arg_ty(0).dtype, to, within);
        Made::Tensor(Thin { name, ..thin })
    }

    fn mapped(&mut self, op: MapOp, dtype: DType, args: &[&str], literals: &[Option<Scalar>]) -> String {
        let is_float = dtype.is_float();
        match op {
            MapOp::Exp => self.op("Exp", args, vec![]),
            MapOp::Log => self.op("Log", args, vec![]),
            MapOp::Sqrt => self.op("Sqrt", args, vec![]),
            MapOp::Sin => self.op("Sin", args, vec![]),
            MapOp::Cos => self.op("Cos", args, vec![]),
            MapOp::Atan => self.op("Atan", args, vec![]),
            MapOp::Tanh => self.op("Tanh", args, vec![]),
            MapOp::Sigmoid => self.op("Sigmoid", args, vec![]),
            MapOp::Erf => self.op("Erf", args, vec![]),
            MapOp::Floor => self.op("Floor", args, vec![]),
            MapOp::Ceil => self.op("Ceil", args, vec![]),
            MapOp::Round => self.op("Round", args, vec![]),
            MapOp::Neg => self.op("Neg", args, vec![]),
            MapOp::Abs => self.op("Abs", args, vec![]),
            MapOp::Sign if is_float => self.sign(args[0], dtype),
            MapOp::Sign => self.op("Sign", args, vec![]),
            MapOp::Pow => self.op("Pow", args, vec![]),
            MapOp::Rsqrt => {
                let root = self.op("Sqrt", args, vec![]);
                self.op("Reciprocal", &[&root], vec![])
            }
            MapOp::Expm1 => self.expm1(args[0], dtype),
            MapOp::Log1p => self.log1p(args[0], dtype),
            MapOp::MulAdd => {
                let product = self.op("Mul", &args[..2], vec![]);
                self.op("Add", &[&product, args[2]], vec![])
            }
            MapOp::Add => self.arithmetic("Add", dtype, args),
            MapOp::Sub => self.arithmetic("Sub", dtype, args),
            MapOp::Mul => self.arithmetic("Mul", dtype, args),
            MapOp::Div if is_float => self.op("Div", args, vec![]),
            MapOp::Div => self.quotient(dtype, args, literals),
            MapOp::Rem if is_float => self.op("Mod", args, vec![int("fmod", 1)]),
            MapOp::Rem => self.remainder(dtype, args, literals),
            MapOp::Max | MapOp::Min => self.extreme(op, dtype, args, literals),
            MapOp::Not | MapOp::And | MapOp::Or | MapOp::Xor => self.bits(op, dtype, args),
            MapOp::Shl => self.shift("LEFT", dtype, args),
            MapOp::Shr => self.shift("RIGHT", dtype, args),
            MapOp::Eq => self.op("Equal", args, vec![]),
            MapOp::Ne => {
                let equal = self.op("Equal", args, vec![]);
                self.op("Not", &[&equal], vec![])
            }
            MapOp::Lt => self.ordered("Less", dtype, args),
            MapOp::Le => self.ordered("LessOrEqual", dtype, args),
            MapOp::Select => self.select(dtype, [args[0], args[1], args[2]]),
            MapOp::Threefry => unreachable!("functions that draw are refused"),
        }
    }

    /// Sums, differences and products, as the lowest bits of integers.
    fn arithmetic(&mut self, op: &str, dtype: DType, args: &[&str]) -> String {
        let made = self.op(op, args, vec![]);
        self.wrapped(made, dtype)
    }

    /// `a` where the condition holds, otherwise `b`.
    pub(super) fn select(&mut self, dtype: DType, [condition, a, b]: [&str; 3]) -> String {
        if dtype != DType::Bool {
            return self.op("Where", &[condition, a, b], vec![]);
        }
        let (first, other) = (self.op("And", &[condition, a], vec![]), self.op("Not", &[condition], vec![]));
        let second = self.op("And", &[&other, b], vec![]);
        self.op("Or", &[&first, &second], vec![])
    }

    /// An operator of integers of 64 bits without a sign on their own type, for what their bits as another do not give.
    fn unsigned(&mut self, op: &str, args: &[&str]) -> String {
        let args: Vec<String> = args.iter().map(|arg| self.cast(arg, DType::U64)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.op(op, &args, vec![])
    }

    fn ordered(&mut self, op: &str, dtype: DType, args: &[&str]) -> String {
        if dtype == DType::U64 { self.unsigned(op, args) } else { self.op(op, args, vec![]) }
    }

    fn extreme(&mut self, op: MapOp, dtype: DType, args: &[&str], literals: &[Option<Scalar>]) -> String {
        if let Some(k) = only(op, dtype, literals) {
            return self.op("Relu", &[args[k]], vec![]);
        }
        let name = if op == MapOp::Max { "Max" } else { "Min" };
        let made = self.ordered(name, dtype, args);
        if dtype == DType::U64 { self.cast(&made, carrier(dtype)) } else { made }
    }

    fn bits(&mut self, op: MapOp, dtype: DType, args: &[&str]) -> String {
        let is_bool = dtype == DType::Bool;
        let (_, greatest) = dtype.integers();
        match op {
            MapOp::And => self.op(if is_bool { "And" } else { "BitwiseAnd" }, args, vec![]),
            MapOp::Or => self.op(if is_bool { "Or" } else { "BitwiseOr" }, args, vec![]),
            MapOp::Xor => self.op(if is_bool { "Xor" } else { "BitwiseXor" }, args, vec![]),
            _ if is_bool => self.op("Not", args, vec![]),
            _ if carrier(dtype) == dtype || dtype.is_wide() => self.op("BitwiseNot", args, vec![]),
            _ => {
                let all = self.constant(Scalar::Int(dtype, greatest));
                self.op("BitwiseXor", &[args[0], &all], vec![])
            }
        }
    }

    fn shift(&mut self, direction: &str, dtype: DType, args: &[&str]) -> String {
        let most = self.constant(Scalar::Int(dtype, i128::from(dtype.bits()) - 1));
        let by = self.op("BitwiseAnd", &[args[1], &most], vec![]);
        let (x, by) = (self.cast(args[0], DType::U64), self.cast(&by, DType::U64));
        let made = self.op("BitShift", &[&x, &by], vec![text("direction", direction)]);
        let made = self.cast(&made, carrier(dtype));
        self.wrapped(made, dtype)
    }

    /// The quotient of integers, 0 where the divisor is.
    fn quotient(&mut self, dtype: DType, args: &[&str], literals: &[Option<Scalar>]) -> String {
        let [a, b] = [args[0], args[1]];
        let is_signed = dtype.category() == Category::Signed;
        let [zero, one, minus] = [0, 1, -1].map(|n| self.constant(Scalar::Int(dtype, n)));
        match (literals[0], literals[1]) {
            // ONNX Runtime makes `1/b · a` into `a/b` (`DivMulFusion`), of integers too.
            (Some(Scalar::Int(_, 1)), _) => {
                let magnitude = if is_signed { self.op("Abs", &[b], vec![]) } else { b.into() };
                let is_one = self.op("Equal", &[&magnitude, &one], vec![]);
                return self.op("Where", &[&is_one, b, &zero], vec![]);
            }
            (_, Some(Scalar::Int(_, n))) if n != 0 && n != -1 => return self.divided(dtype, a, b),
            _ => {}
        }
        let by_zero = self.op("Equal", &[b, &zero], vec![]);
        let divisor = self.op("Where", &[&by_zero, &one, b], vec![]);
        if !is_signed {
            let made = self.divided(dtype, a, &divisor);
            return self.op("Where", &[&by_zero, &zero, &made], vec![]);
        }
        // The least number has no opposite, and processors stop at that quotient.
        let by_minus = self.op("Equal", &[b, &minus], vec![]);
        let divisor = self.op("Where", &[&by_minus, &one, &divisor], vec![]);
        let made = self.op("Div", &[a, &divisor], vec![]);
        let opposite = self.op("Neg", &[a], vec![]);
        let made = self.op("Where", &[&by_minus, &opposite, &made], vec![]);
        self.op("Where", &[&by_zero, &zero, &made], vec![])
    }

    fn divided(&mut self, dtype: DType, a: &str, b: &str) -> String {
        if dtype != DType::U64 {
            return self.op("Div", &[a, b], vec![]);
        }
        let made = self.unsigned("Div", &[a, b]);
        self.cast(&made, carrier(dtype))
    }

    /// What a quotient leaves, 0 where the divisor is.
    fn remainder(&mut self, dtype: DType, args: &[&str], literals: &[Option<Scalar>]) -> String {
        let [a, b] = [args[0], args[1]];
        let quotient = self.quotient(dtype, args, literals);
        let product = self.op("Mul", &[&quotient, b], vec![]);
        let rest = self.op("Sub", &[a, &product], vec![]);
        if literals[1].is_some_and(|scalar| scalar.as_f64() != 0.0) {
            return rest;
        }
        let zero = self.constant(Scalar::Int(dtype, 0));
        let by_zero = self.op("Equal", &[b, &zero], vec![]);
        self.op("Where", &[&by_zero, &zero, &rest], vec![])
    }

    /// −1, 0 or 1, and 0 of NaN.
    fn sign(&mut self, x: &str, dtype: DType) -> String {
        let (sign, is_nan) = (self.op("Sign", &[x], vec![]), self.op("IsNaN", &[x], vec![]));
        let zero = self.constant(Scalar::Float(dtype, 0.0));
        self.op("Where", &[&is_nan, &zero, &sign], vec![])
    }

    /// `eˣ − 1 = tanh(x/2) · (eˣ + 1)`, accurate near zero.
    fn expm1(&mut self, x: &str, dtype: DType) -> String {
        let [half, one] = [0.5, 1.0].map(|number| self.constant(Scalar::Float(dtype, number)));
        let (halved, power) = (self.op("Mul", &[x, &half], vec![]), self.op("Exp", &[x], vec![]));
        let (tanh, sum) = (self.op("Tanh", &[&halved], vec![]), self.op("Add", &[&power, &one], vec![]));
        self.op("Mul", &[&tanh, &sum], vec![])
    }

    /// `ln(1 + x)`: with `u = 1 + x` as it is rounded, `x · ln(u)/(u − 1)` near zero (Goldberg 1991, theorem 4).
    fn log1p(&mut self, x: &str, dtype: DType) -> String {
        let [half, one, zero] = [0.5, 1.0, 0.0].map(|number| self.constant(Scalar::Float(dtype, number)));
        let sum = self.op("Add", &[x, &one], vec![]);
        let (log, less) = (self.op("Log", &[&sum], vec![]), self.op("Sub", &[&sum, &one], vec![]));
        let is_tiny = self.op("Equal", &[&less, &zero], vec![]);
        let divisor = self.op("Where", &[&is_tiny, &one, &less], vec![]);
        let slope = self.op("Div", &[&log, &divisor], vec![]);
        let near = self.op("Mul", &[&slope, x], vec![]);
        let near = self.op("Where", &[&is_tiny, x, &near], vec![]);
        let magnitude = self.op("Abs", &[x], vec![]);
        let is_near = self.op("Less", &[&magnitude, &half], vec![]);
        self.op("Where", &[&is_near, &near, &log], vec![])
    }
}

/// How what an elementwise operation makes of tensors lies in its value.
fn joined(args: &[Thin]) -> Thin {
    let in_all = |axis: &usize| args.iter().all(|arg| arg.repeated.contains(axis));
    Thin {
        name: String::new(),
        rank: args.iter().map(|arg| arg.rank).max().unwrap_or(0),
        repeated: args.first().map_or(vec![], |arg| arg.repeated.iter().copied().filter(in_all).collect()),
    }
}
