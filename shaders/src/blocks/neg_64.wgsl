// The negative of a pair of words, the lower one first; wraps.
fn neg_64(x: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(0u - x.x, 0u - x.y - u32(x.x != 0u));
}
