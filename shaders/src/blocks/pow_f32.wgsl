// a^b as in C: a negative base needs a whole exponent, and has the sign of its parity. WGSL's pow has no negative bases.
fn pow_f32(a: f32, b: f32) -> f32 {
    if b == 0.0 || a == 1.0 {
        return 1.0;
    }
    let l = log_f32(abs(a));
    let y = exp_f32(b * l);
    if a >= 0.0 || is_nan(a) {
        return y;
    }
    let odd = abs(b) < 16777216.0 && (i32(b) & 1) == 1;
    return select(not_a_number(), select(y, -y, odd), floor(b) == b);
}
