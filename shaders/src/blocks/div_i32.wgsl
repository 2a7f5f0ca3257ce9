// The truncated quotient; 0 where b is 0; wraps where it does not fit.
fn div_i32(a: i32, b: i32) -> i32 {
    if b == 0 {
        return 0;
    }
    if b == -1 {
        return 0 - a;
    }
    return a / b;
}
