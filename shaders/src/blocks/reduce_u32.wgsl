// What the invocations of a workgroup hand to each other in reductions of u32; workgroups have at most 256.
var<workgroup> reduce_u32: array<u32, 256>;
