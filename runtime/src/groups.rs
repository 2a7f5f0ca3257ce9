//! Parameter groups: in come patterns of names and changes to the optimiser's numbers, out come for
//! every step a table of rows and for every 64 elements of the pool the row that updates them. Always:
//! where several groups name a parameter, their changes are made in the order of the groups.

use alloc::{boxed::Box, string::String, vec, vec::Vec};

use crate::{
    device::{GROUPS, NUMBERS_AT},
    error::{Error, Result},
    optim::{self, Optimizer},
    spec::{CHUNK, ModelSpec, matches},
};

/// The longest row of any optimiser.
const MOST_NUMBERS: usize = 8;

type Change<O> = Box<dyn Fn(&mut O) + Send + Sync>;

/// The groups of a trainer and the tables that come from them.
pub(crate) struct Groups<O> {
    groups: Vec<(String, Change<O>)>,
    /// For every row of numbers the groups that make it.
    rows: Vec<Vec<usize>>,
    pub(crate) chunks: Vec<u32>,
    pub(crate) version: u64,
    pub(crate) numbers: Vec<f32>,
}

impl<O: Optimizer> Groups<O> {
    /// One row for all parameters.
    pub(crate) fn new(spec: &ModelSpec) -> Self {
        Groups {
            groups: vec![],
            rows: vec![vec![]],
            chunks: vec![0; spec.pool_len / CHUNK],
            version: 0,
            numbers: vec![0.0; NUMBERS_AT + O::NUMBERS.len() * GROUPS],
        }
    }

    /// The patterns, in order.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(|(pattern, _)| pattern.as_str())
    }

    /// Adds a group; on an error nothing has changed.
    pub(crate) fn add(&mut self, spec: &ModelSpec, pattern: &str, change: Change<O>) -> Result<()> {
        if !spec.trained().any(|instance| matches(pattern, &instance.name)) {
            let similar =
                crate::error::similar(pattern, spec.trained().flat_map(|instance| meant(pattern, instance.name)));
            return Err(Error::UnknownParameter { name: pattern.into(), similar });
        }
        let patterns: Vec<&str> = self.patterns().chain([pattern]).collect();
        let (rows, chunks) = assign(spec, &patterns)?;
        if rows.len() > GROUPS {
            return Err(Error::TooManyGroups { pattern: pattern.into(), most: GROUPS });
        }
        (self.rows, self.chunks, self.version) = (rows, chunks, self.version + 1);
        self.groups.push((pattern.into(), change));
        Ok(())
    }

    /// Writes the numbers of a step, counted from 1.
    ///
    /// # Errors
    /// If a number, as the groups leave it, is none to update parameters by.
    pub(crate) fn fill(&mut self, optimizer: &O, step: u64, key: [u32; 2], skip_nonfinite: bool) -> Result<()> {
        let (settings, numbers) = self.numbers.split_at_mut(NUMBERS_AT);
        settings[0] = f32::from_bits(key[0]);
        settings[1] = f32::from_bits(key[1]);
        settings[2] = optimizer.clip().unwrap_or(f32::INFINITY);
        settings[3] = f32::from_bits(u32::from(skip_nonfinite));
        for (at, groups) in self.rows.iter().enumerate() {
            let mut optimizer = optimizer.clone();
            for &group in groups {
                (self.groups[group].1)(&mut optimizer);
            }
            if let Some((number, value, demand)) = optim::unfit(&mut optimizer) {
                let patterns = groups.iter().map(|&group| self.groups[group].0.clone()).collect();
                return Err(Error::Optimizer { optimizer: O::NAME, number, value, demand, patterns });
            }
            let mut row = [0.0; MOST_NUMBERS];
            let row = &mut row[..O::NUMBERS.len()];
            optimizer.row(step, row);
            for (column, &number) in numbers.chunks_exact_mut(GROUPS).zip(&*row) {
                column[at] = number;
            }
        }
        Ok(())
    }
}

/// The distinct sets of groups that parameters belong to, and the set of every chunk.
fn assign(spec: &ModelSpec, patterns: &[&str]) -> Result<(Vec<Vec<usize>>, Vec<u32>)> {
    let mut rows: Vec<Vec<usize>> = vec![vec![]];
    let mut chunks = vec![0; spec.pool_len / CHUNK];
    let mut before: Option<(usize, u32, String)> = None;
    for crate::spec::Instance { name, spec: parameter, offset, .. } in
        spec.trained().filter(|instance| !instance.spec.is_empty())
    {
        let set: Vec<usize> = (0..patterns.len()).filter(|&at| matches(patterns[at], &name)).collect();
        let row = rows.iter().position(|row| *row == set).unwrap_or_else(|| {
            rows.push(set.clone());
            rows.len() - 1
        });
        let (first, last) = (offset / CHUNK, (offset + parameter.len() - 1) / CHUNK);
        if let Some((_, other, neighbour)) = before.filter(|(chunk, other, _)| *chunk == first && *other != row as u32)
        {
            let separates = |&at: &usize| set.contains(&at) != rows[other as usize].contains(&at);
            let pattern = (0..patterns.len()).find(separates).map_or("", |at| patterns[at]);
            return Err(Error::Group { pattern: pattern.into(), parameter: name, neighbour });
        }
        chunks[first..=last].fill(row as u32);
        before = Some((last, row as u32, name));
    }
    Ok((rows, chunks))
}

