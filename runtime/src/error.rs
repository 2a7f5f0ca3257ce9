//! What can go wrong at run time: one enum. In comes what a check found, out goes a message in the
//! user's own names and numbers. Always: an error that a call returns has changed no parameter.

use alloc::{string::String, vec::Vec};
use core::fmt;
use std::path::PathBuf;

use precast_cpu::OutOfMemory;

use crate::difference::Difference;

mod loader;

pub use loader::LoaderError;

/// The result of everything that can fail at run time.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Everything that can go wrong at run time.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Two arguments disagree on a named dimension.
    Dimension {
        /// The argument that was looked at later.
        argument: &'static str,
        /// The name of the dimension.
        dimension: &'static str,
        /// What `argument` says.
        found: usize,
        /// The argument that bound the dimension.
        other: &'static str,
        /// What `other` says.
        expected: usize,
    },
    /// A dimension of an argument is not what the signature says.
    Extent {
        /// The argument.
        argument: &'static str,
        /// The position of the dimension, from 0.
        axis: usize,
        /// The extent that the argument has.
        found: usize,
        /// The dimension as the signature writes it.
        written: &'static str,
        /// The extent that it must have, where one is known.
        expected: Option<usize>,
    },
    /// The number of elements does not fit the dimensions.
    Length {
        /// The argument or buffer.
        argument: &'static str,
        /// Its number of elements.
        found: usize,
        /// The number that is needed, or of which a multiple is needed.
        needed: usize,
        /// Whether any multiple of `needed` would do.
        multiple: bool,
    },
    /// A named dimension is 0.
    Empty {
        /// The argument.
        argument: &'static str,
        /// The name of the dimension.
        dimension: &'static str,
    },
    /// A named dimension is larger than its bound.
    Bound {
        /// The argument.
        argument: &'static str,
        /// The name of the dimension.
        dimension: &'static str,
        /// Its value.
        found: usize,
        /// The largest value that the signature allows.
        bound: usize,
    },
    /// An argument has another extent than the session was made with.
    Session {
        /// The argument.
        argument: &'static str,
        /// The name of the dimension.
        dimension: &'static str,
        /// What the argument says.
        found: usize,
        /// What the session was made with.
        expected: usize,
    },
    /// An argument that is a position lies outside of what it is a position in.
    Position {
        /// The argument.
        argument: &'static str,
        /// Its value.
        found: usize,
        /// The largest that it may be.
        limit: usize,
        /// The same as a formula.
        written: &'static str,
    },
    /// The dimensions are too small: an extent or a position inside of the function would be negative.
    Negative {
        /// The function that was called.
        function: &'static str,
        /// The extent or position.
        written: &'static str,
    },
    /// The dimensions ask for more memory than can be addressed.
    Overflow {
        /// The function that was called.
        function: &'static str,
    },
    /// There is not enough memory.
    Memory {
        /// The number of 4-byte words that were asked for.
        words: usize,
    },
    /// A loader's arguments do not make batches.
    Loader(LoaderError),
    /// A foreign function was called before the program supplied it.
    ForeignMissing {
        /// Its name; that of a gradient ends in `_grad`.
        name: &'static str,
    },
    /// A foreign function failed or panicked.
    Foreign {
        /// Its name; that of a gradient ends in `_grad`.
        name: &'static str,
        /// What it says.
        reason: String,
    },
    /// No parameter has this name, or no name matches this pattern.
    UnknownParameter {
        /// The name or pattern.
        name: String,
        /// The most similar name that exists.
        similar: Option<String>,
    },
    /// A parameter was written with the wrong number of values.
    ParameterLength {
        /// The name of the parameter.
        name: String,
        /// The number of values given.
        found: usize,
        /// The number of values that it has.
        expected: usize,
    },
    /// A parameter is asked for as floats that is stored as integers with scales.
    Quantized {
        /// The name of the parameter.
        name: String,
    },
    /// A parameter is asked for as integers with scales whose values are floats.
    NotQuantized {
        /// The name of the parameter.
        name: String,
    },
    /// A number is written to a parameter that is stored as integers, and is none: ±∞ or NaN.
    NotFinite {
        /// The name of the parameter.
        name: String,
        /// The number.
        number: f64,
    },
    /// A pattern separates parameters that are too small to be updated apart.
    Group {
        /// The pattern.
        pattern: String,
        /// A parameter.
        parameter: String,
        /// A parameter among the same 64 numbers, of which only one matches.
        neighbour: String,
    },
    /// The groups of a trainer overlap in more ways than there are rows of numbers.
    TooManyGroups {
        /// The pattern that was added last.
        pattern: String,
        /// The number of rows.
        most: usize,
    },
    /// A number of an optimiser would make parameters of no use; nothing was updated.
    Optimizer {
        /// The optimiser.
        optimizer: &'static str,
        /// The number.
        number: &'static str,
        /// What it is.
        value: f32,
        /// What it must be.
        demand: &'static str,
        /// The patterns of the groups that made it so, in order; none where it is set in `Trainer::optimizer`.
        patterns: Vec<String>,
    },
    /// A file is not a safetensors file, or not an index of such files.
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The tensors of a file are not those of the model, or of the state of its session.
    Tensors {
        /// The file.
        path: PathBuf,
        /// The name of the model.
        model: &'static str,
        /// What was to be read from the file.
        part: Part,
        /// Every difference.
        differences: Vec<Difference>,
    },
    /// A number of a file is beyond the largest of the type that parameters are stored in.
    Range {
        /// The file.
        path: PathBuf,
        /// The tensor, as the file calls it.
        name: String,
        /// The number.
        number: f64,
        /// The type of the parameters, as safetensors writes it.
        dtype: &'static str,
    },
    /// Names of a file cannot be renamed by this pattern.
    Rename {
        /// What stands for names of the file.
        from: String,
        /// What they should become.
        to: String,
    },
    /// A file holds weights that fit, but no checkpoint of this trainer.
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// Every difference, in words.
        differences: Vec<String>,
    },
    /// A path to save to is that of the index of several files, which are read only.
    SaveToIndex {
        /// The path.
        path: PathBuf,
    },
    /// A file could not be read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A model that is deterministic was put on a GPU, whose drivers choose how numbers are rounded.
    Deterministic {
        /// The name of the model.
        model: &'static str,
    },
    /// No GPU adapter serves.
    NoAdapter {
        /// Why.
        reason: String,
    },
    /// The GPU is gone; what the host holds is intact.
    DeviceLost {
        /// Why.
        reason: String,
    },
    /// An array on a GPU cannot be used where it is given.
    Array {
        /// Which, why, and what would do.
        reason: String,
    },
    /// The GPU refused a command.
    Device {
        /// What it says.
        reason: String,
    },
    /// A batch was made by the trainer of another model.
    Batch {
        /// The model.
        model: &'static str,
        /// That of the batch.
        other: &'static str,
    },
    /// A loss or its gradient is not finite.
    NonFinite {
        /// The function that was trained.
        function: &'static str,
        /// The number of the step, from 1.
        step: u64,
        /// Whether the update was left out.
        skipped: bool,
    },
}

