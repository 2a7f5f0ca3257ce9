// What the invocations of a workgroup hand to each other in reductions of f32; workgroups have at most 256.
var<workgroup> reduce_f32: array<f32, 256>;
