//! What the compiler says about a model's parameters: names, shapes, places, initial values.
//! Always: one specification per declared parameter, so nothing here grows with the depth of a
//! repeated block; places are counted in elements of the model's float type, whatever it is; stacks
//! start on boundaries of 64 elements, and the elements between them are zero.

use alloc::{format, string::String, vec::Vec};

use crate::{
    bind::Dim,
    float::Float,
    init::Init,
    quantized::{self, Quantized},
    state::StateSpec,
};

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
    /// Where the stack starts, in elements of its own type, a multiple of [`CHUNK`].
    pub offset: usize,
    /// For every `*`, outermost first, how many there are and how many elements lie between two.
    pub repeats: &'static [(usize, usize)],
    /// What each turn of the innermost repeat is called instead of its index, where it is a run of layers of a file.
    pub turns: &'static [&'static str],
    /// How values are drawn at first.
    pub init: Init,
    /// Of a parameter that is stored as integers of 8 bits, the number of the parameter that holds its scales: one for each
    /// index of the first axis.
    pub scales: Option<u32>,
    /// Whether the optimiser updates it. Companions, such as running statistics, are changed by what
    /// a step computes and have no gradient.
    pub trained: bool,
}

impl ParameterSpec {
    /// One that the optimiser updates, with floats.
    pub const fn new(
        name: &'static str,
        shape: &'static [usize],
        offset: usize,
        repeats: &'static [(usize, usize)],
        init: Init,
    ) -> Self {
        ParameterSpec { name, shape, offset, repeats, turns: &[], init, scales: None, trained: true }
    }

    /// The same where all values are zero at first, as are those that a file gives.
    pub const fn zeros(
        name: &'static str,
        shape: &'static [usize],
        offset: usize,
        repeats: &'static [(usize, usize)],
    ) -> Self {
        ParameterSpec::new(name, shape, offset, repeats, Init::Zeros)
    }

    /// The same with a name for each turn of the innermost repeat.
    pub const fn of_turns(self, turns: &'static [&'static str]) -> Self {
        ParameterSpec { turns, ..self }
    }

    /// The same as integers, with the number of the parameter that holds their scales.
    pub const fn with_scales(self, scales: u32) -> Self {
        ParameterSpec { scales: Some(scales), ..self }
    }

    /// The same as a companion.
    pub const fn untrained(self) -> Self {
        ParameterSpec { trained: false, ..self }
    }

    /// The number of values of one parameter.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The element type in files of a model of this type: PyTorch counts the batches of a batch norm in integers.
    pub(crate) fn stored<T: Float>(&self) -> &'static str {
        let counts = !self.trained && self.name.rsplit('.').next() == Some("num_batches_tracked");
        match self.scales {
            Some(_) => "I8",
            None if counts => "I64",
            None => T::DTYPE,
        }
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
                match self.turns.get(rest / below).filter(|_| repeats.len() == 0) {
                    Some(turn) => name.push_str(turn),
                    None => name.push_str(&format!("{}", rest / below)),
                }
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
        T::words(self.pool_len)
    }

    /// Every parameter.
    pub(crate) fn instances(&self) -> impl Iterator<Item = Instance> + use<> {
        let all = self.parameters;
        (0..all.len()).flat_map(move |number| instances(all, number))
    }

    /// Every parameter of the stack of that number.
    pub(crate) fn instances_of(&self, number: usize) -> impl Iterator<Item = Instance> + use<> {
        instances(self.parameters, number)
    }

    /// Every parameter that the optimiser updates.
    pub(crate) fn trained(&self) -> impl Iterator<Item = Instance> + use<> {
        self.instances().filter(|instance| instance.spec.trained)
    }

    /// The parameter with this full name.
    pub(crate) fn find(&self, name: &str) -> crate::Result<Instance> {
        let found = self.instances().find(|instance| instance.name == name);
        found.ok_or_else(|| crate::Error::UnknownParameter {
            name: name.into(),
            similar: crate::error::similar(name, self.instances().map(|instance| instance.name)),
        })
    }

    /// The parameter with this full name, whose values are floats.
    pub(crate) fn find_whole(&self, name: &str) -> crate::Result<Instance> {
        let found = self.find(name)?;
        match found.scales {
            None => Ok(found),
            Some(_) => Err(crate::Error::Quantized { name: name.into() }),
        }
    }
}

