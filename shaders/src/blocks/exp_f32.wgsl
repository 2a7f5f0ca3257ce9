// e^x within 2 ulp: x = n ln 2 + r (Cody and Waite, in two parts), then the Taylor series of e^r up to r^7 and two
// exact scalings by powers of two. WGSL's exp may be off by 3 + 2 |x| ulp.
fn exp_f32(x: f32) -> f32 {
    let clamped = clamp(x, -104.0, 89.0);
    let n = round(clamped * 1.44269504);
    let r = (clamped - n * 0.693359375) + n * 2.12194440e-4;
    var p = 1.98412698e-4;
    p = p * r + 1.38888889e-3;
    p = p * r + 8.33333333e-3;
    p = p * r + 4.16666667e-2;
    p = p * r + 1.66666667e-1;
    p = p * r + 0.5;
    p = (p * r) * r + r + 1.0;
    let low = i32(n) >> 1u;
    let high = i32(n) - low;
    let y = p * bitcast<f32>(u32(low + 127) << 23u) * bitcast<f32>(u32(high + 127) << 23u);
    return select(y, x, is_nan(x));
}
