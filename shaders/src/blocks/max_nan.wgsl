// The larger; NaN if either is. WGSL's max may drop a NaN.
fn max_nan(a: f32, b: f32) -> f32 {
    return select(select(max(a, b), b, is_nan(b)), a, is_nan(a));
}
