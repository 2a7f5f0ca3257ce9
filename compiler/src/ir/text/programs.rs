//! Text to kernels, programs and plans.

use super::attend;
use super::datum::{Fields, Read};
use super::kernels::is_atom;
use super::lex::{Cursor, Token};
use super::parse::precision;
use super::prims;
use super::recur;
use super::schedule;
use super::steps::steps;
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Accumulator, AccumulatorOp, Expr, Guard, Kernel, Operand, Pass, Reach, Skeleton, Slot, Store};
use crate::ir::model::{Effect, ParamId, StateId};
use crate::ir::plan::{BANKS, Place, Plan, Plans, Pool};
use crate::ir::precision::Precision;
use crate::ir::prim::{ArgOp, MapOp, ReduceOp, Scalar};
use crate::ir::program::{Buffer, KernelId, Program, Role};
use crate::ir::schedule::Schedule;
use crate::ir::{DType, Dim};
use std::str::FromStr;

type Parsed<T> = Result<T, String>;

impl FromStr for Program {
    type Err = String;
    fn from_str(text: &str) -> Parsed<Program> {
        let mut cursor = Cursor::over(text)?;
        let program = program(&mut cursor)?;
        cursor.end()?;
        Ok(program)
    }
}

impl FromStr for Plans {
    type Err = String;
    fn from_str(text: &str) -> Parsed<Plans> {
        let mut cursor = Cursor::over(text)?;
        let mut plans = Plans::default();
        while cursor.keyword("kernel") {
            numbered(&mut cursor, 'k', plans.kernels.len())?;
            let name = cursor.word()?;
            plans.kernels.push(kernel(&mut cursor, name)?);
        }
        while cursor.keyword("plan") {
            plans.plans.push(plan(&mut cursor)?);
        }
        cursor.end()?;
        Ok(plans)
    }
}

fn program(cursor: &mut Cursor) -> Parsed<Program> {
    if !cursor.keyword("program") {
        return cursor.fail("no program");
    }
    let name = cursor.word()?;
    let precision = precision(&Read(&cursor.fields()?))?;
    cursor.expect('{')?;
    let mut buffers = vec![];
    while let Some((buffer, places)) = buffer(cursor, buffers.len())? {
        if !places.is_empty() {
            return cursor.fail("a place outside of a plan");
        }
        buffers.push(buffer);
    }
    let steps = steps(cursor, &|cursor, name| kernel(cursor, name))?;
    Ok(Program { name, precision, buffers, steps })
}

fn plan(cursor: &mut Cursor) -> Parsed<Plan> {
    let name = cursor.word()?;
    let (scratch, banks) = sizes(&Read(&cursor.fields()?)).or_else(|why| cursor.fail(why))?;
    cursor.expect('{')?;
    let (mut buffers, mut places, mut banked) = (vec![], vec![], vec![]);
    while let Some((buffer, of_machines)) = buffer(cursor, buffers.len())? {
        buffers.push(buffer);
        places.extend(of_machines.first().cloned());
        banked.extend(of_machines.last().cloned());
    }
    let steps = steps(cursor, &|cursor, name| match is_atom(&name) {
        Some(('k', number)) => Ok(KernelId(number)),
        _ => cursor.fail(format!("no kernel `{name}`")),
    })?;
    Ok(Plan { program: Program { name, precision: Precision::F32, buffers, steps }, places, scratch, banked, banks })
}

/// The words of the pools that belong to a plan.
fn sizes(read: &Read<'_>) -> Parsed<(Dim, [Dim; BANKS])> {
    let banks = read.dims("banks")?;
    let banks = banks.try_into().map_err(|banks: Vec<Dim>| format!("{} banks instead of {BANKS}", banks.len()))?;
    Ok((read.dim("scratch")?, banks))
}

