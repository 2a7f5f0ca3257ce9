// The 16 bits of an integer. Truncates; saturates outside the range; NaN gives 0.
fn i16_of_f32(x: f32) -> u32 {
    return bitcast<u32>(clamp(i32_of(x), -32768, 32767)) & 65535u;
}
