// Whether none of four numbers is infinite or not a number: a device may assume that there are no such numbers, but not about bits.
fn all_finite(x: vec4<f32>) -> bool {
    let exponents = bitcast<vec4<u32>>(x) & vec4<u32>(0x7f800000u);
    return all(exponents != vec4<u32>(0x7f800000u));
}
