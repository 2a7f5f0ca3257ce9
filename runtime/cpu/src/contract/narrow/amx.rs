//! The unit for tiles of AMX: one instruction multiplies sixteen rows of sixteen words with a panel's sixteen words of K.
//!
//! In: a block. Out: its sums. Always: a token proves that the machine has the unit and that Linux lends it to this process.
//! Each piece of assembly configures the tiles, fills them, stores the sums and releases them, so nothing of it is left
//! when it ends. Subnormal factors and sums of bf16 count as zeros.

use core::arch::asm;
use core::arch::x86_64::{__cpuid, __cpuid_count};
use std::sync::OnceLock;

use super::unit::Block;
use super::{Precision, WIDTH};

/// The proof that the process may use AMX for bf16 and for bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Amx(());

impl Amx {
    /// The token, if the machine has the unit and the system lends it.
    pub(super) fn new() -> Option<Amx> {
        static LENT: OnceLock<bool> = OnceLock::new();
        LENT.get_or_init(|| is_present() && is_permitted()).then_some(Amx(()))
    }

    /// Sums a block.
    ///
    /// # Safety
    /// `block` must have rows of `depth.padded` words, panels, and valid sums for all of them.
    pub(super) unsafe fn multiply(self, precision: Precision, block: &Block) {
        // SAFETY: the token proves that the process may use the unit; `block` has rows of `depth.padded` words, panels, and
        // sums for all of them, by this function's contract.
        unsafe {
            match precision {
                Precision::Bf16 => rows::<Halves>(block),
                Precision::Int8 => rows::<Bytes>(block),
            }
        }
    }
}

/// Whether there are eight tiles of sixteen rows of 64 bytes, which multiply bf16 and bytes.
#[allow(unused_unsafe, reason = "older compilers say that asking is unsafe")]
fn is_present() -> bool {
    const BF16: u32 = 1 << 22;
    const TILES: u32 = 1 << 24;
    const INT8: u32 = 1 << 25;
    // SAFETY: every machine with 64 bits has the instruction, and higher leaves are asked for only if there are as many.
    unsafe {
        if __cpuid(0).eax < 0x1d || __cpuid_count(7, 0).edx & (BF16 | TILES | INT8) != BF16 | TILES | INT8 {
            return false;
        }
        let palette = __cpuid_count(0x1d, 1);
        palette.ebx == 8 << 16 | 64 && palette.ecx & 0xffff == 16
    }
}

/// Asks Linux for the room that the tiles take in the state of a thread; it holds for all threads of the process.
#[cfg(target_os = "linux")]
fn is_permitted() -> bool {
    const ARCH_PRCTL: isize = 158;
    const ARCH_REQ_XCOMP_PERM: usize = 0x1023;
    const XTILEDATA: usize = 18;
    let result: isize;
    // SAFETY: the call reads and writes no memory of the process, and the instruction changes these registers only.
    unsafe {
        asm!(
            "syscall",
            inout("rax") ARCH_PRCTL => result,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") XTILEDATA,
            out("rcx") _,
            out("r11") _,
            options(nostack)
        );
    }
    result == 0
}

#[cfg(not(target_os = "linux"))]
fn is_permitted() -> bool {
    false
}

/// Rows of a tile.
const ROWS: usize = 16;
/// Panels that few rows meet at a time.
const PANELS: usize = 4;

/// How the tiles are configured.
#[repr(C, align(64))]
struct Palette {
    number: u8,
    start: u8,
    reserved: [u8; 14],
    /// Bytes of a row of each tile.
    bytes: [u16; 16],
    /// Rows of each tile.
    rows: [u8; 16],
}

impl Palette {
    /// Tiles of sixteen rows, but those of sums and of rows: the first half of them has `first`, the other half `second`.
    fn new(first: usize, second: usize, of_first: &[usize], of_second: &[usize]) -> Palette {
        let mut palette = Palette { number: 1, start: 0, reserved: [0; 14], bytes: [0; 16], rows: [0; 16] };
        palette.bytes[..8].fill(64);
        palette.rows[..8].fill(ROWS as u8);
        of_first.iter().for_each(|&tile| palette.rows[tile] = first as u8);
        of_second.iter().for_each(|&tile| palette.rows[tile] = second as u8);
        palette
    }
}

