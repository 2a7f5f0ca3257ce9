//! Foreign functions: in come the closures of the program, and calls of them out of compiled functions. Always: a
//! closure that is missing, fails or panics is an error value.

use alloc::{
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};
use core::fmt;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// An argument of a foreign function: its words and its extents.
pub type Given<'a> = (&'a [f32], &'a [usize]);

/// The memory of a result of a foreign function: its words and its extents.
pub type Room<'a> = (&'a mut [f32], &'a [usize]);

/// A foreign function on words.
pub type Supplied = Arc<dyn Fn(&[Given<'_>], &mut [Room<'_>]) -> Result<(), String> + Send + Sync>;

/// What a closure of the program may give: nothing, or whether it succeeded.
pub trait Finished {
    /// Why it failed, where it did.
    fn finish(self) -> Result<(), String>;
}

impl Finished for () {
    fn finish(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: fmt::Display> Finished for Result<(), E> {
    fn finish(self) -> Result<(), String> {
        self.map_err(|error| error.to_string())
    }
}

/// The foreign functions of a model, in the order of their declarations.
#[derive(Clone, Default)]
pub struct Foreigns(Vec<Option<Supplied>>);

impl Foreigns {
    /// Supplies one of them.
    pub(crate) fn supply(&mut self, number: usize, function: Supplied) {
        if self.0.len() <= number {
            self.0.resize(number + 1, None);
        }
        self.0[number] = Some(function);
    }

    /// Calls one of them.
    ///
    /// # Errors
    /// If it was not supplied, gives an error, or panics.
    pub fn call(&self, number: usize, name: &'static str, args: &[Given<'_>], results: &mut [Room<'_>]) -> Result<()> {
        let Some(Some(function)) = self.0.get(number) else { return Err(Error::ForeignMissing { name }) };
        // What the closure left half done is its own; the results of a call that failed are never read.
        let called = catch_unwind(AssertUnwindSafe(|| function(args, results)));
        let reason = match called {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(reason)) => reason,
            Err(panic) => panic_text(&*panic),
        };
        Err(Error::Foreign { name, reason })
    }
}

impl fmt::Debug for Foreigns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} foreign functions", self.0.iter().flatten().count())
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.map_or_else(|| "it panicked".to_string(), |text| alloc::format!("it panicked: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_failing_and_panicking_functions_are_errors() {
        let mut foreign = Foreigns::default();
        foreign.supply(1, Arc::new(|_, _| Err("no answer".to_string())));
        foreign.supply(2, Arc::new(|_, _| panic!("out of reach")));
        foreign.supply(
            3,
            Arc::new(|args, results| {
                results[0].0[0] = 2.0 * args[0].0[0];
                Ok(())
            }),
        );
        let mut word = [0.0];
        let mut call = |number| foreign.call(number, "f", &[(&[4.0], &[])], &mut [(&mut word, &[])]);
        assert_eq!(
            call(0).unwrap_err().to_string(),
            "the foreign function `f` was not supplied: call `with_f(…)` first"
        );
        assert_eq!(call(1).unwrap_err().to_string(), "the foreign function `f` failed: no answer");
        assert_eq!(call(2).unwrap_err().to_string(), "the foreign function `f` failed: it panicked: out of reach");
        call(3).unwrap();
        assert_eq!(word, [8.0]);
    }
}
