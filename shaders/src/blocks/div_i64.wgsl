// The truncated quotient of pairs of words, the lower one first; 0 where b is 0; wraps where it does not fit.
fn div_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let size = div_u64(abs_i64(a), abs_i64(b));
    return select(size, neg_64(size), ((a.y ^ b.y) >> 31u) == 1u);
}
