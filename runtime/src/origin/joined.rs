//! Files as one: files and their lengths in, a reader of their bytes one after the other out. Always: one file is open at a time, as
//! there may be more than a process may have open.

use alloc::vec::Vec;
use std::{
    fs::File,
    io::{self, Cursor, Read, Seek, SeekFrom},
    path::PathBuf,
};

/// What can be opened as often as it is needed.
pub(super) trait Part {
    /// What is read from then.
    type Opened: Read + Seek;

    /// Opens it.
    fn open(&self) -> io::Result<Self::Opened>;
}

impl Part for PathBuf {
    type Opened = File;

    fn open(&self) -> io::Result<File> {
        File::open(self)
    }
}

impl Part for &'static [u8] {
    type Opened = Cursor<&'static [u8]>;

    fn open(&self) -> io::Result<Self::Opened> {
        Ok(Cursor::new(*self))
    }
}

/// The bytes of several parts.
pub(super) struct Joined<P: Part> {
    /// Each with the position behind its last byte.
    parts: Vec<(P, u64)>,
    /// The number of the part that is open.
    open: Option<(usize, P::Opened)>,
    at: u64,
}

impl<P: Part> Joined<P> {
    /// Those of these lengths.
    pub(super) fn new(parts: impl IntoIterator<Item = (P, u64)>) -> Self {
        let mut end = 0;
        let parts = parts.into_iter().map(|(part, len)| {
            end += len;
            (part, end)
        });
        Joined { parts: parts.collect(), open: None, at: 0 }
    }

    fn len(&self) -> u64 {
        self.parts.last().map_or(0, |(_, end)| *end)
    }
}

impl<P: Part> Read for Joined<P> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let number = self.parts.partition_point(|(_, end)| *end <= self.at);
        let Some((part, end)) = self.parts.get(number) else { return Ok(0) };
        let start = number.checked_sub(1).map_or(0, |before| self.parts[before].1);
        let mut opened = match self.open.take() {
            Some((own, opened)) if own == number => opened,
            _ => part.open()?,
        };
        opened.seek(SeekFrom::Start(self.at - start))?;
        let read = opened.by_ref().take(end - self.at).read(to)?;
        self.open = Some((number, opened));
        self.at += read as u64;
        Ok(read)
    }
}

impl<P: Part> Seek for Joined<P> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.len().checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// All places of some parts, of which two are empty, beside those of all bytes in one.
    #[test]
    fn parts_are_read_as_one() {
        let parts: [&'static [u8]; 5] = [b"abc", b"", b"d", b"efghijk", b""];
        let all = parts.concat();
        let mut joined = Joined::new(parts.map(|part| (part, part.len() as u64)));
        for start in 0..=all.len() {
            for len in 0..=all.len() - start {
                let mut bytes = vec![0; len];
                assert_eq!(joined.seek(SeekFrom::Start(start as u64)).unwrap(), start as u64);
                joined.read_exact(&mut bytes).unwrap();
                assert_eq!(bytes, all[start..start + len]);
            }
        }
        assert_eq!(joined.seek(SeekFrom::End(-2)).unwrap(), 9);
        assert_eq!(joined.seek(SeekFrom::Current(1)).unwrap(), 10);
        let mut rest = vec![];
        joined.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"k");
        assert!(joined.seek(SeekFrom::Current(-12)).is_err() && joined.seek(SeekFrom::End(1)).is_ok());
        assert_eq!(joined.read(&mut [0]).unwrap(), 0);
    }

    /// What became shorter since its length was asked for does not go on with the next.
    #[test]
    fn a_part_that_is_too_short_is_an_error() {
        let parts: [(&'static [u8], u64); 2] = [(b"ab", 3), (b"cd", 2)];
        assert!(Joined::new(parts).read_exact(&mut [0; 4]).is_err());
    }
}
