// a - b * trunc(a / b) without an error, with the sign of a, as C's fmod: long division of the mantissas, eight binary
// places at a time. NaN where a is infinite or b is 0.
fn rem_f32(a: f32, b: f32) -> f32 {
    let sign = bitcast<u32>(a) & 0x80000000u;
    let x = bitcast<u32>(a) & 0x7fffffffu;
    let y = bitcast<u32>(b) & 0x7fffffffu;
    if x >= 0x7f800000u || y > 0x7f800000u || y == 0u {
        return not_a_number();
    }
    if x < y {
        return a;
    }
    // Numbers below the normal ones have the exponent of the least of these, and no leading one.
    let place = max(y >> 23u, 1u);
    let divisor = select(y, (y & 0x7fffffu) | 0x800000u, y >= 0x800000u);
    var rest = select(x, (x & 0x7fffffu) | 0x800000u, x >= 0x800000u) % divisor;
    var left = max(x >> 23u, 1u) - place;
    while left > 0u {
        let shift = min(left, 8u);
        rest = (rest << shift) % divisor;
        left -= shift;
    }
    if rest == 0u {
        return bitcast<f32>(sign);
    }
    let up = min(countLeadingZeros(rest) - 8u, place - 1u);
    rest = rest << up;
    let exponent = select(0u, place - up, rest >= 0x800000u);
    return bitcast<f32>(sign | (exponent << 23u) | (rest & 0x7fffffu));
}
