// a + b and what its rounding leaves out (Knuth); 0 where the sum is not finite. `zero` is 0, which no compiler knows:
// they may replace (a + b) - a by b, but not where bits pass through an unknown number in between.
fn two_sum(a: f32, b: f32, zero: u32) -> vec2<f32> {
    let sum = bitcast<f32>(bitcast<u32>(a + b) | zero);
    let of_b = bitcast<f32>(bitcast<u32>(sum - a) | zero);
    let of_a = bitcast<f32>(bitcast<u32>(sum - of_b) | zero);
    let rest_a = bitcast<f32>(bitcast<u32>(a - of_a) | zero);
    let rest_b = bitcast<f32>(bitcast<u32>(b - of_b) | zero);
    return vec2<f32>(sum, select(rest_a + rest_b, 0.0, (bitcast<u32>(sum) & 0x7f800000u) == 0x7f800000u));
}
