// The remainder of pairs of words, the lower one first; 0 where b is 0.
fn rem_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return div_rem_u64(a, b).zw;
}
