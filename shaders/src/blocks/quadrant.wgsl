// x = q pi/2 + r with |r| <= pi/4: r, and q as a float, which is taken modulo 4 far from zero. Near it Cody and Waite,
// pi/2 in four parts, of which q times the first three is exact; r is within an ulp either way.
fn quadrant(x: f32) -> vec2<f32> {
    if !(abs(x) < 512.0) {
        return quadrant_far(x);
    }
    let q = round(x * 0.636619772);
    return vec2<f32>((((x - q * 1.5703125) - q * 0.0004837512969970703) - q * 7.549533620476723e-08) - q * 2.563344151594519e-12, q);
}
