//! Where the parameters of an imported model are: a file and what was read of it in, places in that file out.
//!
//! Always: weights are never copied into the program as tokens; what the file does not hold as it is, and that on which the program
//! itself depends, is, and is small.

use super::operand::Known;
use super::params::Weight;
use super::{File, Refusal};
use crate::ir::model::{Held, Origin};
use crate::ir::{DType, Model, ParamId};
use proc_macro2::Literal;
use std::rc::Rc;

/// The most bytes of constants that become part of a program's text.
const MOST: usize = 1 << 20;

/// The origin of a model that was read `of` a file, and whose parameters these are; `file` is the literal that names it.
///
/// # Errors
/// Where weights are held in a way that has no place in the file.
pub fn origin(model: &Model, tensors: &[Weight], of: &File, file: Literal) -> Result<Origin, Refusal> {
    let external: Vec<(String, u64)> = of.external().iter().map(|(name, len)| (name.clone(), *len as u64)).collect();
    let (name, len) = (model.name.to_string(), of.len() as u64);
    let mut origin = Origin { name, file, len, external, hash: 0, tensors: vec![], constants: vec![] };
    for (number, (param, weight)) in model.params.iter().zip(tensors).enumerate() {
        let mut held = |known: &Rc<Known>| match known.place(of) {
            Some(place) => Some(Held { dtype: known.ty.dtype, in_program: false, start: place.start, end: place.end }),
            None => constant(&mut origin.constants, param.ty.dtype, known),
        };
        let Some(held) = weight.turns.iter().map(&mut held).collect() else {
            let reason = format!(
                "the elements of `{}` are no raw data of the file, lie on those of another tensor, or decide what the program is, and \
                 with those of others like it they are more than the {MOST} bytes that a program holds",
                param.instances()[0]
            );
            return Err(Refusal::of_file(reason));
        };
        origin.tensors.push((ParamId(number as u32), held));
    }
    origin.hash = hash(of.bytes(), &origin.tensors);
    Ok(origin)
}

/// Puts a tensor behind the others that the program holds, as elements of the parameters' type; none where there are too many.
fn constant(constants: &mut Vec<u8>, dtype: DType, known: &Known) -> Option<Held> {
    let start = constants.len();
    let size = if dtype == DType::F64 { 8 } else { 4 };
    known.len().checked_mul(size)?.checked_add(start).filter(|end| *end <= MOST)?;
    for number in known.elements().data.numbers() {
        match dtype {
            DType::F64 => constants.extend(number.to_le_bytes()),
            _ => constants.extend((number as f32).to_le_bytes()),
        }
    }
    Some(Held { dtype, in_program: true, start, end: constants.len() })
}

/// FNV-1a of 64 bits over all of a file but the weights: a file with the same structure has the same places.
fn hash(bytes: &[u8], tensors: &[(ParamId, Vec<Held>)]) -> u64 {
    let mut places: Vec<(usize, usize)> = {
        let held = tensors.iter().flat_map(|(_, held)| held).filter(|held| !held.in_program);
        held.map(|held| (held.start, held.end)).collect()
    };
    places.sort_unstable();
    let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325u64, 0);
    for (start, end) in places.into_iter().chain([(bytes.len(), bytes.len())]) {
        for &byte in bytes.get(at..start).unwrap_or_default() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        at = at.max(end);
    }
    hash
}
