// A quiet NaN. Comes through a variable, because WGSL rejects constant expressions that are not finite.
fn not_a_number() -> f32 {
    var bits = 0x7fc00000u;
    return bitcast<f32>(bits);
}
