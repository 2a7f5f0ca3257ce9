// The nearest number, ties to even.
fn f32_of_i64(x: vec2<u32>) -> f32 {
    let negative = (x.y >> 31u) == 1u;
    let size = f32_of_u64(select(x, neg_64(x), negative));
    return select(size, -size, negative);
}
