// c plus the outer product of a column a and a row b; c[i] is row i.
fn outer_add(a: vec4<f32>, b: vec4<f32>, c: mat4x4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(
        fma(vec4<f32>(a.x), b, c[0]),
        fma(vec4<f32>(a.y), b, c[1]),
        fma(vec4<f32>(a.z), b, c[2]),
        fma(vec4<f32>(a.w), b, c[3]),
    );
}
