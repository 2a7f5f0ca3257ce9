// Whether candidate (a, i) comes before (b, j) in a search for the first largest.
fn argmax_before_i32(a: i32, i: u32, b: i32, j: u32) -> bool {
    return a > b || (a == b && i < j);
}
