// The 8 bits of an integer without a sign. Truncates; saturates outside the range; NaN gives 0.
fn u8_of_f32(x: f32) -> u32 {
    return min(u32_of(x), 255u);
}
