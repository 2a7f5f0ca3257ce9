// The quotient rounded towards minus infinity, of dimensions; b is positive.
fn floor_div(a: i32, b: i32) -> i32 {
    return (a - select(0, b - 1, a < 0)) / b;
}
