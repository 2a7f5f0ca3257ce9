//! Statements with bodies of their own: branches, scans, maps, derivatives and stacks of blocks.

use super::{Growing, fits};
use crate::program::{Body, Derivative, Field, Local, Step};
use precast_compiler::ir::{DType, Dim, Type};

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
        let (fields, layers, fixed) = (self.program.fields.len(), self.layers.len(), self.fixed);
        let kind = self.random.below(6);
        self.fixed |= kind > 1;
        let made = match kind {
            0 => self.branch(x),
            1 => self.scan(x),
            2 => self.map(x),
            3 if !self.in_block => self.repeat(x),
            _ => self.derive(x),
        };
        self.fixed = fixed;
        if made.is_none() {
            // What was declared for it has no use.
            self.program.fields.truncate(fields);
            self.layers.truncate(layers);
        }
        made
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
            if !self.fixed && self.random.percent(30) {
                self.store();
            }
            match self.random.below(20) {
                0..4 => {
                    let op = self.random.pick(&super::drawn());
                    self.template(op);
                }
                4..7 if !self.in_block => {
                    self.layer();
                }
                7..9 if self.steps.len() == 2 => {
                    self.nested();
                }
                _ => {
                    self.free();
                }
            }
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
        let form = self.random.pick(&["scan", "fold", "scan_with_state"]);
        let reverse = self.random.percent(30);
        let mut results = vec![];
        if form != "fold" {
            let y = self.output(&body, axis);
            let stack = |v: Local, count: &Dim| {
                let mut ty = self.ty(v);
                ty.shape.insert(axis, count.clone());
                ty
            };
            let y = y.filter(|&v| fits(&stack(v, &count))).unwrap_or(body.outs[0]);
            results.push(stack(y, &count));
            body.outs.push(y);
        }
        if form != "scan" {
            results.push(row);
        }
        let results = self.made(results);
        self.push(Step::Scan { over: x, axis, from, reverse, form, body, results });
        Some(())
    }

    /// A value of a step of a scan that may be stacked along that axis, where there is one besides the state.
    fn output(&mut self, body: &Body, axis: usize) -> Option<Local> {
        let results = body.steps.iter().flat_map(|step| if let Step::Call(call) = step { &*call.results } else { &[] });
        let suits = |v: &Local| self.program.types[*v].dtype == DType::F32 && self.program.types[*v].rank() >= axis;
        let those: Vec<Local> = results.copied().filter(suits).collect();
        if those.is_empty() || self.random.percent(50) { None } else { Some(self.random.pick(&those)) }
    }

    fn map(&mut self, x: Local) -> Option<()> {
        let ty = self.ty(x);
        let row = Type::new(DType::F32, &ty.shape[1..]);
        let over = if self.random.percent(30) { vec![x, self.like(x)?] } else { vec![x] };
        let body = self.body(&vec![row; over.len()], &[], false)?;
        let results = self.made(vec![ty]);
        self.push(Step::Map { over, body, results });
        Some(())
    }

    fn derive(&mut self, x: Local) -> Option<()> {
        let ty = self.ty(x);
        let how = self.random.pick(&[
            Derivative::Grad,
            Derivative::ValueAndGrad,
            Derivative::Hvp,
            Derivative::Jvp,
            Derivative::Vjp,
        ]);
        let count = if how == Derivative::Grad && self.random.percent(40) { 2 } else { 1 };
        let body = self.body(&vec![ty.clone(); count], &[], !matches!(how, Derivative::Jvp | Derivative::Vjp))?;
        let scalar = Type::scalar(DType::F32);
        let (of, types) = match how {
            Derivative::Grad if count > 1 => (vec![x, self.like(x)?], vec![ty; count]),
            Derivative::Grad => (vec![x], vec![ty]),
            Derivative::ValueAndGrad => (vec![x], vec![scalar, ty]),
            Derivative::Hvp => (vec![x, self.one("sin", &[x], &[])?], vec![ty]),
            Derivative::Jvp | Derivative::Vjp => (vec![x, self.one("cos", &[x], &[])?], vec![ty.clone(), ty]),
        };
        let results = self.made(types);
        self.push(Step::Derive { how, of, body, results });
        Some(())
    }

    /// A stack of blocks, each with a parameter of its own.
    fn repeat(&mut self, x: Local) -> Option<()> {
        let ty = self.ty(x);
        let rank = 1 + self.random.below(3);
        let extents: Vec<Dim> = (0..rank).map(|_| Dim::from(self.random.pick(&[1, 2, 3, 4, 5, 8]))).collect();
        let param = Type::new(DType::F32, extents);
        let first = self.program.types.len();
        self.in_block = true;
        let body = self.body(&[ty.clone(), param.clone()], &[], false);
        self.in_block = false;
        let mut body = body?;
        // Every block depends on its parameter.
        let pool = self.pool.clone();
        self.steps.push(std::mem::take(&mut body.steps));
        let known = ty.shape.iter().rev().take_while(|d| d.as_const().is_some()).count();
        let more = self.fit(body.params[1], &ty.shape[ty.rank() - known..]);
        let op = self.random.pick(&["add", "mul", "sub"]);
        let out = more.and_then(|more| self.one(op, &[body.outs[0], more], &[]));
        body.steps = self.steps.pop().unwrap_or_default();
        self.pool = pool;
        body.outs = vec![out?];
        // A block has the dimensions of its argument alone.
        let mut named = true;
        let mut known = |name: &str| named &= ty.shape.contains(&Dim::name(name));
        self.program.types[first..].iter().flat_map(|t| &t.shape).for_each(|d| d.names(&mut known));
        if !named {
            return None;
        }
        let field = self.program.fields.len();
        let count = 1 + self.random.below(4);
        self.program
            .fields
            .push(Field { declared: format!("[Block{field}; {count}]"), block: Some((count, param, body)) });
        let result = self.made(vec![ty])[0];
        self.push(Step::Repeat { field, over: x, result });
        Some(())
    }
}
