// 16 totals with one more addend each, and what the roundings leave out, which belongs to the next addends (Kahan).
struct BlockSum {
    total: mat4x4<f32>,
    rest: mat4x4<f32>,
}
fn add_up_block(total: mat4x4<f32>, addend: mat4x4<f32>, zero: u32) -> BlockSum {
    let a = two_sum_vec4(total[0], addend[0], zero);
    let b = two_sum_vec4(total[1], addend[1], zero);
    let c = two_sum_vec4(total[2], addend[2], zero);
    let d = two_sum_vec4(total[3], addend[3], zero);
    return BlockSum(mat4x4<f32>(a[0], b[0], c[0], d[0]), mat4x4<f32>(a[1], b[1], c[1], d[1]));
}
