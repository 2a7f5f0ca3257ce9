// What the invocations of a workgroup hand to each other in reductions of i32; workgroups have at most 256.
var<workgroup> reduce_i32: array<i32, 256>;
