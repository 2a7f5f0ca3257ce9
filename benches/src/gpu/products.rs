//! Products of matrices whose factors and results stay on the device.
//!
//! In: a device. Out: a line for each size. Always: the right factor is a parameter, as in a layer, and rows are a named
//! dimension, as those of a batch are; what `split` or `mixed` is in a name of computes products of f32 as three or one of halves,
//! where the device does. Letters say which factors are transposed, as in BLAS.

use super::Bench;
use super::report::Work;
use crate::workloads::w8::matrix;
use precast::View;
use precast::prelude::*;

model! {
    /// Rows times a matrix.
    pub struct Product(k = 1024, n = 1024) {
        b: Parameter([k, n], init = normal(1.0)),
        state a: f32[M, k],
        state c: f32[M, n],
    }

    impl Product {
        /// Takes the left factor.
        pub fn fill(&mut self, a: f32[M, k]) { self.a = a; }
        /// Computes the product.
        pub fn multiply(&mut self) { self.c = matmul(self.a, self.b); }
    }

    /// Rows times a matrix that lies as those of linear layers do.
    pub struct Layer(k = 4096, n = 4096) {
        b: Parameter([n, k], init = normal(1.0)),
        state a: f32[M, k],
        state c: f32[M, n],
    }

    impl Layer {
        /// Takes the left factor.
        pub fn fill(&mut self, a: f32[M, k]) { self.a = a; }
        /// Computes the product.
        pub fn multiply(&mut self) { self.c = matmul(self.a, transpose(self.b)); }
    }

    /// Columns times a matrix, as the gradients of linear layers are.
    pub struct Gradient(k = 4096, n = 4096) {
        b: Parameter([k, n], init = normal(1.0)),
        state a: f32[k, M],
        state c: f32[M, n],
    }

    impl Gradient {
        /// Takes the left factor.
        pub fn fill(&mut self, a: f32[k, M]) { self.a = a; }
        /// Computes the product.
        pub fn multiply(&mut self) { self.c = matmul(transpose(self.a), self.b); }
    }

    /// 2048².
    pub struct Product2048 = Product(k = 2048, n = 2048);
    /// 4096².
    pub struct Product4096 = Product(k = 4096, n = 4096);
    /// 8192².
    pub struct Product8192 = Product(k = 8192, n = 8192);
    /// The first layer of the MLP.
    pub struct Narrow = Product(k = 784, n = 128);

    /// 1024².
    #[model(precision = split)]
    pub struct Split = Product(k = 1024, n = 1024);
    /// 2048².
    #[model(precision = split)]
    pub struct Split2048 = Product(k = 2048, n = 2048);
    /// 4096².
    #[model(precision = split)]
    pub struct Split4096 = Product(k = 4096, n = 4096);
    /// 8192².
    #[model(precision = split)]
    pub struct Split8192 = Product(k = 8192, n = 8192);
    /// Of a layer.
    #[model(precision = split)]
    pub struct SplitLayer = Layer;
    /// Of a gradient.
    #[model(precision = split)]
    pub struct SplitGradient = Gradient;

    /// 1024².
    #[model(precision = mixed)]
    pub struct Mixed = Product(k = 1024, n = 1024);
    /// 2048².
    #[model(precision = mixed)]
    pub struct Mixed2048 = Product(k = 2048, n = 2048);
    /// 4096².
    #[model(precision = mixed)]
    pub struct Mixed4096 = Product(k = 4096, n = 4096);
    /// 8192².
    #[model(precision = mixed)]
    pub struct Mixed8192 = Product(k = 8192, n = 8192);
    /// Of a layer.
    #[model(precision = mixed)]
    pub struct MixedLayer = Layer;
    /// Of a gradient.
    #[model(precision = mixed)]
    pub struct MixedGradient = Gradient;
}

/// A line for a product of so many rows, whose left factor is an expression.
macro_rules! product {
    ($bench:ident, $name:literal, $model:ident, $dims:ident, $rows:literal, $left:expr) => {
        $bench.line($name, || {
            let model = $model::init(0).on(&$bench.gpu)?;
            let mut session = model.session($dims { M: $rows })?;
            session.fill($left)?;
            $bench.measure(Work::Operations($model::multiply_flops($rows)), || session.multiply())
        });
    };
}

pub(super) fn all(bench: &Bench<'_>) {
    product!(bench, "gemm_1024x1024x1024", Product, ProductDims, 1024, &matrix::<1024>(1024, 1));
    product!(bench, "gemm_2048x2048x2048", Product2048, Product2048Dims, 2048, &matrix::<2048>(2048, 1));
    product!(bench, "gemm_4096x4096x4096", Product4096, Product4096Dims, 4096, &matrix::<4096>(4096, 1));
    product!(bench, "gemm_8192x8192x8192", Product8192, Product8192Dims, 8192, &matrix::<8192>(8192, 1));
    product!(bench, "gemm_nt_4096x4096x4096", Layer, LayerDims, 4096, &matrix::<4096>(4096, 1));
    product!(
        bench,
        "gemm_tn_4096x4096x4096",
        Gradient,
        GradientDims,
        4096,
        View::new(matrix::<4096>(4096, 1).as_flattened(), [4096; 2])?
    );
    product!(bench, "gemm_64x128x784", Narrow, NarrowDims, 64, &matrix::<784>(64, 1));
    product!(bench, "split_1024x1024x1024", Split, SplitDims, 1024, &matrix::<1024>(1024, 1));
    product!(bench, "split_2048x2048x2048", Split2048, Split2048Dims, 2048, &matrix::<2048>(2048, 1));
    product!(bench, "split_4096x4096x4096", Split4096, Split4096Dims, 4096, &matrix::<4096>(4096, 1));
    product!(bench, "split_8192x8192x8192", Split8192, Split8192Dims, 8192, &matrix::<8192>(8192, 1));
    product!(bench, "split_nt_4096x4096x4096", SplitLayer, SplitLayerDims, 4096, &matrix::<4096>(4096, 1));
    product!(
        bench,
        "split_tn_4096x4096x4096",
        SplitGradient,
        SplitGradientDims,
        4096,
        View::new(matrix::<4096>(4096, 1).as_flattened(), [4096; 2])?
    );
    product!(bench, "mixed_1024x1024x1024", Mixed, MixedDims, 1024, &matrix::<1024>(1024, 1));
    product!(bench, "mixed_2048x2048x2048", Mixed2048, Mixed2048Dims, 2048, &matrix::<2048>(2048, 1));
    product!(bench, "mixed_4096x4096x4096", Mixed4096, Mixed4096Dims, 4096, &matrix::<4096>(4096, 1));
    product!(bench, "mixed_8192x8192x8192", Mixed8192, Mixed8192Dims, 8192, &matrix::<8192>(8192, 1));
    product!(bench, "mixed_nt_4096x4096x4096", MixedLayer, MixedLayerDims, 4096, &matrix::<4096>(4096, 1));
    product!(
        bench,
        "mixed_tn_4096x4096x4096",
        MixedGradient,
        MixedGradientDims,
        4096,
        View::new(matrix::<4096>(4096, 1).as_flattened(), [4096; 2])?
    );
}
