//! What a call computes: an op and its arguments in, the values of its body out.
//!
//! Always: a body sees no type of memory where its signature says that it computes. Such arguments are converted to the type that
//! their values are computed in, and results back again, so that a whole body is rounded once; integers that are added up or
//! multiplied stay in the wider type (`wide` in signatures). What only moves elements takes them as they are.

use super::signature::{Class, Signature};
use super::{Attrs, Builder, Op, OpError};
use crate::ir::{DType, Value};

/// The results of a call.
///
/// # Errors
/// Those of the op's body.
pub fn build(op: &Op, b: &mut Builder<'_>, args: &[Value], attrs: &Attrs) -> Result<Vec<Value>, OpError> {
    if !args.iter().any(|&arg| b.dtype(arg).is_stored()) {
        return (op.body)(b, args, attrs);
    }
    let signature = Signature::of(op);
    let (mut computed, mut stored): (Vec<Value>, Vec<(Class, DType)>) = (vec![], vec![]);
    for (k, &arg) in args.iter().enumerate() {
        let (class, dtype) = (signature.slot(k).map(|slot| slot.pattern.class), b.dtype(arg));
        let computes = class.filter(|class| dtype.is_stored() && class.computes());
        computed.push(match computes {
            Some(class) => {
                stored.push((class, dtype));
                b.convert(arg, dtype.computed())?
            }
            None => arg,
        });
    }
    let mut results = (op.body)(b, &computed, attrs)?;
    for (k, result) in results.iter_mut().enumerate() {
        let pattern = signature.results.as_ref().and_then(|all| all.get(k));
        let class = pattern.map(|pattern| pattern.class).or(signature.class);
        let back = stored.iter().find(|(of, dtype)| {
            let is_own = class == Some(*of) || class == Some(Class::Wide);
            let widens = class == Some(Class::Wide) && dtype.is_integer();
            is_own && !widens && dtype.computed() == b.dtype(*result)
        });
        if let Some(&(_, dtype)) = back {
            *result = b.convert(*result, dtype)?;
        }
    }
    Ok(results)
}
