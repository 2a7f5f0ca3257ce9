// 1 / (1 + e^-x) without overflow: the exponential is of a number that is not positive.
fn sigmoid(x: f32) -> f32 {
    let e = exp_f32(-abs(x));
    return select(1.0, e, x < 0.0) / (1.0 + e);
}
