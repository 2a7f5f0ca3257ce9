// Whether candidate (a, i) comes before (b, j) in a search for the first smallest.
fn argmin_before_u32(a: u32, i: u32, b: u32, j: u32) -> bool {
    return a < b || (a == b && i < j);
}
