//! What `model!` emits for a model whose arguments, results and states have fewer than 32 bits, as far as it is not what
//! it emits for any other:
//!
//! ```text
//! pub struct Bytes { sum: State(u8[S]), last: State(i16[]) }
//! impl Bytes {
//!     pub fn shifted(&self, x: i8[B, 3], keep: bool[B], by: i16) -> (i8[B, 3], bool[B], i16) { … }
//!     pub fn halved(&self, x: f16[B, T]) -> f16[B, T] { … }
//!     pub fn next(&mut self, x: u8[S]) -> u8[S] { … }
//! }
//! ```
//! where a row of `x` is shifted if it is to be kept, and `next` gives the sum of all that it was given.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs)]
#![allow(dead_code, unreachable_pub, clippy::unnecessary_mut_passed)]

use ::precast::__rt as rt;

/// Numbers of few bits.
pub struct Bytes<D: rt::Device = rt::Cpu> {
    weights: rt::Weights<D>,
}

impl<D: rt::Device> Bytes<D> {
    /// Rows shifted if they are to be kept, whether they are not, and the next shift.
    pub async fn shifted_async(
        &self,
        x: &[[i8; 3]],
        keep: &[bool],
        by: i16,
    ) -> rt::Result<(rt::Vec<[i8; 3]>, rt::Vec<bool>, i16)> {
        let dims = plan::Shifted::bind([x.len()], [keep.len()])?;
        let words0 = rt::Encoded::of(x)?;
        let words1 = rt::Encoded::of(keep)?;
        let words2 = rt::Encoded::of(::core::slice::from_ref(&by))?;
        let mut out0 = rt::zeros::<[i8; 3]>(dims[0])?;
        let mut out1 = rt::zeros::<bool>(dims[0])?;
        let mut out2 = [<i16 as ::core::default::Default>::default()];
        let mut words_out0 = rt::Encoded::room(&mut out0)?;
        let mut words_out1 = rt::Encoded::room(&mut out1)?;
        let mut words_out2 = rt::Encoded::room(&mut out2)?;
        let inputs = [words0.words(), words1.words(), words2.words()];
        let outs = &mut [words_out0.words_mut(), words_out1.words_mut(), words_out2.words_mut()];
        self.weights.__emitted_code_only_call::<plan::Shifted>(&dims, &inputs, outs).await?;
        words_out0.read(&mut out0);
        words_out1.read(&mut out1);
        words_out2.read(&mut out2);
        ::core::result::Result::Ok((out0, out1, out2[0]))
    }

    /// As `shifted`, into `out0`, `out1`, `out2`.
    pub async fn shifted_into_async(
        &self,
        x: &[[i8; 3]],
        keep: &[bool],
        by: i16,
        out0: &mut [[i8; 3]],
        out1: &mut [bool],
        out2: &mut i16,
    ) -> rt::Result<()> {
        let dims = plan::Shifted::bind([x.len()], [keep.len()])?;
        let words0 = rt::Encoded::of(x)?;
        let words1 = rt::Encoded::of(keep)?;
        let words2 = rt::Encoded::of(::core::slice::from_ref(&by))?;
        rt::room("out0", out0.len(), rt::product("shifted", &[dims[0]])?)?;
        let mut words_out0 = rt::Encoded::room(out0)?;
        rt::room("out1", out1.len(), rt::product("shifted", &[dims[0]])?)?;
        let mut words_out1 = rt::Encoded::room(out1)?;
        let mut words_out2 = rt::Encoded::room(::core::slice::from_mut(out2))?;
        let inputs = [words0.words(), words1.words(), words2.words()];
        let outs = &mut [words_out0.words_mut(), words_out1.words_mut(), words_out2.words_mut()];
        self.weights.__emitted_code_only_call::<plan::Shifted>(&dims, &inputs, outs).await?;
        words_out0.read(out0);
        words_out1.read(out1);
        words_out2.read(::core::slice::from_mut(out2));
        ::core::result::Result::Ok(())
    }

    /// Halves of numbers.
    pub async fn halved_async(&self, x: rt::View<'_, rt::half::f16, 2>) -> rt::Result<rt::Tensor<rt::half::f16, 2>> {
        let dims = plan::Halved::bind(x.dims())?;
        let words0 = rt::Encoded::of(x.data())?;
        let mut out = rt::tensor::<rt::half::f16, _>("halved", [dims[0], dims[1]])?;
        let mut words_out = rt::Encoded::room(out.data_mut())?;
        let outs = &mut [words_out.words_mut()];
        self.weights.__emitted_code_only_call::<plan::Halved>(&dims, &[words0.words()], outs).await?;
        words_out.read(out.data_mut());
        ::core::result::Result::Ok(out)
    }

    /// A session with state of these dimensions, zero at first.
    pub fn session(&self, dims: BytesDims) -> rt::Result<BytesSession<'_, D>> {
        let model = rt::Shared::Borrowed(self);
        ::core::result::Result::Ok(BytesSession { session: rt::Session::with(model, &[dims.S])? })
    }
}

