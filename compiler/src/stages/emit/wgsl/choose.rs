//! The entry point that chooses a case.
//!
//! Comes in: nothing. Goes out: an entry point that reads the selector of a branch and writes the workgroups of the
//! dispatches in its cases, none for those of cases that do not run. Always holds: the slots and records are those of
//! the runtime's `gpu::Program`; a case inside of a case that does not run does not run either.

use super::views::{Access, View};
use crate::ir::workgroup::PLAIN;

/// Slots of the `call` uniform that a choice takes.
pub(super) const SLOTS: usize = 8;

/// The name of the entry point.
pub(super) const NAME: &str = "choose";
/// What it sees: the selector, and the workgroups, which it writes.
pub(super) const VIEWS: [View; 2] =
    [View { number: 0, access: Access::Read }, View { number: 1, access: Access::Write }];

/// The entry point.
pub(super) fn print() -> String {
    let [selector, dispatch] = VIEWS.map(View::name);
    format!(
        "@compute @workgroup_size({PLAIN})
fn {NAME}(@builtin(local_invocation_index) lane: u32) {{
    var chosen = min({selector}[slot0()], u32(slot1()));
    let outer = slot2();
    if outer >= 0 {{
        if {dispatch}[outer] != u32(slot3()) {{ chosen = 0xffffffffu; }}
    }}
    if lane == 0u {{ {dispatch}[slot4()] = chosen; }}
    for (var n = i32(lane); n < slot6(); n += {PLAIN}) {{
        let record = slot5() + 6 * n;
        let runs = {dispatch}[record + 5] == chosen;
        {dispatch}[record] = select(0u, {dispatch}[record + 3], runs);
        {dispatch}[record + 1] = select(0u, {dispatch}[record + 4], runs);
        {dispatch}[record + 2] = select(0u, 1u, runs);
    }}
}}
"
    )
}
