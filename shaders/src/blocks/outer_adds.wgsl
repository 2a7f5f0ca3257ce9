// Adds to four blocks the outer products of two columns with two rows; c01 is that of a0 and b1.
fn outer_adds(
    a0: vec4<f32>, a1: vec4<f32>, b0: vec4<f32>, b1: vec4<f32>,
    c00: ptr<function, mat4x4<f32>>, c01: ptr<function, mat4x4<f32>>,
    c10: ptr<function, mat4x4<f32>>, c11: ptr<function, mat4x4<f32>>,
) {
    *c00 = outer_add(a0, b0, *c00);
    *c01 = outer_add(a0, b1, *c01);
    *c10 = outer_add(a1, b0, *c10);
    *c11 = outer_add(a1, b1, *c11);
}
