//! Statements with closures: branches, scans, maps and derivatives.

use super::Growing;
use crate::program::{Body, Derivative, Local, Step};
use precast_compiler::ir::{DType, Type};

impl Growing {
    /// One of them.
    pub(super) fn nested(&mut self) -> Option<()> {
        let floats: Vec<Local> = self
            .pool
            .iter()
            .copied()
            .filter(|&v| self.ty(v).dtype == DType::F32 && (1..=4).contains(&self.ty(v).rank()))
            .collect();
        let x = if floats.is_empty() { return None } else { self.random.pick(&floats) };
        match self.random.below(4) {
            0 => self.branch(x),
            1 => self.scan(x),
            2 => self.map(x),
            _ => self.derive(x),
        }
    }

    /// A closure over values of these types, whose result has the type of the first one, or is a scalar.
    fn body(&mut self, types: &[Type], captures: &[Local], scalar: bool) -> Option<Body> {
        let params: Vec<Local> = types.iter().map(|ty| self.local(ty.clone())).collect();
        let pool = std::mem::replace(&mut self.pool, params.iter().chain(captures).copied().collect());
        let closed = std::mem::replace(&mut self.closed, true);
        self.steps.push(vec![]);
        let first = params.first().or(captures.first()).copied();
        let shape = first.map(|v| self.ty(v).shape);
        for _ in 0..1 + self.random.below(3) {
            self.free();
        }
        let out = shape.and_then(|shape| {
            let last = self.pool.iter().rev().copied().find(|&v| self.ty(v).dtype == DType::F32)?;
            let y = self.fit(last, &shape)?;
            let y = self.one("mul", &[y, first?], &[])?;
            let y = self.one("tanh", &[y], &[])?;
            if scalar { self.one("sum", &[y], &[]) } else { Some(y) }
        });
        let steps = self.steps.pop().unwrap_or_default();
        self.pool = pool;
        self.closed = closed;
        Some(Body { params, steps, outs: vec![out?] })
    }

    fn made(&mut self, types: Vec<Type>) -> Vec<Local> {
        let results: Vec<Local> = types.into_iter().map(|ty| self.local(ty)).collect();
        self.pool.extend(&results);
        results
    }

    fn branch(&mut self, x: Local) -> Option<()> {
        let condition = self.one("mean", &[x], &[])?;
        let cases = [self.body(&[], &[x], false)?, self.body(&[], &[x], false)?];
        let results = self.made(vec![self.ty(x)]);
        self.push(Step::Branch { condition, cases, results });
        Some(())
    }

    fn scan(&mut self, x: Local) -> Option<()> {
        let ty = self.ty(x);
        let axis = self.random.below(ty.rank());
        let mut row = ty.shape.clone();
        let count = row.remove(axis);
        let row = Type::new(DType::F32, row);
        let from = self.one("mean", &[x], &[("axis", axis.to_string())])?;
        let mut body = self.body(&[row.clone(), row.clone()], &[], false)?;
        let form = self.random.pick(&["scan", "fold"]);
        let reverse = self.random.percent(30);
        let mut all = row.shape.clone();
        all.insert(axis, count);
        let results = match form {
            "scan" => {
                body.outs.push(body.outs[0]);
                self.made(vec![Type::new(DType::F32, all)])
            }
            _ => self.made(vec![row]),
        };
        self.push(Step::Scan { over: x, axis, from, reverse, form, body, results });
        Some(())
    }

    fn map(&mut self, x: Local) -> Option<()> {
        let ty = self.ty(x);
        let row = Type::new(DType::F32, &ty.shape[1..]);
        let body = self.body(&[row], &[], false)?;
        let results = self.made(vec![ty]);
        self.push(Step::Map { over: vec![x], body, results });
        Some(())
    }

    fn derive(&mut self, x: Local) -> Option<()> {
        let ty = self.ty(x);
        let how = self.random.pick(&[Derivative::Grad, Derivative::ValueAndGrad, Derivative::Hvp, Derivative::Jvp]);
        let body = self.body(&[ty.clone()], &[], how != Derivative::Jvp)?;
        let scalar = Type::scalar(DType::F32);
        let (of, types) = match how {
            Derivative::Grad => (vec![x], vec![ty]),
            Derivative::ValueAndGrad => (vec![x], vec![scalar, ty]),
            Derivative::Hvp => (vec![x, self.one("sin", &[x], &[])?], vec![ty]),
            Derivative::Jvp | Derivative::Vjp => (vec![x, self.one("cos", &[x], &[])?], vec![ty.clone(), ty]),
        };
        let results = self.made(types);
        self.push(Step::Derive { how, of, body, results });
        Some(())
    }
}
