// The element of the other matrix, and the sum of all that stands before it in its row.
fn before(row: u32, end: u32) -> u32 {
    var sum = 0u;
    for (var t = 0u; t < end; t++) {
        sum += ids(row, t);
    }
    return sum;
}

fn transposed(t: u32, b: u32) -> u32 {
    return ids(b, t) + before(b, t) + u32(by()) + T * B;
}
