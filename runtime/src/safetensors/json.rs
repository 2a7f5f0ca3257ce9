//! The JSON of safetensors headers and of indices of shards: in comes text, out come strings and numbers
//! as they are asked for. Always: what is not JSON of the form asked for is an error with its place.

use alloc::{format, string::String, vec::Vec};

/// How deep values may be nested that nobody asks for, so that no file exhausts the stack.
const DEPTH: usize = 64;

/// A place in a text.
pub(super) struct Json<'a> {
    text: &'a [u8],
    at: usize,
    /// What the text is, for messages.
    what: &'static str,
}

impl<'a> Json<'a> {
    pub(super) fn new(what: &'static str, text: &'a str) -> Self {
        Json { text: text.as_bytes(), at: 0, what }
    }

    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn error<T>(&self, expected: &str) -> Result<T, String> {
        Err(format!("expected {expected} at byte {} of the {}", self.at, self.what))
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
        self.array(|json| {
            numbers.push(json.number()?);
            Ok(())
        })?;
        Ok(numbers)
    }

    fn array(&mut self, mut item: impl FnMut(&mut Self) -> Result<(), String>) -> Result<(), String> {
        self.expect(b'[')?;
        if self.accept(b']') {
            return Ok(());
        }
        loop {
            item(self)?;
            if !self.accept(b',') {
                return self.expect(b']');
            }
        }
    }

    /// Passes over a value of any kind.
    pub(super) fn skip(&mut self) -> Result<(), String> {
        self.skip_within(DEPTH)
    }

    fn skip_within(&mut self, depth: usize) -> Result<(), String> {
        self.space();
        match self.text.get(self.at) {
            Some(b'{' | b'[') if depth == 0 => self.error("a value that is nested less deeply"),
            Some(b'{') => self.object(|json, _| json.skip_within(depth - 1)),
            Some(b'[') => self.array(|json| json.skip_within(depth - 1)),
            Some(b'"') => self.string().map(drop),
            _ => self.word(),
        }
    }

    /// A number, a truth value or `null`.
    fn word(&mut self) -> Result<(), String> {
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
        let word = core::str::from_utf8(&rest[..length]).unwrap_or_default();
        // Rust would read `inf` and `+1` as numbers too.
        let digits = word.starts_with(|c: char| c == '-' || c.is_ascii_digit())
            && word.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        if ["true", "false", "null"].contains(&word) || (digits && word.parse::<f64>().is_ok()) {
            self.at += length;
            return Ok(());
        }
        self.error("a value")
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
        assert_eq!(Json::new("header", text).string().unwrap(), "a\"\\/\né😀b");
    }

    #[test]
    fn broken_strings_are_errors() {
        for text in ["\"", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\n\""] {
            assert!(Json::new("header", text).string().is_err(), "{text}");
        }
    }

    #[test]
    fn quoting_and_reading_are_inverse() {
        let text = "quote \" backslash \\ newline \n bell \u{7} é";
        let mut quoted = String::new();
        quote(text, &mut quoted);
        assert_eq!(Json::new("header", &quoted).string().unwrap(), text);
    }

    #[test]
    fn values_of_any_kind_are_passed_over() {
        for text in ["{\"a\": [1, -2.5e+3, {}], \"b\": null}", "[]", "\"]\"", "true", "0"] {
            let mut json = Json::new("index", text);
            assert_eq!(json.skip().and_then(|()| json.end()), Ok(()), "{text}");
        }
        for text in ["", "nil", "+1", "-inf", "1e", "[1,]", "{\"a\"}", "{1:2}", "]"] {
            assert!(Json::new("index", text).skip().is_err(), "{text}");
        }
        let deep = "[".repeat(1_000_000);
        let expected = "expected a value that is nested less deeply at byte 64 of the index";
        assert_eq!(Json::new("index", &deep).skip(), Err(expected.into()));
    }
}
