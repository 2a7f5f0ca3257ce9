// A total and what its roundings left out, with one more addend. `zero` is that of two_sum.
fn add_up(total: vec2<f32>, addend: f32, zero: u32) -> vec2<f32> {
    let sum = two_sum(total.x, addend, zero);
    return vec2<f32>(sum.x, total.y + sum.y);
}