/// `i0`, `s1` … with the letter that is wanted.
pub(super) fn letter(cursor: &mut Cursor, wanted: char) -> Parsed<usize> {
    let word = cursor.word()?;
    match is_atom(&word) {
        Some((letter, number)) if letter == wanted => Ok(number),
        _ => cursor.fail(format!("`{word}` where `{wanted}` and a number are wanted")),
    }
}

fn numbered(cursor: &mut Cursor, wanted: char, number: usize) -> Parsed<()> {
    let found = letter(cursor, wanted)?;
    if found == number { Ok(()) } else { cursor.fail(format!("{wanted}{found} where {wanted}{number} comes next")) }
}

/// A buffer with its places.
fn buffer(cursor: &mut Cursor, number: usize) -> Parsed<Option<(Buffer, Vec<Place>)>> {
    if !matches!(cursor.peek(), Some(Token::Word(w)) if matches!(is_atom(w), Some(('b', _)))) {
        return Ok(None);
    }
    numbered(cursor, 'b', number)?;
    cursor.expect(':')?;
    let (dtype, len) = memory(cursor)?;
    let word = cursor.word()?;
    let fields = cursor.fields()?;
    let role = role(&word, &fields).or_else(|why| cursor.fail(why))?;
    let mut places = vec![];
    while cursor.keyword("in") {
        let word = cursor.word()?;
        let fields = cursor.fields()?;
        let read = Read(&fields);
        let pool = pool(&word, &read).or_else(|why| cursor.fail(why))?;
        let len = if read.find("len").is_some() { read.dim("len")? } else { len.clone() };
        places.push(Place { pool, offset: read.dim("offset")?, len });
    }
    Ok(Some((Buffer { role, dtype, len }, places)))
}

/// `f32[4*B]`
fn memory(cursor: &mut Cursor) -> Parsed<(DType, Dim)> {
    let ty = cursor.ty()?;
    match ty.shape.as_slice() {
        [len] => Ok((ty.dtype, len.clone())),
        _ => cursor.fail(format!("{ty} where a number of words is wanted")),
    }
}

fn role(word: &str, fields: &Fields) -> Parsed<Role> {
    let index = || Read(fields).index("index");
    Ok(match word {
        "argument" => Role::Argument(index()?),
        "param" => Role::Param(ParamId(index()? as u32)),
        "source" => Role::Source(prims::parse_source(fields)?),
        "result" => Role::Result(index()?),
        "gradient" => Role::Effect(Effect::Gradient(ParamId(index()? as u32))),
        "weights" => Role::Effect(Effect::Weights),
        "companion" => Role::Effect(Effect::Companion(ParamId(index()? as u32))),
        "state" => Role::Effect(Effect::State(index()?)),
        "updated" => Role::Effect(Effect::Updated),
        "session" => Role::State(StateId(index()? as u32)),
        "stored" => Role::Effect(Effect::Stored(StateId(index()? as u32))),
        "scratch" => Role::Scratch,
        other => return Err(format!("no role `{other}`")),
    })
}

fn pool(word: &str, read: &Read<'_>) -> Parsed<Pool> {
    Ok(match word {
        "argument" => Pool::Argument(read.index("index")?),
        "weights" => Pool::Weights,
        "gradients" => Pool::Gradients,
        "state" => Pool::State(read.index("index")?),
        "session" => Pool::Session,
        "numbers" => Pool::Numbers,
        "groups" => Pool::Groups,
        "scratch" => Pool::Scratch,
        "bank" => Pool::Bank(read.index("index")?),
        "outcome" => Pool::Outcome,
        "result" => Pool::Result(read.index("index")?),
        other => return Err(format!("no pool `{other}`")),
    })
}

