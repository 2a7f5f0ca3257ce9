// x divided by 2 to the power of the sums of two shifts, in two steps, neither of which leaves the range of f32 where the result
// does not.
fn shifted_back(x: vec4<f32>, shifts: vec4<i32>) -> vec4<f32> {
    let first = shifts >> vec4<u32>(1u);
    return x * power_of_two(-first) * power_of_two(first - shifts);
}
