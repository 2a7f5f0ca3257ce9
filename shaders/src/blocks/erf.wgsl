// The error function within 1.5e-7: its Maclaurin series up to x^21 below 1, and above Abramowitz and Stegun 7.1.26.
fn erf(x: f32) -> f32 {
    let a = abs(x);
    if a < 1.0 {
        let z = x * x;
        var p = 1.48019227e-8;
        p = p * z - 1.63654546e-7;
        p = p * z + 1.64623659e-6;
        p = p * z - 1.49257051e-5;
        p = p * z + 1.20553329e-4;
        p = p * z - 8.54832703e-4;
        p = p * z + 5.22397762e-3;
        p = p * z - 2.68661706e-2;
        p = p * z + 1.12837917e-1;
        p = p * z - 3.76126389e-1;
        p = p * z + 1.12837917;
        return p * x;
    }
    let t = 1.0 / (1.0 + 0.3275911 * a);
    let p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    let y = 1.0 - p * exp_f32(-min(a * a, 100.0));
    return select(select(y, -y, x < 0.0), x, is_nan(x));
}
