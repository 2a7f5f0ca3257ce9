//! Fits values of the program to a type: movements, reductions and indices that need not be stored.

use super::Growing;
use crate::program::Local;
use precast_compiler::ir::dim::product;
use precast_compiler::ir::{Category, DType, Dim, Type};
use precast_compiler::ops::Domain;

impl Growing {
    /// A value of that type and domain made of others; `None` where a new argument does.
    pub(super) fn source(&mut self, ty: &Type, domain: Domain) -> Option<Local> {
        if !self.closed && self.random.percent(35) {
            return None;
        }
        match (ty.dtype.category(), domain) {
            (Category::Float, Domain::Below(_)) => None,
            (Category::Float, domain) => {
                let x = self.float(ty)?;
                self.within(x, domain)
            }
            (Category::Unsigned | Category::Signed, Domain::Below(n)) => self.index(ty, n),
            (Category::Bool, _) => self.truth(ty),
            (Category::Unsigned | Category::Signed, _) => None,
        }
    }

    /// A float of that type.
    pub(super) fn float(&mut self, ty: &Type) -> Option<Local> {
        let floats: Vec<Local> = self.pool.iter().copied().filter(|&v| self.ty(v).dtype == DType::F32).collect();
        if floats.is_empty() {
            return None;
        }
        let recent = floats[floats.len().saturating_sub(6)..].to_vec();
        let from = if self.random.percent(60) { self.random.pick(&recent) } else { self.random.pick(&floats) };
        self.fit(from, &ty.shape)
    }

    fn within(&mut self, x: Local, domain: Domain) -> Option<Local> {
        match domain {
            Domain::Positive => {
                let size = self.any_of(&["sigmoid", "softsign", "sin"], &[x], &[])?;
                let size = self.one("abs", &[size], &[])?;
                self.with("add", size, 0.25)
            }
            Domain::Unit => {
                let unit = self.one("sigmoid", &[x], &[])?;
                let unit = self.with("mul", unit, 0.875)?;
                self.with("add", unit, 0.0625)
            }
            Domain::Normal if self.random.percent(40) => {
                let squash = self.random.pick(&["tanh", "sin", "softsign", "cos", "hard_tanh"]);
                let y = self.one(squash, &[x], &[])?;
                if self.random.percent(50) { self.with("mul", y, 1.75) } else { Some(y) }
            }
            Domain::Normal | Domain::Below(_) => Some(x),
        }
    }

    /// A call of one of these ops.
    fn any_of(&mut self, ops: &[&str], over: &[Local], attrs: &[(&str, String)]) -> Option<Local> {
        let op = self.random.pick(ops);
        self.one(op, over, attrs)
    }

    /// Truth values.
    fn truth(&mut self, ty: &Type) -> Option<Local> {
        let x = self.float(&Type { dtype: DType::F32, ..ty.clone() })?;
        match self.random.below(3) {
            0 => {
                let y = self.float(&Type { dtype: DType::F32, ..ty.clone() })?;
                let op = self.random.pick(&["lt", "gt", "le", "ge"]);
                self.one(op, &[x, y], &[])
            }
            1 => {
                let below = self.with("lt", x, 0.4)?;
                self.one("logical_not", &[below], &[])
            }
            _ => self.with("gt", x, 0.1),
        }
    }

