// The sum over a workgroup of `threads` (a power of two), in every invocation. To be called by all of
// them. The order of combining is fixed, so results repeat.
fn reduce_sum_f32(value: f32, lane: u32, threads: u32) -> f32 {
    reduce_f32[lane] = value;
    for (var step = threads / 2u; step > 0u; step /= 2u) {
        workgroupBarrier();
        if lane < step {
            reduce_f32[lane] = reduce_f32[lane] + reduce_f32[lane + step];
        }
    }
    let all = workgroupUniformLoad(&reduce_f32[0]);
    return all;
}
