// The smaller; NaN if either is. WGSL's min may drop a NaN.
fn min_nan(a: f32, b: f32) -> f32 {
    return select(select(min(a, b), b, is_nan(b)), a, is_nan(a));
}
