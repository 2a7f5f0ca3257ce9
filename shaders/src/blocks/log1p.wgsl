// ln(1 + x), accurate near zero: 2 artanh(x / (2 + x)) by its series up to the eleventh power below 1/4.
fn log1p(x: f32) -> f32 {
    if abs(x) < 0.25 {
        let s = x / (2.0 + x);
        let z = s * s;
        let series = z * (0.666666667 + z * (0.4 + z * (0.285714286 + z * (0.222222222 + z * 0.181818182))));
        return x + s * (series - x);
    }
    return log_f32(1.0 + x);
}
