// A pair of words, the lower one first, shifted to the right by n modulo 64.
fn shr_u64(x: vec2<u32>, n: u32) -> vec2<u32> {
    let shift = n & 31u;
    let pair = select(x, vec2<u32>(x.y, 0u), (n & 32u) != 0u);
    // Bits come from the upper word in two shifts, because one by 32 is none.
    return vec2<u32>((pair.x >> shift) | ((pair.y << 1u) << (31u - shift)), pair.y >> shift);
}
