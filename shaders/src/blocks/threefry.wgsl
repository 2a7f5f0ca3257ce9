// The first word of Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as
// 1, 2, 3; 2011) of the block (counter, 0) under the key (key0, key1). JAX uses the same function.
fn threefry(key0: u32, key1: u32, counter: u32) -> u32 {
    let key2 = key0 ^ key1 ^ 0x1bd11bdau;
    var x = vec2<u32>(counter + key0, key1);
    x = threefry_rounds(x, vec4<u32>(13u, 15u, 26u, 6u)) + vec2<u32>(key1, key2 + 1u);
    x = threefry_rounds(x, vec4<u32>(17u, 29u, 16u, 24u)) + vec2<u32>(key2, key0 + 2u);
    x = threefry_rounds(x, vec4<u32>(13u, 15u, 26u, 6u)) + vec2<u32>(key0, key1 + 3u);
    x = threefry_rounds(x, vec4<u32>(17u, 29u, 16u, 24u)) + vec2<u32>(key1, key2 + 4u);
    x = threefry_rounds(x, vec4<u32>(13u, 15u, 26u, 6u)) + vec2<u32>(key2, key0 + 5u);
    return x.x;
}

fn threefry_rounds(block: vec2<u32>, turns: vec4<u32>) -> vec2<u32> {
    var x = block;
    for (var i = 0u; i < 4u; i++) {
        x.x += x.y;
        x.y = ((x.y << turns[i]) | (x.y >> (32u - turns[i]))) ^ x.x;
    }
    return x;
}