/// What a file of tensors is read into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The parameters of a model, and the states of its optimizer.
    Parameters,
    /// The state of a session.
    State,
}

impl Part {
    /// What stands before the name of a model.
    fn of(self) -> &'static str {
        match self {
            Part::Parameters => "",
            Part::State => "the state of a session of ",
        }
    }
}

impl From<OutOfMemory> for Error {
    fn from(OutOfMemory { words }: OutOfMemory) -> Self {
        Error::Memory { words }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Dimension { .. }
            | Error::Extent { .. }
            | Error::Length { .. }
            | Error::Empty { .. }
            | Error::Bound { .. }
            | Error::Session { .. }
            | Error::Position { .. }
            | Error::Negative { .. }
            | Error::Overflow { .. } => self.fmt_argument(f),
            Error::Memory { words } => write!(f, "not enough memory for {words} words of 4 bytes"),
            Error::Loader(error) => error.fmt(f),
            Error::ForeignMissing { name } => {
                write!(f, "the foreign function `{name}` was not supplied: call `with_{name}(…)` first")
            }
            Error::Foreign { name, reason } => write!(f, "the foreign function `{name}` failed: {reason}"),
            Error::UnknownParameter { .. }
            | Error::ParameterLength { .. }
            | Error::Quantized { .. }
            | Error::NotQuantized { .. }
            | Error::NotFinite { .. } => self.fmt_parameter(f),
            Error::Group { pattern, parameter, neighbour } => write!(
                f,
                "group `{pattern}` separates `{parameter}` from `{neighbour}`, but the two share 64 numbers and are updated together"
            ),
            Error::TooManyGroups { pattern, most } => {
                write!(f, "with group `{pattern}` the parameters fall into more than {most} groups")
            }
            Error::Optimizer { optimizer, number, value, demand, patterns } => {
                write!(f, "`{number}` of `{optimizer}` must be {demand}, but it is {value}")?;
                match patterns.as_slice() {
                    [] => Ok(()),
                    groups => write!(f, " for parameters of the group `{}`", groups.join("` and `")),
                }
            }
            Error::Format { .. }
            | Error::Tensors { .. }
            | Error::Range { .. }
            | Error::Rename { .. }
            | Error::Checkpoint { .. }
            | Error::SaveToIndex { .. }
            | Error::Io { .. } => self.fmt_file(f),
            Error::Deterministic { model } => {
                write!(f, "`{model}` is `#[model(deterministic)]`, which no gpu can promise: run it on `Cpu`")
            }
            Error::NoAdapter { reason } => write!(f, "no gpu adapter: {reason}"),
            Error::DeviceLost { reason } => write!(f, "the gpu was lost: {reason}"),
            Error::Array { reason } => f.write_str(reason),
            Error::Device { reason } => write!(f, "the gpu refused a command: {reason}"),
            Error::Batch { model, other } => {
                write!(f, "a batch of `{other}` cannot train `{model}`: make it with the trainer that takes the step")
            }
            Error::NonFinite { function, step, skipped } => {
                let update = if *skipped { "skipped" } else { "made" };
                write!(f, "`{function}` or its gradient is not finite in step {step}; the update was {update}")
            }
        }
    }
}

