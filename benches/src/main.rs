//! Benchmarks: `cargo run --release -p benches -- W1,W2f --threads 2`; without words it says what there is.
//!
//! In: the command line ([`command`]). Out: the measurements that it asks for. Always: all of them are of ordinary programs
//! of the model language or of single parts of the runtime; the compiler knows none of them.

mod accuracy;
mod allocations;
mod command;
mod compare;
#[cfg(feature = "gpu")]
mod gpu;
mod measure;
mod rows;
#[cfg(feature = "search")]
mod search;
mod tables;
mod workloads;

use command::Command;

fn main() {
    let done = command::read().and_then(|command| match command {
        Command::Rows(rows) => rows::run(&rows),
        #[cfg(feature = "gpu")]
        Command::Gpu(wanted) => gpu::run(&wanted),
        #[cfg(feature = "gpu")]
        Command::Start(start) => start.run(),
        Command::Compare(rows, peers) => compare::run(&rows, &peers),
        #[cfg(feature = "search")]
        Command::Search(rows, wanted) => search::run(&rows, &wanted),
        Command::Accuracy(workloads) => {
            accuracy::run(&workloads.iter().map(|workload| workload.name).collect::<Vec<_>>())
        }
        Command::Table(table, part) => {
            table(&part);
            Ok(())
        }
        Command::Help => {
            print!("{}", command::usage());
            Ok(())
        }
    });
    if let Err(why) = done {
        eprintln!("{why}");
        std::process::exit(1);
    }
}
