//! What backward passes compute again: every choice gives the same gradients, and what is asked to take less memory
//! does.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests fail by panicking, and share public modules"
)]

#[path = "support/judge.rs"]
mod judge;
mod support;

use judge::{check_memory, compile, judge, plain};
use precast_compiler::oracle::{Env, Outputs, Tensor, run};
use precast_compiler::pipeline::Compiled;
use support::Numbers;

/// A transformer with twelve blocks; `OPTION` and `REMAT` stand where attributes may.
const TRANSFORMER: &str = "
    OPTION
    pub struct Net(layers = 12, heads = 2, dim = 8) {
        token: Embedding(11, dim),
        blocks: [Block(dim, heads); layers],
        norm: LayerNorm(dim),
        head: Linear(dim, 11),
    }
    struct Block(dim, heads) {
        norm1: LayerNorm(dim),
        qkv: Linear(dim, 3 * dim, bias = false),
        out: Linear(dim, dim, bias = false),
        norm2: LayerNorm(dim),
        up: Linear(dim, 4 * dim),
        down: Linear(4 * dim, dim),
    }
    impl Block {
        REMAT
        fn attend(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let (q, k, v) = split(self.qkv(x), 3);
            let q = transpose(reshape(q, [B, T, heads, dim / heads]), [0, 2, 1, 3]);
            let k = transpose(reshape(k, [B, T, heads, dim / heads]), [0, 2, 3, 1]);
            let v = transpose(reshape(v, [B, T, heads, dim / heads]), [0, 2, 1, 3]);
            let mixed = matmul(softmax(matmul(q, k) * 0.5), v);
            self.out(reshape(transpose(mixed, [0, 2, 1, 3]), [B, T, dim]))
        }
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let x = x + self.attend(self.norm1(x));
            x + dropout(self.down(gelu(self.up(self.norm2(x)))), 0.1)
        }
    }
    impl Net {
        #[train(Sgd)]
        pub fn loss(&self, ids: u32[B, T], next: u32[B, T]) -> f32 {
            let mut x = self.token(ids);
            for block in self.blocks { x = block(x); }
            cross_entropy(self.head(self.norm(x)), next)
        }
    }
";

const RECURRENT: &str = "
    OPTION
    pub struct Net { from_input: Linear(3, 16), from_state: Linear(4, 16), head: Linear(4, 1) }
    impl Net {
        REMAT
        fn cell(&self, (h, c): (f32[B, 4], f32[B, 4]), x: f32[B, 3]) -> (f32[B, 4], f32[B, 4]) {
            let (i, f, g, o) = split(self.from_input(x) + self.from_state(h), 4);
            let c = sigmoid(f) * c + sigmoid(i) * tanh(g);
            (sigmoid(o) * tanh(c), c)
        }
        REMAT
        fn read(&self, h: f32[B, T, 4]) -> f32[B, T, 1] { self.head(tanh(h * h)) }
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, T, 3], y: f32[B, T, 1]) -> f32 {
            let h = scan(x, axis = 1, from = zeros, |(h, c), x| { let s = self.cell((h, c), x); (s, s.0) });
            mse_loss(self.read(h), y)
        }
    }
";

fn compiled(text: &str, option: &str, remat: &str) -> Compiled {
    compile(&text.replace("OPTION", option).replace("REMAT", remat)).remove(0)
}

/// The training function's plan, in words of scratch memory.
fn scratch(compiled: &Compiled, dims: &[(&str, i64)]) -> i64 {
    let size = |name: &str| dims.iter().find(|(n, _)| *n == name).map(|(_, n)| *n);
    compiled.plans.plans.iter().map(|plan| plan.scratch.eval(&size).unwrap()).max().unwrap()
}

