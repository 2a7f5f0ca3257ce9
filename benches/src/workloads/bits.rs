//! Forward passes whose parameters are read in fewer bits: those of the other rows, products with a parameter, and a step of
//! a decoder with caches, whose parameters no cache near the processor holds.

use super::checked::owned;
use super::{Argument, Checked, Measure, Noise};
use precast::View;
use precast::prelude::*;
use std::error::Error;

model! {
    use super::w2::W2;
    use super::w5::W5;
    use super::w7::W7;

    /// W2 in bf16.
    #[model(precision = bf16)]
    pub struct W2Bf16 = W2;
    /// W2 in bytes.
    #[model(precision = int8)]
    pub struct W2Int8 = W2;
    /// W5 in bf16.
    #[model(precision = bf16)]
    pub struct W5Bf16 = W5;
    /// W5 in bytes.
    #[model(precision = int8)]
    pub struct W5Int8 = W5;
    /// W7 in bf16.
    #[model(precision = bf16)]
    pub struct W7Bf16 = W7;
    /// W7 in bytes.
    #[model(precision = int8)]
    pub struct W7Int8 = W7;
}

model! {
    /// A product with a parameter.
    pub struct Product { matrix: Linear(1024, 1024, bias = false) }

    impl Product {
        /// Rows times the matrix.
        pub fn rows(&self, x: f32[B, 1024]) -> f32[B, 1024] { self.matrix(x) }
    }

    /// The same in bf16.
    #[model(precision = bf16)]
    pub struct ProductBf16 = Product;
    /// The same in bytes.
    #[model(precision = int8)]
    pub struct ProductInt8 = Product;

    /// A decoder of 6 blocks, 512 wide, 8 heads, inner 2048, context 128.
    pub struct Decoder(dim = 512, heads = 8) {
        blocks: [Cached(dim, heads, dim / heads, 128); 6],
        norm: LayerNorm(dim),
    }

    struct Cached(dim, heads, head, context) {
        norm1: LayerNorm(dim), qkv: Linear(dim, 3 * dim), output: Linear(dim, dim),
        norm2: LayerNorm(dim), up: Linear(dim, 4 * dim), down: Linear(4 * dim, dim),
        state keys: f32[B, context, dim],
        state values: f32[B, context, dim],
    }

    impl Cached {
        fn step(&mut self, x: f32[B, dim], at: u32) -> f32[B, dim] {
            let (q, k, v) = split(self.qkv(self.norm1(x)), 3, axis = -1);
            self.keys[_, at, _] = k;
            self.values[_, at, _] = v;
            let scores = softmax(einsum("bd,btd->bt", q, self.keys[_, ..=at, _]) / sqrt(dim), axis = -1);
            let x = x + self.output(einsum("bt,btd->bd", scores, self.values[_, ..=at, _]));
            x + self.down(gelu(self.up(self.norm2(x))))
        }
    }

    impl Decoder {
        /// One place.
        pub fn step(&mut self, x: f32[B, dim], at: u32) -> f32[B, dim] {
            let mut x = x;
            for block in self.blocks { x = block.step(x, at); }
            self.norm(x)
        }
    }

    /// The same in bf16.
    #[model(precision = bf16)]
    pub struct DecoderBf16 = Decoder;
    /// The same in bytes.
    #[model(precision = int8)]
    pub struct DecoderInt8 = Decoder;
}

/// Measures a function of rows of one width.
macro_rules! rows {
    ($measure:ident, $name:expr, $model:ty, $function:ident, $width:literal, $rows:expr, $inner:expr) => {{
        let model = <$model>::init(0);
        let mut session = model.session();
        let mut x = vec![[0.0; $width]; $rows];
        Noise::new(1).fill(x.as_flattened_mut());
        $measure($name, $inner, &mut || {
            x[0][0] = session.$function(&x).map_or(f32::NAN, |y| y[0][0] * 0.1);
            x[0][0]
        });
    }};
}

