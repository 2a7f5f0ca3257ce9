// ln x within 2 ulp: x = m 2^e with m in [0.707, 1.414), then 2 artanh((m - 1) / (m + 1)) by its series up to the ninth
// power. WGSL's log may be off by 2^-21 near 1.
fn log_f32(x: f32) -> f32 {
    let tiny = x < 1.17549435e-38;
    let bits = bitcast<u32>(select(x, x * 8388608.0, tiny)) - 0x3f3504f3u;
    let e = f32(bitcast<i32>(bits) >> 23u) - select(0.0, 23.0, tiny);
    let m = bitcast<f32>((bits & 0x007fffffu) + 0x3f3504f3u);
    let f = m - 1.0;
    let s = f / (m + 1.0);
    let z = s * s;
    let series = z * (0.666666667 + z * (0.4 + z * (0.285714286 + z * 0.222222222)));
    // 2 s = f - s f, where f is exact and s f is small.
    let y = e * 0.693359375 + (f + (s * (series - f) - e * 2.12194440e-4));
    if x > 0.0 {
        return select(y, x, (bitcast<u32>(x) & 0x7f800000u) == 0x7f800000u);
    }
    return select(select(not_a_number(), -infinity(), x == 0.0), x, is_nan(x));
}
