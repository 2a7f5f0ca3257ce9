//! Where and when it was measured.
//!
//! In: the peers. Out: a sentence or two. Always: what the system does not tell is left out.

use super::peers::Peer;
use std::process::Command;

/// The machine, the date and everybody's version.
pub(super) fn describe(peers: &[Peer], threads: usize) -> String {
    let shell = |text: &str| {
        let output = Command::new("sh").args(["-c", text]).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| info.lines().find(|line| line.starts_with(name)).and_then(|line| line.split(": ").nth(1));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut parts = vec![format!("{cores} cores of {}", field("model name").unwrap_or(std::env::consts::ARCH))];
    if let Some(isa) = precast::__rt::Isa::available().next() {
        let name = format!("{isa:?}");
        parts.push(name.split('(').next().unwrap_or(&name).to_uppercase());
    }
    parts.extend(shell("date -u +%F"));
    let mut versions = vec![format!("precast {} on {threads} threads", env!("CARGO_PKG_VERSION"))];
    for peer in peers {
        versions.extend(shell(&peer.version).map(|version| format!("{} {version}", peer.name)));
    }
    format!("{}. {}.\n", parts.join(", "), versions.join(", "))
}