impl Error {
    fn fmt_argument(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Dimension { argument, dimension, found, other, expected } => {
                write!(f, "`{argument}` has {dimension} = {found}, but `{other}` has {dimension} = {expected}")
            }
            Error::Extent { argument, axis, found, written, expected: None } => {
                write!(f, "`{argument}` has {found} in dimension {axis}, which is no {written}")
            }
            Error::Extent { argument, axis, found, written, expected: Some(expected) } => {
                write!(f, "`{argument}` has {found} in dimension {axis}, but {written}")?;
                if written.parse() == Ok(*expected) { write!(f, " is needed") } else { write!(f, " = {expected}") }
            }
            Error::Session { argument, dimension, found, expected } => {
                write!(
                    f,
                    "`{argument}` has {dimension} = {found}, but the session was made with {dimension} = {expected}"
                )
            }
            Error::Position { argument, found, limit, written } => {
                write!(f, "`{argument}` is {found}, but may be at most ")?;
                if written.parse() == Ok(*limit) { write!(f, "{limit}") } else { write!(f, "{written} = {limit}") }
            }
            Error::Length { argument, found, needed, multiple } => {
                write!(f, "`{argument}` has {found} elements, but ")?;
                if *multiple { write!(f, "a multiple of {needed} is needed") } else { write!(f, "{needed} are needed") }
            }
            Error::Empty { argument, dimension } => {
                write!(f, "`{argument}` is empty: {dimension} must be at least 1")
            }
            Error::Bound { argument, dimension, found, bound } => {
                write!(f, "`{argument}` has {dimension} = {found}, but {dimension} <= {bound}")
            }
            Error::Negative { function, written } => {
                write!(f, "`{function}` cannot be called with dimensions this small: {written} would be negative")
            }
            Error::Overflow { function } => {
                write!(f, "`{function}` cannot be called with dimensions this large: the memory cannot be addressed")
            }
            _ => unreachable!("`fmt` sends only the errors of arguments here"),
        }
    }

    fn fmt_parameter(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownParameter { name, similar } => {
                write!(f, "no parameter is named `{name}`")?;
                match similar {
                    Some(similar) => write!(f, "; did you mean `{similar}`?"),
                    None => Ok(()),
                }
            }
            Error::ParameterLength { name, found, expected } => {
                write!(f, "`{name}` has {expected} values, but {found} were given")
            }
            Error::Quantized { name } => {
                write!(f, "`{name}` is stored as integers with scales, which `quantized_parameter` gives")
            }
            Error::NotQuantized { name } => write!(f, "`{name}` is stored as floats, which `parameter` gives"),
            Error::NotFinite { name, number } => {
                write!(f, "`{name}` is stored as integers, and {number} is none, whatever its scale")
            }
            _ => unreachable!("`fmt` sends only the errors of one parameter here"),
        }
    }

    fn fmt_file(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Format { path, reason } => write!(f, "{}: {reason}", path.display()),
            Error::Tensors { path, model, part, differences } => {
                write!(f, "{} does not fit {}`{model}`:", path.display(), part.of())?;
                differences.iter().try_for_each(|difference| write!(f, "\n  {difference}"))
            }
            Error::Range { path, name, number, dtype } => {
                write!(f, "{}: `{name}` has {number:e}, which {dtype} does not hold", path.display())
            }
            Error::Rename { from, to } => {
                write!(f, "`{from}` cannot become `{to}`, in which `*` stands more often")
            }
            Error::Checkpoint { path, differences } => {
                write!(f, "{} is no checkpoint of this trainer:", path.display())?;
                differences.iter().try_for_each(|difference| write!(f, "\n  {difference}"))
            }
            Error::SaveToIndex { path } => {
                // Without `.index` and `.json`.
                let one = path.with_extension("").with_extension("");
                write!(
                    f,
                    "{} is the index of several files, and one is written: save to {}",
                    path.display(),
                    one.display()
                )
            }
            Error::Io { path, source } => write!(f, "{}: {source}", path.display()),
            _ => unreachable!("`fmt` sends only the errors of files here"),
        }
    }

    /// The error of reading or writing `path`.
    pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        |source| Error::Io { path: path.into(), source }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// The name in `names` that is nearest to `name` by edit distance, if one is near.