/// All rows of a block, 32 at a time.
///
/// # Safety
/// The process must have the unit, and `block` rows of `depth.padded` words, panels, and valid sums for all of them.
unsafe fn rows<D: Dot>(block: &Block) {
    let mut row = 0;
    while row < block.rows {
        let count = (2 * ROWS).min(block.rows - row);
        let a = block.a.wrapping_add(row * block.pitch);
        let c = block.c.wrapping_add(row * block.c_pitch);
        let part = Block { a, c, rows: count, ..*block };
        // SAFETY: the part is at most 32 rows of the block from `row` on, with their words and sums, and all of its panels,
        // and the process has the unit, by this function's contract.
        unsafe { few_rows::<D>(&part) }
        row += count;
    }
}

/// At most 32 rows.
///
/// # Safety
/// The process must have the unit, and `block` 1 to 32 rows of `depth.padded` words, panels, and valid sums for all of
/// them.
unsafe fn few_rows<D: Dot>(block: &Block) {
    let steps = block.depth.padded / WIDTH;
    let (a_row, c_row) = (4 * block.pitch, 4 * block.c_pitch);
    if steps == 0 {
        for row in 0..block.rows {
            // SAFETY: each row of the block has sums of `panels` · `WIDTH` words, by this function's contract.
            unsafe { block.c.wrapping_add(row * block.c_pitch).write_bytes(0, block.panels * WIDTH) }
        }
        return;
    }
    let (first, second) = (block.rows.min(ROWS), block.rows.saturating_sub(ROWS));
    let a_second = block.a.wrapping_add(ROWS * block.pitch);
    let c_second = block.c.wrapping_add(ROWS * block.c_pitch);
    let group = if second > 0 { 2 } else { PANELS };
    let groups = block.panels / group;
    let palette = match second {
        0 => Palette::new(first, first, &[0, 1, 2, 3, 4], &[]),
        _ => Palette::new(first, second, &[0, 1, 4], &[2, 3, 5]),
    };
    // SAFETY: the process has the unit, and the block has `first` + `second` rows of `steps` tiles, its panels and their
    // sums, by this function's contract. `groups` · `group` panels and those that are left are all of them, tiles have the
    // rows that their palette says, and neither `steps` nor a count is 0.
    unsafe {
        let run = Run { palette: &palette, a: block.a, a_row, b: block.b, steps, c: block.c, c_row, count: groups };
        if groups > 0 && second > 0 {
            D::pairs(&run, a_second, c_second);
        } else if groups > 0 {
            D::fours(&run);
        }
        let done = groups * group;
        if done == block.panels {
            return;
        }
        let b = block.b.wrapping_add(done * block.depth.padded * WIDTH);
        let palette = Palette::new(first, first, &[0, 4], &[]);
        let c = block.c.wrapping_add(done * WIDTH);
        let run = Run { palette: &palette, b, c, count: block.panels - done, ..run };
        D::ones(&run);
        if second > 0 {
            let palette = Palette::new(second, second, &[0, 4], &[]);
            D::ones(&Run { palette: &palette, a: a_second, c: c_second.wrapping_add(done * WIDTH), ..run });
        }
    }
}

/// What a piece of assembly gets. Distances of rows are in bytes.
struct Run<'a> {
    palette: &'a Palette,
    a: *const u32,
    a_row: usize,
    b: *const u32,
    /// Tiles along K.
    steps: usize,
    c: *mut f32,
    c_row: usize,
    /// Groups of panels.
    count: usize,
}

