//! The safetensors container: in come named tensors, out comes a file, and back, from several files
//! with an index too. Always: a file is whole or not there, and one that breaks a rule of the format
//! is an error before any tensor is read.
//!
//! The format is small (a length, a JSON header of one fixed form, the values), and the `safetensors`
//! crate would add itself and twenty more to every build, serde with its derive macros among them. So
//! it is read and written here, and tested against that crate.

mod half;
mod index;
mod json;
mod read;
mod write;

pub(crate) use read::{Entry, Reader};
pub(crate) use write::{Tensor, align, encode, save};

/// The key of the header's map of free text.
const METADATA: &str = "__metadata__";

/// Bytes of one element; of types that are packed below a byte, or unknown, nothing is said.
pub(crate) fn size(dtype: &str) -> Option<usize> {
    match dtype {
        "BOOL" | "U8" | "I8" | "F8_E5M2" | "F8_E4M3" | "F8_E8M0" => Some(1),
        "U16" | "I16" | "F16" | "BF16" => Some(2),
        "U32" | "I32" | "F32" => Some(4),
        "U64" | "I64" | "F64" | "C64" => Some(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use alloc::{
        string::{String, ToString},
        vec,
        vec::Vec,
    };

    fn tensors<'a>(a: &'a [f32], b: &'a [f32]) -> Vec<Tensor<'a>> {
        vec![
            Tensor {
                name: "b.weight".into(),
                dtype: "F32",
                shape: [2, 3][..].into(),
                bytes: bytemuck::cast_slice(a).into(),
            },
            Tensor {
                name: "a \"q\" é\n".into(),
                dtype: "F32",
                shape: [][..].into(),
                bytes: bytemuck::cast_slice(b).into(),
            },
        ]
    }

    fn reason(bytes: &[u8]) -> String {
        match Reader::bytes(bytes.to_vec()) {
            Err(Error::Format { reason, .. }) => reason,
            other => unreachable!("expected an error of the format, not {:?}", other.err()),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let a = [1.0, 2.0, 3.0, f32::MIN_POSITIVE, f32::NEG_INFINITY, -0.0];
        let bytes = encode(&[("note", "tab\there".into())], &tensors(&a, &[7.0]));
        let mut reader = Reader::bytes(bytes).unwrap();
        assert_eq!(reader.metadata["note"], "tab\there");
        let entry = reader.tensors["b.weight"].clone();
        assert_eq!((entry.dtype.as_str(), entry.shape.as_slice()), ("F32", &[2, 3][..]));
        let mut values = [0f32; 6];
        reader.read(&entry, &mut values).unwrap();
        assert_eq!(values.map(f32::to_bits), a.map(f32::to_bits));
        assert!(reader.tensors["a \"q\" é\n"].shape.is_empty());
    }

    #[test]
    fn the_reference_implementation_reads_what_is_written() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let bytes = encode(&[("format", "pt".into())], &tensors(&a, &[7.0]));
        let file = ::safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let weight = file.tensor("b.weight").unwrap();
        assert_eq!(weight.shape(), [2, 3]);
        assert_eq!(weight.data(), bytemuck::bytes_of(&a));
        assert_eq!(file.tensor("a \"q\" é\n").unwrap().data(), 7f32.to_le_bytes());
    }

    #[test]
    fn what_the_reference_implementation_writes_is_read() {
        use ::safetensors::{Dtype, tensor::TensorView};
        let floats: Vec<u8> = [1f32, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let views = [
            ("w", TensorView::new(Dtype::F32, vec![2], &floats).unwrap()),
            ("n", TensorView::new(Dtype::I64, vec![1], &[0; 8]).unwrap()),
        ];
        let mut reader = Reader::bytes(::safetensors::serialize(views, None).unwrap()).unwrap();
        assert_eq!(reader.tensors["n"].dtype, "I64");
        let entry = reader.tensors["w"].clone();
        let mut values = [0f32; 2];
        reader.read(&entry, &mut values).unwrap();
        assert_eq!(values, [1.0, 2.0]);
    }

    #[test]
    fn floats_of_16_bits_are_widened() {
        use ::safetensors::{Dtype, tensor::TensorView};
        // 1.5 and −2⁻²⁴, over more than one chunk.
        let pairs = |of: [u16; 2]| (0..9_999).flat_map(|k| of[k % 2].to_le_bytes()).collect::<Vec<u8>>();
        let (half, brain) = (pairs([0x3e00, 0x8001]), pairs([0x3fc0, 0xb380]));
        let views = [
            ("half", TensorView::new(Dtype::F16, vec![9_999], &half).unwrap()),
            ("brain", TensorView::new(Dtype::BF16, vec![9_999], &brain).unwrap()),
        ];
        let mut reader = Reader::bytes(::safetensors::serialize(views, None).unwrap()).unwrap();
        for name in ["half", "brain"] {
            let (entry, mut values) = (reader.tensors[name].clone(), vec![0f32; 9_999]);
            assert!(entry.holds("F32") && !entry.holds("I32"));
            reader.read(&entry, &mut values).unwrap();
            assert!((0..9_999).all(|k| values[k] == [1.5, -2f32.powi(-24)][k % 2]), "{name}");
            let mut values = vec![0f64; 9_999];
            assert!(entry.holds("F64"));
            reader.read(&entry, &mut values).unwrap();
            assert!((0..9_999).all(|k| values[k] == [1.5, -2f64.powi(-24)][k % 2]), "{name}");
        }
    }

    #[test]
    fn floats_of_64_bits_are_written_read_and_widened_to() {
        let a = [0.1f64, f64::MIN_POSITIVE, f64::NEG_INFINITY, -0.0, 1e300, 3.0];
        let double = |name: &str, values| Tensor {
            name: name.into(),
            dtype: "F64",
            shape: [2, 3][..].into(),
            bytes: bytemuck::cast_slice(values).into(),
        };
        let single = Tensor {
            dtype: "F32",
            bytes: bytemuck::cast_slice(&[0.1f32; 6]).to_vec().into(),
            ..double("s", &[0f64; 6])
        };
        let count = Tensor { dtype: "U32", shape: [1][..].into(), bytes: [1; 4][..].into(), ..double("n", &[0f64; 6]) };
        let mut all = [count, double("d", &a), single];
        align(&mut all);
        assert_eq!(all.each_ref().map(|tensor| tensor.name.as_str()), ["d", "n", "s"]);
        let bytes = encode(&[], &all);
        let file = ::safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let found = file.tensor("d").unwrap();
        assert_eq!((found.dtype(), found.shape()), (::safetensors::Dtype::F64, &[2, 3][..]));
        assert_eq!(found.data(), bytemuck::bytes_of(&a));
        let mut reader = Reader::bytes(bytes).unwrap();
        let mut read = |name: &str| {
            let (entry, mut values) = (reader.tensors[name].clone(), [0f64; 6]);
            assert!(entry.holds("F64") && entry.holds("F32") == (name == "s"));
            reader.read(&entry, &mut values).unwrap();
            values
        };
        assert_eq!((read("d").map(f64::to_bits), read("s")), (a.map(f64::to_bits), [f64::from(0.1f32); 6]));
    }

    #[test]
    fn numbers_of_fewer_bits_are_written_and_read_as_they_are() {
        let types = ["U16", "I8", "BF16", "U8", "F16", "I16"];
        let bytes: Vec<u8> = (200..230).collect();
        let tensor = |dtype: &'static str| Tensor {
            name: dtype.to_lowercase(),
            dtype,
            shape: [1, 3][..].into(),
            bytes: bytes[..3 * size(dtype).unwrap()].into(),
        };
        let mut all = types.map(tensor);
        align(&mut all);
        let sizes = all.each_ref().map(|tensor| size(tensor.dtype).unwrap());
        assert_eq!(sizes, [2, 2, 2, 2, 1, 1]);
        let encoded = encode(&[], &all);
        let file = ::safetensors::SafeTensors::deserialize(&encoded).unwrap();
        let mut reader = Reader::bytes(encoded.clone()).unwrap();
        for dtype in types {
            let found = file.tensor(&dtype.to_lowercase()).unwrap();
            let (entry, mut read) = (reader.tensors[&dtype.to_lowercase()].clone(), vec![0; found.data().len()]);
            reader.read_bytes(&entry, &mut read).unwrap();
            assert_eq!((found.dtype().to_string(), found.shape()), (dtype.to_string(), &[1, 3][..]));
            assert_eq!((found.data(), &read[..]), (&bytes[..read.len()], &bytes[..read.len()]));
            assert!(entry.holds(dtype) && !entry.holds("U32"));
        }
    }

    /// What a model does not load may stand in its file all the same.
    #[test]
    fn every_type_of_the_format_has_its_size() {
        use ::safetensors::{Dtype, tensor::TensorView};
        let types = [
            (Dtype::BOOL, 1),
            (Dtype::U8, 1),
            (Dtype::I8, 1),
            (Dtype::F8_E5M2, 1),
            (Dtype::F8_E4M3, 1),
            (Dtype::F8_E8M0, 1),
            (Dtype::U16, 2),
            (Dtype::I16, 2),
            (Dtype::F16, 2),
            (Dtype::BF16, 2),
            (Dtype::U32, 4),
            (Dtype::I32, 4),
            (Dtype::F32, 4),
            (Dtype::U64, 8),
            (Dtype::I64, 8),
            (Dtype::F64, 8),
            (Dtype::C64, 8),
        ];
        let zeros = [0; 24];
        let views = types
            .map(|(dtype, bytes)| (dtype.to_string(), TensorView::new(dtype, vec![3], &zeros[..3 * bytes]).unwrap()));
        let reader = Reader::bytes(::safetensors::serialize(views, None).unwrap()).unwrap();
        for (dtype, bytes) in types {
            let entry = &reader.tensors[&dtype.to_string()];
            assert_eq!((size(&entry.dtype), entry.dtype.as_str()), (Some(bytes), &*dtype.to_string()));
        }
    }

    #[test]
    fn every_truncation_is_an_error() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let bytes = encode(&[], &tensors(&a, &[7.0]));
        for len in 0..bytes.len() {
            assert!(reason(&bytes[..len]).starts_with("truncated: "), "{len}");
        }
        let mut longer = bytes;
        longer.push(0);
        assert_eq!(reason(&longer), "1 bytes follow the last tensor");
    }

    #[test]
    fn broken_headers_are_errors() {
        for (header, expected) in [
            ("[]", "expected `{` at byte 0 of the header"),
            (r#"{"a":1}"#, "expected `{` at byte 5 of the header"),
            (
                r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}        "#,
                "`a` is F32 [1], which takes 4 bytes, but has 8",
            ),
            (r#"{"a":{"dtype":"F32","shape":[1]}}"#, "`a` has no data_offsets"),
            (
                r#"{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}}"#,
                "expected a number at byte 29 of the header",
            ),
            (
                r#"{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}"#,
                "`a` stands twice in the header",
            ),
            (
                r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}        "#,
                "`a` starts at byte 4 of the values, but the tensor before ends at 0",
            ),
        ] {
            let mut bytes = (header.trim_end().len() as u64).to_le_bytes().to_vec();
            bytes.extend(header.trim_end().bytes());
            bytes.resize(bytes.len() + (header.len() - header.trim_end().len()), 0);
            assert_eq!(reason(&bytes).to_string(), expected, "{header}");
        }
    }

    /// Each file breaks one rule and keeps all others, so that no other check refuses it.
    #[test]
    fn every_rule_of_the_format_refuses_what_only_it_does() {
        let over = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}"#;
        let hole = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}"#;
        let same = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
        let back = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F4","shape":[1],"data_offsets":[4,0]}}"#;
        let three = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}}"#;
        let key = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"device":"cpu"}}"#;
        let huge = r#"{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}"#;
        for (header, values, expected) in [
            (over, 12, "`b` starts at byte 4 of the values, but the tensor before ends at 8"),
            (hole, 12, "`b` starts at byte 8 of the values, but the tensor before ends at 4"),
            (same, 4, "`b` starts at byte 0 of the values, but the tensor before ends at 4"),
            (back, 0, "`b` starts at byte 4 of the values, but the tensor before ends at 4"),
            (three, 4, "`a` has 3 data_offsets, not 2"),
            (key, 4, "`a` has an unknown key `device`"),
            (huge, 0, "`a` is F32 [4611686018427387904, 4], which no memory holds"),
            (r#"{"a":{"shape":[1],"data_offsets":[0,4]}}"#, 4, "`a` has no dtype"),
            (r#"{"a":{"dtype":"F32","data_offsets":[0,4]}}"#, 4, "`a` has no shape"),
        ] {
            let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
            bytes.extend(header.bytes());
            bytes.resize(bytes.len() + values, 0);
            assert_eq!(reason(&bytes).to_string(), expected, "{header}");
        }
        let mut bytes = 1u64.to_le_bytes().to_vec();
        bytes.push(0xff);
        assert_eq!(reason(&bytes).to_string(), "the header is not UTF-8");
    }
}
