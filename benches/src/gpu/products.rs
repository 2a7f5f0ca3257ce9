//! Products of matrices whose factors and results stay on the device.
//!
//! In: a device. Out: a line for each size. Always: the right factor is a parameter, as in a layer, and rows are a named
//! dimension, as those of a batch are.

use super::Bench;
use super::report::Work;
use crate::workloads::w8::matrix;
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

    /// 2048².
    pub struct Product2048 = Product(k = 2048, n = 2048);
    /// 4096².
    pub struct Product4096 = Product(k = 4096, n = 4096);
    /// 8192².
    pub struct Product8192 = Product(k = 8192, n = 8192);
    /// The first layer of the MLP.
    pub struct Narrow = Product(k = 784, n = 128);
}

/// A line for a product of so many rows.
macro_rules! product {
    ($bench:ident, $name:literal, $model:ident, $dims:ident, $rows:literal, $k:literal) => {
        $bench.line($name, || {
            let model = $model::init(0).on(&$bench.gpu)?;
            let mut session = model.session($dims { M: $rows })?;
            session.fill(&matrix::<$k>($rows, 1))?;
            $bench.measure(Work::Operations($model::multiply_flops($rows)), || session.multiply())
        });
    };
}

pub(super) fn all(bench: &Bench<'_>) {
    product!(bench, "gemm_1024x1024x1024", Product, ProductDims, 1024, 1024);
    product!(bench, "gemm_2048x2048x2048", Product2048, Product2048Dims, 2048, 2048);
    product!(bench, "gemm_4096x4096x4096", Product4096, Product4096Dims, 4096, 4096);
    product!(bench, "gemm_8192x8192x8192", Product8192, Product8192Dims, 8192, 8192);
    product!(bench, "gemm_64x128x784", Narrow, NarrowDims, 64, 784);
}
