// x = q pi/2 + r with |r| <= pi/4 (Cody and Waite, pi/2 in three parts): r, and q as a float. Good to |x| of about 10^4.
fn quadrant(x: f32) -> vec2<f32> {
    let q = round(x * 0.636619772);
    return vec2<f32>(((x - q * 1.5703125) - q * 4.83751297e-4) - q * 7.54978995e-8, q);
}
