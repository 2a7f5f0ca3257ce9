// The bits of the nearest number of OCP's E4M3, ties to even; of what is beyond 448, infinities too, those of 448.
fn f8e4m3_of_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let sign = (bits >> 24u) & 0x80u;
    if (bits & 0x7fffffffu) > 0x7f800000u {
        return sign | 0x7fu;
    }
    let size = min(bits & 0x7fffffffu, 0x43e00000u);
    if size >= 0x3c800000u {
        return sign | ((size - 0x3c000000u + 0x7ffffu + ((size >> 20u) & 1u)) >> 20u);
    }
    // Below the smallest normal number, 2^-6, the last bit is worth 2^-9; less than half of that is 0.
    let shift = 141u - min(size >> 23u, 141u);
    if shift > 24u {
        return sign;
    }
    let fraction = (size & 0x7fffffu) | 0x800000u;
    let rounded = fraction + (1u << (shift - 1u)) - 1u + ((fraction >> shift) & 1u);
    return sign | (rounded >> shift);
}
