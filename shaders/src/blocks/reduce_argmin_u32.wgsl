// The position of the first smallest value over the invocations of a workgroup that share a row, in each of them: of
// `rows` rows, invocation `lane` of `threads` has a part of row `lane % rows`. Both are powers of two. To be called by
// all invocations.
fn reduce_argmin_u32(value: u32, position: u32, lane: u32, threads: u32, rows: u32) -> u32 {
    reduce_u32[lane] = value;
    reduce_position[lane] = position;
    for (var step = threads / 2u; step >= rows; step /= 2u) {
        workgroupBarrier();
        if lane < step && argmin_before_u32(
            reduce_u32[lane + step], reduce_position[lane + step], reduce_u32[lane], reduce_position[lane]) {
            reduce_u32[lane] = reduce_u32[lane + step];
            reduce_position[lane] = reduce_position[lane + step];
        }
    }
    workgroupBarrier();
    let first = reduce_position[lane % rows];
    workgroupBarrier();
    return first;
}