fn gradients(compiled: &Compiled, dims: &[(&str, i64)]) -> Outputs {
    let mut numbers = Numbers::new(9);
    let function = compiled.model.functions.last().unwrap();
    let size = |d: &precast_compiler::ir::Dim| {
        d.eval(&|name| dims.iter().find(|(n, _)| *n == name).map(|(_, n)| *n)).unwrap() as usize
    };
    let mut tensor = |ty: &precast_compiler::ir::Type| {
        let shape: Vec<usize> = ty.shape.iter().map(size).collect();
        let count = shape.iter().product();
        match ty.dtype.is_float() {
            true => Tensor::floats(shape, (0..count).map(|_| 0.5 * numbers.float()).collect()),
            false => Tensor::words(shape, (0..count).map(|_| numbers.below(11)).collect()),
        }
    };
    let args = function.args.iter().map(|a| tensor(&a.ty)).collect();
    let params = compiled.model.params.iter().map(|p| tensor(&p.stacked())).collect();
    let env = Env { args, params, key: [1, 2], numbers: vec![[0.1; 8]; 16], ..Env::default() };
    run(function, &compiled.model, &env).unwrap()
}

fn same(what: &str, a: &Outputs, b: &Outputs) {
    for ((effect, x), (_, y)) in a.effects.iter().zip(&b.effects) {
        judge::same(x, y).unwrap_or_else(|why| panic!("{what}: {effect:?}: {why}"));
    }
    assert!(a.effects.len() > 3 && a.effects.len() == b.effects.len());
}

/// Every choice compiles, computes what its graph says, and gives the gradients of the default.
fn agree(text: &str, dims: &[(&str, i64)]) -> Vec<Compiled> {
    let plain_one = compiled(text, "", "");
    let expected = gradients(&plain_one, dims);
    let mut all = vec![];
    for (option, remat) in
        [("speed", ""), ("balanced", ""), ("minimize", ""), ("balanced", "#[remat]"), ("minimize", "#[remat]")]
    {
        let what = format!("{option} {remat}");
        let made = compiled(text, &format!("#[model(memory = {option})]"), remat);
        same(&what, &expected, &gradients(&made, dims));
        check_memory(&what, &made, &mut Numbers::new(4));
        judge(&what, &made, dims, &plain);
        all.push(made);
    }
    all
}

#[test]
fn a_transformer_takes_half_the_memory() {
    let all = agree(TRANSFORMER, &[("B", 2), ("T", 5)]);
    for dims in [[("B", 4), ("T", 64)], [("B", 16), ("T", 128)]] {
        let words: Vec<i64> = all.iter().map(|one| scratch(one, &dims)).collect();
        let [speed, balanced, minimize, remat, _] = words[..] else { panic!("five choices") };
        assert!(2 * minimize <= speed, "{words:?} at {dims:?}");
        assert!(balanced <= speed && minimize <= balanced && remat < balanced, "{words:?} at {dims:?}");
        eprintln!("{dims:?}: {words:?}");
    }
}

/// The same transformer with a field and a call for each of its blocks.
fn written_out() -> String {
    let fields: String = (0..12).map(|k| format!("block{k}: Block(dim, heads), ")).collect();
    let calls: String = (0..12).map(|k| format!("x = self.block{k}(x); ")).collect();
    let text = TRANSFORMER.replace("blocks: [Block(dim, heads); layers],", &fields);
    text.replace("layers = 12, ", "").replace("for block in self.blocks { x = block(x); }", &calls)
}

#[test]
fn what_is_written_out_takes_as_little_as_a_loop() {
    let text = written_out();
    let all = agree(&text, &[("B", 2), ("T", 5)]);
    let looped = compiled(TRANSFORMER, "#[model(memory = minimize)]", "");
    for dims in [[("B", 4), ("T", 64)], [("B", 16), ("T", 128)]] {
        let words: Vec<i64> = all.iter().map(|one| scratch(one, &dims)).collect();
        let loops = scratch(&looped, &dims);
        assert!(10 * words[2] <= 13 * loops, "{words:?}, the loop {loops} at {dims:?}");
        assert!(words[1] <= words[0] && words[2] < words[1], "{words:?} at {dims:?}");
        eprintln!("{dims:?}: {words:?}, the loop {loops}");
    }
}

#[test]
fn a_recurrent_network_takes_less_memory() {
    let all = agree(RECURRENT, &[("B", 2), ("T", 7)]);
    let words: Vec<i64> = all.iter().map(|one| scratch(one, &[("B", 8), ("T", 500)])).collect();
    eprintln!("{words:?}");
    assert!(words[2] <= words[1] && words[1] <= words[0] && words[3] <= words[0], "{words:?}");
}
