//! Dimensions: polynomials over names in, integers that the file computes from the shapes of its arguments out.

use super::attributes::int;
use super::writer::Writer;
use crate::ir::dim::Atom;
use crate::ir::model::Binder;
use crate::ir::{DType, Dim};
use std::collections::BTreeMap;

/// What has been computed, each a list of one integer, and shapes.
#[derive(Default)]
pub(super) struct Known {
    extents: BTreeMap<Dim, String>,
    shapes: BTreeMap<Vec<Dim>, String>,
}

impl Writer<'_> {
    /// A dimension as a list of one.
    pub(super) fn extent(&mut self, dim: &Dim) -> String {
        if let Some(number) = dim.as_const() {
            return self.list(&[number]);
        }
        if let Some(name) = self.known.extents.get(dim) {
            return name.clone();
        }
        let name = self.heading(|w| w.polynomial(dim));
        self.known.extents.insert(dim.clone(), name.clone());
        name
    }

    /// A dimension as a scalar.
    pub(super) fn extent_scalar(&mut self, dim: &Dim) -> String {
        if let Some(number) = dim.as_const() {
            return self.number(number);
        }
        let list = self.extent(dim);
        self.heading(|w| w.op("Squeeze", &[&list], vec![]))
    }

    /// A shape.
    pub(super) fn shape(&mut self, shape: &[Dim]) -> String {
        let constant: Option<Vec<i64>> = shape.iter().map(Dim::as_const).collect();
        if let Some(constant) = constant {
            return self.list(&constant);
        }
        if let Some(name) = self.known.shapes.get(shape) {
            return name.clone();
        }
        let parts: Vec<String> = shape.iter().map(|dim| self.extent(dim)).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let name = match parts.as_slice() {
            [only] => (*only).into(),
            all => self.heading(|w| w.op("Concat", all, vec![int("axis", 0)])),
        };
        self.known.shapes.insert(shape.to_vec(), name.clone());
        name
    }

    fn polynomial(&mut self, dim: &Dim) -> String {
        if let Some(name) = dim.as_name() {
            return self.named(name);
        }
        let mut sum: Option<String> = None;
        for (atoms, coefficient) in dim.terms() {
            let mut product = (*coefficient != 1 || atoms.is_empty()).then(|| self.list(&[*coefficient]));
            for atom in atoms {
                let factor = self.atom(atom);
                product = Some(match product {
                    Some(product) => self.op("Mul", &[&product, &factor], vec![]),
                    None => factor,
                });
            }
            let Some(term) = product else { unreachable!("a term without factors has its coefficient") };
            sum = Some(match sum {
                Some(sum) => self.op("Add", &[&sum, &term], vec![]),
                None => term,
            });
        }
        sum.unwrap_or_else(|| self.list(&[0]))
    }

    fn atom(&mut self, atom: &Atom) -> String {
        match atom {
            Atom::Name(name) => self.extent(&Dim::name(name.as_str())),
            Atom::Max(a, b) => {
                let (a, b) = (self.extent(a), self.extent(b));
                self.op("Max", &[&a, &b], vec![])
            }
            // ONNX Runtime makes `1/b · a` into `a/b` (`DivMulFusion`), of integers too.
            Atom::FloorDiv(a, b) if a.is(1) => {
                let (one, divisor) = (self.list(&[1]), self.extent(b));
                let is_one = self.op("Equal", &[&divisor, &one], vec![]);
                self.cast(&is_one, DType::I64)
            }
            Atom::FloorDiv(a, b) => {
                let (mut dividend, divisor) = (self.extent(a), self.extent(b));
                if !a.is_unsigned() {
                    // Division truncates; without its remainder, which `Mod` rounds down, a negative number divides evenly.
                    let rest = self.op("Mod", &[&dividend, &divisor], vec![]);
                    dividend = self.op("Sub", &[&dividend, &rest], vec![]);
                }
                self.op("Div", &[&dividend, &divisor], vec![])
            }
        }
    }

    /// A dimension that the arguments bind.
    fn named(&mut self, name: &str) -> String {
        let binder = self.dims.iter().find(|dim| dim.name == name).map(|dim| dim.binder);
        if let Some(Binder::Argument(k)) = binder {
            let (argument, one) = (self.inputs()[k].clone(), self.list(&[1]));
            let position = self.cast(&argument, DType::I64);
            return self.op("Reshape", &[&position, &one], vec![]);
        }
        let (arg, axis, factor, summand) = self.binding(name);
        let (argument, axis) = (self.inputs()[arg].clone(), axis as i64);
        let mut extent = self.op("Shape", &[&argument], vec![int("start", axis), int("end", axis + 1)]);
        if summand != 0 {
            let summand = self.list(&[summand]);
            extent = self.op("Sub", &[&extent, &summand], vec![]);
        }
        if factor != 1 {
            let factor = self.list(&[factor]);
            extent = self.op("Div", &[&extent, &factor], vec![]);
        }
        extent
    }
}
