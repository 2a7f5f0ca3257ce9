// The number of these 8 bits, the highest of which is the sign.
fn i32_of_i8(bits: u32) -> i32 {
    return bitcast<i32>(bits << 24u) >> 24u;
}
