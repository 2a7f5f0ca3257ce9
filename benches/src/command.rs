//! The command line.
//!
//! In: the words of the command. Out: a [`Command`]. Always: what is not understood is an error with the usage.

#[cfg(feature = "gpu")]
use crate::gpu;
#[cfg(feature = "search")]
use crate::search;
use crate::tables::TABLES;
use crate::workloads::{self, Workload};
use lexopt::{Arg, Parser, ValueExt};
#[cfg(feature = "search")]
use precast::__rt::machine::Machine;
use std::error::Error;
use std::path::PathBuf;

/// What is asked for.
pub(crate) enum Command {
    /// Workloads, measured in this process.
    Rows(Rows),
    /// Rows of a GPU.
    #[cfg(feature = "gpu")]
    Gpu(gpu::Wanted),
    /// The first step of a process: one of those that `gpu:start` measures.
    #[cfg(feature = "gpu")]
    Start(gpu::Start),
    /// Workloads, ours and those of others in turns.
    Compare(Rows, Peers),
    /// Workloads, by which what drivers suppose of the machine is searched.
    #[cfg(feature = "search")]
    Search(Rows, Search),
    /// The errors of workloads.
    Accuracy(Vec<&'static Workload>),
    /// A part of networks.
    Table(fn(&Part), Part),
    /// What there is.
    Help,
}

/// Which workloads, and how.
pub(crate) struct Rows {
    pub(crate) workloads: Vec<&'static Workload>,
    pub(crate) threads: usize,
    /// Seconds of measuring for each workload.
    pub(crate) seconds: f64,
}

/// Whom to compare with.
pub(crate) struct Peers {
    /// The list of their commands.
    pub(crate) file: PathBuf,
    /// Most turns of a workload: it has another one until ours and ours again agree.
    pub(crate) turns: usize,
    /// The page whose table is replaced.
    pub(crate) page: Option<PathBuf>,
}

/// How to search.
#[cfg(feature = "search")]
pub(crate) struct Search {
    /// Where to start.
    pub(crate) from: Machine,
    /// Turns of each candidate.
    pub(crate) turns: usize,
    /// Only numbers with one of these names, or all.
    pub(crate) only: Vec<String>,
}

/// What of a table is shown.
pub(crate) struct Part {
    pub(crate) threads: usize,
    /// Only lines whose names contain this.
    pub(crate) only: String,
    /// Only instruction sets whose names contain this.
    pub(crate) isa: String,
}

/// What each way of calling prints, and how.
pub(crate) fn usage() -> String {
    let mut text = String::from(
        "benches ROWS [--threads N] [--seconds S]\n\
         benches compare ROWS [--threads N] [--seconds S] [--turns N] [--peers FILE] [--page FILE]\n\
         benches search ROWS [--threads N] [--seconds S] [--turns N] [--only NAMES] [--machine NAME=N,…]\n\
         benches accuracy ROWS\n\
         benches GPU-ROWS [--adapter NAME] [--seconds S] [--only NAME] [--batch N] [--rows N] [--kernels N]\n\
         benches start mlp|gpt [--adapter NAME] [--batch N] [--cache DIRECTORY]\n\
         benches TABLE [--threads N] [--only NAME] [--isa NAME]\n\nROWS are names with commas between, or all:\n",
    );
    for workload in workloads::ALL {
        text += &format!("  {:<10} {}\n", workload.name, workload.what);
    }
    #[cfg(feature = "gpu")]
    {
        text += &gpu::usage();
    }
    text += "\nTABLE is one of:\n";
    for (name, what, _) in TABLES {
        text += &format!("  {name:<10} {what}\n");
    }
    text
}

/// What the options say.
struct Options {
    threads: usize,
    seconds: f64,
    turns: usize,
    peers: PathBuf,
    page: Option<PathBuf>,
    only: String,
    isa: String,
    #[cfg(feature = "search")]
    machine: Machine,
    #[cfg(feature = "gpu")]
    on_gpu: gpu::Options,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 1,
            seconds: 1.0,
            turns: 5,
            peers: PathBuf::from("benches/peers.txt"),
            page: None,
            only: String::new(),
            isa: String::new(),
            #[cfg(feature = "search")]
            machine: Machine::SUPPOSED,
            #[cfg(feature = "gpu")]
            on_gpu: gpu::Options::default(),
        }
    }
}

