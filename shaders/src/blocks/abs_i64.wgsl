// The magnitude of a pair of words with a sign, the lower one first; wraps.
fn abs_i64(x: vec2<u32>) -> vec2<u32> {
    return select(x, neg_64(x), (x.y >> 31u) == 1u);
}