impl Bytes<rt::Cpu> {
    /// A model whose parameters are drawn from `seed`.
    pub fn init(seed: u64) -> Self {
        Bytes { weights: rt::Weights::init::<plan::Plan_>(seed) }
    }
}

/// What a session is made with.
#[allow(non_snake_case)]
pub struct BytesDims {
    /// `S`, at least 1
    pub S: usize,
}

/// Repeated calls without allocation.
pub struct BytesSession<'m, D: rt::Device = rt::Cpu> {
    session: rt::Session<'m, Bytes<D>>,
}

impl<D: rt::Device> BytesSession<'_, D> {
    /// As the model's `shifted`.
    pub async fn shifted_async(
        &mut self,
        x: &[[i8; 3]],
        keep: &[bool],
        by: i16,
    ) -> rt::Result<(&[[i8; 3]], &[bool], i16)> {
        let dims = plan::Shifted::bind([x.len()], [keep.len()])?;
        let words0 = self.session.__emitted_code_only_take(x)?;
        let words1 = self.session.__emitted_code_only_take(keep)?;
        let words2 = self.session.__emitted_code_only_take(::core::slice::from_ref(&by))?;
        let inputs = [words0.words(), words1.words(), words2.words()];
        self.session.__emitted_code_only_call::<plan::Shifted>(&dims, &inputs).await?;
        self.session.__emitted_code_only_keep(words0);
        self.session.__emitted_code_only_keep(words1);
        self.session.__emitted_code_only_keep(words2);
        self.session.__emitted_code_only_convert::<plan::Shifted>(&dims, 1);
        let result = |index| self.session.__emitted_code_only_result::<plan::Shifted>(&dims, index);
        ::core::result::Result::Ok((
            rt::elements::<[i8; 3]>(result(0), &[dims[0]]),
            self.session.__emitted_code_only_flags::<bool>(1),
            rt::scalar(result(2)),
        ))
    }

    /// As the model's `halved`.
    pub async fn halved_async(
        &mut self,
        x: rt::View<'_, rt::half::f16, 2>,
    ) -> rt::Result<rt::View<'_, rt::half::f16, 2>> {
        let dims = plan::Halved::bind(x.dims())?;
        let words0 = self.session.__emitted_code_only_take(x.data())?;
        self.session.__emitted_code_only_call::<plan::Halved>(&dims, &[words0.words()]).await?;
        self.session.__emitted_code_only_keep(words0);
        let words = self.session.__emitted_code_only_result::<plan::Halved>(&dims, 0);
        rt::View::new(rt::elements::<rt::half::f16>(words, &[dims[0], dims[1]]), [dims[0], dims[1]])
    }

    /// The sum of all that was given.
    pub async fn next_async(&mut self, x: &[u8]) -> rt::Result<&[u8]> {
        let dims = plan::Next::bind(self.session.__emitted_code_only_dims(), [x.len()])?;
        let words0 = self.session.__emitted_code_only_take(x)?;
        self.session.__emitted_code_only_call_in::<plan::Plan_, plan::Next>(&dims, &[words0.words()]).await?;
        self.session.__emitted_code_only_keep(words0);
        let words = self.session.__emitted_code_only_result::<plan::Next>(&dims, 0);
        ::core::result::Result::Ok(rt::elements::<u8>(words, &[dims[0]]))
    }

    /// Writes the state to a safetensors file.
    pub async fn save_async(&self, path: &rt::Path) -> rt::Result<()> {
        self.session.__emitted_code_only_save(path).await
    }

    /// Overwrites the state with that of a file.
    pub async fn load_async(&mut self, path: &rt::Path) -> rt::Result<()> {
        self.session.__emitted_code_only_load::<plan::Plan_>(path).await
    }
}

impl<D: rt::Device> rt::Model for Bytes<D> {
    type Device = D;
    type Float = f32;

    fn weights(&self) -> &rt::Weights<D> {
        &self.weights
    }

    fn weights_mut(&mut self) -> &mut rt::Weights<D> {
        &mut self.weights
    }
}

/// What the stages after the face emit, with plain loops for kernels.
#[allow(missing_docs)]
mod plan {
    use super::rt;

    pub(super) struct Plan_;

    impl rt::Compiled for Plan_ {
        const SPEC: &'static rt::ModelSpec = &SPEC;
    }

    static SPEC: rt::ModelSpec = rt::ModelSpec {
        name: "Bytes",
        parameters: &[],
        pool_len: 0,
        states: &[
            rt::StateSpec { name: "sum", dtype: "U8", shape: &[|dims| Some(dims[0])], repeats: &[] },
            rt::StateSpec { name: "last", dtype: "I16", shape: &[], repeats: &[] },
        ],
        session: &[rt::Dim { name: "S", bound: core::option::Option::None }],
    };

    /// The words of so many bytes.
    fn words(bytes: usize) -> usize {
        bytes.div_ceil(4)
    }

    pub(super) struct Shifted;

