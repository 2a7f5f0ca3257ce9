// The remainder; 0 where b is 0.
fn rem_u32(a: u32, b: u32) -> u32 {
    return a % max(b, 1u) * u32(b != 0u);
}
