//! Numbers that depend on named dimensions: what elementwise operators make of shapes, without a node of the graph.
//!
//! Always: a comparison is decided only where it has the same outcome for every binding; what is not, and what would become a long
//! formula, is left to run time.

use super::budget::LIST;
use super::node::Made;
use super::operand::{Dims, Operand};
use super::proto::NodeProto;
use crate::ir::dim::Atom;
use crate::ir::prim::{MapOp, Prim, Scalar};
use crate::ir::{DType, Dim, Value};
use crate::ops::Builder;
use crate::oracle::{Data, Tensor};
use std::collections::BTreeSet;

/// The most names, sums and divisions in a number: what files make of shapes has few, and products of sums grow fast.
const LONGEST: usize = 64;

/// The largest power of two that numbers are divided by: resized images have scales such as ½ and 1¾.
const FINEST: i64 = 1 << 10;

/// The result of an operator on operands of which at least one has named dimensions, where it is such a list, or known.
pub(super) fn apply(
    operator: &str,
    proto: &NodeProto,
    inputs: &[Option<Operand>],
    to: Option<DType>,
) -> Option<Operand> {
    let inputs: Vec<&Operand> = inputs.iter().map(Option::as_ref).collect::<Option<_>>()?;
    if !inputs.iter().any(|operand| matches!(operand, Operand::Dims(_))) {
        return None;
    }
    let function = function(operator)?;
    let lists: Vec<Dims> = inputs.iter().map(|operand| list(operand)).collect::<Option<_>>()?;
    let made = match function {
        Function::Cast => cast(lists.first()?, to?)?,
        Function::Unary(of) => Dims { over: 1, ..lists.first()?.each(|dim| of(dim, lists[0].over))? },
        Function::Product => product(proto, &lists)?,
        Function::Choice => choice(&lists)?,
        Function::Scale(of) => scaled(&lists, of)?,
        Function::Fold(of) => {
            let (first, others) = lists.split_first()?;
            others.iter().try_fold(first.clone(), |made, next| pairwise(&made, next, of))?
        }
        Function::Compare(of) => return Some(decided(&inputs, compared(&lists, of)?)),
    };
    let fits = |dim: &Dim| {
        length(dim) <= LONGEST && dim.terms().iter().all(|(_, factor)| factor.unsigned_abs() < i64::MAX as u64)
    };
    made.dims.iter().all(fits).then(|| decided(&inputs, made.into()))
}

/// A result on whose operands the program depends.
fn decided(inputs: &[&Operand], result: Operand) -> Operand {
    for operand in inputs {
        if let Operand::Known(known) = operand {
            known.tensor();
        }
    }
    result
}

/// What an operator does with each number.
enum Function {
    /// To another type.
    Cast,
    /// Of a number and what it is divided by an integer.
    Unary(fn(&Dim, i64) -> Option<Dim>),
    /// The product of all.
    Product,
    /// One of two.
    Choice,
    /// Of numbers with the same divisor.
    Fold(fn(&Dim, &Dim) -> Option<Dim>),
    /// Of numbers with any divisors: the quotient's new parts.
    Scale(fn(Fraction, Fraction) -> Option<Fraction>),
    Compare(fn(&Dim, &Dim) -> Option<bool>),
}

/// A number and what it is divided by.
type Fraction = (Dim, Dim);

fn function(operator: &str) -> Option<Function> {
    Some(match operator {
        "Cast" => Function::Cast,
        "Neg" => Function::Unary(|dim, over| (over == 1).then(|| -dim.clone())),
        "Floor" => Function::Unary(|dim, over| Some(dim.floor_div(&over.into()))),
        "Ceil" => Function::Unary(|dim, over| Some(dim.ceil_div(over))),
        "ReduceProd" => Function::Product,
        "Where" => Function::Choice,
        "Add" => Function::Fold(|a, b| Some(a.clone() + b.clone())),
        "Sub" => Function::Fold(|a, b| Some(a.clone() - b.clone())),
        "Max" => Function::Fold(|a, b| Some(larger(a, b))),
        "Min" => Function::Fold(|a, b| Some(a.clone() + b.clone() - larger(a, b))),
        "Mod" => Function::Fold(|a, b| Some(a.clone() - quotient(a, b)? * b.clone())),
        "Mul" => Function::Scale(|(a, of_a), (b, of_b)| Some((multiplied(&a, &b)?, of_a * of_b))),
        "Div" => Function::Scale(|(a, of_a), (b, of_b)| Some((multiplied(&a, &of_b)?, multiplied(&of_a, &b)?))),
        "Equal" => Function::Compare(|a, b| Some(!(less(a, b)? || less(b, a)?))),
        "Less" => Function::Compare(less),
        "Greater" => Function::Compare(|a, b| less(b, a)),
        "LessOrEqual" => Function::Compare(|a, b| less(b, a).map(|less| !less)),
        "GreaterOrEqual" => Function::Compare(|a, b| less(a, b).map(|less| !less)),
        _ => return None,
    })
}

