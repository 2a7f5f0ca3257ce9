// What the invocations of a workgroup hand to each other in reductions of pairs of words; workgroups have at most 256.
var<workgroup> reduce_64: array<vec2<u32>, 256>;