/// Reads the command line.
pub(crate) fn read() -> Result<Command, Box<dyn Error>> {
    let mut parser = Parser::from_env();
    let (mut words, mut options) = (vec![], Options::default());
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("threads") => options.threads = parser.value()?.parse()?,
            Arg::Long("seconds") => options.seconds = parser.value()?.parse()?,
            Arg::Long("turns") => options.turns = parser.value()?.parse()?,
            Arg::Long("peers") => options.peers = parser.value()?.into(),
            Arg::Long("page") => options.page = Some(parser.value()?.into()),
            Arg::Long("only") => options.only = parser.value()?.string()?,
            Arg::Long("isa") => options.isa = parser.value()?.string()?,
            #[cfg(feature = "search")]
            Arg::Long("machine") => options.machine = search::read(&parser.value()?.string()?)?,
            #[cfg(feature = "gpu")]
            Arg::Long(name @ ("adapter" | "batch" | "rows" | "kernels" | "cache")) => {
                let name = name.to_owned();
                options.on_gpu.read(&name, parser.value()?)?;
            }
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Value(word) => words.push(word.string()?),
            Arg::Long(_) | Arg::Short(_) => return Err(format!("{}\n\n{}", argument.unexpected(), usage()).into()),
        }
    }
    // The process that searches computes nothing itself.
    #[cfg(feature = "search")]
    if words.first().is_none_or(|word| word != "search") {
        search::set(options.machine)?;
    }
    command(&words.iter().map(String::as_str).collect::<Vec<_>>(), options)
}

fn command(words: &[&str], options: Options) -> Result<Command, Box<dyn Error>> {
    let Options { threads, seconds, only, .. } = options;
    match *words {
        [] => Ok(Command::Help),
        ["accuracy", names] => Ok(Command::Accuracy(named(names)?)),
        #[cfg(not(feature = "cliffs"))]
        ["cliffs"] => Err("`cliffs` needs its models: `cargo run --release -p benches --features cliffs`".into()),
        #[cfg(not(feature = "search"))]
        ["search", _] => Err("`search` needs its feature: `cargo run --release -p benches --features search`".into()),
        #[cfg(feature = "search")]
        ["search", names] => {
            let only = only.split(',').filter(|name| !name.is_empty()).map(String::from).collect();
            Ok(Command::Search(
                Rows { workloads: named(names)?, threads, seconds },
                Search { from: options.machine, turns: options.turns, only },
            ))
        }
        ["compare", names] => Ok(Command::Compare(
            Rows { workloads: named(names)?, threads, seconds },
            Peers { file: options.peers, turns: options.turns, page: options.page },
        )),
        #[cfg(not(feature = "gpu"))]
        [names] if names.starts_with("gpu:") => {
            Err("rows of a GPU need their feature: `cargo run --release -p benches --features gpu`".into())
        }
        #[cfg(feature = "gpu")]
        ["start", network] => Ok(Command::Start(gpu::Start::new(network, options.on_gpu)?)),
        #[cfg(feature = "gpu")]
        [names] if names.starts_with("gpu:") => {
            let rows = gpu::named(names)?;
            Ok(Command::Gpu(gpu::Wanted { rows, seconds, only, options: options.on_gpu }))
        }
        [name] => match TABLES.iter().find(|table| table.0 == name) {
            Some(table) => Ok(Command::Table(table.2, Part { threads, only, isa: options.isa })),
            None => Ok(Command::Rows(Rows { workloads: named(name)?, threads, seconds })),
        },
        [..] => Err(format!("too many words\n\n{}", usage()).into()),
    }
}

fn named(names: &str) -> Result<Vec<&'static Workload>, Box<dyn Error>> {
    if names == "all" {
        return Ok(workloads::ALL.iter().collect());
    }
    let find = |name: &str| workloads::ALL.iter().find(|workload| workload.name.eq_ignore_ascii_case(name));
    names.split(',').map(|name| find(name).ok_or_else(|| format!("no `{name}`\n\n{}", usage()).into())).collect()
}
