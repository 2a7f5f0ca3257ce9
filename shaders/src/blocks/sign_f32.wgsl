// -1, 0 or 1 with the sign of x; NaN of NaN, which WGSL's sign leaves open.
fn sign_f32(x: f32) -> f32 {
    return select(sign(x), x, is_nan(x));
}
