// Two words, the lower one first. Truncates; saturates outside the range; NaN gives 0.
fn i64_of_f32(x: f32) -> vec2<u32> {
    if x >= 9223372036854775808.0 {
        return vec2<u32>(0xffffffffu, 0x7fffffffu);
    }
    if x <= -9223372036854775808.0 {
        return vec2<u32>(0u, 0x80000000u);
    }
    let size = u64_of_f32(abs(x));
    return select(size, neg_64(size), x < 0.0);
}
