// The arctangent within 3 ULP: a polynomial, minimax for the relative error on 0 to 1, and beyond 1 what 1/x lacks of π/2.
fn atan_f32(x: f32) -> f32 {
    let t = abs(x);
    let steep = t > 1.0;
    let u = select(t, 1.0 / clamp(t, 1.0, 1e30), steep);
    let z = u * u;
    var p = -1.7936218e-3;
    p = p * z + 1.0914606e-2;
    p = p * z - 3.1177847e-2;
    p = p * z + 5.7957593e-2;
    p = p * z - 8.40345e-2;
    p = p * z + 1.0952186e-1;
    p = p * z - 1.4264242e-1;
    p = p * z + 1.9998549e-1;
    p = p * z - 3.33333e-1;
    let angle = u + u * z * p;
    let y = select(angle, (1.57079637 - angle) - 4.371139e-8, steep);
    return select(select(y, -y, x < 0.0), x, is_nan(x) || x == 0.0);
}