impl Dims {
    fn each(&self, of: impl Fn(&Dim) -> Option<Dim>) -> Option<Dims> {
        let dims = self.dims.iter().map(of).collect::<Option<_>>()?;
        Some(Dims { dims, ..self.clone() })
    }

    /// Two lists over the same number. Powers of two divide each other.
    fn aligned(a: &Dims, b: &Dims) -> Option<[Dims; 2]> {
        let over = a.over.max(b.over);
        let wide = |list: &Dims| {
            let factor = Dim::from(over / list.over);
            Some(Dims { over, ..list.each(|dim| multiplied(dim, &factor))? })
        };
        Some([wide(a)?, wide(b)?])
    }
}

/// An operand as such a list: floats that are multiples of a power of two are integers over it.
fn list(operand: &Operand) -> Option<Dims> {
    let known = match operand {
        Operand::Value(_) => return None,
        Operand::Dims(dims) => return Some(dims.clone()),
        Operand::Known(known) => known,
    };
    if known.len() > LONGEST {
        return None;
    }
    let (dtype, shape, data) = (known.ty.dtype, known.elements().shape.clone(), &known.elements().data);
    let number = |n: i128| i64::try_from(n).ok().map(Dim::from);
    let numbers = match data {
        Data::Int(_, all) => {
            return Some(Dims::integers(dtype, shape, all.iter().map(|&n| number(n)).collect::<Option<_>>()?));
        }
        Data::Bool(all) => {
            return Some(Dims::integers(dtype, shape, all.iter().map(|&bit| i64::from(bit).into()).collect()));
        }
        Data::Float(_, numbers) => numbers,
    };
    let is_whole = |over: i64| numbers.iter().all(|x| (x * over as f64).fract() == 0.0 && x.abs() < f64::from(1 << 24));
    let over = (0..).map(|k| 1i64 << k).take_while(|&over| over <= FINEST).find(|&over| is_whole(over))?;
    let dims = numbers.iter().map(|x| Dim::from((x * over as f64) as i64)).collect();
    Some(Dims { dtype, shape, dims, over })
}

/// Fractions are truncated to integers, and what is not negative rounded down.
fn cast(list: &Dims, to: DType) -> Option<Dims> {
    let ((least, greatest), is_float) = (to.integers(), to.is_float());
    let fits = |dim: &Dim| dim.as_const().is_none_or(|n| is_float || (least..=greatest).contains(&n.into()));
    let is_exact = matches!(to, DType::I32 | DType::I64 | DType::F32 | DType::F64) && list.dims.iter().all(fits);
    let whole = match is_float || list.over == 1 {
        true => list.clone(),
        false => Dims { over: 1, ..list.each(|dim| quotient(dim, &list.over.into()))? },
    };
    is_exact.then_some(Dims { dtype: to, ..whole })
}

/// Over the only axis; of a number, the number.
fn product(proto: &NodeProto, lists: &[Dims]) -> Option<Dims> {
    let attribute = |name: &str| proto.attribute.iter().find(|attribute| attribute.name == name);
    let is_set = |name: &str, default: i64| attribute(name).map_or(default, |attribute| attribute.i) != 0;
    let (list, rank) = (lists.first()?, lists.first()?.shape.len());
    let axes = match lists.get(1) {
        Some(axes) => axes.dims.iter().map(Dim::as_const).collect::<Option<Vec<i64>>>()?,
        None => attribute("axes").map_or(vec![], |attribute| attribute.ints.clone()),
    };
    if axes.is_empty() && is_set("noop_with_empty_axes", 0) {
        return Some(list.clone());
    }
    if rank > 1 || list.over != 1 || axes.iter().any(|axis| !matches!(axis, 0 | -1)) {
        return None;
    }
    let product = list.dims.iter().try_fold(Dim::from(1), |product, dim| multiplied(&product, dim))?;
    let shape = if is_set("keepdims", 1) { vec![1; rank] } else { vec![] };
    Some(Dims { shape, dims: vec![product], ..list.clone() })
}

