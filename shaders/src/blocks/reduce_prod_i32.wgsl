// The product over a workgroup of `threads` (a power of two), in every invocation. To be called by all of
// them. The order of combining is fixed, so results repeat.
fn reduce_prod_i32(value: i32, lane: u32, threads: u32) -> i32 {
    reduce_i32[lane] = value;
    for (var step = threads / 2u; step > 0u; step /= 2u) {
        workgroupBarrier();
        if lane < step {
            reduce_i32[lane] = reduce_i32[lane] * reduce_i32[lane + step];
        }
    }
    let all = workgroupUniformLoad(&reduce_i32[0]);
    return all;
}
