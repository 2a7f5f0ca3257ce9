// The 16 bits of an integer without a sign. Truncates; saturates outside the range; NaN gives 0.
fn u16_of_f32(x: f32) -> u32 {
    return min(u32_of(x), 65535u);
}