fn instances(all: &'static [ParameterSpec], number: usize) -> impl Iterator<Item = Instance> {
    let spec = &all[number];
    let scales = spec.scales.map(|number| &all[number as usize]);
    (0..spec.count()).map(move |index| {
        let (name, offset) = spec.instance(index);
        let scales = scales.map(|scales| scales.instance(index)).map(|(name, offset)| Scales { name, offset });
        Instance { name, spec, offset, scales }
    })
}

/// A parameter: one of those of a stack.
pub(crate) struct Instance {
    /// The full name.
    pub(crate) name: String,
    pub(crate) spec: &'static ParameterSpec,
    /// Where it is in the pool, in elements of its own type.
    pub(crate) offset: usize,
    /// Its scales, if it is stored as integers of 8 bits.
    pub(crate) scales: Option<Scales>,
}

/// The parameter that holds the scales of another one.
pub(crate) struct Scales {
    /// The full name.
    pub(crate) name: String,
    /// Where it is in the pool, in words.
    pub(crate) offset: usize,
}

impl Instance {
    /// Its values in a pool of floats.
    pub(crate) fn values<'w, T: Float>(&self, words: &'w [f32]) -> &'w [T] {
        &T::of_words(words)[self.offset..][..self.spec.len()]
    }

    /// The same, to be written.
    pub(crate) fn values_mut<'w, T: Float>(&self, words: &'w mut [f32]) -> &'w mut [T] {
        &mut T::of_words_mut(words)[self.offset..][..self.spec.len()]
    }

    /// The indices of its first axis: as many as there are scales, if it is stored as integers.
    pub(crate) fn rows(&self) -> usize {
        self.spec.shape.first().copied().unwrap_or(1)
    }

    /// Its integers and scales, if it is stored so.
    pub(crate) fn quantized<'w>(&self, words: &'w [f32]) -> Option<Quantized<'w>> {
        let (codes, scales): (&[i8], &Scales) = (bytemuck::cast_slice(words), self.scales.as_ref()?);
        let scales = &words[scales.offset..][..self.rows()];
        Some(Quantized { codes: &codes[self.offset..][..self.spec.len()], scales })
    }

    /// The bytes of its integers, if it is stored so, to be written.
    pub(crate) fn codes_mut<'w>(&self, words: &'w mut [f32]) -> &'w mut [u8] {
        &mut bytemuck::cast_slice_mut(words)[self.offset..][..self.spec.len()]
    }

    /// The integers and scales of values, where it is stored as such. An error is a number that has none.
    pub(crate) fn quantize<T: Float>(&self, values: &[T]) -> Result<(Vec<i8>, Vec<f32>), f32> {
        let values: Vec<f32> = values.iter().map(|value| value.to_f64() as f32).collect();
        quantized::quantize(&values, self.rows())
    }

    /// Overwrites its integers, if it is stored so, and their `scales` with those of values. An error is a number that has none.
    pub(crate) fn write<T: Float>(&self, scales: &Scales, words: &mut [f32], values: &[T]) -> Result<(), f32> {
        let (codes, factors) = self.quantize(values)?;
        self.codes_mut(words).copy_from_slice(bytemuck::cast_slice(&codes));
        words[scales.offset..][..factors.len()].copy_from_slice(&factors);
        Ok(())
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

    #[test]
    fn repeats_are_named_outermost_first() {
        let name = "stages.*.blocks.*.up.weight";
        let spec = ParameterSpec::new(name, &[4, 2], 128, &[(2, 24), (3, 8)], Init::Zeros);
        let all: Vec<_> = (0..spec.count()).map(|index| spec.instance(index)).collect();
        assert_eq!(all.len(), 6);
        assert_eq!(all[0], ("stages.0.blocks.0.up.weight".into(), 128));
        assert_eq!(all[2], ("stages.0.blocks.2.up.weight".into(), 144));
        assert_eq!(all[4], ("stages.1.blocks.1.up.weight".into(), 160));
    }

    #[test]
    fn turns_have_names_of_their_own() {
        let spec =
            ParameterSpec::new("stages.*.body.*", &[4], 64, &[(2, 8), (2, 4)], Init::Zeros).of_turns(&["a.w", "b.w"]);
        let all: Vec<_> = (0..spec.count()).map(|index| spec.instance(index)).collect();
        assert_eq!(all[1], ("stages.0.body.b.w".into(), 68));
        assert_eq!(all[2], ("stages.1.body.a.w".into(), 72));
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
