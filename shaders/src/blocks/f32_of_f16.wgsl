// The number of these bits of an f16. NaN becomes quiet. WGSL's own function may take subnormal numbers for 0.
fn f32_of_f16(bits: u32) -> f32 {
    let sign = (bits & 0x8000u) << 16u;
    let size = bits & 0x7fffu;
    if size < 0x400u {
        // A multiple of 2^-24, which no f32 rounds.
        return bitcast<f32>(sign | bitcast<u32>(f32(size) * 5.9604644775390625e-8f));
    }
    if size >= 0x7c00u {
        return bitcast<f32>(sign | 0x7f800000u | (size << 13u) | select(0u, 0x400000u, size > 0x7c00u));
    }
    return bitcast<f32>(sign | ((size << 13u) + 0x38000000u));
}
