// The exponent of the power of two that brings a positive number, given by its bits, to 128 or more and below 256: 512 times below
// the largest half, and far above the smallest one with all its bits, 2^-14. Numbers below the smallest normal one stay where they are.
fn shift_of(bits: u32) -> i32 {
    let exponent = i32(bits >> 23u);
    return select(min(134 - exponent, 126), 0, exponent == 0);
}
