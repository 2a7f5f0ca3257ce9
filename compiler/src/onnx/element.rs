//! Element types and tensors of files: a `TensorProto` in, a tensor that the oracle can compute with out.
//!
//! Always: a tensor has as many elements as its extents say, and no more memory is taken than the file has bytes for.

use super::Failure;
use super::proto::TensorProto;
use crate::ir::limits::{AXES, ELEMENTS, INTEGER};
use crate::ir::{Category, DType, Dim, Type};
use crate::oracle::{Data, Tensor};

/// The element types of ONNX by their numbers; those without a type here are not computed with.
const TYPES: [(i32, &str, Option<DType>); 26] = [
    (1, "float32", Some(DType::F32)),
    (2, "uint8", Some(DType::U8)),
    (3, "int8", Some(DType::I8)),
    (4, "uint16", Some(DType::U16)),
    (5, "int16", Some(DType::I16)),
    (6, "int32", Some(DType::I32)),
    (7, "int64", Some(DType::I64)),
    (8, "string", None),
    (9, "bool", Some(DType::Bool)),
    (10, "float16", Some(DType::F16)),
    (11, "float64", Some(DType::F64)),
    (12, "uint32", Some(DType::U32)),
    (13, "uint64", Some(DType::U64)),
    (14, "complex64", None),
    (15, "complex128", None),
    (16, "bfloat16", Some(DType::BF16)),
    (17, "float8e4m3fn", Some(DType::F8E4M3)),
    (18, "float8e4m3fnuz", None),
    (19, "float8e5m2", None),
    (20, "float8e5m2fnuz", None),
    (21, "uint4", None),
    (22, "int4", None),
    (23, "float4e2m1", None),
    (24, "float8e8m0", None),
    (25, "uint2", None),
    (26, "int2", None),
];

/// The number of an element type.
pub(super) fn number(dtype: DType) -> i32 {
    match TYPES.iter().find(|(.., own)| *own == Some(dtype)) {
        Some((number, ..)) => *number,
        None => unreachable!("every type of the language is one of ONNX"),
    }
}

/// The element type of that number.
///
/// # Errors
/// Of the types that are not computed with, and of numbers that are no type.
pub(super) fn dtype(number: i64) -> Result<DType, Failure> {
    match TYPES.iter().find(|(own, ..)| i64::from(*own) == number) {
        Some((_, _, Some(dtype))) => Ok(*dtype),
        Some((_, name, None)) => Err(Failure::new(format!("elements of type {name} are not supported"))),
        None => Err(Failure::new(format!("{number} is the number of no element type"))),
    }
}

/// The element type of that name, as the first version of the operators says it.
///
/// # Errors
/// As of [`dtype`].
pub(super) fn named(name: &[u8]) -> Result<DType, Failure> {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let known = match name.as_str() {
        "float" => "float32",
        "double" => "float64",
        other => other,
    };
    match TYPES.iter().find(|(_, own, _)| *own == known) {
        Some((number, ..)) => dtype(i64::from(*number)),
        None => Err(Failure::new(format!("`{name}` is no element type"))),
    }
}

/// The extents of a tensor of a file.
///
/// # Errors
/// Of extents that are negative or too large.
pub(super) fn shape(dims: &[i64]) -> Result<Vec<usize>, Failure> {
    if dims.len() > AXES {
        return Err(Failure::new(format!("a tensor has at most {AXES} axes, and this one has {}", dims.len())));
    }
    // Without the empty axes: a product with part of them is no larger.
    let mut count = 1i64;
    for &extent in dims {
        if !(0..=INTEGER).contains(&extent) {
            return Err(Failure::new(format!("{dims:?} is no shape: extents are from 0 to {INTEGER}")));
        }
        count = count.saturating_mul(extent.max(1));
    }
    match count <= ELEMENTS {
        true => Ok(dims.iter().map(|&extent| extent as usize).collect()),
        false => Err(Failure::new(format!("a tensor has at most {ELEMENTS} elements, and {dims:?} has more"))),
    }
}