    /// Indices below `n` from a reduction, an order or integers.
    pub(super) fn index(&mut self, ty: &Type, n: u32) -> Option<Local> {
        let extent = 2 + self.random.below(5) as i64;
        let wider: Vec<Dim> = ty.shape.iter().cloned().chain([extent.into()]).collect();
        let wider = Type::new(DType::F32, wider);
        let last = [("axis", "-1".to_owned())];
        let (found, below) = match self.random.below(7) {
            0 | 1 => {
                let x = self.float(&wider)?;
                let x = if self.random.percent(50) { self.unstored(x)? } else { x };
                (self.any_of(&["argmax", "argmin"], &[x], &last)?, extent)
            }
            2 => {
                let x = self.float(&wider)?;
                let x = self.one("relu", &[x], &[])?;
                (self.one("count_nonzero", &[x], &last)?, extent + 1)
            }
            3 if ty.rank() > 0 && ty.shape[ty.rank() - 1].as_const().is_some() => {
                let x = self.float(&Type::new(DType::F32, &ty.shape[..]))?;
                let x = self.unstored(x)?;
                let extent = ty.shape[ty.rank() - 1].as_const()?;
                (self.one("argsort", &[x], &[])?, extent)
            }
            4 if ty.rank() > 0 && ty.shape[ty.rank() - 1].as_const().is_some_and(|n| n < 8) => {
                let k = ty.shape[ty.rank() - 1].as_const()?;
                let mut shape = ty.shape.clone();
                *shape.last_mut()? = (k + 3).into();
                let x = self.float(&Type::new(DType::F32, shape))?;
                let x = self.unstored(x)?;
                let found = self.call("top_k", vec![crate::program::Operand::Local(x)], &[("", k.to_string())])?;
                (found[1], k + 3)
            }
            other => {
                let x = self.float(&wider)?;
                let x = self.one("sigmoid", &[x], &[])?;
                let x = self.with("mul", x, 5.75)?;
                let words = self.one("u32", &[x], &[])?;
                match other {
                    5 => (self.one("sum", &[words], &last)?, i64::MAX),
                    _ => (self.any_of(&["max", "min"], &[words], &last)?, 6),
                }
            }
        };
        let found = if below > i64::from(n) { self.with("rem", found, f64::from(n))? } else { found };
        match ty.dtype {
            DType::I32 => self.one("i32", &[found], &[]),
            _ => Some(found),
        }
    }

    /// The value in that shape. Every axis of both is a number or a name of its own.
    pub(super) fn fit(&mut self, v: Local, shape: &[Dim]) -> Option<Local> {
        let names = |shape: &[Dim]| shape.iter().filter(|d| d.as_const().is_none()).cloned().collect::<Vec<_>>();
        let wanted = names(shape);
        let plain =
            |dims: &[Dim]| dims.iter().enumerate().all(|(k, d)| d.as_name().is_some() && !dims[..k].contains(d));
        if self.ty(v).shape == shape {
            return Some(v);
        }
        if !plain(&wanted) {
            return None;
        }
        let v = self.without(v, &wanted)?;
        if !plain(&names(&self.ty(v).shape)) {
            return None;
        }
        // The named axes first, in the order of the target.
        let has = self.ty(v).shape;
        let common: Vec<Dim> = wanted.iter().filter(|d| has.contains(d)).cloned().collect();
        let mut order: Vec<usize> = common.iter().filter_map(|d| has.iter().position(|e| e == d)).collect();
        order.extend((0..has.len()).filter(|&a| has[a].as_const().is_some()));
        let v = if order.iter().enumerate().all(|(k, &a)| k == a) { v } else { self.transposed(v, &order)? };
        let count = |dims: &[Dim]| product(dims.iter().filter(|d| d.as_const().is_some())).as_const();
        let (n, m) = (count(&has)?, count(shape)?);
        let rows = |last: i64| common.iter().cloned().chain([last.into()]).collect::<Vec<Dim>>();
        let v = self.reshaped(v, &rows(n))?;
        let v = self.resized(v, n, m)?;
        let mut full: Vec<Dim> = wanted.iter().map(|d| if common.contains(d) { d.clone() } else { 1.into() }).collect();
        full.extend(shape.iter().filter(|d| d.as_const().is_some()).cloned());
        let mut v = self.reshaped(v, &full)?;
        if common.len() < wanted.len() {
            let constants = shape.iter().filter(|d| d.as_const().is_some()).cloned();
            let all: Vec<Dim> = wanted.iter().cloned().chain(constants).collect();
            v = self.one("broadcast_to", &[v], &[("", written(&all))])?;
        }
        // Back to the places of the target.
        let mut next = [0, wanted.len()];
        let order: Vec<usize> = shape
            .iter()
            .map(|d| {
                let slot = &mut next[usize::from(d.as_const().is_some())];
                *slot += 1;
                *slot - 1
            })
            .collect();
        if order.iter().enumerate().all(|(k, &a)| k == a) { Some(v) } else { self.transposed(v, &order) }
    }