    impl Shifted {
        pub(super) fn bind(x: [usize; 1], keep: [usize; 1]) -> rt::Result<[usize; 1]> {
            static DIMS: [rt::Dim; 1] = [rt::Dim { name: "B", bound: core::option::Option::None }];
            let mut bindings = rt::Bindings::new(&DIMS);
            bindings.name(0, "x", x[0])?;
            bindings.name(0, "keep", keep[0])?;
            core::result::Result::Ok(bindings.finish())
        }
    }

    impl rt::Function for Shifted {
        const NAME: &'static str = "shifted";

        rt::if_gpu! {
            fn gpu() -> (&'static rt::gpu::Program, &'static rt::gpu::Plan) {
                unreachable!("this model is not compiled for GPUs")
            }
        }

        fn scratch(dims: &[usize]) -> core::option::Option<usize> {
            Some(words(3 * dims[0]) + dims[0] + 1)
        }

        fn result(dims: &[usize], index: usize) -> rt::Place {
            let first = words(3 * dims[0]);
            [(0, first), (first, dims[0]), (first + dims[0], 1)].map(|(offset, len)| rt::Place { offset, len })[index]
        }

        fn cpu(memory: rt::Memory<'_>, dims: &[usize]) -> rt::Result<()> {
            let (x, by) = (rt::elements::<[i8; 3]>(memory.inputs[0], dims), rt::scalar::<i16>(memory.inputs[2]));
            let (shifted, rest) = memory.scratch.split_at_mut(words(3 * dims[0]));
            // What the call before left has nothing of this one.
            shifted.fill(f32::NAN);
            for (k, row) in rt::elements_mut::<[i8; 3]>(shifted, dims).iter_mut().enumerate() {
                let keep = memory.inputs[1][k].to_bits() == 1;
                *row = x[k].map(|x| if keep { x.wrapping_add(by as i8) } else { x });
                rest[k] = f32::from_bits(u32::from(!keep));
            }
            rt::elements_mut::<i16>(&mut rest[dims[0]..], &[])[0] = by + 1;
            core::result::Result::Ok(())
        }
    }

    pub(super) struct Halved;

    impl Halved {
        pub(super) fn bind(x: [usize; 2]) -> rt::Result<[usize; 2]> {
            static DIMS: [rt::Dim; 2] =
                [rt::Dim { name: "B", bound: core::option::Option::None }, rt::Dim { name: "T", bound: None }];
            let mut bindings = rt::Bindings::new(&DIMS);
            bindings.name(0, "x", x[0])?;
            bindings.name(1, "x", x[1])?;
            core::result::Result::Ok(bindings.finish())
        }
    }

    impl rt::Function for Halved {
        const NAME: &'static str = "halved";

        rt::if_gpu! {
            fn gpu() -> (&'static rt::gpu::Program, &'static rt::gpu::Plan) {
                unreachable!("this model is not compiled for GPUs")
            }
        }

        fn scratch(dims: &[usize]) -> core::option::Option<usize> {
            Some(words(2 * dims[0] * dims[1]))
        }

        fn result(dims: &[usize], _index: usize) -> rt::Place {
            rt::Place { offset: 0, len: words(2 * dims[0] * dims[1]) }
        }

        fn cpu(memory: rt::Memory<'_>, dims: &[usize]) -> rt::Result<()> {
            let x = rt::elements::<u16>(memory.inputs[0], dims);
            for (half, x) in rt::elements_mut::<u16>(memory.scratch, dims).iter_mut().zip(x) {
                // The exponent of a normal number, less one.
                *half = x - (1 << 10);
            }
            core::result::Result::Ok(())
        }
    }

    pub(super) struct Next;

    impl Next {
        pub(super) fn bind(session: &[usize], x: [usize; 1]) -> rt::Result<[usize; 1]> {
            static DIMS: [rt::Dim; 1] = [rt::Dim { name: "S", bound: core::option::Option::None }];
            let mut bindings = rt::Bindings::new(&DIMS);
            bindings.session(&[0], session)?;
            bindings.name(0, "x", x[0])?;
            core::result::Result::Ok(bindings.finish())
        }
    }

    impl rt::Function for Next {
        const NAME: &'static str = "next";

        rt::if_gpu! {
            fn gpu() -> (&'static rt::gpu::Program, &'static rt::gpu::Plan) {
                unreachable!("this model is not compiled for GPUs")
            }
        }

        fn scratch(dims: &[usize]) -> core::option::Option<usize> {
            Some(words(dims[0]))
        }

        fn result(dims: &[usize], _index: usize) -> rt::Place {
            rt::Place { offset: 0, len: words(dims[0]) }
        }

        fn cpu(memory: rt::Memory<'_>, dims: &[usize]) -> rt::Result<()> {
            let x = rt::elements::<u8>(memory.inputs[0], dims);
            let (sums, last) = memory.session.split_at_mut(words(dims[0]).next_multiple_of(64));
            for (sum, &x) in rt::elements_mut::<u8>(sums, dims).iter_mut().zip(x) {
                *sum = sum.wrapping_add(x);
            }
            rt::elements_mut::<i16>(last, &[])[0] -= 1;
            memory.scratch.copy_from_slice(&sums[..words(dims[0])]);
            core::result::Result::Ok(())
        }
    }
}