/// A kernel in braces.
fn kernel(cursor: &mut Cursor, name: String) -> Parsed<Kernel> {
    cursor.expect('{')?;
    let (mut slots, mut axes, mut scalars) = (vec![], vec![], vec![]);
    while cursor.keyword("slot") {
        numbered(cursor, 's', slots.len())?;
        cursor.expect(':')?;
        let (dtype, len) = memory(cursor)?;
        slots.push(Slot { dtype, len, read: cursor.keyword("read"), write: cursor.keyword("write") });
    }
    while cursor.keyword("axis") {
        numbered(cursor, 'i', axes.len())?;
        cursor.expect(':')?;
        axes.push(cursor.dim()?);
    }
    while matches!(cursor.peek(), Some(Token::Word(w)) if matches!(is_atom(w), Some(('v', _)))) {
        numbered(cursor, 'v', scalars.len())?;
        cursor.expect('=')?;
        scalars.push(scalar(cursor, &slots)?);
    }
    let skeleton = skeleton(cursor, slots.len())?;
    let mut schedule = Schedule::default();
    if cursor.keyword("schedule") {
        schedule = schedule::parse(&Read(&cursor.fields()?))?;
    }
    if cursor.keyword("rows") {
        schedule.rows = schedule::parse_rows(&Read(&cursor.fields()?))?;
    }
    if cursor.keyword("workgroup") {
        schedule.workgroup = Some(schedule::parse_workgroup(&Read(&cursor.fields()?))?);
    }
    cursor.expect('}')?;
    Ok(Kernel { name, slots, axes, scalars, skeleton, schedule })
}

pub(super) fn word_of(word: &str, wanted: char) -> Parsed<usize> {
    match is_atom(word) {
        Some((letter, number)) if letter == wanted => Ok(number),
        _ => Err(format!("`{word}` where `{wanted}` and a number are wanted")),
    }
}

fn axis_list(read: &Read<'_>, key: &str) -> Parsed<Vec<usize>> {
    read.dims(key)?.iter().map(|d| word_of(d.as_name().unwrap_or_default(), 'i')).collect()
}

fn scalar(cursor: &mut Cursor, slots: &[Slot]) -> Parsed<Expr> {
    let head = cursor.word()?;
    Ok(match head.as_str() {
        "load" => {
            let (slot, index) = element(cursor)?;
            let (mut guards, mut fill) = (vec![], None);
            if cursor.keyword("where") {
                guards = conditions(cursor)?;
                if !cursor.keyword("else") {
                    return cursor.fail("no `else`");
                }
                fill = Some(literal(cursor)?);
            }
            // Without a condition the fill is never used, and does not print.
            let Some(of) = slots.get(slot) else { return cursor.fail(format!("no slot s{slot}")) };
            Expr::Load { slot, index, guards, fill: fill.unwrap_or(Scalar::of(of.dtype, 0.0)) }
        }
        "const" => Expr::Const(literal(cursor)?),
        "extent" => Expr::Extent(cursor.dim()?),
        "index" => Expr::Index(index(cursor)?),
        "inside" if cursor.keyword("where") => Expr::Inside(conditions(cursor)?),
        "convert" => {
            let word = cursor.word()?;
            let Some(dtype) = DType::from_name(&word) else { return cursor.fail(format!("no type `{word}`")) };
            cursor.expect('(')?;
            let arg = letter(cursor, 'v')?;
            cursor.expect(')')?;
            Expr::Convert(dtype, arg)
        }
        "accumulated" => {
            let word = cursor.word()?;
            let Some(dtype) = DType::from_name(&word) else { return cursor.fail(format!("no type `{word}`")) };
            cursor.expect('(')?;
            let pass = small(cursor)?;
            cursor.expect(',')?;
            let slot = small(cursor)?;
            cursor.expect(')')?;
            Expr::Accumulated { pass, slot, dtype }
        }
        name => {
            let Some(op) = MapOp::from_name(name) else { return cursor.fail(format!("no scalar `{name}`")) };
            cursor.expect('(')?;
            let mut args = vec![];
            while !cursor.sign(')') {
                args.push(letter(cursor, 'v')?);
                cursor.sign(',');
            }
            Expr::Map(op, args)
        }
    })
}

