// e^x - 1, accurate near zero: the Taylor series up to x^9 below 1/2.
fn expm1(x: f32) -> f32 {
    if abs(x) < 0.5 {
        var p = 2.75573192e-6;
        p = p * x + 2.48015873e-5;
        p = p * x + 1.98412698e-4;
        p = p * x + 1.38888889e-3;
        p = p * x + 8.33333333e-3;
        p = p * x + 4.16666667e-2;
        p = p * x + 1.66666667e-1;
        p = p * x + 0.5;
        return (p * x) * x + x;
    }
    return exp_f32(x) - 1.0;
}
