// Truncates; saturates outside the range; NaN gives 0.
fn u32_of(x: f32) -> u32 {
    if is_nan(x) {
        return 0u;
    }
    return select(u32(clamp(x, 0.0, 4294967040.0)), 4294967295u, x >= 4294967296.0);
}
