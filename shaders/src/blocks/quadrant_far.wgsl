// x = q pi/2 + r with |r| <= pi/4, for |x| from 2^-7 on (Payne and Hanek): r, and q modulo 4 with the sign of x. NaN of what
// is not finite. The 24 bits of x times 96 bits of 2/pi, of which those that count whole turns are left out.
fn quadrant_far(x: f32) -> vec2<f32> {
    // 2/pi behind 32 zeros.
    var digits = array<u32, 8>(
        0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 
        0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);
    let bits = bitcast<u32>(x) & 0x7fffffffu;
    // The position of the digit that, times the last bit of x, weighs 2.
    let first = (bits >> 23u) - 120u;
    let word = first / 32u;
    let shift = first % 32u;
    var window = vec3<u32>(digits[word], digits[word + 1u], digits[word + 2u]);
    if shift > 0u {
        let next = vec3<u32>(digits[word + 1u], digits[word + 2u], digits[word + 3u]);
        window = (window << vec3<u32>(shift)) | (next >> vec3<u32>(32u - shift));
    }
    let mantissa = (bits & 0x007fffffu) | 0x00800000u;
    let low = mul_wide(mantissa, window.z);
    let middle = mul_wide(mantissa, window.y);
    var fine = middle.x + low.y;
    let coarse = mantissa * window.x + middle.y + u32(fine < low.y);
    // Quarter turns to the nearest, and what is left of 2^62 parts of one.
    let q = (coarse + 0x20000000u) >> 30u;
    var left = coarse - (q << 30u);
    let negative = (left >> 31u) == 1u;
    if negative {
        left = ~left + u32(fine == 0u);
        fine = ~fine + 1u;
    }
    var r = f32(fine) * 2.16840434e-19;
    if left > 0u {
        let zeros = countLeadingZeros(left);
        r = f32((left << zeros) | (fine >> (32u - zeros))) * bitcast<f32>((97u - zeros) << 23u);
    }
    r *= 1.57079633;
    let turned = (x < 0.0) != negative;
    let found = vec2<f32>(select(r, -r, turned), select(f32(q), -f32(q), x < 0.0));
    return select(found, vec2<f32>(not_a_number(), 0.0), bits >= 0x7f800000u);
}
