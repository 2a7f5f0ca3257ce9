// Two words, the lower one first. Truncates; saturates outside the range; NaN gives 0.
fn u64_of_f32(x: f32) -> vec2<u32> {
    if is_nan(x) || x < 1.0 {
        return vec2<u32>();
    }
    if x >= 18446744073709551616.0 {
        return vec2<u32>(0xffffffffu, 0xffffffffu);
    }
    let bits = bitcast<u32>(x);
    let exponent = (bits >> 23u) - 127u;
    let fraction = (bits & 0x7fffffu) | 0x800000u;
    if exponent < 23u {
        return vec2<u32>(fraction >> (23u - exponent), 0u);
    }
    return shl_64(vec2<u32>(fraction, 0u), exponent - 23u);
}
