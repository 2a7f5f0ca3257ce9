// 2 to the power of integers from -126 to 127.
fn power_of_two(n: vec4<i32>) -> vec4<f32> {
    return bitcast<vec4<f32>>((n + 127) << vec4<u32>(23u));
}