pub(crate) fn similar(name: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let limit = name.len().div_ceil(3).max(1);
    names
        .map(|other| (strsim::osa_distance(name, &other), other))
        .min()
        .and_then(|(distance, other)| (distance <= limit).then_some(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn messages_use_the_names_and_numbers_of_the_user() {
        let error = Error::Dimension { argument: "label", dimension: "B", found: 3, other: "image", expected: 4 };
        assert_eq!(error.to_string(), "`label` has B = 3, but `image` has B = 4");
        let error = Error::Bound { argument: "ids", dimension: "T", found: 600, bound: 512 };
        assert_eq!(error.to_string(), "`ids` has T = 600, but T <= 512");
        let error = Error::Extent { argument: "x", axis: 1, found: 65, written: "64", expected: Some(64) };
        assert_eq!(error.to_string(), "`x` has 65 in dimension 1, but 64 is needed");
        let error = Error::Extent { argument: "x", axis: 1, found: 7, written: "2 * H", expected: Some(8) };
        assert_eq!(error.to_string(), "`x` has 7 in dimension 1, but 2 * H = 8");
        let error = Error::Empty { argument: "image", dimension: "B" };
        assert_eq!(error.to_string(), "`image` is empty: B must be at least 1");
    }

    #[test]
    fn the_nearest_name_is_suggested_only_when_it_is_near() {
        let names = || ["conv1.weight", "conv1.bias", "output.weight"].map(String::from).into_iter();
        assert_eq!(similar("conv1.wieght", names()).as_deref(), Some("conv1.weight"));
        assert_eq!(similar("q", names()), None);
    }

    #[test]
    fn an_error_is_small_enough_to_return() {
        assert!(size_of::<Error>() <= 96);
    }
}
