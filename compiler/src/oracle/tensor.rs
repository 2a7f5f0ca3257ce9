//! The oracle's tensors: a concrete shape and its elements in row-major order, floats in binary64.

use crate::ir::prim::Scalar;
use crate::ir::{Category, DType};

/// The elements of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// Floats of that type, in binary64.
    Float(DType, Vec<f64>),
    /// Integers of that type.
    Int(DType, Vec<i128>),
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
            Data::Float(dtype, $x) => Data::Float(*dtype, $body),
            Data::Int(dtype, $x) => Data::Int(*dtype, $body),
            Data::Bool($x) => Data::Bool($body),
        }
    };
}

impl Data {
    /// Numbers as elements of that type: integers truncate and saturate, and floats of types of memory are rounded.
    pub fn of(dtype: DType, numbers: Vec<f64>) -> Data {
        match dtype.category() {
            Category::Float if dtype.is_stored() => {
                Data::Float(dtype, numbers.into_iter().map(|x| dtype.nearest(x)).collect())
            }
            Category::Float => Data::Float(dtype, numbers),
            Category::Signed | Category::Unsigned => {
                let (least, greatest) = dtype.integers();
                Data::Int(dtype, numbers.into_iter().map(|x| (x as i128).clamp(least, greatest)).collect())
            }
            Category::Bool => Data::Bool(numbers.into_iter().map(|x| x != 0.0).collect()),
        }
    }

    /// Elements of that type.
    pub(super) fn collect(dtype: DType, elements: &[Scalar]) -> Data {
        match dtype.category() {
            Category::Float => Data::Float(dtype, elements.iter().map(|x| x.as_f64()).collect()),
            Category::Signed | Category::Unsigned => {
                let integer = |x: &Scalar| if let Scalar::Int(_, x) = x { *x } else { 0 };
                Data::Int(dtype, elements.iter().map(integer).collect())
            }
            Category::Bool => Data::Bool(elements.iter().map(|x| x.as_f64() != 0.0).collect()),
        }
    }

    /// The declared element type.
    pub fn dtype(&self) -> DType {
        match self {
            Data::Float(dtype, _) | Data::Int(dtype, _) => *dtype,
            Data::Bool(_) => DType::Bool,
        }
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        match self {
            Data::Float(_, x) => x.len(),
            Data::Int(_, x) => x.len(),
            Data::Bool(x) => x.len(),
        }
    }

    /// One element.
    pub fn element(&self, at: usize) -> Scalar {
        match self {
            Data::Float(dtype, x) => Scalar::Float(*dtype, x[at]),
            Data::Int(dtype, x) => Scalar::Int(*dtype, x[at]),
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
        let fill = Data::collect(self.dtype(), &[fill]);
        let all = Data::join(&[self, &fill]);
        all.pick(at.map(|i| i.unwrap_or(self.len())))
    }

    /// `count` elements from `start`.
    pub fn part(&self, start: usize, count: usize) -> Data {
        each_type!(self, x => x[start..start + count].to_vec())
    }

    /// The elements of several of one type, one after the other.
    pub fn join(parts: &[&Data]) -> Data {
        let Some((first, rest)) = parts.split_first() else {
            return Data::Float(DType::F32, vec![]);
        };
        let mut all = (*first).clone();
        for part in rest {
            match (&mut all, part) {
                (Data::Float(own, a), Data::Float(other, b)) if own == other => a.extend(b),
                (Data::Int(own, a), Data::Int(other, b)) if own == other => a.extend(b),
                (Data::Bool(a), Data::Bool(b)) => a.extend(b),
                (a, b) => unreachable!("the parts of a stack have one type, not {} and {}", a.dtype(), b.dtype()),
            }
        }
        all
    }

    /// The elements as numbers, true as 1.
    pub fn numbers(&self) -> Vec<f64> {
        match self {
            Data::Float(_, x) => x.clone(),
            Data::Int(_, x) => x.iter().map(|&x| x as f64).collect(),
            Data::Bool(x) => x.iter().copied().map(f64::from).collect(),
        }
    }

    /// The elements as the words of a device, integers by their bits: of fewer bits several in a word, the first one lowest.
    pub fn words(&self) -> Vec<f32> {
        let dtype = self.dtype();
        let bits: Vec<u64> = match self {
            Data::Float(DType::F64, x) => x.iter().map(|x| x.to_bits()).collect(),
            Data::Float(DType::F32, x) => x.iter().map(|&x| (x as f32).to_bits().into()).collect(),
            Data::Float(_, x) => x.iter().map(|&x| dtype.float_bits(x)).collect(),
            Data::Int(_, x) => x.iter().map(|&x| x as u64).collect(),
            Data::Bool(x) => x.iter().map(|&x| x.into()).collect(),
        };
        let size = dtype.bits() as usize / 8;
        let mut bytes: Vec<u8> = bits.iter().flat_map(|x| x.to_le_bytes().into_iter().take(size)).collect();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
    }

    /// The first `count` elements that the words of a device are.
    pub fn of_words(dtype: DType, words: &[f32], count: usize) -> Data {
        let size = dtype.bits() as usize / 8;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let join = |element: &[u8]| element.iter().rev().fold(0, |bits: u64, byte| bits << 8 | u64::from(*byte));
        let bits = bytes.chunks_exact(size).take(count).map(join);
        match dtype {
            DType::F32 => Data::Float(dtype, bits.map(|x| f32::from_bits(x as u32).into()).collect()),
            DType::F64 => Data::Float(dtype, bits.map(f64::from_bits).collect()),
            DType::Bool => Data::Bool(bits.map(|x| x != 0).collect()),
            _ if dtype.is_float() => Data::Float(dtype, bits.map(|x| dtype.of_float_bits(x)).collect()),
            _ => Data::Int(dtype, bits.map(|x| dtype.wrapped(x.into())).collect()),
        }
    }

    /// Zeros.
    pub fn zeros(dtype: DType, count: usize) -> Data {
        Data::of(dtype, vec![0.0; count])
    }
}

impl Tensor {
    /// A tensor of that shape; the number of elements must fit.
    pub fn new(shape: impl Into<Vec<usize>>, data: Data) -> Tensor {
        let shape = shape.into();
        assert_eq!(shape.iter().product::<usize>(), data.len(), "elements for shape {shape:?}");
        Tensor { shape, data }
    }

    /// An f32 tensor.
    pub fn floats(shape: impl Into<Vec<usize>>, data: Vec<f64>) -> Tensor {
        Tensor::new(shape, Data::Float(DType::F32, data))
    }

    /// A u32 tensor.
    pub fn words(shape: impl Into<Vec<usize>>, data: Vec<u32>) -> Tensor {
        Tensor::new(shape, Data::Int(DType::U32, data.into_iter().map(i128::from).collect()))
    }

    /// A scalar.
    pub fn scalar(x: Scalar) -> Tensor {
        Tensor { shape: vec![], data: Data::collect(x.dtype(), &[x]) }
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
            Data::Float(_, x) => x,
            Data::Int(..) | Data::Bool(_) => &[],
        }
    }

    /// The integers; empty for other types.
    pub(super) fn integers(&self) -> &[i128] {
        match &self.data {
            Data::Int(_, x) => x,
            Data::Float(..) | Data::Bool(_) => &[],
        }
    }

    /// The integers as u32; empty for other types.
    pub fn u32s(&self) -> Vec<u32> {
        self.integers().iter().map(|&x| x as u32).collect()
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