    /// Without the named axes that are not wanted.
    fn without(&mut self, mut v: Local, wanted: &[Dim]) -> Option<Local> {
        loop {
            let shape = self.ty(v).shape;
            let Some(axis) = shape.iter().position(|d| d.as_const().is_none() && !wanted.contains(d)) else {
                return Some(v);
            };
            let op = self.random.pick(&["mean", "max", "min", "mean", "slice"]);
            v = match op {
                "slice" => {
                    let cut = [("", "0".to_owned()), ("", "1".to_owned()), ("axis", axis.to_string())];
                    let v = self.one("slice", &[v], &cut)?;
                    self.one("squeeze", &[v], &[("axis", axis.to_string())])?
                }
                op => self.one(op, &[v], &[("axis", axis.to_string())])?,
            };
        }
    }

    fn transposed(&mut self, v: Local, order: &[usize]) -> Option<Local> {
        self.one("transpose", &[v], &[("", format!("{order:?}"))])
    }

    pub(super) fn reshaped(&mut self, v: Local, shape: &[Dim]) -> Option<Local> {
        if self.ty(v).shape == shape {
            return Some(v);
        }
        self.one("reshape", &[v], &[("", written(shape))])
    }

    /// The last axis, of `n`, with `m`.
    fn resized(&mut self, v: Local, n: i64, m: i64) -> Option<Local> {
        let last = ("axis", "-1".to_owned());
        let mut v = v;
        if self.random.percent(20) {
            let by = self.random.below(2 * n as usize + 3) as i64 - n - 1;
            v = self.one("roll", &[v], &[("", by.to_string()), last.clone()])?;
        }
        if self.random.percent(12) {
            v = self.one("flip", &[v], std::slice::from_ref(&last))?;
        }
        let cut = |from: i64, step: i64| {
            let end = (from + (m - 1) * step + 1).to_string();
            [("start", from.to_string()), ("end", end), ("axis", "-1".to_owned()), ("step", step.to_string())]
        };
        if n == m {
            return Some(v);
        }
        if n > m {
            let most = if m > 1 { (n - 1) / (m - 1) } else { 1 };
            return match self.random.below(4) {
                0 if n % m == 0 && self.ty(v).rank() < 8 => {
                    let mut shape = self.ty(v).shape;
                    shape.pop();
                    shape.extend([Dim::from(n / m), m.into()]);
                    let v = self.reshaped(v, &shape)?;
                    let op = self.random.pick(&["mean", "max", "min", "mean"]);
                    self.one(op, &[v], &[("axis", "-2".to_owned())])
                }
                1 if n < 40 => {
                    let k = [("", m.to_string())];
                    Some(self.call("top_k", vec![crate::program::Operand::Local(v)], &k)?[0])
                }
                _ => {
                    let step = 1 + self.random.below(most.min(3) as usize) as i64;
                    let from = self.random.below((n - (m - 1) * step) as usize) as i64;
                    self.one("slice", &[v], &cut(from, step))
                }
            };
        }
        let more = m - n;
        match self.random.below(4) {
            0 if more < n => {
                let low = self.random.below(more as usize + 1) as i64;
                let mode = self.random.pick(&["\"reflect\"", "\"circular\"", "\"replicate\""]);
                let sides = [("low", low.to_string()), ("high", (more - low).to_string()), last, ("mode", mode.into())];
                self.one("pad", &[v], &sides)
            }
            1 => {
                let low = self.random.below(more as usize + 1) as i64;
                let sides =
                    [("low", low.to_string()), ("high", (more - low).to_string()), last, ("value", "0.5".into())];
                self.one("pad", &[v], &sides)
            }
            2 => {
                let times = (m + n - 1) / n;
                let v = self.one("repeat_interleave", &[v], &[("", times.to_string()), last])?;
                self.one("slice", &[v], &cut(0, 1))
            }
            _ => {
                let mut times = vec![1; self.ty(v).rank()];
                *times.last_mut()? = (m + n - 1) / n;
                let v = self.one("tile", &[v], &[("", format!("{times:?}"))])?;
                self.one("slice", &[v], &cut(0, 1))
            }
        }
    }
}

/// A shape as the language has it.
pub(super) fn written(shape: &[Dim]) -> String {
    let all: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("[{}]", all.join(", "))
}
