// The product over a workgroup of `threads` (a power of two), in every invocation. To be called by all of
// them. The order of combining is fixed, so results repeat.
fn reduce_prod_u32(value: u32, lane: u32, threads: u32) -> u32 {
    reduce_u32[lane] = value;
    for (var step = threads / 2u; step > 0u; step /= 2u) {
        workgroupBarrier();
        if lane < step {
            reduce_u32[lane] = reduce_u32[lane] * reduce_u32[lane + step];
        }
    }
    let all = workgroupUniformLoad(&reduce_u32[0]);
    return all;
}
