// The self-check of cooperative matrices: each subgroup multiplies a matrix of its own by one that all have, in three products of
// halves. `element` of split.rs gives the same numbers. In the second half of what it gives, an element of each subgroup's matrix is
// beyond the range of halves, which makes the sums of its row infinite, or no numbers.

enable f16;
enable wgpu_cooperative_matrix;

@group(0) @binding(0) var<storage, read_write> sums: array<vec4<f32>>;

var<workgroup> a_high: array<vec4<f16>, 1024>;
var<workgroup> a_low: array<vec4<f16>, 1024>;
var<workgroup> b_high: array<vec4<f16>, 128>;
var<workgroup> b_low: array<vec4<f16>, 128>;
var<workgroup> stored: array<vec4<f32>, 512>;

fn element(n: u32) -> f32 {
    return f32((n * 7919u) % 65521u) / 65536.0 - 0.5;
}

fn four(n: u32) -> vec4<f32> {
    return vec4<f32>(element(n), element(n + 1u), element(n + 2u), element(n + 3u));
}

fn high_half(x: vec4<f32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) & vec4<u32>(0xffffe000u));
}

@compute @workgroup_size(256)
fn check(@builtin(local_invocation_index) lane: u32) {
    let subgroup = lane / 32u;
    for (var n = lane; n < 1024u; n += 256u) {
        let x = four(4u * n);
        let high = high_half(x);
        a_high[n] = vec4<f16>(high);
        a_low[n] = vec4<f16>(x - high);
    }
    if lane < 128u {
        let x = four(4096u + 4u * lane);
        let high = high_half(x);
        b_high[lane] = vec4<f16>(high);
        b_low[lane] = vec4<f16>(x - high);
    }
    for (var turn = 0u; turn < 2u; turn++) {
        if turn == 1u && lane < 8u {
            a_high[128u * lane].x = f16(65536.0 + f32(lane));
        }
        workgroupBarrier();
        var c = coop_mat16x16<f32, C>();
        for (var k = 0u; k < 2u; k++) {
            let at = 128u * subgroup + 4u * k;
            let ah = coopLoadT<coop_mat16x16<f16, A>>(&a_high[at], 8u);
            let al = coopLoadT<coop_mat16x16<f16, A>>(&a_low[at], 8u);
            let bh = coopLoad<coop_mat16x16<f16, B>>(&b_high[4u * k], 8u);
            let bl = coopLoad<coop_mat16x16<f16, B>>(&b_low[4u * k], 8u);
            c = coopMultiplyAdd(al, bh, c);
            c = coopMultiplyAdd(ah, bl, c);
            c = coopMultiplyAdd(ah, bh, c);
        }
        coopStoreT(c, &stored[64u * subgroup], 4u);
        workgroupBarrier();
        sums[512u * turn + lane] = stored[lane];
        sums[512u * turn + lane + 256u] = stored[lane + 256u];
    }
}
