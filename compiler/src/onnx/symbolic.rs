//! Integers that depend on named dimensions: what elementwise operators make of shapes, without a node of the graph.
//!
//! Always: a comparison is decided only where it has the same outcome for every binding; what is not, is left to run time.

use super::operand::Operand;
use crate::ir::{DType, Dim};
use crate::oracle::{Data, Tensor};

/// The result of an operator on operands of which at least one has named dimensions, where it is such a list, or known.
pub(super) fn apply(operator: &str, inputs: &[Option<Operand>], to: Option<DType>) -> Option<Operand> {
    let inputs: Vec<&Operand> = inputs.iter().map(Option::as_ref).collect::<Option<_>>()?;
    if !inputs.iter().any(|operand| matches!(operand, Operand::Dims(..))) {
        return None;
    }
    let lists: Vec<(Vec<usize>, Vec<Dim>)> = inputs.iter().map(|operand| list(operand)).collect::<Option<_>>()?;
    match (operator, lists.as_slice()) {
        ("Cast", [(shape, dims)]) if to == Some(DType::I64) => Some(Operand::dims(shape.clone(), dims.clone())),
        ("Neg", [(shape, dims)]) => {
            Some(Operand::dims(shape.clone(), dims.iter().map(|dim| Dim::from(0) - dim.clone()).collect()))
        }
        ("ReduceProd", [(shape, dims)]) if shape.len() <= 1 => {
            let product = dims.iter().fold(Dim::from(1), |product, dim| product * dim.clone());
            Some(Operand::dims(vec![1; shape.len()], vec![product]))
        }
        ("Where", [condition, a, b]) => {
            let shape = common(&[&condition.0, &a.0, &b.0])?;
            let each = elements(&shape, &[condition, a, b])?;
            let pick = |all: &Vec<Dim>| Some(if all[0].as_const()? != 0 { all[1].clone() } else { all[2].clone() });
            Some(Operand::dims(shape, each.iter().map(pick).collect::<Option<_>>()?))
        }
        (_, [a, b]) => {
            let shape = common(&[&a.0, &b.0])?;
            let each = elements(&shape, &[a, b])?;
            if let Some(compare) = comparison(operator) {
                let bits = each.iter().map(|all| compare(&all[0], &all[1])).collect::<Option<Vec<bool>>>()?;
                return Some(Operand::known(Tensor::new(shape, Data::Bool(bits))));
            }
            let dims = each.iter().map(|all| arithmetic(operator, &all[0], &all[1])).collect::<Option<_>>()?;
            Some(Operand::dims(shape, dims))
        }
        _ => None,
    }
}

/// An operand's shape and elements.
fn list(operand: &Operand) -> Option<(Vec<usize>, Vec<Dim>)> {
    let shape = match operand {
        Operand::Value(_) => return None,
        Operand::Dims(shape, _) => shape.clone(),
        Operand::Known(known) => known.tensor().shape.clone(),
    };
    Some((shape, operand.as_dims()?))
}

fn arithmetic(operator: &str, a: &Dim, b: &Dim) -> Option<Dim> {
    Some(match operator {
        "Add" => a.clone() + b.clone(),
        "Sub" => a.clone() - b.clone(),
        "Mul" => a.clone() * b.clone(),
        // Division truncates, which is rounding down where nothing is negative.
        "Div" if least(a)? >= 0 && least(b)? > 0 => a.floor_div(b),
        "Mod" if least(a)? >= 0 && least(b)? > 0 => a.clone() - a.floor_div(b) * b.clone(),
        "Max" => a.larger(b),
        "Min" if least(&(b.clone() - a.clone()))? >= 0 => a.clone(),
        "Min" if least(&(a.clone() - b.clone()))? >= 0 => b.clone(),
        _ => return None,
    })
}

type Compare = fn(&Dim, &Dim) -> Option<bool>;

fn comparison(operator: &str) -> Option<Compare> {
    Some(match operator {
        "Equal" => equal,
        "Less" => less,
        "Greater" => |a, b| less(b, a),
        "LessOrEqual" => |a, b| less(b, a).map(|less| !less),
        "GreaterOrEqual" => |a, b| less(a, b).map(|less| !less),
        _ => return None,
    })
}

fn equal(a: &Dim, b: &Dim) -> Option<bool> {
    match less(a, b)? || less(b, a)? {
        true => Some(false),
        false => Some(true),
    }
}

fn less(a: &Dim, b: &Dim) -> Option<bool> {
    if least(&(b.clone() - a.clone())).is_some_and(|least| least > 0) {
        return Some(true);
    }
    least(&(a.clone() - b.clone())).filter(|&least| least >= 0).map(|_| false)
}

/// A lower bound: names are at least 1.
fn least(dim: &Dim) -> Option<i64> {
    dim.least(&|_| 1)
}

/// The shape that several broadcast to.
fn common(shapes: &[&Vec<usize>]) -> Option<Vec<usize>> {
    let rank = shapes.iter().map(|shape| shape.len()).max()?;
    let mut common = vec![1; rank];
    for shape in shapes {
        for (own, extent) in common[rank - shape.len()..].iter_mut().zip(shape.iter()) {
            match (*own, *extent) {
                (a, b) if a == b || b == 1 => {}
                (1, b) => *own = b,
                _ => return None,
            }
        }
    }
    Some(common)
}

/// At each place of a shape the elements of all lists, broadcast.
fn elements(shape: &[usize], lists: &[&(Vec<usize>, Vec<Dim>)]) -> Option<Vec<Vec<Dim>>> {
    let count = shape.iter().product::<usize>();
    let at = |place: usize, own: &[usize]| {
        let (mut rest, mut index, mut stride) = (place, 0, 1);
        for (back, extent) in shape.iter().rev().enumerate() {
            let position = rest % extent;
            rest /= extent;
            if let Some(own) = own.len().checked_sub(back + 1).map(|axis| own[axis]) {
                index += if own == 1 { 0 } else { position * stride };
                stride *= own;
            }
        }
        index
    };
    let each = |place: usize| lists.iter().map(|(own, dims)| dims.get(at(place, own)).cloned()).collect();
    (0..count).map(each).collect()
}
