// The remainder with the sign of a; 0 where b is 0.
fn rem_i32(a: i32, b: i32) -> i32 {
    if b == 0 || b == -1 {
        return 0;
    }
    return a - (a / b) * b;
}
