// The numbers without the lowest 13 bits of their significands, as many as a half has in the normal range of halves: what is left
// of a number when they are subtracted has as few again.
fn high_half(x: vec4<f32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) & vec4<u32>(0xffffe000u));
}
