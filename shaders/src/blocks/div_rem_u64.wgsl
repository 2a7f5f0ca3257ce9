// The quotient in the first and the remainder in the last two words, bit by bit (long division); both 0 where b is 0.
fn div_rem_u64(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
    if all(b == vec2<u32>()) {
        return vec4<u32>();
    }
    if a.y == 0u && b.y == 0u {
        return vec4<u32>(a.x / b.x, 0u, a.x % b.x, 0u);
    }
    var quotient = vec2<u32>();
    var rest = vec2<u32>();
    for (var n = 0u; n < 64u; n++) {
        let beyond = (rest.y >> 31u) == 1u;
        let bit = shr_u64(a, 63u - n).x & 1u;
        rest = shl_64(rest, 1u) | vec2<u32>(bit, 0u);
        quotient = shl_64(quotient, 1u);
        if beyond || !lt_u64(rest, b) {
            rest = sub_64(rest, b);
            quotient.x |= 1u;
        }
    }
    return vec4<u32>(quotient, rest);
}