fn literal(cursor: &mut Cursor) -> Parsed<Scalar> {
    match cursor.scalar() {
        Some(x) => Ok(x),
        None => cursor.fail(format!("a literal, not {:?}", cursor.peek())),
    }
}

fn small(cursor: &mut Cursor) -> Parsed<usize> {
    let number = cursor.dim()?.as_const().and_then(|n| usize::try_from(n).ok());
    number.map_or_else(|| cursor.fail("a number is wanted"), Ok)
}

/// `s0[4*i0 + 1]`
pub(super) fn element(cursor: &mut Cursor) -> Parsed<(usize, Index)> {
    let slot = letter(cursor, 's')?;
    cursor.expect('[')?;
    let index = index(cursor)?;
    cursor.expect(']')?;
    Ok((slot, index))
}

fn conditions(cursor: &mut Cursor) -> Parsed<Vec<Guard>> {
    let mut guards = vec![];
    loop {
        let word = cursor.word()?;
        cursor.expect('(')?;
        let index = index(cursor)?;
        cursor.expect(',')?;
        let dim = cursor.dim()?;
        cursor.expect(')')?;
        guards.push(match (word.as_str(), dim.as_const()) {
            ("within", _) => Guard::Within(index, dim),
            ("multiple", Some(by)) => Guard::Multiple(index, by),
            _ => return cursor.fail(format!("no condition `{word}`")),
        });
        if !cursor.sign(',') {
            return Ok(guards);
        }
    }
}

/// Stores, as long as there are some.
fn stores(cursor: &mut Cursor) -> Parsed<Vec<Store>> {
    let mut stores = vec![];
    while cursor.keyword("store") {
        let (slot, index) = element(cursor)?;
        cursor.expect('=')?;
        stores.push(Store { slot, index, value: letter(cursor, 'v')? });
    }
    Ok(stores)
}

fn operand(cursor: &mut Cursor, name: &str) -> Parsed<Operand> {
    if !cursor.keyword(name) {
        return cursor.fail(format!("no `{name}`"));
    }
    let (slot, index) = element(cursor)?;
    let mut windows = vec![];
    while cursor.keyword("window") {
        cursor.expect('(')?;
        let index = self::index(cursor)?;
        cursor.expect(',')?;
        let divisor = cursor.dim()?;
        cursor.expect(',')?;
        let extent = cursor.dim()?;
        cursor.expect(',')?;
        let stride = cursor.dim()?;
        cursor.expect(')')?;
        let Some(divisor) = divisor.as_const() else { return cursor.fail("a divisor is a number") };
        windows.push(Reach { index, divisor, extent, stride });
    }
    Ok(Operand { slot, index, windows })
}

fn skeleton(cursor: &mut Cursor, slots: usize) -> Parsed<Skeleton> {
    let name = cursor.word()?;
    let fields = cursor.fields()?;
    let read = Read(&fields);
    let axes = |key: &str| axis_list(&read, key);
    cursor.expect('{')?;
    let skeleton = match name.as_str() {
        "row" => {
            let (parallel, reduced) = (axes("parallel")?, axes("reduced")?);
            let mut passes = vec![];
            while cursor.keyword("pass") {
                passes.push(pass(cursor)?);
            }
            Skeleton::Row { parallel, reduced, passes, stores: stores(cursor)? }
        }
        "contract" => {
            let (batch, m, n, k) = (axes("batch")?, axes("m")?, axes("n")?, axes("k")?);
            let (lhs, rhs) = (operand(cursor, "lhs")?, operand(cursor, "rhs")?);
            Skeleton::Contract { batch, m, n, k, lhs, rhs, stores: stores(cursor)? }
        }
        "scatter" => {
            let (outer, source, inner) = (axes("outer")?, axes("source")?, axes("inner")?);
            let (target, index) = (word_of(&read.word("target")?, 'i')?, word_of(&read.word("index")?, 'v')?);
            let mut list = stores(cursor)?;
            let Some(store) = list.pop().filter(|_| list.is_empty()) else { return cursor.fail("one store") };
            Skeleton::Scatter { outer, target, source, inner, index, store }
        }
        "recur" => {
            let mut own = recur::parse(&read)?;
            recur::parse_places(cursor, &mut own, slots)?;
            own.stores = stores(cursor)?;
            Skeleton::Recur(Box::new(own))
        }
        "attend" => Skeleton::Attend(Box::new(attend::parse_loops(&read, stores(cursor)?)?)),
        other => return cursor.fail(format!("no skeleton `{other}`")),
    };
    cursor.expect('}')?;
    Ok(skeleton)
}

