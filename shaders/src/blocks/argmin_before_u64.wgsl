// Whether candidate (a, i) comes before (b, j) in a search for the first smallest.
fn argmin_before_u64(a: vec2<u32>, i: u32, b: vec2<u32>, j: u32) -> bool {
    return lt_u64(a, b) || (all(a == b) && i < j);
}
