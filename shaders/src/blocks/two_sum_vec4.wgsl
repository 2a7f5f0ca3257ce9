// The four sums a + b, and what their roundings leave out: two_sum for vectors.
fn two_sum_vec4(a: vec4<f32>, b: vec4<f32>, zero: u32) -> mat2x4<f32> {
    let bits = vec4<u32>(zero);
    let sum = bitcast<vec4<f32>>(bitcast<vec4<u32>>(a + b) | bits);
    let of_b = bitcast<vec4<f32>>(bitcast<vec4<u32>>(sum - a) | bits);
    let of_a = bitcast<vec4<f32>>(bitcast<vec4<u32>>(sum - of_b) | bits);
    let rest_a = bitcast<vec4<f32>>(bitcast<vec4<u32>>(a - of_a) | bits);
    let rest_b = bitcast<vec4<f32>>(bitcast<vec4<u32>>(b - of_b) | bits);
    let exponents = bitcast<vec4<u32>>(sum) & vec4<u32>(0x7f800000u);
    return mat2x4<f32>(sum, select(rest_a + rest_b, vec4<f32>(), exponents == vec4<u32>(0x7f800000u)));
}
