// cos x. WGSL's cos is only good to 2^-11, and only between -pi and pi.
fn cos_f32(x: f32) -> f32 {
    let at = quadrant(x);
    return sin_cos_near(at.x, i32(at.y) + 1);
}
