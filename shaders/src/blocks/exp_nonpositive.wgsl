// e^x of four x that are not positive, within 2 ulp as exp_f32, and 0 below -87: one scaling is enough where no result is
// smaller than the smallest normal number.
fn exp_nonpositive(x: vec4<f32>) -> vec4<f32> {
    let n = round(x * 1.44269504);
    let r = (x - n * 0.693359375) + n * 2.12194440e-4;
    var p = vec4<f32>(1.98412698e-4);
    p = p * r + 1.38888889e-3;
    p = p * r + 8.33333333e-3;
    p = p * r + 4.16666667e-2;
    p = p * r + 1.66666667e-1;
    p = p * r + 0.5;
    p = (p * r) * r + r + 1.0;
    let y = p * bitcast<vec4<f32>>((vec4<i32>(n) << vec4<u32>(23u)) + vec4<i32>(0x3f800000));
    return select(y, vec4<f32>(), x < vec4<f32>(-87.0));
}
