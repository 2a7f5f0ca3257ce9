// The number of these bits of OCP's E4M3.
fn f32_of_f8e4m3(bits: u32) -> f32 {
    let sign = (bits & 0x80u) << 24u;
    let size = bits & 0x7fu;
    if size < 8u {
        // A multiple of 2^-9, which no f32 rounds.
        return bitcast<f32>(sign | bitcast<u32>(f32(size) * 0.001953125f));
    }
    if size == 0x7fu {
        return bitcast<f32>(sign | 0x7fc00000u);
    }
    return bitcast<f32>(sign | ((size << 20u) + 0x3c000000u));
}
