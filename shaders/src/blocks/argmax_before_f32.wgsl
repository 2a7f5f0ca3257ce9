// Whether candidate (a, i) comes before (b, j) in a search for the first largest; a NaN beats every number.
fn argmax_before_f32(a: f32, i: u32, b: f32, j: u32) -> bool {
    if is_nan(a) || is_nan(b) {
        return is_nan(a) && (!is_nan(b) || i < j);
    }
    return a > b || (a == b && i < j);
}
