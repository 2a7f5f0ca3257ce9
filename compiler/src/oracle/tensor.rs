//! The oracle's tensors: a concrete shape and its elements in row-major order, floats in binary64.

use crate::ir::DType;
use crate::ir::prim::Scalar;

/// The elements of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// Floats of any declared width.
    F32(Vec<f64>),
    /// Signed integers.
    I32(Vec<i32>),
    /// Unsigned integers.
    U32(Vec<u32>),
    /// Truth values.
    Bool(Vec<bool>),
}

/// A tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    /// The extents, outermost first.
    pub shape: Vec<usize>,
    /// The elements, row-major.
    pub data: Data,
}

/// Runs `$body` with `$x` bound to the elements, whatever their type, and wraps the elements that it gives.
macro_rules! each_type {
    ($data:expr, $x:ident => $body:expr) => {
        match $data {
            Data::F32($x) => Data::F32($body),
            Data::I32($x) => Data::I32($body),
            Data::U32($x) => Data::U32($body),
            Data::Bool($x) => Data::Bool($body),
        }
    };
}

impl Data {
    /// The declared element type.
    pub fn dtype(&self) -> DType {
        match self {
            Data::F32(_) => DType::F32,
            Data::I32(_) => DType::I32,
            Data::U32(_) => DType::U32,
            Data::Bool(_) => DType::Bool,
        }
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        match self {
            Data::F32(x) => x.len(),
            Data::I32(x) => x.len(),
            Data::U32(x) => x.len(),
            Data::Bool(x) => x.len(),
        }
    }

