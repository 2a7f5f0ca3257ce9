//! What was found, as Markdown.
//!
//! In: samples. Out: a table with one line for each row that we have. Always: a cell is the median of the rounds' medians.

use super::{AGAIN, OURS, Sample};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

const BEGIN: &str = "<!-- measured -->";
const END: &str = "<!-- end -->";

/// The table.
pub(super) fn of(samples: &[Sample]) -> String {
    let mut rows: BTreeMap<&str, BTreeMap<(&str, usize), Vec<f64>>> = BTreeMap::new();
    for sample in samples {
        let cells = rows.entry(&sample.row).or_default();
        cells.entry((&sample.backend, sample.threads)).or_default().push(sample.median);
    }
    let mut text = String::from(
        "| row | ours, µs | again | best other | its µs | ours ÷ best | all others, µs (threads) |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for (row, mut cells) in rows {
        let mut take = |name| cells.extract_if(.., |key, _| key.0 == name).map(|(_, times)| median(times)).next();
        let (Some(ours), Some(again)) = (take(OURS), take(AGAIN)) else { continue };
        let mut others: Vec<_> = cells.into_iter().map(|(key, times)| (median(times), key)).collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (name, best, ratio) = match others.first() {
            Some((best, (name, threads))) => {
                (format!("{name} ({threads})"), number(*best), format!("**{:.2}**", ours / best))
            }
            None => ("–".into(), "–".into(), "–".into()),
        };
        let all: Vec<_> =
            others.iter().map(|(time, (name, threads))| format!("{name} {} ({threads})", number(*time))).collect();
        let all = all.join(", ");
        text += &format!("| {row} | {} | {:.3} | {name} | {best} | {ratio} | {all} |\n", number(ours), again / ours);
    }
    text
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
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
