//! IDX files, the format of MNIST: in come bytes, out come unsigned bytes with their extents. Always: a file is read
//! whole or not at all.
//!
//! A file is two zero bytes, the element type (8: unsigned byte), the number of axes, each extent as four bytes, the
//! largest first, and the elements in row-major order (LeCun, Cortes and Burges, "The MNIST database").

use std::{error::Error, path::Path};

/// The element type that MNIST uses.
const UNSIGNED_BYTE: u8 = 8;

/// A tensor of bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Idx {
    /// The extent of each axis.
    pub extents: Vec<usize>,
    /// The elements, row-major.
    pub bytes: Vec<u8>,
}

/// The first of these files that is in the directory.
///
/// # Errors
/// If none is there, or the one that is does not hold what its header says.
pub fn read(directory: &Path, names: &[&str]) -> Result<Idx, Box<dyn Error>> {
    let Some(path) = names.iter().map(|name| directory.join(name)).find(|path| path.exists()) else {
        return Err(format!("there is no `{}` in {}", names.join("` or `"), directory.display()).into());
    };
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&bytes).map_err(|why| format!("{}: {why}", path.display()).into())
}

fn parse(bytes: &[u8]) -> Result<Idx, String> {
    let (&[zero, nought, element, axes], mut rest) = bytes.split_first_chunk().ok_or("it is shorter than a header")?;
    if zero != 0 || nought != 0 {
        return Err("it is no IDX file; a compressed one has to be unpacked with `gunzip`".into());
    }
    if element != UNSIGNED_BYTE {
        return Err(format!("its elements are of type {element}, not unsigned bytes"));
    }
    let mut extents = vec![];
    for _ in 0..axes {
        let (extent, after) = rest.split_first_chunk().ok_or("its header ends early")?;
        extents.push(u32::from_be_bytes(*extent) as usize);
        rest = after;
    }
    let count = extents.iter().try_fold(1usize, |count, &extent| count.checked_mul(extent)).ok_or("it is too large")?;
    if rest.len() != count {
        return Err(format!("it holds {} elements, but its extents are {extents:?}", rest.len()));
    }
    Ok(Idx { extents, bytes: rest.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_and_elements_are_read() {
        let file = [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255];
        let expected = Idx { extents: vec![2, 3], bytes: vec![1, 2, 3, 4, 5, 255] };
        assert_eq!(parse(&file), Ok(expected));
        for len in 0..file.len() {
            assert!(parse(&file[..len]).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn other_files_are_told_apart() {
        assert!(parse(&[0x1f, 0x8b, 8, 0]).unwrap_err().contains("gunzip"));
        assert_eq!(parse(&[0, 0, 13, 0]).unwrap_err(), "its elements are of type 13, not unsigned bytes");
        let error = read(Path::new("no such directory"), &["a", "b"]).unwrap_err().to_string();
        assert_eq!(error, "there is no `a` or `b` in no such directory");
    }
}
