// +inf. Comes through a variable, because WGSL rejects constant expressions that are not finite.
fn infinity() -> f32 {
    var bits = 0x7f800000u;
    return bitcast<f32>(bits);
}
