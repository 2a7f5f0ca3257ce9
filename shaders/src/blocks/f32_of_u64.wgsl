// The nearest number, ties to even.
fn f32_of_u64(x: vec2<u32>) -> f32 {
    if all(x == vec2<u32>()) {
        return 0.0;
    }
    let zeros = select(countLeadingZeros(x.y), 32u + countLeadingZeros(x.x), x.y == 0u);
    let shifted = shl_64(x, zeros);
    // Of the upper word 24 bits stay, the first of which is no part of the fraction.
    let rest = shifted.y & 0xffu;
    let odd = (shifted.y >> 8u) & 1u;
    let up = rest > 0x80u || (rest == 0x80u && (shifted.x != 0u || odd == 1u));
    return bitcast<f32>(((189u - zeros) << 23u) + (shifted.y >> 8u) + u32(up));
}