/// Where conditions hold, the numbers of the second list.
fn choice(lists: &[Dims]) -> Option<Dims> {
    let [condition, a, b] = lists else { return None };
    let [a, b] = Dims::aligned(a, b)?;
    let shape = common(&[&condition.shape, &a.shape, &b.shape])?;
    let each = elements(&shape, &[condition, &a, &b])?;
    let pick = |all: &Vec<Dim>| Some(if all[0].as_const()? != 0 { all[1].clone() } else { all[2].clone() });
    Some(Dims { shape, dims: each.iter().map(pick).collect::<Option<_>>()?, ..a })
}

/// A function of each two numbers, broadcast, over what both can be over.
fn pairwise(a: &Dims, b: &Dims, of: fn(&Dim, &Dim) -> Option<Dim>) -> Option<Dims> {
    let [a, b] = Dims::aligned(a, b)?;
    let shape = common(&[&a.shape, &b.shape])?;
    let each = elements(&shape, &[&a, &b])?;
    let dims = each.iter().map(|all| of(&all[0], &all[1])).collect::<Option<_>>()?;
    Some(Dims { shape, dims, ..a })
}

/// Products and quotients. Of integers the quotient is one, too.
fn scaled(lists: &[Dims], of: fn(Fraction, Fraction) -> Option<Fraction>) -> Option<Dims> {
    let [a, b] = lists else { return None };
    let shape = common(&[&a.shape, &b.shape])?;
    let each = elements(&shape, &[a, b])?;
    let made = each.iter().map(|all| of((all[0].clone(), a.over.into()), (all[1].clone(), b.over.into())));
    let made = made.collect::<Option<Vec<Fraction>>>()?;
    let whole = Dims { dtype: a.dtype, shape, dims: vec![], over: 1 };
    if !a.dtype.is_float() {
        let dims = made.iter().map(|(dim, over)| quotient(dim, over)).collect::<Option<_>>()?;
        return Some(Dims { dims, ..whole });
    }
    // By a power of two floats are divided without an error.
    let over = made.first().map_or(Some(1), |(_, over)| over.as_const())?;
    let is_one = (1..=FINEST).contains(&over) && over.count_ones() == 1 && made.iter().all(|(_, own)| own.is(over));
    is_one.then(|| Dims { dims: made.into_iter().map(|(dim, _)| dim).collect(), over, ..whole })
}

fn compared(lists: &[Dims], of: fn(&Dim, &Dim) -> Option<bool>) -> Option<Operand> {
    let [a, b] = lists else { return None };
    let [a, b] = Dims::aligned(a, b)?;
    let shape = common(&[&a.shape, &b.shape])?;
    let each = elements(&shape, &[&a, &b])?;
    let bits = each.iter().map(|all| of(&all[0], &all[1])).collect::<Option<Vec<bool>>>()?;
    Some(Operand::known(Tensor::new(shape, Data::Bool(bits))))
}

fn multiplied(a: &Dim, b: &Dim) -> Option<Dim> {
    (length(a).max(1) * length(b).max(1) <= LONGEST * LONGEST).then(|| a.clone() * b.clone())
}

/// Division truncates, which is rounding down where nothing is negative.
fn quotient(a: &Dim, by: &Dim) -> Option<Dim> {
    let is_plain = by.is(1) || least(a)? >= 0 && least(by)? > 0;
    is_plain.then(|| a.floor_div(by))
}

