// The self-check of cooperative matrices: each subgroup multiplies a matrix of its own by one that all have, in three products of
// halves and as emitted kernels do: by lines along the terms, by lines along the sides, and both results added. `element` of halves.rs
// gives the same numbers. In the second of three turns elements of each subgroup's first row are beyond the range of halves, and in the
// third such of the first column of the other matrix.

enable f16;
enable wgpu_cooperative_matrix;

@group(0) @binding(0) var<storage, read_write> sums: array<vec4<f32>>;

// Lines of 16 elements, which are 6 words apart: high halves, and then low ones.
var<workgroup> rows: array<vec4<f16>, 1536>;
var<workgroup> rows_turned: array<vec4<f16>, 1536>;
var<workgroup> columns: array<vec4<f16>, 192>;
var<workgroup> columns_turned: array<vec4<f16>, 192>;
var<workgroup> stored: array<vec4<f32>, 512>;

fn element(n: u32) -> f32 {
    return f32((n * 7919u) % 65521u) / 65536.0 - 0.5;
}

// Four neighbours of a matrix in lines of 16, of which the first one is in a line and behind so many others, or of its transpose.
fn four(matrix: u32, line: u32, at: u32, is_turned: bool) -> vec4<f32> {
    let first = 256u * matrix + select(16u * line + at, 16u * at + line, is_turned);
    let step = select(1u, 16u, is_turned);
    return vec4<f32>(element(first), element(first + step), element(first + 2u * step), element(first + 3u * step));
}

fn high_half(x: vec4<f32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) & vec4<u32>(0xffffe000u));
}

@compute @workgroup_size(256)
fn check(@builtin(local_invocation_index) lane: u32) {
    let subgroup = lane / 32u;
    for (var turn = 0u; turn < 3u; turn++) {
        for (var n = lane; n < 576u; n += 256u) {
            // The matrix that all have is behind those of the subgroups.
            let matrix = n / 64u;
            let line = n % 64u / 4u;
            let word = n % 4u;
            let is_own = matrix < 8u;
            let is_beyond = turn > 0u && is_own == (turn == 1u);
            let of_line = select(1.0, 1048576.0, is_beyond && line == 0u);
            let of_first = select(1.0, 1048576.0, is_beyond && word == 0u);
            let along = four(matrix, line, 4u * word, false) * of_line;
            let beside = four(matrix, line, 4u * word, true) * vec4<f32>(of_first, 1.0, 1.0, 1.0);
            let at = 6u * (16u * matrix + line) + word;
            let high_along = high_half(along);
            let high_beside = high_half(beside);
            if is_own {
                rows[at] = vec4<f16>(high_along);
                rows[768u + at] = vec4<f16>(along - high_along);
                rows_turned[at] = vec4<f16>(high_beside);
                rows_turned[768u + at] = vec4<f16>(beside - high_beside);
            } else {
                columns[at - 768u] = vec4<f16>(high_along);
                columns[at - 672u] = vec4<f16>(along - high_along);
                columns_turned[at - 768u] = vec4<f16>(high_beside);
                columns_turned[at - 672u] = vec4<f16>(beside - high_beside);
            }
        }
        workgroupBarrier();
        let at = 96u * subgroup;
        var c = coop_mat16x16<f32, C>();
        var d = coop_mat16x16<f32, C>();
        {
            let ah = coopLoadT<coop_mat16x16<f16, A>>(&rows[at], 6u);
            let al = coopLoadT<coop_mat16x16<f16, A>>(&rows[768u + at], 6u);
            let bh = coopLoad<coop_mat16x16<f16, B>>(&columns[0], 6u);
            let bl = coopLoad<coop_mat16x16<f16, B>>(&columns[96], 6u);
            c = coopMultiplyAdd(al, bh, c);
            c = coopMultiplyAdd(ah, bl, c);
            c = coopMultiplyAdd(ah, bh, c);
        }
        {
            let ah = coopLoad<coop_mat16x16<f16, A>>(&rows_turned[at], 6u);
            let al = coopLoad<coop_mat16x16<f16, A>>(&rows_turned[768u + at], 6u);
            let bh = coopLoadT<coop_mat16x16<f16, B>>(&columns_turned[0], 6u);
            let bl = coopLoadT<coop_mat16x16<f16, B>>(&columns_turned[96], 6u);
            d = coopMultiplyAdd(al, bh, d);
            d = coopMultiplyAdd(ah, bl, d);
            d = coopMultiplyAdd(ah, bh, d);
        }
        coopStoreT(c + d, &stored[64u * subgroup], 4u);
        workgroupBarrier();
        sums[512u * turn + lane] = stored[lane];
        sums[512u * turn + lane + 256u] = stored[lane + 256u];
    }
}
