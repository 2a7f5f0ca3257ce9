//! Text to the steps of programs. What a launch names is read by the caller: a kernel, or its number.

use super::datum::Read;
use super::lex::Cursor;
use super::programs::letter;
use crate::ir::Type;
use crate::ir::joint::Joint;
use crate::ir::program::{BufferId, Step};

type Parsed<T> = Result<T, String>;

type OfLaunch<'f, K> = &'f dyn Fn(&mut Cursor, String) -> Parsed<K>;

/// Steps up to the closing brace.
pub(super) fn steps<K>(cursor: &mut Cursor, kernel: OfLaunch<'_, K>) -> Parsed<Vec<Step<K>>> {
    let mut steps = vec![];
    while !cursor.sign('}') {
        if cursor.keyword("loop") {
            let fields = cursor.fields()?;
            let (count, reverse) = (Read(&fields).dim("count")?, Read(&fields).flag("reverse")?);
            cursor.expect('{')?;
            steps.push(Step::Loop { count, reverse, body: self::steps(cursor, kernel)? });
        } else if cursor.keyword("branch") {
            cursor.expect('(')?;
            let selector = BufferId(letter(cursor, 'b')?);
            cursor.expect(')')?;
            cursor.expect('{')?;
            let mut cases = vec![];
            while cursor.keyword("case") {
                cursor.expect('{')?;
                cases.push(self::steps(cursor, kernel)?);
            }
            cursor.expect('}')?;
            steps.push(Step::Branch { selector, cases });
        } else if cursor.keyword("foreign") {
            let fields = cursor.fields()?;
            let function = Read(&fields).index("function")?;
            let (args, results) = (typed_buffers(cursor)?, typed_buffers(cursor)?);
            steps.push(Step::Foreign { function, args, results });
        } else if cursor.keyword("fused") {
            cursor.expect('{')?;
            if !cursor.keyword("launch") {
                return cursor.fail("no launch");
            }
            let (whole, buffers) = launch(cursor, kernel)?;
            cursor.expect('}')?;
            if !cursor.keyword("of") {
                return cursor.fail("no `of`");
            }
            cursor.expect('{')?;
            steps.push(Step::Fused { kernel: whole, buffers, steps: self::steps(cursor, kernel)? });
        } else if cursor.keyword("joined") {
            let Some((_, joint)) = Joint::ALL.into_iter().find(|(name, _)| cursor.keyword(name)) else {
                return cursor.fail("no such joint");
            };
            cursor.expect('{')?;
            steps.push(Step::Joined { joint, steps: self::steps(cursor, kernel)? });
        } else if cursor.keyword("launch") {
            let (kernel, buffers) = launch(cursor, kernel)?;
            steps.push(Step::Launch { kernel, buffers });
        } else {
            return cursor.fail(format!("a step, not {:?}", cursor.peek()));
        }
    }
    Ok(steps)
}

/// `map(b0, b1)` and what the kernel is.
fn launch<K>(cursor: &mut Cursor, kernel: OfLaunch<'_, K>) -> Parsed<(K, Vec<BufferId>)> {
    let name = cursor.word()?;
    cursor.expect('(')?;
    let mut buffers = vec![];
    while !cursor.sign(')') {
        buffers.push(BufferId(letter(cursor, 'b')?));
        cursor.sign(',');
    }
    Ok((kernel(cursor, name)?, buffers))
}

/// `(b0: f32[B, 2], b1: u32)`
fn typed_buffers(cursor: &mut Cursor) -> Parsed<Vec<(BufferId, Type)>> {
    let mut all = vec![];
    cursor.expect('(')?;
    while !cursor.sign(')') {
        let buffer = BufferId(letter(cursor, 'b')?);
        cursor.expect(':')?;
        all.push((buffer, cursor.ty()?));
        cursor.sign(',');
    }
    Ok(all)
}