/// What a pattern that matches nothing may mean of a name: the name, or one with its own fields in the place of those
/// before or behind the first `*`.
fn meant(pattern: &str, name: String) -> Vec<String> {
    let Some((before, behind)) = pattern.split_once('*') else { return vec![name] };
    let dots = |text: &str| text.matches('.').count();
    let fields: Vec<&str> = name.split('.').collect();
    let (first, last) = (dots(before).min(fields.len()), dots(behind).min(fields.len()));
    let with_first = format!("{}.*{behind}", fields[..first].join("."));
    let with_last = format!("{before}*.{}", fields[fields.len() - last..].join("."));
    [with_first, with_last].into_iter().filter(|pattern| matches(pattern, &name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{init::Init, optim::AdamW, spec::ParameterSpec};
    use alloc::string::ToString;

    const fn parameter(
        name: &'static str,
        shape: &'static [usize],
        offset: usize,
        repeats: &'static [(usize, usize)],
    ) -> ParameterSpec {
        ParameterSpec::new(name, shape, offset, repeats, Init::Zeros)
    }

    static SPEC: ModelSpec = ModelSpec {
        name: "Net",
        parameters: &[
            parameter("blocks.*.weight", &[10, 10], 0, &[(2, 128)]),
            parameter("blocks.*.bias", &[10], 256, &[(2, 10)]),
            parameter("head.weight", &[64], 320, &[]),
        ],
        pool_len: 384,
        states: &[],
        session: &[],
    };

    #[test]
    fn changes_of_several_groups_are_made_in_order() {
        let mut groups = Groups::<AdamW>::new(&SPEC);
        groups.add(&SPEC, "*.bias", Box::new(|o| o.decay = 0.0)).unwrap();
        groups.add(&SPEC, "blocks.*", Box::new(|o| o.rate *= 0.5)).unwrap();
        groups.fill(&AdamW { rate: 1.0, clip: Some(2.5), ..AdamW::default() }, 1, [7, 8], true).unwrap();
        assert_eq!(groups.numbers[..5].iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [7, 8, 2.5f32.to_bits(), 1, 0]);
        assert_eq!(groups.chunks, [1, 1, 1, 1, 2, 0]);
        let row = |index: usize| (groups.numbers[NUMBERS_AT + index], groups.numbers[NUMBERS_AT + 4 * GROUPS + index]);
        assert_eq!((row(0), row(1), row(2)), ((1.0, 0.01), (0.5, 0.01), (0.5, 0.0)));
    }

    #[test]
    fn parameters_of_one_chunk_are_not_separated() {
        let mut groups = Groups::<AdamW>::new(&SPEC);
        let error = groups.add(&SPEC, "blocks.1.*", Box::new(|_| ())).unwrap_err();
        assert_eq!(
            error.to_string(),
            "group `blocks.1.*` separates `blocks.1.bias` from `blocks.0.bias`, but the two share 64 numbers and are updated together"
        );
        assert_eq!((groups.patterns().count(), groups.version), (0, 0));
        groups.add(&SPEC, "blocks.1.weight", Box::new(|_| ())).unwrap();
        assert_eq!(groups.chunks, [0, 0, 1, 1, 0, 0]);
    }

    #[test]
    fn a_pattern_that_names_nothing_is_an_error() {
        let mut groups = Groups::<AdamW>::new(&SPEC);
        let error = groups.add(&SPEC, "head.wieght", Box::new(|_| ())).unwrap_err();
        assert_eq!(error.to_string(), "no parameter is named `head.wieght`; did you mean `head.weight`?");
        for (pattern, meant) in [("*.bais", "*.bias"), ("block.*", "blocks.*"), ("blocks.*.wieght", "blocks.*.weight")]
        {
            let error = groups.add(&SPEC, pattern, Box::new(|_| ())).unwrap_err();
            assert_eq!(error.to_string(), format!("no parameter is named `{pattern}`; did you mean `{meant}`?"));
        }
    }
}
