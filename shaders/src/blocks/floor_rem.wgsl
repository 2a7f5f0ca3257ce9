// What floor_div leaves, which is not negative; b is positive. Vulkan leaves % of negative numbers open.
fn floor_rem(a: i32, b: i32) -> i32 {
    return a - floor_div(a, b) * b;
}
