// sin r (turned 0) or cos r (turned 1) of |r| <= pi/4, with the sign of that many quarter turns: Taylor up to r^10.
fn sin_cos_near(r: f32, turned: i32) -> f32 {
    let z = r * r;
    let s = r + r * z * (-1.66666667e-1 + z * (8.33333333e-3 + z * (-1.98412698e-4 + z * 2.75573192e-6)));
    let c = 1.0 + z * (-0.5 + z * (4.16666667e-2 + z * (-1.38888889e-3 + z * (2.48015873e-5 - z * 2.75573192e-7))));
    let y = select(s, c, (turned & 1) == 1);
    return select(y, -y, (turned & 2) == 2);
}
