// Whether candidate (a, i) comes before (b, j) in a search for the first largest.
fn argmax_before_i64(a: vec2<u32>, i: u32, b: vec2<u32>, j: u32) -> bool {
    return lt_i64(b, a) || (all(a == b) && i < j);
}
