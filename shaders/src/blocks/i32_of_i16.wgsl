// The number of these 16 bits, the highest of which is the sign.
fn i32_of_i16(bits: u32) -> i32 {
    return bitcast<i32>(bits << 16u) >> 16u;
}
