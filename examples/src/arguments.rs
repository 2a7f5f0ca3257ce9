//! The command line of the examples: in come `--name value` pairs and `--name` switches, out come
//! values. Always: what is not understood is an error with the usage.

use std::{error::Error, str::FromStr};

/// The arguments of a program.
#[derive(Debug)]
pub struct Arguments {
    usage: &'static str,
    given: Vec<(String, Option<String>)>,
}

impl Arguments {
    /// The arguments that the program was started with. `usage` shows them all: `--seed N` takes a
    /// value, `--seeds` does not.
    ///
    /// # Errors
    /// If there is an argument that `usage` does not show, or a value is missing.
    pub fn read(usage: &'static str) -> Result<Self, Box<dyn Error>> {
        Arguments::of(usage, std::env::args().skip(1))
    }

    fn of(usage: &'static str, given: impl IntoIterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut words = given.into_iter();
        let mut given = vec![];
        while let Some(word) = words.next() {
            let shown = usage.split(['[', ']']).map(str::trim).find(|shown| shown.split(' ').next() == Some(&word));
            let value = match shown {
                Some(shown) if word.starts_with("--") && shown.contains(' ') => {
                    Some(words.next().ok_or_else(|| format!("`{word}` needs a value\n{usage}"))?)
                }
                Some(_) if word.starts_with("--") => None,
                _ => return Err(format!("unknown argument `{word}`\n{usage}").into()),
            };
            given.push((word, value));
        }
        Ok(Arguments { usage, given })
    }

    /// Whether a switch was given.
    pub fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| given == name)
    }

    /// The value that was given last, or `default`.
    ///
    /// # Errors
    /// If the value is of another type.
    pub fn get<T: FromStr>(&self, name: &str, default: T) -> Result<T, Box<dyn Error>> {
        let Some((_, Some(value))) = self.given.iter().rfind(|(given, _)| given == name) else { return Ok(default) };
        value.parse().map_err(|_| format!("`{name}` cannot be `{value}`\n{}", self.usage).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: &str = "usage: it [--seed N] [--seeds] [--save FILE]";

    fn arguments(text: &str) -> Result<Arguments, Box<dyn Error>> {
        Arguments::of(USAGE, text.split_whitespace().map(String::from))
    }

    #[test]
    fn values_and_switches_are_read() {
        let arguments = arguments("--seed 7 --seeds").unwrap();
        assert_eq!(arguments.get("--seed", 1).unwrap(), 7);
        assert_eq!(arguments.get("--save", String::from("x")).unwrap(), "x");
        assert!(arguments.has("--seeds") && !arguments.has("--save"));
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        assert_eq!(arguments("--sed 7").unwrap_err().to_string(), format!("unknown argument `--sed`\n{USAGE}"));
        assert_eq!(arguments("--seed").unwrap_err().to_string(), format!("`--seed` needs a value\n{USAGE}"));
        assert!(arguments("N").is_err());
        assert!(arguments("usage:").is_err());
        assert!(arguments("--seed x").unwrap().get("--seed", 1).is_err());
    }
}
