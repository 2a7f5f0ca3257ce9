//! What the compiler says about a model's parameters: names, shapes, places, initial values.
//! Always: one specification per declared parameter, so nothing here grows with the depth of a
//! repeated block; places are counted in elements of the model's float type, whatever it is; stacks
//! start on boundaries of 64 elements, and the elements between them are zero.

use alloc::{format, string::String};

use crate::{bind::Dim, float::Float, init::Init, state::StateSpec};

/// Elements to which parameter stacks are aligned and padded; also the stretch of a parameter pool
/// that one row of optimiser numbers updates. Stacks of states are aligned to as many words.
pub const CHUNK: usize = 64;

/// The parameters of a model.
#[derive(Debug)]
pub struct ModelSpec {
    /// The name of the model.
    pub name: &'static str,
    /// Its parameters. In the pool, those that are trained come first.
    pub parameters: &'static [ParameterSpec],
    /// Elements of the whole pool, a multiple of [`CHUNK`].
    pub pool_len: usize,
    /// What a session keeps from call to call, in the order of their places.
    pub states: &'static [StateSpec],
    /// The dimensions that sessions are made with.
    pub session: &'static [Dim],
}

/// A parameter, or the stack of all parameters that a repeated block makes of one declaration.
#[derive(Debug)]
pub struct ParameterSpec {
    /// The name in PyTorch's `state_dict`, with a `*` for every index of a repeat:
    /// `blocks.*.up.weight`.
    pub name: &'static str,
    /// The shape of one of them; the layout is row-major.
    pub shape: &'static [usize],
    /// Where the stack starts, in elements, a multiple of [`CHUNK`].
    pub offset: usize,
    /// For every `*`, outermost first, how many there are and how many elements lie between two.
    pub repeats: &'static [(usize, usize)],
    /// How values are drawn at first.
    pub init: Init,
    /// Whether the optimiser updates it. Companions, such as running statistics, are changed by what
    /// a step computes and have no gradient.
    pub trained: bool,
}

impl ParameterSpec {
    /// The number of values of one parameter.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The element type in files of a model of this type: PyTorch counts the batches of a batch norm in integers.
    pub(crate) fn stored<T: Float>(&self) -> &'static str {
        let counts = !self.trained && self.name.rsplit('.').next() == Some("num_batches_tracked");
        if counts { "I64" } else { T::DTYPE }
    }

    /// Whether the parameter holds no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of parameters in the stack.
    pub fn count(&self) -> usize {
        self.repeats.iter().map(|&(count, _)| count).product()
    }

    /// The full name and the offset of parameter `index` of the stack.
    pub(crate) fn instance(&self, index: usize) -> (String, usize) {
        let mut name = String::with_capacity(self.name.len() + 4);
        let mut offset = self.offset;
        let mut below = self.count();
        let mut rest = index;
        let mut repeats = self.repeats.iter();
        for part in self.name.split_inclusive('*') {
            let Some(prefix) = part.strip_suffix('*') else {
                name.push_str(part);
                continue;
            };
            name.push_str(prefix);
            if let Some(&(count, stride)) = repeats.next() {
                below /= count.max(1);
                name.push_str(&format!("{}", rest / below));
                offset += rest / below * stride;
                rest %= below;
            }
        }
        (name, offset)
    }
}

impl ModelSpec {
    /// The words of the whole pool, where parameters are of this type.
    pub(crate) fn words<T: Float>(&self) -> usize {
        self.pool_len.saturating_mul(T::WORDS)
    }

    /// Every parameter by its full name, with its specification and offset.
    pub(crate) fn instances(&self) -> impl Iterator<Item = (String, &'static ParameterSpec, usize)> + use<> {
        self.parameters.iter().flat_map(|spec| {
            (0..spec.count()).map(move |index| {
                let (name, offset) = spec.instance(index);
                (name, spec, offset)
            })
        })
    }

    /// Every parameter that the optimiser updates.
    pub(crate) fn trained(&self) -> impl Iterator<Item = (String, &'static ParameterSpec, usize)> + use<> {
        self.instances().filter(|(_, parameter, _)| parameter.trained)
    }

    /// The specification and offset of the parameter with this full name.
    pub(crate) fn find(&self, name: &str) -> crate::Result<(&'static ParameterSpec, usize)> {
        let found = self.instances().find(|(other, ..)| other == name);
        found.map(|(_, spec, offset)| (spec, offset)).ok_or_else(|| crate::Error::UnknownParameter {
            name: name.into(),
            similar: crate::error::similar(name, self.instances().map(|(name, ..)| name)),
        })
    }
}

/// Whether `name` matches `pattern`, in which `*` stands for any run of characters.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((prefix, rest)) => name.strip_prefix(prefix).is_some_and(|tail| {
            (0..=tail.len()).filter(|&at| tail.is_char_boundary(at)).any(|at| matches(rest, &tail[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn repeats_are_named_outermost_first() {
        let spec = ParameterSpec {
            name: "stages.*.blocks.*.up.weight",
            shape: &[4, 2],
            offset: 128,
            repeats: &[(2, 24), (3, 8)],
            init: Init::Zeros,
            trained: true,
        };
        let all: Vec<_> = (0..spec.count()).map(|index| spec.instance(index)).collect();
        assert_eq!(all.len(), 6);
        assert_eq!(all[0], ("stages.0.blocks.0.up.weight".into(), 128));
        assert_eq!(all[2], ("stages.0.blocks.2.up.weight".into(), 144));
        assert_eq!(all[4], ("stages.1.blocks.1.up.weight".into(), 160));
    }

    #[test]
    fn a_star_matches_any_run() {
        assert!(matches("*.bias", "blocks.0.up.bias"));
        assert!(matches("blocks.*.up.*", "blocks.10.up.weight"));
        assert!(matches("*", ""));
        assert!(!matches("*.bias", "bias"));
        assert!(!matches("blocks.*.up", "blocks.1.upper"));
    }
}
