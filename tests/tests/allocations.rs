//! After warm-up nothing is allocated: by no step of training, no call of a session, no call into the caller's memory,
//! and by no thread. The only test of its program, because the count is that of the process.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use precast::View;
use precast::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static COUNT: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call is passed on to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: `layout` is not empty by the contract of `alloc`, which is that of `System` too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System`, with this layout, as all that is allocated here does.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

model! {
    /// A convolution, repeated blocks, dropout: all that has scratch memory.
    pub struct Net {
        patch: Conv2d(1, 8, kernel = 3, padding = 1),
        blocks: [Block(32, 96); 3],
        output: Linear(32, 10),
    }

    struct Block(dim, hidden) {
        norm: LayerNorm(dim),
        up: Linear(dim, hidden),
        down: Linear(hidden, dim),
    }

    impl Block {
        fn forward(&self, x: f32[.., dim]) -> f32[.., dim] {
            x + self.down(dropout(gelu(self.up(self.norm(x))), 0.1))
        }
    }

    impl Net {
        /// Unnormalised class scores.
        pub fn scores(&self, image: f32[B, 1, 4, 4]) -> f32[B, 10] {
            let mut x = flatten(max_pool2d(relu(self.patch(image)), window = 2));
            for block in self.blocks {
                x = block(x);
            }
            self.output(x)
        }

        /// The likeliest class, whether it is likely, and the distances of all pairs.
        pub fn answers(&self, image: f32[B, 1, 4, 4]) -> (u32[B], bool[B], f32[B, B]) {
            let scores = self.scores(image);
            let x = softmax(scores, axis = -1);
            (argmax(scores, axis = -1), max(x, axis = -1) > 0.5, matmul(x, transpose(x)))
        }

        /// Mean cross-entropy.
        #[train(AdamW)]
        pub fn loss(&self, image: f32[B, 1, 4, 4], label: u32[B]) -> f32 {
            cross_entropy(self.scores(image), label)
        }
    }
}

model! {
    use self::Net;

    /// The same, whose products read bf16.
    #[model(precision = bf16)]
    pub struct NetBf16 = Net;

    /// The same, whose products read bytes.
    #[model(precision = int8)]
    pub struct NetInt8 = Net;

    /// The same with parameters in half of the bits.
    #[model(parameters = bf16)]
    pub struct StoredBf16 = Net;

    /// The same in a quarter of them.
    #[model(parameters = int8)]
    pub struct StoredInt8 = Net;
}

model! {
    /// Attention of one place against caches, which grow from call to call.
    pub struct Chat(layers = 2, dim = 32, context = 80) {
        blocks: [Cached(dim, context); layers],
    }

    struct Cached(dim, context) {
        qkv: Linear(dim, 3 * dim),
        state keys: f32[B, context, dim],
        state values: f32[B, context, dim],
    }

    impl Cached {
        fn step(&mut self, x: f32[B, dim], at: u32) -> f32[B, dim] {
            let (q, k, v) = split(self.qkv(x), 3, axis = -1);
            self.keys[_, at, _] = k;
            self.values[_, at, _] = v;
            let scores = softmax(einsum("bd,btd->bt", q, self.keys[_, ..=at, _]), axis = -1);
            x + einsum("bt,btd->bd", scores, self.values[_, ..=at, _])
        }
    }

    impl Chat {
        /// One place.
        pub fn step(&mut self, x: f32[B, dim], at: u32) -> f32[B, dim] {
            let mut x = x;
            for block in self.blocks { x = block.step(x, at); }
            x
        }
    }
}

/// The number of allocations that `run` makes.
fn allocations(run: impl FnOnce()) -> usize {
    let before = COUNT.load(Ordering::SeqCst);
    run();
    COUNT.load(Ordering::SeqCst) - before
}

fn main() {
    let images: Vec<[[[f32; 4]; 4]; 1]> = (0..70)
        .map(|k| [core::array::from_fn(|i| core::array::from_fn(|j| ((k + 3 * i + j) % 7) as f32 / 7.0))])
        .collect();
    let labels: Vec<u32> = (0..70).map(|k| k % 10).collect();
    let mut net = Net::init(1);
    evaluation(&net, &images);
    few_bits(&images);
    stored(&images);
    training(&mut net, &images, &labels);
    decoding();
    println!("no allocations after warm-up");
}

fn evaluation(net: &Net, images: &[[[[f32; 4]; 4]; 1]]) {
    let mut session = net.session();
    let mut out = vec![[0.0; 10]; images.len()];
    let shapes = [images.len(), 1, 13];
    for n in shapes {
        session.scores(&images[..n]).unwrap();
        session.answers(&images[..n]).unwrap();
        net.scores_into(&images[..n], &mut out[..n]).unwrap();
    }
    for n in shapes {
        assert_eq!(
            allocations(|| assert_eq!(session.scores(&images[..n]).unwrap().len(), n)),
            0,
            "a session, {n} images"
        );
        assert_eq!(allocations(|| net.scores_into(&images[..n], &mut out[..n]).unwrap()), 0, "into, {n} images");
        let answers = || {
            let (class, likely, near): (&[u32], &[bool], View<'_, f32, 2>) = session.answers(&images[..n]).unwrap();
            assert_eq!((class.len(), likely.len(), near.dims()), (n, n, [n, n]));
        };
        assert_eq!(allocations(answers), 0, "several results, {n} images");
    }
    for n in shapes {
        let before = BYTES.load(Ordering::SeqCst);
        let mut fresh = net.session();
        fresh.scores(&images[..n]).unwrap();
        let (allocated, arena) = (BYTES.load(Ordering::SeqCst) - before, Net::scores_arena_bytes(n));
        assert!(allocated >= arena, "the arena for {n} images: {allocated} bytes");
        // The rest is each parameter once in the order in which kernels read it, filled up to whole register tiles.
        assert!(allocated - arena <= 8 * Net::PARAMS, "{} bytes of packed parameters", allocated - arena);
    }
    // An error that is ruled out before the work costs nothing either.
    assert_eq!(allocations(|| assert!(session.scores(&[]).is_err())), 0, "an empty batch");
}

/// Calls that round operands, in a session and without one.
fn few_bits(images: &[[[[f32; 4]; 4]; 1]]) {
    let (bf16, int8) = (NetBf16::init(1), NetInt8::init(1));
    let (mut first, mut second) = (bf16.session(), int8.session());
    let mut out = vec![[0.0; 10]; images.len()];
    for turn in 0..2 {
        for n in [images.len(), 1, 13] {
            let count = allocations(|| {
                first.scores(&images[..n]).unwrap();
                second.scores(&images[..n]).unwrap();
                bf16.scores_into(&images[..n], &mut out[..n]).unwrap();
                int8.scores_into(&images[..n], &mut out[..n]).unwrap();
            });
            assert!(turn == 0 || count == 0, "{count} allocations, few bits, {n} images");
        }
    }
}

/// Parameters that are stored in fewer bits: nothing is allocated after the first call, and their memory is theirs alone.
fn stored(images: &[[[[f32; 4]; 4]; 1]]) {
    macro_rules! check {
        ($model:ident, $bytes:expr) => {{
            let bytes = || BYTES.load(Ordering::SeqCst);
            let model = $model::init(1);
            // A copy has a pool and the names that find it.
            let before = bytes();
            let copy = model.clone();
            let pool = bytes() - before;
            // Vectors and scales are f32 beside integers, and each stack ends on a boundary of 64 elements.
            assert!(pool <= $bytes * Net::PARAMS + 8192, "{pool} bytes for {} parameters", Net::PARAMS);
            drop(copy);
            for n in [images.len(), 1, 13] {
                let mut session = model.session();
                session.scores(&images[..n]).unwrap();
                let count = allocations(|| assert_eq!(session.scores(&images[..n]).unwrap().len(), n));
                assert_eq!(count, 0, "a session of stored parameters, {n} images");
                // What the threads widen parameters to is there by now.
                let before = bytes();
                let mut fresh = model.session();
                fresh.scores(&images[..n]).unwrap();
                let (allocated, arena) = (bytes() - before, $model::scores_arena_bytes(n));
                assert!(allocated <= arena + 1024, "{} bytes besides the arena", allocated - arena);
            }
        }};
    }
    check!(StoredBf16, 2);
    check!(StoredInt8, 1);
}

/// Every place of a conversation after the first.
fn decoding() {
    let chat = Chat::init(2);
    let mut session = chat.session(ChatDims { B: 3 }).unwrap();
    let x = [[0.1; 32]; 3];
    session.step(&x, 0).unwrap();
    let rest = || (1..80).for_each(|at| assert_eq!(session.step(&x, at).unwrap().len(), 3));
    assert_eq!(allocations(rest), 0, "a conversation after its first place");
    assert_eq!(allocations(|| session.reset().unwrap()), 0, "another conversation");
}

fn training(net: &mut Net, images: &[[[[f32; 4]; 4]; 1]], labels: &[u32]) {
    let mut loader = Loader::new(images, labels, 32).unwrap();
    let mut trainer = net.trainer(AdamW { clip: Some(1.0), ..default() });
    trainer.group("*.bias", |o| o.decay = 0.0).unwrap();
    let mut epoch = |seed| {
        for (image, label) in loader.shuffled(seed) {
            trainer.loss(image, label).unwrap().value().unwrap();
        }
        trainer.optimizer.rate *= 0.9;
    };
    epoch(0);
    assert_eq!(allocations(|| epoch(1)), 0, "an epoch, its ragged last batch included");
    assert_eq!(allocations(|| epoch(2)), 0, "another epoch");
    drop(loader);
    let mut fresh = net.trainer(AdamW::default());
    let before = BYTES.load(Ordering::SeqCst);
    fresh.loss(&images[..9], &labels[..9]).unwrap().value().unwrap();
    let small = BYTES.load(Ordering::SeqCst) - before;
    fresh.loss(&images[..32], &labels[..32]).unwrap().value().unwrap();
    let more = BYTES.load(Ordering::SeqCst) - before - small;
    // Besides the arena the first step allocates gradients and two states of the optimiser, the next one only room.
    let arena = NetTrainer::<AdamW>::loss_arena_bytes;
    assert!(small >= arena(9) + 3 * 4 * Net::PARAMS, "{small} bytes");
    assert_eq!(more, arena(32), "the arena of a larger batch, whose words are moved there");
}
