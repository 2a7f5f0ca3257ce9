// -1, 0 or 1 with the sign of x; 0 of NaN, which WGSL's sign leaves open.
fn sign_f32(x: f32) -> f32 {
    return select(sign(x), 0.0, is_nan(x));
}