fn pass(cursor: &mut Cursor) -> Parsed<Pass> {
    cursor.expect('{')?;
    let mut accumulators = vec![];
    while let Some(Token::Word(word)) = cursor.peek() {
        let reduce = ReduceOp::from_name(word).map(AccumulatorOp::Reduce);
        let Some(op) = reduce.or_else(|| ArgOp::from_name(word).map(AccumulatorOp::Arg)) else { break };
        cursor.next();
        accumulators.push(Accumulator { op, value: letter(cursor, 'v')? });
    }
    let stores = stores(cursor)?;
    cursor.expect('}')?;
    Ok(Pass { accumulators, stores })
}

/// A sum of products of numbers, names and atoms; at most one factor of a product varies.
fn index(cursor: &mut Cursor) -> Parsed<Index> {
    let mut sum = Index::default();
    let mut negative = cursor.sign('-');
    loop {
        let product = product(cursor)?;
        sum = sum.plus(&product.times(&Dim::from(if negative { -1 } else { 1 })));
        if cursor.sign('+') {
            negative = cursor.sign('-');
        } else if cursor.sign('-') {
            negative = true;
        } else {
            return Ok(sum);
        }
    }
}

fn product(cursor: &mut Cursor) -> Parsed<Index> {
    let mut product = factor(cursor)?;
    while cursor.sign('*') {
        let other = factor(cursor)?;
        product = match (product.terms.is_empty(), other.terms.is_empty()) {
            (_, true) => product.times(&other.base),
            (true, false) => other.times(&product.base),
            (false, false) => return cursor.fail("a product of two indices"),
        };
    }
    Ok(product)
}

fn factor(cursor: &mut Cursor) -> Parsed<Index> {
    if cursor.sign('(') {
        let inner = index(cursor)?;
        cursor.expect(')')?;
        return Ok(inner);
    }
    let word = match cursor.next() {
        Some(Token::Number(digits)) => {
            return digits.parse::<i64>().map(Index::constant).or_else(|_| cursor.fail(digits));
        }
        Some(Token::Word(word)) => word,
        other => return cursor.fail(format!("an index, not {other:?}")),
    };
    match (is_atom(&word), word.as_str()) {
        (Some(('i', n)), _) => Ok(Index::axis(n)),
        (Some(('l', n)), _) => Ok(Index::atom(Atom::Loop(n))),
        (Some(('v', n)), _) => Ok(Index::atom(Atom::Value(n))),
        (_, "div" | "mod" | "max") if cursor.sign('(') => {
            let inner = index(cursor)?;
            cursor.expect(',')?;
            let by = cursor.dim()?;
            cursor.expect(')')?;
            match (word.as_str(), inner.terms.is_empty()) {
                ("div", true) => Ok(Index::constant(inner.base.floor_div(&by))),
                ("max", true) => Ok(Index::constant(inner.base.larger(&by))),
                ("div", false) => Ok(Index::atom(Atom::Div(Box::new(inner), by))),
                ("mod", _) => Ok(Index::atom(Atom::Mod(Box::new(inner), by))),
                _ => cursor.fail("the larger of indices"),
            }
        }
        _ => Ok(Index::constant(Dim::name(word))),
    }
}
