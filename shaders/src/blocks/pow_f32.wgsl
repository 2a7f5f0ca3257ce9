// a^b as in C: a negative base needs a whole exponent, and has the sign of its parity; zeros and infinities have every
// power. WGSL's pow has no negative bases.
fn pow_f32(a: f32, b: f32) -> f32 {
    let of_a = bitcast<u32>(a);
    let boundless = (bitcast<u32>(b) & 0x7fffffffu) == 0x7f800000u;
    if b == 0.0 || a == 1.0 || (a == -1.0 && boundless) {
        return 1.0;
    }
    let y = exp_f32(b * log_f32(abs(a)));
    if (of_a >> 31u) == 0u || is_nan(a) {
        return y;
    }
    let whole = boundless || floor(b) == b;
    let odd = whole && abs(b) < 16777216.0 && (i32(b) & 1) == 1;
    let every = a == 0.0 || of_a == 0xff800000u;
    return select(not_a_number(), select(y, -y, odd), whole || every);
}
