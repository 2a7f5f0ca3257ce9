// The 8 bits of an integer. Truncates; saturates outside the range; NaN gives 0.
fn i8_of_f32(x: f32) -> u32 {
    return bitcast<u32>(clamp(i32_of(x), -128, 127)) & 255u;
}
