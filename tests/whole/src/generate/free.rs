//! Calls with random attributes over values as they are, of any rank.

use super::Growing;
use crate::program::{Local, Operand};
use precast_compiler::ir::{DType, Dim, Type};

const REDUCTIONS: &[&str] =
    &["sum", "mean", "max", "min", "prod", "argmax", "argmin", "logsumexp", "var", "std", "count_nonzero", "norm"];
const ALONG: &[&str] =
    &["softmax", "log_softmax", "cumsum", "cummax", "cummin", "sort", "argsort", "flip", "softmin", "normalize"];
const MAPS: &[&str] = &[
    "tanh",
    "sin",
    "cos",
    "abs",
    "sigmoid",
    "relu",
    "gelu",
    "silu",
    "softplus",
    "square",
    "neg",
    "erf",
    "atan",
    "floor",
    "sign",
    "expm1",
    "elu",
    "mish",
    "hard_swish",
    "transpose",
];
const PAIRS: &[&str] = &["add", "sub", "mul", "maximum", "minimum", "lt", "gt", "where", "div"];

impl Growing {
    /// One call, or a few that belong together.
    pub(super) fn free(&mut self) -> Option<Vec<Local>> {
        let numbers: Vec<Local> = self.pool.iter().copied().filter(|&v| self.ty(v).dtype != DType::Bool).collect();
        let recent = numbers[numbers.len().saturating_sub(8)..].to_vec();
        let mut x = if recent.is_empty() { return None } else { self.random.pick(&recent) };
        let rank = self.ty(x).rank();
        let axis = if rank > 0 { self.random.below(rank) } else { 0 };
        let at = |axis: usize| ("axis", axis.to_string());
        match self.random.below(12) {
            0 | 1 if rank > 0 => {
                let op = self.random.pick(REDUCTIONS);
                if super::template::ORDER.contains(&op) && self.ty(x).dtype == DType::F32 {
                    x = self.unstored(x)?;
                }
                self.call(op, vec![Operand::Local(x)], &[at(axis)])
            }
            2 | 3 if rank > 0 => {
                let op = self.random.pick(ALONG);
                if super::template::ORDER.contains(&op) && self.ty(x).dtype == DType::F32 {
                    x = self.unstored(x)?;
                }
                self.call(op, vec![Operand::Local(x)], &[at(axis)])
            }
            4 => {
                let op = self.random.pick(MAPS);
                self.call(op, vec![Operand::Local(x)], &[])
            }
            5 => self.pair(x),
            6 if rank > 0 => {
                let n = self.ty(x).shape[axis].as_const()?;
                let (low, high) = (self.random.below(3) as i64, self.random.below(3) as i64);
                let mode = self.random.pick(&["\"constant\"", "\"reflect\"", "\"circular\"", "\"replicate\""]);
                let mode = if low.max(high) < n { mode } else { "\"constant\"" };
                let sides = [("low", low.to_string()), ("high", high.to_string()), at(axis), ("mode", mode.to_owned())];
                self.call("pad", vec![Operand::Local(x)], &sides)
            }
            7 if rank > 0 => {
                let by = self.random.below(9) as i64 - 4;
                self.call("roll", vec![Operand::Local(x)], &[("", by.to_string()), at(axis)])
            }
            8 if rank > 0 => {
                let same = self.like(x)?;
                let op = self.random.pick(&["concat", "concat", "stack"]);
                self.call(op, vec![Operand::Local(x), Operand::Local(same)], &[at(axis)])
            }
            9 if rank > 0 => {
                let n = self.ty(x).shape[axis].as_const()?;
                let shape =
                    self.random.pick(&[vec![Dim::from(3)], vec![], vec![Dim::name("B")], vec![2.into(), 3.into()]]);
                let index = self.index(&Type::new(DType::U32, shape), n as u32)?;
                self.call("take", vec![Operand::Local(x), Operand::Local(index)], &[at(axis)])
            }
            10 if rank > 0 => {
                let n = self.ty(x).shape[axis].as_const()?;
                let x = if self.ty(x).dtype == DType::F32 { self.unstored(x)? } else { x };
                let k = 1 + self.random.below(n.min(5) as usize);
                self.call("top_k", vec![Operand::Local(x)], &[("", k.to_string()), at(axis)])
            }
            11 if rank > 1 => {
                let mut order: Vec<usize> = (0..rank).collect();
                let by = 1 + self.random.below(rank - 1);
                order.rotate_left(by);
                self.call("transpose", vec![Operand::Local(x)], &[("", format!("{order:?}"))])
            }
            _ => {
                let shape = self.ty(x).shape;
                let shape: Vec<Dim> = shape.into_iter().rev().collect();
                self.fit(x, &shape).map(|v| vec![v])
            }
        }
    }

    /// Another value of the same type, or the same.
    pub(super) fn like(&mut self, x: Local) -> Option<Local> {
        let ty = self.ty(x);
        if ty.dtype != DType::F32 || self.random.percent(25) {
            return Some(x);
        }
        self.float(&ty).or(Some(x))
    }

    fn pair(&mut self, x: Local) -> Option<Vec<Local>> {
        let y = self.like(x)?;
        let op = self.random.pick(PAIRS);
        match op {
            "where" => {
                let condition = self.one("gt", &[x, y], &[])?;
                self.call(op, [condition, x, y].map(Operand::Local).to_vec(), &[])
            }
            "div" => {
                let y = self.one("abs", &[y], &[])?;
                let y = self.with("add", y, 0.5)?;
                self.call(op, [x, y].map(Operand::Local).to_vec(), &[])
            }
            op => self.call(op, [x, y].map(Operand::Local).to_vec(), &[]),
        }
    }
}