fn larger(a: &Dim, b: &Dim) -> Dim {
    let is_never_less = |a: &Dim, b: &Dim| least(&(a.clone() - b.clone())).is_some_and(|least| least >= 0);
    match (is_never_less(a, b), is_never_less(b, a)) {
        (true, _) => a.clone(),
        (_, true) => b.clone(),
        _ => a.larger(b),
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

/// The name, and the number in its place, with which two products are the same.
pub(super) fn equal_where(a: &Dim, b: &Dim) -> Option<(String, i64)> {
    let mut names = BTreeSet::new();
    for dim in [a, b] {
        dim.names(&mut |name| {
            names.insert(name.to_owned());
        });
    }
    let number = |name: &str, of: &Dim, other: &Dim| {
        let rest = of.exact_div(&Dim::name(name))?;
        other.exact_div(&rest)?.as_const().filter(|&number| number > 0)
    };
    names.into_iter().find_map(|name| {
        let number = number(&name, a, b).or_else(|| number(&name, b, a))?;
        Some((name, number))
    })
}

/// How many names, sums and divisions are in a number.
fn length(dim: &Dim) -> usize {
    let of_atom = |atom: &Atom| match atom {
        Atom::Name(_) => 1,
        Atom::FloorDiv(a, b) | Atom::Max(a, b) => 1 + length(a) + length(b),
    };
    dim.terms().iter().map(|(atoms, _)| 1 + atoms.iter().map(of_atom).sum::<usize>()).sum()
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
fn elements(shape: &[usize], lists: &[&Dims]) -> Option<Vec<Vec<Dim>>> {
    let count = shape.iter().product::<usize>();
    if count > LIST {
        return None;
    }
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
    let each = |place: usize| lists.iter().map(|list| list.dims.get(at(place, &list.shape)).cloned()).collect();
    (0..count).map(each).collect()
}

/// Such a list as a value of the graph.
pub(super) fn value(b: &mut Builder<'_>, list: &Dims) -> Made {
    let mut elements = vec![];
    for dim in &list.dims {
        let element = number(b, dim)?;
        elements.push(b.reshape(element, &[1.into()])?);
    }
    let all = if elements.len() == 1 { elements[0] } else { b.prim(Prim::Concat { axis: 0 }, &elements)? };
    let shape: Vec<Dim> = list.shape.iter().map(|&extent| Dim::from(extent as i64)).collect();
    let all = b.reshape(all, &shape)?;
    let all = b.convert(all, list.dtype)?;
    Ok(if list.over == 1 { all } else { b.with(MapOp::Div, all, list.over as f64)? })
}

/// A number as an i64. Extents are u32, which neither differences nor large products are, so that only names are asked for.
pub(super) fn number(b: &mut Builder<'_>, dim: &Dim) -> Made {
    let mut sum = None;
    for (atoms, factor) in dim.terms() {
        let mut product = match *factor {
            1 if !atoms.is_empty() => None,
            factor => Some(b.prim(Prim::Const(Scalar::Int(DType::I64, factor.into())), &[])?),
        };
        let mut last: Option<(&Atom, Value)> = None;
        for atom in atoms {
            // Those of a power stand beside each other.
            let own = match last {
                Some((same, value)) if same == atom => value,
                _ => factor_of(b, atom)?,
            };
            last = Some((atom, own));
            product = Some(product.map_or(Ok(own), |product| b.mul(product, own))?);
        }
        sum = match (sum, product) {
            (Some(sum), Some(product)) => Some(b.add(sum, product)?),
            (sum, product) => sum.or(product),
        };
    }
    match sum {
        Some(sum) => Ok(sum),
        None => Ok(b.full(DType::I64, &[], 0.0)?),
    }
}

/// One factor of a product, as an i64.
fn factor_of(b: &mut Builder<'_>, atom: &Atom) -> Made {
    match atom {
        Atom::Name(name) => {
            let extent = b.extent_u32(&Dim::name(name.clone()))?;
            Ok(b.convert(extent, DType::I64)?)
        }
        Atom::FloorDiv(x, by) => {
            let (x, by) = (number(b, x)?, number(b, by)?);
            let (quotient, rest) = (b.map(MapOp::Div, &[x, by])?, b.map(MapOp::Rem, &[x, by])?);
            let is_below = b.with(MapOp::Lt, rest, 0.0)?;
            let is_below = b.convert(is_below, DType::I64)?;
            Ok(b.sub(quotient, is_below)?)
        }
        Atom::Max(x, y) => {
            let (x, y) = (number(b, x)?, number(b, y)?);
            Ok(b.map(MapOp::Max, &[x, y])?)
        }
    }
}
