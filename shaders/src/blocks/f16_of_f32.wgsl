// The bits of the nearest f16, ties to even; infinite from 65520 on. NaN stays NaN, quiet, and keeps what there is room for.
// WGSL's own function leaves open how it rounds.
fn f16_of_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let size = bits & 0x7fffffffu;
    let sign = (bits >> 16u) & 0x8000u;
    if size > 0x7f800000u {
        return sign | 0x7e00u | ((size >> 13u) & 0x1ffu);
    }
    if size >= 0x477ff000u {
        return sign | 0x7c00u;
    }
    if size >= 0x38800000u {
        return sign | ((size - 0x38000000u + 0xfffu + ((size >> 13u) & 1u)) >> 13u);
    }
    // Below the smallest normal number, 2^-14, the last bit is worth 2^-24; less than half of that is 0.
    let shift = 126u - min(size >> 23u, 126u);
    if shift > 24u {
        return sign;
    }
    let fraction = (size & 0x7fffffu) | 0x800000u;
    let rounded = fraction + (1u << (shift - 1u)) - 1u + ((fraction >> shift) & 1u);
    return sign | (rounded >> shift);
}
