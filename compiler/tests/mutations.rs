//! Programs with random damage: the compiler reports what it finds and never panics.

use precast_compiler::diag::Diags;
use precast_compiler::stages::{parse::parse, shape::shape};
use proc_macro2::{Group, TokenStream, TokenTree};

const PROGRAM: &str = "
    const WIDE: usize = 16;
    pub struct Net(layers = 2, dim = 8) {
        first: Conv2d(1, 4, kernel = 3, padding = 1),
        token: Embedding(5, dim),
        blocks: [Block(dim, hidden = 2 * dim); layers],
        gain: Parameter(dim, init = \"ones\"),
        output: Linear(dim, 10, bias = false),
    }
    struct Block(dim, hidden) { norm: LayerNorm(dim), up: Linear(dim, hidden), down: Linear(hidden, dim) }
    impl Block {
        fn forward(&self, x: f32[.., dim]) -> f32[.., dim] { x + self.down(gelu(self.up(self.norm(x)))) }
    }
    fn halves(x: f32[.., 2 * H]) -> (f32[.., H], f32[.., H]) { (x[.., ..H], x[.., H..]) }
    impl Net {
        pub fn scores(&self, ids: u32[B, T <= 32], image: f32[B, 1, 4, 4]) -> f32[B, 10] {
            let picture = max_pool2d(relu(self.first(image)), window = 2);
            let mut x = self.token(ids) * self.gain + mean(picture);
            let mut total = 0.0;
            for block in self.blocks { let y = { total = total + mean(x); block(x) }; x = y; }
            x += total;
            let (a, b): (f32[B, T, 4], f32[B, T, 4]) = halves(x);
            let y = concat(a, where(b > 0, b, -1.0), axis = -1);
            for i in 0..2 { if i == 1 { x += y / 2; } else { x = softmax(x, axis = 1); } }
            self.output(dropout(x[_, -1, _], 0.25))
        }
        #[train(AdamW)]
        pub fn loss(&self, ids: u32[B, T <= 32], image: f32[B, 1, 4, 4], label: u32[B]) -> f32 {
            cross_entropy(self.scores(ids, image), label)
        }
    }";

/// A sequence of numbers (Marsaglia's xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

fn every_token(tokens: &TokenStream, into: &mut Vec<TokenTree>) {
    for token in tokens.clone() {
        if let TokenTree::Group(group) = &token {
            every_token(&group.stream(), into);
        }
        into.push(token);
    }
}

/// The text with the `at`-th token left out, doubled, or replaced by another of its tokens.
fn damage(tokens: &TokenStream, at: &mut usize, how: usize, other: &TokenTree) -> TokenStream {
    let mut out = vec![];
    for token in tokens.clone() {
        let token = match token {
            TokenTree::Group(group) => {
                let inner = damage(&group.stream(), at, how, other);
                let mut new = Group::new(group.delimiter(), inner);
                new.set_span(group.span());
                TokenTree::Group(new)
            }
            token => token,
        };
        let here = *at == 0;
        *at = at.wrapping_sub(1);
        match (here, how) {
            (false, _) => out.push(token),
            (true, 0) => {}
            (true, 1) => out.extend([token.clone(), token]),
            (true, _) => out.push(other.clone()),
        }
    }
    out.into_iter().collect()
}

#[test]
fn damage_is_reported_and_never_panics() {
    let whole: TokenStream = PROGRAM.parse().expect("balanced brackets");
    let mut diags = Diags::default();
    let mut models = parse(whole.clone(), &mut diags);
    shape(&mut models, &mut diags);
    assert!(diags.is_empty(), "{diags:?}");
    let mut tokens = vec![];
    every_token(&whole, &mut tokens);
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for _ in 0..rounds() {
        let mut text = whole.clone();
        for _ in 0..1 + numbers.below(2) {
            let (mut at, how) = (numbers.below(tokens.len()), numbers.below(4));
            let other = tokens[numbers.below(tokens.len())].clone();
            text = damage(&text, &mut at, how, &other);
        }
        let mut diags = Diags::default();
        let mut models = parse(text, &mut diags);
        shape(&mut models, &mut diags);
        for report in diags.list() {
            // Names of inner dimensions are the compiler's own.
            let text = report.text();
            let inner = text.split('#').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            assert!(!inner, "{text}");
        }
    }
}

/// How many damaged programs: `PRECAST_FUZZ` asks for more.
fn rounds() -> usize {
    std::env::var("PRECAST_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(150)
}