/// The two kinds of words.
trait Dot {
    /// 32 rows at most, more than 16, with groups of two panels.
    ///
    /// # Safety
    /// The process must have the unit. The palette's first rows must have `run.steps` · `WIDTH` words from `run.a` on, and
    /// its second ones from `a_second` on, `run.b` must have two panels of as many rows for each of `run.count`, and
    /// `run.c` and `c_second` must be valid for writing their sums; neither number may be 0.
    unsafe fn pairs(run: &Run<'_>, a_second: *const u32, c_second: *mut f32);
    /// 16 rows at most with groups of four panels.
    ///
    /// # Safety
    /// The process must have the unit. The palette's rows must have `run.steps` · `WIDTH` words from `run.a` on, `run.b`
    /// must have four panels of as many rows for each of `run.count`, and `run.c` must be valid for writing their sums;
    /// neither number may be 0.
    unsafe fn fours(run: &Run<'_>);
    /// 16 rows at most with single panels.
    ///
    /// # Safety
    /// The process must have the unit. The palette's rows must have `run.steps` · `WIDTH` words from `run.a` on, `run.b`
    /// must have a panel of as many rows for each of `run.count`, and `run.c` must be valid for writing their sums; neither
    /// number may be 0.
    unsafe fn ones(run: &Run<'_>);
}

struct Halves;
struct Bytes;

/// A panel's tile has a row for each word of K, of 64 bytes; the panels follow each other, so at the end of one the next begins.
macro_rules! dots {
    ($kind:ty, $dot:literal) => {
        impl Dot for $kind {
            unsafe fn pairs(run: &Run<'_>, a_second: *const u32, c_second: *mut f32) {
                // SAFETY: the trait's contract promises the unit, rows of `steps` tiles at `a` and at `a_second`, two
                // panels for each of `count`, and their sums at `c` and at `c_second`. The assembly reads and writes no
                // more, and changes only what it declares.
                unsafe {
                    asm!(
                        "ldtilecfg [{n}]",
                        "2:",
                        "tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3",
                        "mov {n}, {steps}",
                        "3:",
                        "tileloadd tmm4, [{a} + {a_row}]",
                        "tileloadd tmm6, [{b} + {line}]",
                        concat!($dot, " tmm0, tmm4, tmm6"),
                        "tileloadd tmm7, [{d} + {line}]",
                        concat!($dot, " tmm1, tmm4, tmm7"),
                        "tileloadd tmm5, [{e} + {a_row}]",
                        concat!($dot, " tmm2, tmm5, tmm6"),
                        concat!($dot, " tmm3, tmm5, tmm7"),
                        "add {a}, 64", "add {e}, 64", "add {b}, 1024", "add {d}, 1024",
                        "dec {n}", "jnz 3b",
                        "tilestored [{c} + {c_row}], tmm0", "tilestored [{c} + {c_row} + 64], tmm1",
                        "tilestored [{f} + {c_row}], tmm2", "tilestored [{f} + {c_row} + 64], tmm3",
                        "mov {n}, {steps}", "shl {n}, 6",
                        "sub {a}, {n}", "sub {e}, {n}",
                        "shl {n}, 4",
                        "mov {b}, {d}", "add {d}, {n}",
                        "add {c}, 128", "add {f}, 128",
                        "dec {count}", "jnz 2b",
                        "tilerelease",
                        n = inout(reg) run.palette => _,
                        a = inout(reg) run.a => _,
                        e = inout(reg) a_second => _,
                        a_row = in(reg) run.a_row,
                        b = inout(reg) run.b => _,
                        d = inout(reg) run.b.wrapping_add(run.steps * WIDTH * WIDTH) => _,
                        line = in(reg) 64usize,
                        steps = in(reg) run.steps,
                        c = inout(reg) run.c => _,
                        f = inout(reg) c_second => _,
                        c_row = in(reg) run.c_row,
                        count = inout(reg) run.count => _,
                        out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                        out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                        options(nostack)
                    );
                }
            }

            unsafe fn fours(run: &Run<'_>) {
                let span = run.steps * WIDTH * WIDTH;
                // SAFETY: the trait's contract promises the unit, rows of `steps` tiles at `a`, four panels for each of
                // `count`, `span` words apart, and their sums at `c`. The assembly reads and writes no more, and changes
                // only what it declares.
                unsafe {
                    asm!(
                        "ldtilecfg [{n}]",
                        "2:",
                        "tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3",
                        "mov {n}, {steps}",
                        "3:",
                        "tileloadd tmm4, [{a} + {a_row}]",
                        "tileloadd tmm5, [{b} + {line}]",
                        "tileloadd tmm6, [{d} + {line}]",
                        concat!($dot, " tmm0, tmm4, tmm5"),
                        "tileloadd tmm7, [{e} + {line}]",
                        concat!($dot, " tmm1, tmm4, tmm6"),
                        "tileloadd tmm5, [{f} + {line}]",
                        concat!($dot, " tmm2, tmm4, tmm7"),
                        concat!($dot, " tmm3, tmm4, tmm5"),
                        "add {a}, 64", "add {b}, 1024", "add {d}, 1024", "add {e}, 1024", "add {f}, 1024",
                        "dec {n}", "jnz 3b",
                        "tilestored [{c} + {c_row}], tmm0", "tilestored [{c} + {c_row} + 64], tmm1",
                        "tilestored [{c} + {c_row} + 128], tmm2", "tilestored [{c} + {c_row} + 192], tmm3",
                        "mov {n}, {steps}", "shl {n}, 6", "sub {a}, {n}", "shl {n}, 4",
                        "mov {b}, {f}",
                        "lea {d}, [{b} + {n}]", "lea {e}, [{d} + {n}]", "lea {f}, [{e} + {n}]",
                        "add {c}, 256",
                        "dec {count}", "jnz 2b",
                        "tilerelease",
                        n = inout(reg) run.palette => _,
                        a = inout(reg) run.a => _,
                        a_row = in(reg) run.a_row,
                        b = inout(reg) run.b => _,
                        d = inout(reg) run.b.wrapping_add(span) => _,
                        e = inout(reg) run.b.wrapping_add(2 * span) => _,
                        f = inout(reg) run.b.wrapping_add(3 * span) => _,
                        line = in(reg) 64usize,
                        steps = in(reg) run.steps,
                        c = inout(reg) run.c => _,
                        c_row = in(reg) run.c_row,
                        count = inout(reg) run.count => _,
                        out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                        out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                        options(nostack)
                    );
                }
            }

            unsafe fn ones(run: &Run<'_>) {
                // SAFETY: the trait's contract promises the unit, rows of `steps` tiles at `a`, a panel for each of
                // `count`, and their sums at `c`. The assembly reads and writes no more, and changes only what it declares.
                unsafe {
                    asm!(
                        "ldtilecfg [{n}]",
                        "2:",
                        "tilezero tmm0",
                        "mov {n}, {steps}",
                        "3:",
                        "tileloadd tmm4, [{a} + {a_row}]",
                        "tileloadd tmm6, [{b} + {line}]",
                        concat!($dot, " tmm0, tmm4, tmm6"),
                        "add {a}, 64", "add {b}, 1024",
                        "dec {n}", "jnz 3b",
                        "tilestored [{c} + {c_row}], tmm0",
                        "mov {n}, {steps}", "shl {n}, 6", "sub {a}, {n}",
                        "add {c}, 64",
                        "dec {count}", "jnz 2b",
                        "tilerelease",
                        n = inout(reg) run.palette => _,
                        a = inout(reg) run.a => _,
                        a_row = in(reg) run.a_row,
                        b = inout(reg) run.b => _,
                        line = in(reg) 64usize,
                        steps = in(reg) run.steps,
                        c = inout(reg) run.c => _,
                        c_row = in(reg) run.c_row,
                        count = inout(reg) run.count => _,
                        out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                        out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                        options(nostack)
                    );
                }
            }
        }
    };
}

dots!(Halves, "tdpbf16ps");
dots!(Bytes, "tdpbusd");