    /// One element.
    pub fn element(&self, at: usize) -> Scalar {
        match self {
            Data::F32(x) => Scalar::F32(x[at]),
            Data::I32(x) => Scalar::I32(x[at]),
            Data::U32(x) => Scalar::U32(x[at]),
            Data::Bool(x) => Scalar::Bool(x[at]),
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements at these positions, in this order.
    pub fn pick(&self, at: impl Iterator<Item = usize>) -> Data {
        each_type!(self, x => at.map(|i| x[i]).collect())
    }

    /// The elements at these positions; `fill` where there is none.
    pub fn pick_or(&self, fill: Scalar, at: impl Iterator<Item = Option<usize>>) -> Data {
        match (self, fill) {
            (Data::F32(x), fill) => Data::F32(at.map(|i| i.map_or(fill.as_f64(), |i| x[i])).collect()),
            (Data::I32(x), fill) => Data::I32(at.map(|i| i.map_or(fill.as_f64() as i32, |i| x[i])).collect()),
            (Data::U32(x), fill) => Data::U32(at.map(|i| i.map_or(fill.as_f64() as u32, |i| x[i])).collect()),
            (Data::Bool(x), fill) => Data::Bool(at.map(|i| i.map_or(fill.as_f64() != 0.0, |i| x[i])).collect()),
        }
    }

    /// `count` elements from `start`.
    pub fn part(&self, start: usize, count: usize) -> Data {
        each_type!(self, x => x[start..start + count].to_vec())
    }

    /// The elements of several of one type, one after the other.
    pub fn join(parts: &[&Data]) -> Data {
        let Some((first, rest)) = parts.split_first() else {
            return Data::F32(vec![]);
        };
        let mut all = (*first).clone();
        for part in rest {
            match (&mut all, part) {
                (Data::F32(a), Data::F32(b)) => a.extend(b),
                (Data::I32(a), Data::I32(b)) => a.extend(b),
                (Data::U32(a), Data::U32(b)) => a.extend(b),
                (Data::Bool(a), Data::Bool(b)) => a.extend(b),
                (a, b) => unreachable!("the parts of a stack have one type, not {} and {}", a.dtype(), b.dtype()),
            }
        }
        all
    }

    /// The elements as numbers, true as 1.
    pub fn numbers(&self) -> Vec<f64> {
        match self {
            Data::F32(x) => x.clone(),
            Data::I32(x) => x.iter().copied().map(f64::from).collect(),
            Data::U32(x) => x.iter().copied().map(f64::from).collect(),
            Data::Bool(x) => x.iter().copied().map(f64::from).collect(),
        }
    }

    /// The elements as the words of a device, integers by their bits.
    pub fn words(&self) -> Vec<f32> {
        match self {
            Data::F32(x) => x.iter().map(|&x| x as f32).collect(),
            Data::I32(x) => x.iter().map(|&x| f32::from_bits(x as u32)).collect(),
            Data::U32(x) => x.iter().map(|&x| f32::from_bits(x)).collect(),
            Data::Bool(x) => x.iter().map(|&x| f32::from_bits(u32::from(x))).collect(),
        }
    }

    /// Zeros.
    pub fn zeros(dtype: DType, count: usize) -> Data {
        match dtype {
            DType::F32 => Data::F32(vec![0.0; count]),
            DType::I32 => Data::I32(vec![0; count]),
            DType::U32 => Data::U32(vec![0; count]),
            DType::Bool => Data::Bool(vec![false; count]),
        }
    }
}

impl Tensor {
    /// A tensor of that shape; the number of elements must fit.
    pub fn new(shape: impl Into<Vec<usize>>, data: Data) -> Tensor {
        let shape = shape.into();
        assert_eq!(shape.iter().product::<usize>(), data.len(), "elements for shape {shape:?}");
        Tensor { shape, data }
    }

    /// A float tensor.
    pub fn floats(shape: impl Into<Vec<usize>>, data: Vec<f64>) -> Tensor {
        Tensor::new(shape, Data::F32(data))
    }

    /// A u32 tensor.
    pub fn words(shape: impl Into<Vec<usize>>, data: Vec<u32>) -> Tensor {
        Tensor::new(shape, Data::U32(data))
    }

    /// A scalar.
    pub fn scalar(x: Scalar) -> Tensor {
        let data = match x {
            Scalar::F32(x) => Data::F32(vec![x]),
            Scalar::I32(x) => Data::I32(vec![x]),
            Scalar::U32(x) => Data::U32(vec![x]),
            Scalar::Bool(x) => Data::Bool(vec![x]),
        };
        Tensor { shape: vec![], data }
    }

    /// Zeros.
    pub fn zeros(dtype: DType, shape: impl Into<Vec<usize>>) -> Tensor {
        let shape = shape.into();
        let data = Data::zeros(dtype, shape.iter().product());
        Tensor { shape, data }
    }

    /// The floats; empty for other types.
    pub fn f64s(&self) -> &[f64] {
        match &self.data {
            Data::F32(x) => x,
            Data::I32(_) | Data::U32(_) | Data::Bool(_) => &[],
        }
    }

    /// The unsigned integers; empty for other types.
    pub fn u32s(&self) -> &[u32] {
        match &self.data {
            Data::U32(x) => x,
            Data::F32(_) | Data::I32(_) | Data::Bool(_) => &[],
        }
    }

    /// Slice `i` of the first axis.
    pub fn slice(&self, i: usize) -> Tensor {
        let shape = self.shape[1..].to_vec();
        let count = shape.iter().product();
        Tensor { data: self.data.part(i * count, count), shape }
    }

    /// Tensors of one type and shape along a new first axis.
    pub fn stack(slices: &[&Tensor]) -> Tensor {
        let mut shape = vec![slices.len()];
        shape.extend(slices.first().map_or(&[][..], |s| &s.shape));
        Tensor { shape, data: Data::join(&slices.iter().map(|s| &s.data).collect::<Vec<_>>()) }
    }
}

/// Row-major strides.
pub(super) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut stride = 1;
    let mut strides = vec![0; shape.len()];
    for (slot, extent) in strides.iter_mut().zip(shape).rev() {
        *slot = stride;
        stride *= extent;
    }
    strides
}

/// The positions of all elements of a shape, row-major, where axis `a` advances by `steps[a]` from `start`.
pub(super) fn offsets(start: i64, shape: &[usize], steps: &[i64]) -> Vec<usize> {
    let mut all = vec![start];
    for (&extent, &step) in shape.iter().zip(steps) {
        all = all.iter().flat_map(|from| (0..extent as i64).map(move |i| from + i * step)).collect();
    }
    all.into_iter().map(|at| at as usize).collect()
}

/// Row-major strides as steps of `offsets`.
pub(super) fn steps(shape: &[usize]) -> Vec<i64> {
    strides(shape).into_iter().map(|s| s as i64).collect()
}

/// Every index of a shape in row-major order. The scalar shape has one, the empty index.
pub(super) fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    let shape = shape.to_vec();
    let count = shape.iter().product::<usize>();
    let mut next = vec![0; shape.len()];
    (0..count).map(move |_| {
        let index = next.clone();
        for axis in (0..shape.len()).rev() {
            next[axis] += 1;
            if next[axis] < shape[axis] {
                break;
            }
            next[axis] = 0;
        }
        index
    })
}
