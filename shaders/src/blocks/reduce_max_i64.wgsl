// The largest over the invocations of a workgroup that share a row, in each of them: of `rows` rows, invocation `lane`
// of `threads` has a part of row `lane % rows`. Both are powers of two. To be called by all invocations. The order of
// combining is fixed, so results repeat.
fn reduce_max_i64(value: vec2<u32>, lane: u32, threads: u32, rows: u32) -> vec2<u32> {
    reduce_64[lane] = value;
    for (var step = threads / 2u; step >= rows; step /= 2u) {
        workgroupBarrier();
        if lane < step {
            reduce_64[lane] = max_i64(reduce_64[lane], reduce_64[lane + step]);
        }
    }
    workgroupBarrier();
    let all = reduce_64[lane % rows];
    workgroupBarrier();
    return all;
}
