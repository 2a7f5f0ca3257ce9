// -1, 0 or 1 as a pair of words, the lower one first.
fn sign_i64(x: vec2<u32>) -> vec2<u32> {
    let negative = (x.y >> 31u) == 1u;
    return select(vec2<u32>(u32(any(x != vec2<u32>())), 0u), vec2<u32>(0xffffffffu, 0xffffffffu), negative);
}
