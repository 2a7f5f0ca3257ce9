//! Operators: numbers are folded, tensors become calls of the op of that name.

use super::super::ast::*;
use super::super::{statics, words};
use super::{Argument, Elaborator, Val};
use crate::diag::Diagnostic;
use crate::ops::{self, Attr};

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

    pub(super) fn binary(&mut self, expr: &Expr, op: Binary, a: &Expr, b: &Expr) -> Val {
        let (x, y) = (self.expr(a), self.expr(b));
        self.combine(expr, op, (a, x), (b, y))
    }

    /// The value of an infix operator over evaluated operands.
    pub(super) fn combine(&mut self, expr: &Expr, op: Binary, a: (&Expr, Val), b: (&Expr, Val)) -> Val {
        if let (Val::Static(x), Val::Static(y)) = (&a.1, &b.1) {
            return match statics::binary(op, x, y) {
                Some(folded) => Val::Static(folded),
                None if is_number(x) && is_number(y) => self.operator(expr, op.op(), op.text(), vec![a, b]),
                None => {
                    let message = format!("`{}` has no value", words::brief(expr));
                    self.diags.push(Diagnostic::new("bad-expression", expr.place, message));
                    Val::Unknown
                }
            };
        }
        self.operator(expr, op.op(), op.text(), vec![a, b])
    }

    fn operator(&mut self, expr: &Expr, name: &str, text: &str, operands: Vec<(&Expr, Val)>) -> Val {
        let args = operands.into_iter().map(|(operand, value)| Argument {
            name: None,
            value,
            text: words::brief(operand),
            place: operand.place,
        });
        let args = args.collect();
        match ops::op(name) {
            Some(op) => self.op_call(op, text, args, expr),
            None => {
                self.diags.push(Diagnostic::new("not-supported", expr.place, format!("`{text}` is not supported yet")));
                Val::Unknown
            }
        }
    }
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
