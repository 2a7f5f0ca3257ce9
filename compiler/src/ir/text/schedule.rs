//! Schedules to text and back.

use super::datum::{Datum, Fields, Read};
use super::programs::word_of;
use crate::ir::Dim;
use crate::ir::algorithm::Algorithm;
use crate::ir::precision::{Factor, Precision};
use crate::ir::prim::Scalar;
use crate::ir::schedule::{Block, Buffered, Prefetch, Rows, Schedule, Threads, Unroll};
use crate::ir::tile::{HalvesTile, Tile, Tiles};
use crate::ir::workgroup::{AttendGroup, AttendTile, RecurGroup, RowGroup, Workgroup};

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

fn numbers(list: &[u32]) -> Datum {
    Datum::numbers(list.iter().map(|&n| n as usize))
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
    let of = |name: &str| field("of", Datum::word(name));
    let count = |key: &str, n: u32| field(key, number(n as usize));
    let optional = |key: &str, n: Option<u32>| n.map(|n| count(key, n));
    match workgroup {
        None => vec![],
        Some(Workgroup::Rows(RowGroup { invocations, cooperative, rows, neighbours, turns, block, at_once })) => {
            let cooperative = cooperative.then(|| field("cooperative", yes()));
            let invocations = [of("rows"), count("invocations", invocations)];
            let several = |key: &str, n: u32| optional(key, (n > 1).then_some(n));
            let taken = several("neighbours", neighbours).into_iter().chain(optional("turns", turns));
            let taken = taken.chain(optional("block", block)).chain(several("at_once", at_once));
            invocations.into_iter().chain(cooperative).chain(several("rows", rows)).chain(taken).collect()
        }
        Some(Workgroup::Tiles(Tiles { own, larger, halves: [few, many] })) => {
            let larger = larger.map(|tile| field("larger", Datum::Record(print_tile(tile))));
            let halves =
                |key: &str, tile: Option<HalvesTile>| tile.map(|tile| field(key, Datum::Record(print_halves(tile))));
            let others = larger.into_iter().chain(halves("halves", few)).chain(halves("halves_larger", many));
            [of("tile")].into_iter().chain(print_tile(own)).chain(others).collect()
        }
        Some(Workgroup::Attend(AttendGroup::Single { invocations })) => {
            vec![of("attend"), count("invocations", invocations)]
        }
        Some(Workgroup::Attend(AttendGroup::Rows { invocations, columns })) => {
            vec![of("attend"), count("invocations", invocations), count("columns", columns)]
        }
        Some(Workgroup::Attend(AttendGroup::Tiles(AttendTile { rows, columns, depth, thread_tile }))) => {
            let sides = field("sides", numbers(&[rows, columns, depth]));
            vec![of("attend"), sides, field("thread_tile", numbers(&thread_tile))]
        }
        Some(Workgroup::Recur(RecurGroup { rows, slices, invocations })) => {
            vec![of("recurrence"), count("rows", rows), count("slices", slices), count("invocations", invocations)]
        }
    }
}

fn print_tile(tile: Tile) -> Fields {
    let Tile { rows, columns, depth, thread_tile, slices, block } = tile;
    let count = |key: &str, n: u32| field(key, number(n as usize));
    let sides = [field("sides", numbers(&[rows, columns, depth])), field("thread_tile", numbers(&thread_tile))];
    let rest = [count("slices", slices)].into_iter().chain(block.map(|block| count("block", block)));
    sides.into_iter().chain(rest).collect()
}

fn print_halves(tile: HalvesTile) -> Fields {
    let HalvesTile { halves, rows, columns, depth, subgroup_tile, block } = tile;
    let sides = field("sides", numbers(&[rows, columns, depth]));
    let halves = field("halves", number(halves as usize));
    vec![halves, sides, field("subgroup_tile", numbers(&subgroup_tile)), field("block", number(block as usize))]
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
    let count = |key: &str| narrow(read.index(key)?);
    let optional = |key: &str| read.find(key).map(|_| count(key)).transpose();
    Ok(match read.word("of")?.as_str() {
        "rows" => {
            read.only(&["of", "invocations", "cooperative", "rows", "neighbours", "turns", "block", "at_once"])?;
            let several = |key: &str| Ok::<u32, String>(optional(key)?.unwrap_or(1));
            Workgroup::Rows(RowGroup {
                invocations: count("invocations")?,
                cooperative: read.find("cooperative").is_some(),
                rows: several("rows")?,
                neighbours: several("neighbours")?,
                turns: optional("turns")?,
                block: optional("block")?,
                at_once: several("at_once")?,
            })
        }
        "tile" => {
            read.only(&["of", "sides", "thread_tile", "slices", "block", "larger", "halves", "halves_larger"])?;
            let halves = |key: &str| other(read, key, parse_halves);
            let (larger, halves) = (other(read, "larger", parse_tile)?, [halves("halves")?, halves("halves_larger")?]);
            Workgroup::Tiles(Tiles { own: parse_tile(read)?, larger, halves })
        }
        "recurrence" => {
            read.only(&["of", "rows", "slices", "invocations"])?;
            let [rows, slices] = [count("rows")?, count("slices")?];
            Workgroup::Recur(RecurGroup { rows, slices, invocations: count("invocations")? })
        }
        "attend" => Workgroup::Attend(if read.find("sides").is_some() {
            read.only(&["of", "sides", "thread_tile"])?;
            let [rows, columns, depth] = sides(read, "sides")?;
            AttendGroup::Tiles(AttendTile { rows, columns, depth, thread_tile: sides(read, "thread_tile")? })
        } else {
            read.only(&["of", "invocations", "columns"])?;
            let invocations = count("invocations")?;
            match optional("columns")? {
                Some(columns) => AttendGroup::Rows { invocations, columns },
                None => AttendGroup::Single { invocations },
            }
        }),
        other => return Err(format!("no workgroup of `{other}`")),
    })
}

fn narrow(n: usize) -> Parsed<u32> {
    u32::try_from(n).map_err(|_| format!("a workgroup of {n}"))
}

/// The sides of a tile.
fn sides<const N: usize>(read: &Read<'_>, key: &str) -> Parsed<[u32; N]> {
    let sides = read.indices(key)?.into_iter().map(narrow).collect::<Parsed<Vec<u32>>>()?;
    sides.try_into().map_err(|_| format!("`{key}` are {N} numbers"))
}

/// A tile that there may be besides the first one.
fn other<T>(read: &Read<'_>, key: &str, parse: fn(&Read<'_>) -> Parsed<T>) -> Parsed<Option<T>> {
    match read.find(key) {
        None => Ok(None),
        Some(Datum::Record(fields)) => parse(&Read(fields)).map(Some),
        Some(_) => Err(format!("`{key}` is no tile")),
    }
}

fn parse_halves(read: &Read<'_>) -> Parsed<HalvesTile> {
    read.only(&["halves", "sides", "subgroup_tile", "block"])?;
    let [rows, columns, depth] = sides(read, "sides")?;
    let (subgroup_tile, block) = (sides(read, "subgroup_tile")?, narrow(read.index("block")?)?);
    let halves = narrow(read.index("halves")?)?;
    Ok(HalvesTile { halves, rows, columns, depth, subgroup_tile, block })
}

fn parse_tile(read: &Read<'_>) -> Parsed<Tile> {
    let count = |key: &str| narrow(read.index(key)?);
    let [rows, columns, depth] = sides(read, "sides")?;
    let block = read.find("block").map(|_| count("block")).transpose()?;
    Ok(Tile { rows, columns, depth, thread_tile: sides(read, "thread_tile")?, slices: count("slices")?, block })
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