/// Measures the encoder.
macro_rules! encoder {
    ($measure:ident, $name:expr, $model:ty) => {{
        let model = <$model>::init(0);
        let mut session = model.session();
        let mut x = vec![[0.0; 384]; 128];
        Noise::new(1).fill(x.as_flattened_mut());
        $measure($name, 1, &mut || {
            let y = View::new(&x, [1, 128]).and_then(|x| session.encode(x).map(|y| y.data()[0][0]));
            x[0][0] = y.unwrap_or(f32::NAN) * 0.1;
            x[0][0]
        });
    }};
}

/// Measures the LSTM.
macro_rules! lstm {
    ($measure:ident, $name:expr, $model:ty) => {{
        let model = <$model>::init(0);
        let mut session = model.session();
        let mut x = vec![[[0.0; 64]; 100]; 1];
        Noise::new(1).fill(x.as_flattened_mut().as_flattened_mut());
        $measure($name, 10, &mut || {
            x[0][0][0] = session.predict(&x).map_or(f32::NAN, |y| y[0][0] * 0.1);
            x[0][0][0]
        });
    }};
}

/// Measures a step of the decoder at places 0 to 127 in turns.
macro_rules! decoder {
    ($measure:ident, $name:expr, $model:ty, $dims:ident) => {{
        let model = <$model>::init(0);
        let mut session = model.session($dims { B: 1 })?;
        let (mut x, mut at) = ([[0.0; 512]], 0);
        Noise::new(1).fill(x.as_flattened_mut());
        $measure($name, 1, &mut || {
            at = (at + 1) % 128;
            x[0][0] = session.step(&x, at).map_or(f32::NAN, |y| y[0][0] * 0.1);
            x[0][0]
        });
    }};
}

pub(super) fn forward(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    rows!(measure, "W2f_bf16", W2Bf16, scores, 784, 1, 100);
    rows!(measure, "W2f_int8", W2Int8, scores, 784, 1, 100);
    encoder!(measure, "W5_bf16", W5Bf16);
    encoder!(measure, "W5_int8", W5Int8);
    lstm!(measure, "W7f_bf16", W7Bf16);
    lstm!(measure, "W7f_int8", W7Int8);
    for rows in [1, 4, 16, 1024] {
        rows!(measure, &format!("linear_{rows}x1024x1024"), Product, rows, 1024, rows, 1);
        rows!(measure, &format!("linear_bf16_{rows}x1024x1024"), ProductBf16, rows, 1024, rows, 1);
        rows!(measure, &format!("linear_int8_{rows}x1024x1024"), ProductInt8, rows, 1024, rows, 1);
    }
    decoder!(measure, "decoder", Decoder, DecoderDims);
    decoder!(measure, "decoder_bf16", DecoderBf16, DecoderBf16Dims);
    decoder!(measure, "decoder_int8", DecoderInt8, DecoderInt8Dims);
    Ok(())
}

/// Calls a function with numbers in its shape.
macro_rules! call {
    (scores, $model:ident, $x:ident) => {
        $model.scores($x.as_chunks().0)?.as_flattened().to_vec()
    };
    (encode, $model:ident, $x:ident) => {
        $model.encode(View::new($x.as_chunks().0, [1, 128])?)?.data().as_flattened().to_vec()
    };
    (predict, $model:ident, $x:ident) => {
        $model.predict($x.as_chunks().0.as_chunks().0)?.as_flattened().to_vec()
    };
}

/// What a model of few bits makes of the arguments of another row, whose model is the oracle's.
macro_rules! checked {
    ($name:ident, $model:ty, $function:ident, $others:expr) => {
        pub(super) fn $name() -> Result<Checked, Box<dyn Error>> {
            let model = <$model>::init(0);
            let of_f32 = $others?;
            let [Argument::Floats(_, x)] = &of_f32.arguments[..] else { return Err("not one argument".into()) };
            let result = call!($function, model, x);
            Ok(Checked { parameters: owned(model.parameters()), result, ..of_f32 })
        }
    };
}

checked!(w2_bf16, W2Bf16, scores, super::w2::checked_forward());
checked!(w2_int8, W2Int8, scores, super::w2::checked_forward());
checked!(w5_bf16, W5Bf16, encode, super::w5::checked());
checked!(w5_int8, W5Int8, encode, super::w5::checked());
checked!(w7_bf16, W7Bf16, predict, super::w7::checked_forward());
checked!(w7_int8, W7Int8, predict, super::w7::checked_forward());
