// Adds 16 addends to 16 totals and what the roundings leave out to what others left, as add_up does for one.
fn add_up_block(total: ptr<function, mat4x4<f32>>, lost: ptr<function, mat4x4<f32>>, addend: mat4x4<f32>, zero: u32) {
    let a = two_sum_vec4((*total)[0], addend[0], zero);
    let b = two_sum_vec4((*total)[1], addend[1], zero);
    let c = two_sum_vec4((*total)[2], addend[2], zero);
    let d = two_sum_vec4((*total)[3], addend[3], zero);
    *total = mat4x4<f32>(a[0], b[0], c[0], d[0]);
    *lost += mat4x4<f32>(a[1], b[1], c[1], d[1]);
}
