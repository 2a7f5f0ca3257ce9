//! WGSL building blocks of the GPU back end, one file each: what WGSL lacks, or does not promise to be accurate.
//!
//! Comes in: names. Goes out: text with those blocks and all that they use, in a fixed order. Always holds: every block
//! is valid WGSL together with the blocks it uses, defines one item of its own name, and says in its first lines what
//! it computes, how accurately, and from which source.

use std::collections::BTreeSet;

/// A piece of WGSL that defines one function or workgroup variable, named like the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The name that it defines.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! blocks {
    ($($name:ident)*) => {
        /// Every block, by name.
        pub const BLOCKS: &[Block] = &[$(Block {
            name: stringify!($name),
            text: include_str!(concat!("blocks/", stringify!($name), ".wgsl")),
        }),*];
    };
}

blocks! {
    abs_i64
    add_64
    add_up
    add_up_block
    all_finite
    argmax_before_f32
    argmax_before_i32
    argmax_before_i64
    argmax_before_u32
    argmax_before_u64
    argmin_before_f32
    argmin_before_i32
    argmin_before_i64
    argmin_before_u32
    argmin_before_u64
    atan_f32
    bf16_of_f32
    cos_f32
    div_i32
    div_i64
    div_rem_u64
    div_u32
    div_u64
    erf
    exp_f32
    exp_nonpositive
    expm1
    f16_of_f32
    f8e4m3_of_f32
    f32_of_bf16
    f32_of_f16
    f32_of_f8e4m3
    f32_of_i64
    f32_of_u64
    floor_div
    floor_rem
    high_half
    i16_of_f32
    i32_of
    i32_of_i16
    i32_of_i8
    i64_of_f32
    i64_of_i32
    i8_of_f32
    infinity
    is_nan
    largest_of
    log1p
    log_f32
    lt_i64
    lt_u64
    max_i64
    max_nan
    max_u64
    min_i64
    min_nan
    min_u64
    mul_64
    mul_wide
    neg_64
    not_a_number
    outer_add
    outer_adds
    pow_f32
    power_of_two
    quadrant
    quadrant_far
    reduce_64
    reduce_argmax_f32
    reduce_argmax_i32
    reduce_argmax_i64
    reduce_argmax_u32
    reduce_argmax_u64
    reduce_argmin_f32
    reduce_argmin_i32
    reduce_argmin_i64
    reduce_argmin_u32
    reduce_argmin_u64
    reduce_f32
    reduce_i32
    reduce_max_f32
    reduce_max_i32
    reduce_max_i64
    reduce_max_u32
    reduce_max_u64
    reduce_min_f32
    reduce_min_i32
    reduce_min_i64
    reduce_min_u32
    reduce_min_u64
    reduce_position
    reduce_prod_64
    reduce_prod_f32
    reduce_prod_i32
    reduce_prod_u32
    reduce_sum_64
    reduce_sum_f32
    reduce_sum_i32
    reduce_sum_u32
    reduce_u32
    rem_f32
    rem_i32
    rem_i64
    rem_u32
    rem_u64
    shift_of
    shifted_back
    shl_64
    shr_u64
    sigmoid
    sign_f32
    sign_i64
    sin_cos_near
    sin_f32
    sub_64
    tanh_f32
    threefry
    two_sum
    two_sum_vec4
    u16_of_f32
    u32_of
    u64_of_f32
    u8_of_f32
}

/// The block of that name.
pub fn block(name: &str) -> Option<&'static Block> {
    BLOCKS.iter().find(|block| block.name == name)
}

/// The text of every block that `text` mentions, directly or through other blocks.
pub fn used_by(text: &str) -> String {
    let mut used = BTreeSet::new();
    find(text, &mut used);
    BLOCKS.iter().filter(|block| used.contains(block.name)).map(|block| format!("{}\n", block.text)).collect()
}

fn find(text: &str, used: &mut BTreeSet<&'static str>) {
    for word in code(text).split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        if let Some(block) = block(word)
            && used.insert(block.name)
        {
            find(block.text, used);
        }
    }
}

/// The text without its comments, which mention words that are not used.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_valid_with_what_it_uses() {
        for block in BLOCKS {
            let text = used_by(block.text) + if used_by(block.text).contains(block.text) { "" } else { block.text };
            let module = naga::front::wgsl::parse_str(&text).unwrap_or_else(|error| {
                panic!("{}: {}", block.name, error.emit_to_string(&text));
            });
            let mut validator = naga::valid::Validator::new(Default::default(), Default::default());
            validator.validate(&module).unwrap_or_else(|error| panic!("{}: {error:?}", block.name));
        }
    }

    #[test]
    fn every_block_defines_its_name_and_says_what_it_is() {
        for block in BLOCKS {
            let defined = [format!("fn {}(", block.name), format!("var<workgroup> {}:", block.name)];
            assert!(defined.iter().any(|item| block.text.contains(item)), "{}", block.name);
            assert!(block.text.starts_with("// "), "{}", block.name);
        }
    }

    #[test]
    fn blocks_bring_what_they_use_and_nothing_else() {
        let text = used_by("let y = tanh_f32(x); // not erf(x)");
        let names: Vec<_> = BLOCKS.iter().filter(|block| text.contains(block.text)).map(|block| block.name).collect();
        assert_eq!(names, ["exp_f32", "is_nan", "tanh_f32"]);
    }
}