/// The type of a tensor of a file that has as many elements as it says.
///
/// # Errors
/// As of [`tensor`].
pub(super) fn checked(proto: &TensorProto) -> Result<Type, Failure> {
    let (dtype, shape) = (self::dtype(proto.data_type.into())?, self::shape(&proto.dims)?);
    if proto.raw_data.is_empty() || proto.is_external() {
        tensor(proto)?;
    } else {
        let (count, size) = (shape.iter().product::<usize>(), size(dtype));
        if count.checked_mul(size) != Some(proto.raw_data.len()) {
            let (name, bytes) = (&proto.name, proto.raw_data.len());
            return Err(Failure::new(format!(
                "`{name}` has {bytes} bytes, but {dtype}{:?} is {count} × {size}",
                proto.dims
            )));
        }
    }
    Ok(Type::new(dtype, shape.into_iter().map(|extent| Dim::from(extent as i64)).collect::<Vec<_>>()))
}

/// The bytes that a tensor of a file has, if its type is one.
pub(super) fn bytes(proto: &TensorProto) -> Option<usize> {
    let (dtype, shape) = (dtype(proto.data_type.into()).ok()?, shape(&proto.dims).ok()?);
    shape.iter().try_fold(size(dtype), |bytes, &extent| bytes.checked_mul(extent))
}

/// The bytes of an element; truth values are bytes.
fn size(dtype: DType) -> usize {
    if dtype == DType::Bool { 1 } else { dtype.bits() as usize / 8 }
}

/// A tensor of a file.
///
/// # Errors
/// Where its elements are in another file, are not of a type that is computed with, or are not as many as its extents say.
pub fn tensor(proto: &TensorProto) -> Result<Tensor, Failure> {
    let (dtype, shape) = (self::dtype(proto.data_type.into())?, self::shape(&proto.dims)?);
    if proto.is_external() {
        return Err(Failure::new(format!("the elements of `{}` are in another file", proto.name)));
    }
    let count: usize = shape.iter().product();
    let found = |data: Data| match data.len() == count {
        true => Ok(Tensor::new(shape.clone(), data)),
        false => Err(Failure::new(format!(
            "`{}` has {} elements, but its shape {:?} asks for {count}",
            proto.name,
            data.len(),
            proto.dims
        ))),
    };
    if !proto.raw_data.is_empty() {
        return found(raw(dtype, &proto.raw_data, &proto.name)?);
    }
    let of_bits = |bits: i32| match dtype.category() {
        Category::Float => dtype.of_float_bits(u64::from(bits as u32) & ((1 << dtype.bits()) - 1)),
        Category::Signed | Category::Unsigned | Category::Bool => f64::from(bits),
    };
    found(match dtype {
        DType::F32 => Data::Float(dtype, proto.float_data.iter().map(|&x| x.into()).collect()),
        DType::F64 => Data::Float(dtype, proto.double_data.clone()),
        DType::I64 => Data::Int(dtype, proto.int64_data.iter().map(|&x| x.into()).collect()),
        DType::U32 | DType::U64 => Data::Int(dtype, proto.uint64_data.iter().map(|&x| x.into()).collect()),
        _ => Data::of(dtype, proto.int32_data.iter().map(|&bits| of_bits(bits)).collect()),
    })
}

/// Elements that lie one after the other, little endian.
fn raw(dtype: DType, bytes: &[u8], name: &str) -> Result<Data, Failure> {
    let size = size(dtype);
    if !bytes.len().is_multiple_of(size) {
        let message = format!("`{name}` has {} bytes, which are no whole number of {dtype}", bytes.len());
        return Err(Failure::new(message));
    }
    let words = bytes.chunks_exact(size).map(|chunk| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    Ok(match dtype.category() {
        Category::Bool => Data::Bool(words.map(|word| word != 0).collect()),
        Category::Float if dtype == DType::F32 => {
            Data::Float(dtype, words.map(|word| f32::from_bits(word as u32).into()).collect())
        }
        Category::Float if dtype == DType::F64 => Data::Float(dtype, words.map(f64::from_bits).collect()),
        Category::Float => Data::Float(dtype, words.map(|word| dtype.of_float_bits(word)).collect()),
        Category::Signed | Category::Unsigned => {
            Data::Int(dtype, words.map(|word| dtype.wrapped(word.into())).collect())
        }
    })
}
