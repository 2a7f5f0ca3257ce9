// The exponent of the power of two that brings a positive number, given by its bits, to 1024 or more and below 2048, unless it is
// tiny: 32 times below the largest half, and far above the smallest one with all its bits, 2^-14.
fn shift_of(bits: u32) -> i32 {
    return min(137 - i32(bits >> 23u), 126);
}
