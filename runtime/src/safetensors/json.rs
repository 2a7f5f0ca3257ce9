//! The JSON of safetensors headers: in comes text, out come strings and numbers as they are asked
//! for. Always: what is not JSON of the form asked for is an error with its place.

use alloc::{format, string::String, vec::Vec};

/// A place in a header.
pub(super) struct Json<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Json<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Json { text: text.as_bytes(), at: 0 }
    }

    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn error<T>(&self, expected: &str) -> Result<T, String> {
        Err(format!("expected {expected} at byte {} of the header", self.at))
    }

    fn accept(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        if self.accept(byte) { Ok(()) } else { self.error(&format!("`{}`", char::from(byte))) }
    }

    /// Nothing but space is left.
    pub(super) fn end(&mut self) -> Result<(), String> {
        self.space();
        if self.at == self.text.len() { Ok(()) } else { self.error("the end") }
    }

    /// An object; `field` reads the value of every key.
    pub(super) fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, String) -> Result<(), String>,
    ) -> Result<(), String> {
        self.expect(b'{')?;
        if self.accept(b'}') {
            return Ok(());
        }
        loop {
            let key = self.string()?;
            self.expect(b':')?;
            field(self, key)?;
            if !self.accept(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// An array of whole numbers from 0.
    pub(super) fn numbers(&mut self) -> Result<Vec<usize>, String> {
        let mut numbers = Vec::new();
        self.expect(b'[')?;
        if self.accept(b']') {
            return Ok(numbers);
        }
        loop {
            numbers.push(self.number()?);
            if !self.accept(b',') {
                return self.expect(b']').map(|()| numbers);
            }
        }
    }

    fn number(&mut self) -> Result<usize, String> {
        self.space();
        let digits = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = core::str::from_utf8(&self.text[self.at..][..digits]).unwrap_or_default();
        match text.parse() {
            Ok(number) => {
                self.at += digits;
                Ok(number)
            }
            Err(_) => self.error("a number"),
        }
    }

    /// A string with its escapes resolved.
    pub(super) fn string(&mut self) -> Result<String, String> {
        self.expect(b'"')?;
        let mut bytes = Vec::new();
        loop {
            let Some(&byte) = self.text.get(self.at) else {
                return self.error("`\"`");
            };
            self.at += 1;
            match byte {
                b'"' => break,
                b'\\' => {
                    let mut buffer = [0; 4];
                    bytes.extend(self.escape()?.encode_utf8(&mut buffer).bytes());
                }
                0..0x20 => {
                    return self.error("no control character before this, which must be escaped,");
                }
                _ => bytes.push(byte),
            }
        }
        String::from_utf8(bytes).or_else(|_| self.error("UTF-8"))
    }

    fn escape(&mut self) -> Result<char, String> {
        let Some(&byte) = self.text.get(self.at) else {
            return self.error("an escape");
        };
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex()?;
                let surrogate = (0xd800..0xdc00).contains(&first);
                let code = if surrogate && self.text[self.at..].starts_with(b"\\u") {
                    self.at += 2;
                    let second = self.hex()?;
                    0x10000 + ((first - 0xd800) << 10) + (second.wrapping_sub(0xdc00) & 0x3ff)
                } else {
                    first
                };
                char::from_u32(code).map_or_else(|| self.error("a character"), Ok)?
            }
            _ => return self.error("an escape before this"),
        })
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4).and_then(|text| core::str::from_utf8(text).ok());
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => self.error("four hexadecimal digits"),
        }
    }
}

/// `text` as a JSON string.
pub(super) fn quote(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\0'..'\u{20}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => out.push(character),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved() {
        let text = r#""a\"\\\/\n\u00e9\ud83d\ude00b""#;
        assert_eq!(Json::new(text).string().unwrap(), "a\"\\/\né😀b");
    }

    #[test]
    fn broken_strings_are_errors() {
        for text in ["\"", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\n\""] {
            assert!(Json::new(text).string().is_err(), "{text}");
        }
    }

    #[test]
    fn quoting_and_reading_are_inverse() {
        let text = "quote \" backslash \\ newline \n bell \u{7} é";
        let mut quoted = String::new();
        quote(text, &mut quoted);
        assert_eq!(Json::new(&quoted).string().unwrap(), text);
    }
}
