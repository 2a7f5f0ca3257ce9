// sin x. WGSL's sin is only good to 2^-11, and only between -pi and pi.
fn sin_f32(x: f32) -> f32 {
    let at = quadrant(x);
    return sin_cos_near(at.x, i32(at.y));
}
