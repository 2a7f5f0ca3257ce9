//! Schedules to text and back.

use super::datum::{Datum, Fields, Read};
use super::programs::word_of;
use crate::ir::Dim;
use crate::ir::algorithm::Algorithm;
use crate::ir::precision::{Factor, Precision};
use crate::ir::prim::Scalar;
use crate::ir::schedule::{Block, Buffered, Prefetch, Rows, Schedule, Threads, Unroll};
use crate::ir::workgroup::{Grid, Heads, Tile, Workgroup};

type Parsed<T> = Result<T, String>;

fn field(key: &str, value: Datum) -> (String, Datum) {
    (key.to_owned(), value)
}

fn record<const N: usize>(fields: [(&str, Datum); N]) -> Datum {
    Datum::Record(fields.into_iter().map(|(key, value)| field(key, value)).collect())
}

fn atom(letter: char, number: usize) -> Datum {
    Datum::word(&format!("{letter}{number}"))
}

fn number(n: usize) -> Datum {
    Datum::number(n as i64)
}

fn yes() -> Datum {
    Datum::Scalar(Scalar::Bool(true))
}

/// The fields of the line `schedule`.
pub(super) fn print(schedule: &Schedule) -> Fields {
    let mut fields = vec![];
    fields.extend(schedule.vector.map(|axis| field("vector", atom('i', axis))));
    if !schedule.streamed.is_empty() {
        fields.push(field("streamed", Datum::numbers(schedule.streamed.iter().copied())));
    }
    if !schedule.algorithms.is_empty() {
        let names = schedule.algorithms.iter().map(|algorithm| Datum::word(algorithm.name()));
        fields.push(field("algorithms", Datum::List(names.collect())));
    }
    fields.extend(schedule.packed_once.then(|| field("packed_once", yes())));
    fields.extend(schedule.plain_sources.map(|sources| field("plain_sources", number(sources))));
    if let Some((factor, precision)) = schedule.narrow {
        fields.push(field(factor.name(), Datum::word(precision.name())));
    }
    fields
}

/// The fields of the line `workgroup`.
pub(super) fn print_workgroup(workgroup: Option<Workgroup>) -> Fields {
    let numbers = |list: &[u32]| Datum::numbers(list.iter().map(|&n| n as usize));
    let of = |key: &str, n: u32| field(key, number(n as usize));
    let chain = |chain: Option<u32>| chain.map(|n| of("chain", n));
    match workgroup {
        None => vec![],
        Some(Workgroup::Grid(grid)) => {
            let cooperative = grid.cooperative.then(|| field("cooperative", yes()));
            [of("grid", grid.invocations)].into_iter().chain(cooperative).chain(chain(grid.chain)).collect()
        }
        Some(Workgroup::Tile(tile)) => {
            let sides = field("tile", numbers(&[tile.rows, tile.columns, tile.depth]));
            let slices = (tile.slices > 1).then(|| of("slices", tile.slices));
            [sides, field("cell", numbers(&tile.cell))].into_iter().chain(slices).chain(chain(tile.chain)).collect()
        }
        Some(Workgroup::Attend(heads)) => {
            [of("heads", heads.invocations)].into_iter().chain(heads.met.map(|met| of("met", met))).collect()
        }
    }
}

/// The fields of the line `rows`.
pub(super) fn print_rows(rows: &Rows) -> Fields {
    let mut fields = vec![];
    if let Some(Threads { axis, slots, work }) = &rows.threads {
        let words =
            |(slot, words): &(usize, Dim)| record([("slot", atom('s', *slot)), ("words", Datum::Dim(words.clone()))]);
        let parts = Datum::List(slots.iter().map(words).collect());
        fields.push(field(
            "threads",
            record([("axis", atom('i', *axis)), ("parts", parts), ("work", Datum::Dim(work.clone()))]),
        ));
    }
    fields.extend((rows.unroll != Unroll::One).then(|| field("unroll", number(rows.unroll.vectors()))));
    let block = |b: &Block| record([("pass", number(b.pass)), ("axis", atom('i', b.axis)), ("turns", number(b.turns))]);
    let buffer = |b: &Buffered| record([("scalar", atom('v', b.scalar)), ("pass", number(b.pass))]);
    let prefetch = |p: &Prefetch| record([("load", atom('v', p.load)), ("distance", Datum::Dim(p.distance.clone()))]);
    let lists: [(&str, Vec<Datum>); 3] = [
        ("blocks", rows.blocks.iter().map(block).collect()),
        ("buffers", rows.buffers.iter().map(buffer).collect()),
        ("prefetches", rows.prefetches.iter().map(prefetch).collect()),
    ];
    fields.extend(
        lists.into_iter().filter(|(_, list)| !list.is_empty()).map(|(key, list)| field(key, Datum::List(list))),
    );
    fields.extend(rows.pipelined.then(|| field("pipelined", yes())));
    fields
}

