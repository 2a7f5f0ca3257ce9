//! The list of other libraries.
//!
//! In: a text file. Out: the [`Peer`]s in it. Always: a line that is not understood is an error with its number.
//!
//! A line is `name | rows | version | command`. Rows are `W6t=w6`, ours and what the peer calls it, with spaces between.
//! Version is a command that prints one. The last command is run by `sh` with `{threads}` and `{rows}` replaced, and prints
//! `workload,backend,threads,median_us,min_us`.

use std::error::Error;
use std::path::Path;

/// Another library.
pub(super) struct Peer {
    pub(super) name: String,
    rows: Vec<(String, String)>,
    pub(super) version: String,
    pub(super) command: String,
}

impl Peer {
    /// What the peer calls one of our rows, if it has it.
    pub(super) fn name_of(&self, row: &str) -> Option<&str> {
        self.rows.iter().find(|(ours, _)| ours == row).map(|(_, theirs)| theirs.as_str())
    }
}

/// Reads the list.
pub(super) fn read(file: &Path) -> Result<Vec<Peer>, Box<dyn Error>> {
    let text = std::fs::read_to_string(file).map_err(|why| format!("{}: {why}", file.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|(number, line)| {
            let wrong = || format!("{}:{}: not `name | rows | version | command`", file.display(), number + 1);
            let [name, rows, version, command] = line.splitn(4, '|').map(str::trim).collect::<Vec<_>>()[..] else {
                return Err(wrong().into());
            };
            let rows = rows
                .split_whitespace()
                .map(|pair| pair.split_once('=').map(|(ours, theirs)| (ours.into(), theirs.into())).ok_or_else(wrong))
                .collect::<Result<_, _>>()?;
            Ok(Peer { name: name.into(), rows, version: version.into(), command: command.into() })
        })
        .collect()
}
