//! What was found, as Markdown.
//!
//! In: samples. Out: a table with one line for each row that we have. Always: a cell is the median of the turns that hold, in
//! which ours and ours again are at most [`APART`], or of all turns where none does.

use super::{AGAIN, APART, ENOUGH, OURS, Sample};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

const BEGIN: &str = "<!-- measured -->";
const END: &str = "<!-- end -->";

/// What was measured of one row.
#[derive(Default)]
struct Row<'s> {
    /// Ours and ours again, turn by turn.
    ours: Vec<(usize, f64)>,
    again: Vec<(usize, f64)>,
    /// The others, by name and threads.
    others: BTreeMap<(&'s str, usize), Vec<(usize, f64)>>,
}

impl Row<'_> {
    /// The turns that hold.
    fn held(&self) -> Vec<usize> {
        let pairs = self.ours.iter().zip(&self.again);
        pairs
            .filter(|((_, ours), (_, again))| (again / ours - 1.0).abs() <= APART)
            .map(|((turn, _), _)| *turn)
            .collect()
    }
}

fn rows(samples: &[Sample]) -> BTreeMap<&str, Row<'_>> {
    let mut rows: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for Sample { row, backend, threads, median, turn } in samples {
        let row = rows.entry(row).or_default();
        let times = match backend.as_str() {
            OURS => &mut row.ours,
            AGAIN => &mut row.again,
            name => row.others.entry((name, *threads)).or_default(),
        };
        times.push((*turn, *median));
    }
    rows.retain(|_, row| !row.ours.is_empty());
    rows
}

/// Whether every row that others have too has as many turns that hold as are [`ENOUGH`].
pub(super) fn holds(samples: &[Sample]) -> bool {
    rows(samples).values().all(|row| row.others.is_empty() || row.held().len() >= ENOUGH)
}

/// The table.
pub(super) fn of(samples: &[Sample]) -> String {
    let mut text = String::from(
        "| row | ours, µs | again | turns that hold | best other | its µs | ours ÷ best | all others, µs (threads) |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (name, row) in rows(samples) {
        let held = row.held();
        let counts = |turn: usize| held.is_empty() || held.contains(&turn);
        let (Some(ours), Some(again)) = (median(&row.ours, counts), median(&row.again, counts)) else { continue };
        // What was too slow for more turns than the first one is told of, but is not the best.
        let mut others: Vec<_> =
            row.others.iter().filter_map(|(key, times)| Some((median(times, counts)?, key))).collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (best_name, best, ratio) = match others.first() {
            Some((best, (name, threads))) => {
                (format!("{name} ({threads})"), number(*best), format!("**{:.2}**", ours / best))
            }
            None => ("–".into(), "–".into(), "–".into()),
        };
        let slow = row.others.iter().filter(|(_, times)| median(times, counts).is_none());
        others.extend(slow.filter_map(|(key, times)| Some((median(times, |_| true)?, key))));
        let all: Vec<_> =
            others.iter().map(|(time, (name, threads))| format!("{name} {} ({threads})", number(*time))).collect();
        let (again, turns, all) = (again / ours, format!("{} of {}", held.len(), row.ours.len()), all.join(", "));
        text +=
            &format!("| {name} | {} | {again:.3} | {turns} | {best_name} | {best} | {ratio} | {all} |\n", number(ours));
    }
    text
}

/// The median over the turns that count, if there is any.
fn median(times: &[(usize, f64)], counts: impl Fn(usize) -> bool) -> Option<f64> {
    let mut times: Vec<f64> = times.iter().filter(|(turn, _)| counts(*turn)).map(|(_, time)| *time).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

/// Three digits.
fn number(time: f64) -> String {
    match time {
        0.0..10.0 => format!("{time:.2}"),
        10.0..100.0 => format!("{time:.1}"),
        _ => format!("{time:.0}"),
    }
}

/// Puts a text between the marks of a page.
pub(super) fn replace(page: &Path, text: &str) -> Result<(), Box<dyn Error>> {
    let old = std::fs::read_to_string(page)?;
    let (Some(from), Some(to)) = (old.find(BEGIN), old.find(END)) else {
        return Err(format!("{} has no `{BEGIN}` before `{END}`", page.display()).into());
    };
    std::fs::write(page, format!("{}{BEGIN}\n{text}{}", &old[..from], &old[to..]))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(backend: &str, turn: usize, median: f64) -> Sample {
        Sample { row: "W1".into(), backend: backend.into(), threads: 2, median, turn }
    }

    /// Ours, another and ours again in a turn.
    fn turn(turn: usize, [ours, other, again]: [f64; 3]) -> [Sample; 3] {
        [sample(OURS, turn, ours), sample("other", turn, other), sample(AGAIN, turn, again)]
    }

    #[test]
    fn only_turns_that_hold_count() {
        let mut samples: Vec<Sample> = turn(0, [30.0, 20.0, 10.0]).into();
        samples.push(sample("slow", 0, 90.0));
        assert!(of(&samples).contains("| W1 | 30.0 | 0.333 | 0 of 1 | other (2) | 20.0 | **1.50** |"), "none holds");
        samples.extend(turn(1, [10.0, 20.0, 10.1]));
        let table = of(&samples);
        assert!(table.contains("| W1 | 10.0 | 1.010 | 1 of 2 | other (2) | 20.0 | **0.50** |"), "{table}");
        assert!(table.contains("slow 90.0 (2)"), "what was slow in the first turn is told of: {table}");
    }

    #[test]
    fn enough_turns_must_hold_in_each_row_that_others_have() {
        let mut samples: Vec<Sample> = vec![];
        for number in 0..ENOUGH {
            assert_eq!(samples.is_empty(), holds(&samples), "after {number} turns");
            samples.extend(turn(number, [10.0, 20.0, 9.9]));
        }
        assert!(holds(&samples));
        samples.push(Sample { row: "alone".into(), ..sample(OURS, 0, 1.0) });
        assert!(holds(&samples), "nobody else has this row");
    }
}