/// A schedule without its rows.
pub(super) fn parse(read: &Read<'_>) -> Parsed<Schedule> {
    read.only(&["vector", "streamed", "algorithms", "packed_once", "plain_sources", "left", "right"])?;
    let has = |key: &str| read.find(key).is_some();
    let mut schedule = Schedule { packed_once: has("packed_once"), ..Schedule::default() };
    schedule.vector = read.find("vector").map(|_| word_of(&read.word("vector")?, 'i')).transpose()?;
    if read.find("plain_sources").is_some() {
        schedule.plain_sources = Some(read.index("plain_sources")?);
    }
    if read.find("streamed").is_some() {
        schedule.streamed = read.indices("streamed")?;
    }
    if read.find("algorithms").is_some() {
        let named = |datum: &Datum| match datum {
            Datum::Dim(word) => Algorithm::from_name(word.as_name()?),
            _ => None,
        };
        schedule.algorithms = read.list("algorithms", named)?;
    }
    for factor in [Factor::Left, Factor::Right] {
        if read.find(factor.name()).is_some() {
            let word = read.word(factor.name())?;
            let precision = Precision::from_name(&word).ok_or_else(|| format!("`{word}` is no precision"))?;
            schedule.narrow = Some((factor, precision));
        }
    }
    Ok(schedule)
}

/// How a kernel runs on a GPU.
pub(super) fn parse_workgroup(read: &Read<'_>) -> Parsed<Workgroup> {
    read.only(&["grid", "cooperative", "tile", "cell", "slices", "chain", "heads", "met"])?;
    let has = |key: &str| read.find(key).is_some();
    let optional = |key: &str| if has(key) { read.index(key).map(|n| Some(n as u32)) } else { Ok(None) };
    let chain = optional("chain")?;
    if let Some(invocations) = optional("grid")? {
        return Ok(Workgroup::Grid(Grid { invocations, cooperative: has("cooperative"), chain }));
    }
    if let Some(invocations) = optional("heads")? {
        return Ok(Workgroup::Attend(Heads { invocations, met: optional("met")? }));
    }
    let numbers = |key: &str| Ok::<_, String>(read.indices(key)?.into_iter().map(|n| n as u32).collect::<Vec<_>>());
    let [rows, columns, depth] = numbers("tile")?.try_into().map_err(|_| "a tile has three extents")?;
    let cell = numbers("cell")?.try_into().map_err(|_| "a cell has two extents")?;
    let slices = optional("slices")?.unwrap_or(1);
    Ok(Workgroup::Tile(Tile { rows, columns, depth, cell, slices, chain }))
}

/// The loops of a row kernel.
pub(super) fn parse_rows(read: &Read<'_>) -> Parsed<Rows> {
    read.only(&["threads", "unroll", "blocks", "buffers", "prefetches", "pipelined"])?;
    let mut rows = Rows { pipelined: read.find("pipelined").is_some(), ..Rows::default() };
    rows.threads = match read.find("threads") {
        None => None,
        Some(Datum::Record(fields)) => {
            let read = Read(fields);
            let part = |part: Read<'_>| Ok((word_of(&part.word("slot")?, 's')?, part.dim("words")?));
            let (axis, slots) = (word_of(&read.word("axis")?, 'i')?, read.records("parts", part)?);
            Some(Threads { axis, slots, work: read.dim("work")? })
        }
        Some(other) => return Err(format!("threads are {other}")),
    };
    if read.find("unroll").is_some() {
        let vectors = read.index("unroll")?;
        rows.unroll = Unroll::of(vectors).ok_or_else(|| format!("{vectors} vectors at a time"))?;
    }
    if read.find("blocks").is_some() {
        let block = |b: Read<'_>| {
            Ok(Block { pass: b.index("pass")?, axis: word_of(&b.word("axis")?, 'i')?, turns: b.index("turns")? })
        };
        rows.blocks = read.records("blocks", block)?;
    }
    if read.find("buffers").is_some() {
        let buffer = |b: Read<'_>| Ok(Buffered { scalar: word_of(&b.word("scalar")?, 'v')?, pass: b.index("pass")? });
        rows.buffers = read.records("buffers", buffer)?;
    }
    if read.find("prefetches").is_some() {
        let prefetch =
            |p: Read<'_>| Ok(Prefetch { load: word_of(&p.word("load")?, 'v')?, distance: p.dim("distance")? });
        rows.prefetches = read.records("prefetches", prefetch)?;
    }
    Ok(rows)
}
