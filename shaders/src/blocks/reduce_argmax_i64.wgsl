// The position of the first largest value over a workgroup of `threads` (a power of two), in every invocation. To be called
// by all of them.
fn reduce_argmax_i64(value: vec2<u32>, position: u32, lane: u32, threads: u32) -> u32 {
    reduce_64[lane] = value;
    reduce_position[lane] = position;
    for (var step = threads / 2u; step > 0u; step /= 2u) {
        workgroupBarrier();
        if lane < step && argmax_before_i64(
            reduce_64[lane + step], reduce_position[lane + step], reduce_64[lane], reduce_position[lane]) {
            reduce_64[lane] = reduce_64[lane + step];
            reduce_position[lane] = reduce_position[lane + step];
        }
    }
    let first = workgroupUniformLoad(&reduce_position[0]);
    return first;
}
