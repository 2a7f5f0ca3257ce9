//! The entry points that choose a case: one for each buffer in which a selector lies.
//!
//! Comes in: that buffer. Goes out: an entry point that reads the selector of a branch and writes the workgroups of the
//! dispatches in its cases, none for those of cases that do not run. Always holds: the slots and records are those of
//! the runtime's `gpu::Program`; a case inside of a case that does not run does not run either.

use super::names::{Access, Pool};
use crate::ir::workgroup::PLAIN;

/// Slots of the `call` uniform that a choice takes.
pub(super) const SLOTS: usize = 7;

/// The name of the entry point that reads selectors from a buffer.
pub(super) fn name(pool: Pool) -> String {
    format!("choose_{}", pool.rust().to_lowercase())
}

/// The entry point.
pub(super) fn print(pool: Pool) -> String {
    let (name, selector) = (name(pool), pool.variable(Access::Read));
    format!(
        "@compute @workgroup_size({PLAIN})
fn {name}(@builtin(local_invocation_index) lane: u32) {{
    var chosen = min({selector}[slot0()], u32(slot1()));
    let outer = slot2();
    if outer >= 0 {{
        if dispatch_w[outer] != u32(slot3()) {{ chosen = 0xffffffffu; }}
    }}
    if lane == 0u {{ dispatch_w[slot4()] = chosen; }}
    for (var n = i32(lane); n < slot6(); n += {PLAIN}) {{
        let record = slot5() + 6 * n;
        let runs = dispatch_w[record + 5] == chosen;
        dispatch_w[record] = select(0u, dispatch_w[record + 3], runs);
        dispatch_w[record + 1] = select(0u, dispatch_w[record + 4], runs);
        dispatch_w[record + 2] = select(0u, 1u, runs);
    }}
}}
"
    )
}
