// The remainder of pairs of words, the lower one first, with the sign of a; 0 where b is 0.
fn rem_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let size = rem_u64(abs_i64(a), abs_i64(b));
    return select(size, neg_64(size), (a.y >> 31u) == 1u);
}
