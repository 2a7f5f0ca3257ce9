// The sum over a workgroup of `threads` (a power of two), in every invocation. To be called by all of
// them. The order of combining is fixed, so results repeat.
fn reduce_sum_64(value: vec2<u32>, lane: u32, threads: u32) -> vec2<u32> {
    reduce_64[lane] = value;
    for (var step = threads / 2u; step > 0u; step /= 2u) {
        workgroupBarrier();
        if lane < step {
            reduce_64[lane] = add_64(reduce_64[lane], reduce_64[lane + step]);
        }
    }
    let all = workgroupUniformLoad(&reduce_64[0]);
    return all;
}
