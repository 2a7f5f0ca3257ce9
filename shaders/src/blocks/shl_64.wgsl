// A pair of words, the lower one first, shifted to the left by n modulo 64.
fn shl_64(x: vec2<u32>, n: u32) -> vec2<u32> {
    let shift = n & 31u;
    let pair = select(x, vec2<u32>(0u, x.x), (n & 32u) != 0u);
    // Bits come from the lower word in two shifts, because one by 32 is none.
    return vec2<u32>(pair.x << shift, (pair.y << shift) | ((pair.x >> 1u) >> (31u - shift)));
}
