// The positions that belong to the values of a search for an extreme; workgroups have at most 256 invocations.
var<workgroup> reduce_position: array<u32, 256>;
