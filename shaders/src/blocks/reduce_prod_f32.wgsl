// The product over the invocations of a workgroup that share a row, in each of them: of `rows` rows, invocation `lane`
// of `threads` has a part of row `lane % rows`. Both are powers of two. To be called by all invocations. The order of
// combining is fixed, so results repeat.
fn reduce_prod_f32(value: f32, lane: u32, threads: u32, rows: u32) -> f32 {
    reduce_f32[lane] = value;
    for (var step = threads / 2u; step >= rows; step /= 2u) {
        workgroupBarrier();
        if lane < step {
            reduce_f32[lane] = reduce_f32[lane] * reduce_f32[lane + step];
        }
    }
    workgroupBarrier();
    let all = reduce_f32[lane % rows];
    workgroupBarrier();
    return all;
}
