// The number of these bits of a bf16, the upper half of an f32.
fn f32_of_bf16(bits: u32) -> f32 {
    return bitcast<f32>(bits << 16u);
}
