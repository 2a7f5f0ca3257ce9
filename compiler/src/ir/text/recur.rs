//! Recurrences as fields and places, both ways.

use super::datum::{Datum, Fields, Read};
use super::lex::Cursor;
use super::programs::{element, word_of};
use crate::ir::index::Index;
use crate::ir::prim::Scalar;
use crate::ir::recurrence::{Half, Recurrence};
use std::fmt::Write;

/// The fields of the skeleton.
pub(super) fn print(own: &Recurrence) -> Fields {
    let Recurrence { count, reverse, rows, columns, first, state, sums, groups, parts, addend, strides, .. } = own;
    let atom = |letter: char, number: &usize| Datum::word(&format!("{letter}{number}"));
    let mut fields = vec![
        ("count", Datum::Dim(count.clone())),
        ("reverse", Datum::Scalar(Scalar::Bool(*reverse))),
        ("columns", atom('i', columns)),
        ("first", Datum::word(first.name())),
        ("state", atom('s', state)),
        ("sums", atom('s', sums)),
        ("groups", Datum::number(*groups as i64)),
        ("parts", Datum::number(*parts as i64)),
        ("strides", Datum::dims(strides)),
    ];
    fields.extend(rows.iter().map(|rows| ("rows", atom('i', rows))));
    fields.extend(addend.iter().map(|addend| ("addend", atom('s', addend))));
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Where the matrix starts, and slots that move with the turns.
pub(super) fn print_places(own: &Recurrence) -> String {
    let mut text = format!("matrix s{}[{}]\n", own.matrix, own.start);
    for (slot, start) in own.starts.iter().enumerate().filter(|(_, start)| **start != Index::default()) {
        _ = writeln!(text, "start s{slot}[{start}]");
    }
    text
}

/// The skeleton of these fields, without places and stores.
pub(super) fn parse(read: &Read<'_>) -> Result<Recurrence, String> {
    let atom = |key: &str, letter: char| word_of(&read.word(key)?, letter);
    let perhaps = |key: &str, letter: char| read.find(key).map(|_| atom(key, letter)).transpose();
    let first = read.word("first")?;
    let strides = read.dims("strides")?.try_into().map_err(|_| "a matrix has two strides")?;
    Ok(Recurrence {
        count: read.dim("count")?,
        reverse: read.flag("reverse")?,
        starts: vec![],
        rows: perhaps("rows", 'i')?,
        columns: atom("columns", 'i')?,
        first: Half::from_name(&first).ok_or_else(|| format!("no half `{first}`"))?,
        state: atom("state", 's')?,
        sums: atom("sums", 's')?,
        groups: read.index("groups")?,
        parts: read.index("parts")?,
        addend: perhaps("addend", 's')?,
        matrix: 0,
        start: Index::default(),
        strides,
        stores: vec![],
    })
}

/// Reads the places of a kernel with so many slots.
pub(super) fn parse_places(cursor: &mut Cursor, own: &mut Recurrence, slots: usize) -> Result<(), String> {
    own.starts = vec![Index::default(); slots];
    if !cursor.keyword("matrix") {
        return cursor.fail("no `matrix`");
    }
    (own.matrix, own.start) = element(cursor)?;
    while cursor.keyword("start") {
        let (slot, start) = element(cursor)?;
        let Some(place) = own.starts.get_mut(slot) else { return cursor.fail(format!("no slot s{slot}")) };
        *place = start;
    }
    Ok(())
}
