// The bits of the nearest bf16, ties to even. NaN stays NaN, quiet, and keeps its upper bits.
fn bf16_of_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if (bits & 0x7fffffffu) > 0x7f800000u {
        return (bits | 0x400000u) >> 16u;
    }
    return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}
