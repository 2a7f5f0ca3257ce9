// Truncates; saturates outside the range; NaN gives 0.
fn i32_of(x: f32) -> i32 {
    if is_nan(x) {
        return 0;
    }
    return select(i32(clamp(x, -2147483648.0, 2147483520.0)), 2147483647, x >= 2147483648.0);
}
