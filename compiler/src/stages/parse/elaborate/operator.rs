//! Operators: numbers are folded, tensors become calls of the op of that name.

use super::super::ast::*;
use super::super::{statics, words};
use super::{Argument, Elaborator, Tensor, Val};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::attr::Attr;
use crate::ir::{DType, Dim};
use crate::ops;

impl Elaborator<'_, '_> {
    pub(super) fn unary(&mut self, expr: &Expr, op: Unary, of: &Expr) -> Val {
        let value = self.expr(of);
        let (name, text) = match op {
            Unary::Neg => ("neg", "-"),
            Unary::Not => ("logical_not", "!"),
        };
        if let Val::Static(attr) = &value
            && let Some(folded) = statics::unary(op, attr)
        {
            return Val::Static(folded);
        }
        self.operator(expr, name, text, vec![(of, value)])
    }

    /// A chain of infix operators from its first operand on, so that long sums do not nest calls.
    pub(super) fn binary(&mut self, expr: &Expr) -> Val {
        let (mut first, mut chain) = (expr, vec![]);
        while let ExprKind::Binary(op, a, b) = &first.kind {
            chain.push((first, *op, &**a, &**b));
            first = a;
        }
        let mut value = self.expr(first);
        for (expr, op, a, b) in chain.into_iter().rev() {
            let right = self.expr(b);
            value = self.combine(expr, op, (a, value), (b, right));
        }
        value
    }

    /// The value of an infix operator over evaluated operands.
    pub(super) fn combine(&mut self, expr: &Expr, op: Binary, a: (&Expr, Val), b: (&Expr, Val)) -> Val {
        if let (Val::Static(x), Val::Static(y)) = (&a.1, &b.1) {
            if statics::overflows(op, x, y) {
                self.diags.push(statics::too_large(expr));
                return Val::Unknown;
            }
            if let (Binary::Div, Attr::Int(by), ExprKind::Int(of)) = (op, y, &a.0.kind)
                && by.as_const().is_none_or(|by| by != 0 && of % by != 0)
            {
                self.diags.push(rounded(expr, a.0.place.to(b.0.place), (*of, by, b.0), self.float));
                return Val::Unknown;
            }
            return match statics::binary(op, x, y) {
                Some(folded) => Val::Static(folded),
                None if is_number(x) && is_number(y) => self.operator(expr, op.op(), op.text(), vec![a, b]),
                None => {
                    let message = format!("`{}` has no value", words::brief(expr));
                    self.diags.push(Diagnostic::new(Code::BadExpression, expr.place, message));
                    Val::Unknown
                }
            };
        }
        let dim = self.position_of(op, &a.1, &b.1);
        let value = self.operator(expr, op.op(), op.text(), vec![a, b]);
        if let (Val::Tensor(tensor), Some(dim)) = (&value, dim) {
            self.scalars.push((*tensor, dim));
        }
        value
    }

    /// The integer that arithmetic on arguments gives, where it can stand in a position.
    fn position_of(&self, op: Binary, a: &Val, b: &Val) -> Option<Dim> {
        let integer = |value: &Val| match value {
            Val::Static(Attr::Int(dim)) => Some(dim.clone()),
            Val::Tensor(tensor) => self.scalar(*tensor),
            Val::Static(_) | Val::Tuple(_) | Val::Struct(..) | Val::Module(_) | Val::Function(_) | Val::Unknown => None,
        };
        let (a, b) = (integer(a)?, integer(b)?);
        match op {
            Binary::Add => Some(a + b),
            Binary::Sub => Some(a - b),
            Binary::Mul => Some(a * b),
            _ => None,
        }
    }

    /// The integer that a tensor holds, where arguments give it.
    pub(super) fn scalar(&self, tensor: Tensor) -> Option<Dim> {
        self.scalars.iter().find(|(known, _)| *known == tensor).map(|(_, dim)| dim.clone())
    }

    /// The same for a position: the call is to bind the arguments' values.
    pub(super) fn position(&mut self, tensor: Tensor) -> Option<Dim> {
        let dim = self.scalar(tensor)?;
        dim.names(&mut |name| _ = self.positions.insert(name.to_owned()));
        Some(dim)
    }

    fn operator(&mut self, expr: &Expr, name: &str, text: &str, operands: Vec<(&Expr, Val)>) -> Val {
        let args = operands.into_iter().map(|(operand, value)| Argument {
            name: None,
            value,
            text: words::brief(operand),
            place: operand.place,
            written: operand.place,
        });
        let args = args.collect();
        match ops::op(name) {
            Some(op) => self.op_call(op, text, args, expr),
            None => {
                self.diags.push(Diagnostic::new(
                    Code::NotSupported,
                    expr.place,
                    format!("`{text}` is not supported yet"),
                ));
                Val::Unknown
            }
        }
    }
}

/// The report of a number that is divided as an integer: extents are divided so, but who writes `1 / 2` means a half.
fn rounded(expr: &Expr, place: Place, (of, by, divisor): (i64, &Dim, &Expr), float: DType) -> Diagnostic {
    let what = by.as_const().map_or(String::new(), |by| format!(" to {}", of.div_euclid(by)));
    let message = format!("`{}` divides integers, which rounds down{what}", words::full(expr));
    let report = Diagnostic::new(Code::NonDivisible, place, message);
    let cast = if by.as_const().is_some() { String::new() } else { format!(".{float}()") };
    report.help(format!("write `{of}.0 / {}{cast}`", words::full(divisor)))
}

fn is_number(attr: &Attr) -> bool {
    matches!(attr, Attr::Int(_) | Attr::Float(_))
}

impl Binary {
    /// The op that the operator stands for.
    fn op(self) -> &'static str {
        match self {
            Binary::Or | Binary::BitOr => "logical_or",
            Binary::And | Binary::BitAnd => "logical_and",
            Binary::BitXor => "logical_xor",
            Binary::Eq => "eq",
            Binary::Ne => "ne",
            Binary::Lt => "lt",
            Binary::Le => "le",
            Binary::Gt => "gt",
            Binary::Ge => "ge",
            Binary::Add => "add",
            Binary::Sub => "sub",
            Binary::Mul => "mul",
            Binary::Div => "div",
            Binary::Rem => "rem",
        }
    }
}
