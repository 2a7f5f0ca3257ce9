// A network 4 -> 8 -> 1: weights [4, 8] at 0, bias [8] at 64, output weights [8] at 128.

// The places of a call: errors and predictions in scratch memory, targets among the inputs, loss and flag among the outcomes.
struct Call { loops: vec4<u32>, other: u32, count: u32, errors: u32, predictions: u32, targets: u32, outcome: u32 }

@group(0) @binding(0) var<uniform> call: Call;
@group(0) @binding(1) var<storage, read> parameters_r: array<u32>;
@group(0) @binding(1) var<storage, read_write> parameters_w: array<u32>;
@group(0) @binding(4) var<storage, read> gradients_r: array<u32>;
@group(0) @binding(4) var<storage, read_write> gradients_w: array<u32>;
@group(0) @binding(5) var<storage, read_write> state_w: array<u32>;
@group(0) @binding(2) var<storage, read> inputs_r: array<u32>;
@group(0) @binding(6) var<storage, read> numbers_r: array<u32>;
@group(0) @binding(7) var<storage, read> groups_r: array<u32>;
@group(0) @binding(3) var<storage, read> scratch_r: array<u32>;
@group(0) @binding(3) var<storage, read_write> scratch_w: array<u32>;
@group(0) @binding(4) var<storage, read_write> loss_w: array<u32>;
@group(0) @binding(8) var<storage, read_write> outcome_w: array<u32>;

fn parameter(i: u32) -> f32 { return bitcast<f32>(parameters_r[i]); }
fn input(i: u32) -> f32 { return bitcast<f32>(inputs_r[i]); }

@compute @workgroup_size(64)
fn hidden(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= call.count { return; }
    for (var j = 0u; j < 8u; j++) {
        var sum = parameter(64u + j);
        for (var i = 0u; i < 4u; i++) { sum += input(4u * at.x + i) * parameter(8u * i + j); }
        scratch_w[8u * at.x + j] = bitcast<u32>(select(sum, 0.0, sum < 0.0));
    }
}

fn predicted(row: u32) -> f32 {
    var sum = 0.0;
    for (var j = 0u; j < 8u; j++) { sum += bitcast<f32>(scratch_w[8u * row + j]) * parameter(128u + j); }
    return sum;
}

@compute @workgroup_size(64)
fn output(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < call.count { scratch_w[call.predictions + at.x] = bitcast<u32>(predicted(at.x)); }
}

var<workgroup> sums: array<f32, 64>;

@compute @workgroup_size(64)
fn loss(@builtin(local_invocation_index) lane: u32) {
    let count = f32(call.count);
    var sum = 0.0;
    for (var row = lane; row < call.count; row += 64u) {
        let error = predicted(row) - input(call.targets + row);
        sum += error * error;
        scratch_w[call.errors + row] = bitcast<u32>(2.0 * error / count);
    }
    sums[lane] = sum;
    for (var step = 32u; step > 0u; step /= 2u) {
        workgroupBarrier();
        if lane < step { sums[lane] += sums[lane + step]; }
    }
    if lane == 0u { loss_w[call.outcome] = bitcast<u32>(sums[0] / count); }
}

@compute @workgroup_size(64)
fn gradient(@builtin(local_invocation_index) lane: u32) {
    for (var word = lane; word < 192u; word += 64u) {
        let j = word % 8u;
        var sum = 0.0;
        for (var row = 0u; row < call.count; row++) {
            let h = bitcast<f32>(scratch_r[8u * row + j]);
            let error = bitcast<f32>(scratch_r[call.errors + row]);
            let through = select(0.0, error * parameter(128u + j), h > 0.0);
            if word < 32u { sum += through * input(4u * row + word / 8u); }
            else if word >= 64u && word < 72u { sum += through; }
            else if word >= 128u && word < 136u { sum += error * h; }
        }
        gradients_w[word] = bitcast<u32>(sum);
    }
}

@compute @workgroup_size(64)
fn update(@builtin(local_invocation_index) lane: u32) {
    let finite = (outcome_w[call.outcome] & 0x7f800000u) != 0x7f800000u;
    if lane == 0u { outcome_w[call.outcome + 1u] = u32(finite); }
    if !finite { return; }
    for (var word = lane; word < 192u; word += 64u) {
        let old = bitcast<f32>(parameters_w[word]);
        parameters_w[word] = bitcast<u32>(old - bitcast<f32>(numbers_r[16u + groups_r[word / 64u]]) * bitcast<f32>(gradients_r[word]));
    }
    if lane == 0u { state_w[0] = bitcast<u32>(bitcast<f32>(state_w[0]) + 1.0); }
}

@compute @workgroup_size(1)
fn turn() {
    let count = scratch_w[30];
    scratch_w[10u * call.loops.y + call.loops.x] = inputs_r[0] + call.count + count;
    scratch_w[30] = count + 1u;
}
