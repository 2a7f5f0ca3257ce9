//! The GPU runtime with hand-written programs, on whatever adapter the machine has.
//!
//! A machine without an adapter fails these tests, unless `PRECAST_WITHOUT_GPU=1` says that it may.

use super::*;

const WGSL: &str = include_str!("tests.wgsl");

fn constant<const N: u64>(_: &[u32]) -> u64 {
    N
}

fn times<const N: u64>(dims: &[u32]) -> u64 {
    N * u64::from(dims[0])
}

/// Hidden values [B, 8], errors [B], predictions [B], the loss, the flag.
fn scratch(dims: &[u32]) -> u64 {
    10 * u64::from(dims[0]) + 2
}

fn places(dims: &[u32]) -> [u64; 4] {
    let count = u64::from(dims[0]);
    [8 * count, 9 * count, 10 * count, 4 * count]
}

/// A network 4 → 8 → 1 with relu, mean squared error, and gradient descent.
static MLP: Program = Program {
    wgsl: WGSL,
    entries: &[
        Entry { name: "hidden", reads: &[Pool::Weights, Pool::Inputs], writes: &[Pool::Scratch] },
        Entry { name: "output", reads: &[Pool::Weights], writes: &[Pool::Scratch] },
        Entry { name: "loss", reads: &[Pool::Weights, Pool::Inputs], writes: &[Pool::Scratch] },
        Entry { name: "gradient", reads: &[Pool::Weights, Pool::Inputs, Pool::Scratch], writes: &[Pool::Gradients] },
        Entry {
            name: "update",
            reads: &[Pool::Gradients, Pool::Numbers],
            writes: &[Pool::Weights, Pool::State, Pool::Scratch],
        },
        Entry { name: "turn", reads: &[Pool::Inputs], writes: &[Pool::Scratch] },
    ],
    call: 4 + 1 + 4,
    weights: 192,
    needs: Needs { workgroup_bytes: 256, workgroup_threads: 64 },
};

const ROWS: fn(&[u32], &mut Launch) = |dims, launch| launch.set(u64::from(dims[0].div_ceil(64)), &places(dims));
const ONCE: fn(&[u32], &mut Launch) = |dims, launch| launch.set(1, &places(dims));

static PREDICT: Plan = Plan {
    name: "predict",
    pools: &[Size { pool: Pool::Inputs, words: times::<4> }, Size { pool: Pool::Scratch, words: scratch }],
    inputs: &[Span { name: "x", offset: constant::<0>, words: times::<4> }],
    outputs: &[Span { name: "y", offset: times::<9>, words: times::<1> }],
    updated: None,
    commands: &[Command::Dispatch { entry: 0, launch: ROWS }, Command::Dispatch { entry: 1, launch: ROWS }],
};

static TRAIN: Plan = Plan {
    name: "train",
    pools: &[
        Size { pool: Pool::Inputs, words: times::<5> },
        Size { pool: Pool::Scratch, words: scratch },
        Size { pool: Pool::Gradients, words: constant::<192> },
        Size { pool: Pool::State, words: constant::<1> },
        Size { pool: Pool::Numbers, words: constant::<1> },
    ],
    inputs: &[
        Span { name: "x", offset: constant::<0>, words: times::<4> },
        Span { name: "target", offset: times::<4>, words: times::<1> },
    ],
    outputs: &[Span { name: "loss", offset: times::<10>, words: constant::<1> }],
    updated: Some(|dims| 10 * u64::from(dims[0]) + 1),
    commands: &[
        Command::Dispatch { entry: 0, launch: ROWS },
        Command::Dispatch { entry: 2, launch: ONCE },
        Command::Dispatch { entry: 3, launch: ONCE },
        Command::Dispatch { entry: 4, launch: ONCE },
    ],
};

/// Word `10 i + j` of the output becomes its position among the turns, plus the dimension.
static TURNS: Plan = Plan {
    name: "turns",
    pools: &[Size { pool: Pool::Inputs, words: constant::<1> }, Size { pool: Pool::Scratch, words: constant::<31> }],
    inputs: &[Span { name: "start", offset: constant::<0>, words: constant::<1> }],
    outputs: &[Span { name: "order", offset: constant::<0>, words: constant::<31> }],
    updated: None,
    commands: &[Command::Repeat {
        count: 3,
        reverse: true,
        body: &[Command::Repeat { count: 10, reverse: false, body: &[Command::Dispatch { entry: 5, launch: ONCE }] }],
    }],
};

fn gpu() -> Option<Gpu> {
    match Gpu::new() {
        Ok(gpu) => Some(gpu),
        Err(error) if std::env::var_os("PRECAST_WITHOUT_GPU").is_some() => {
            eprintln!("not run: {error}");
            None
        }
        Err(error) => panic!("{error}; PRECAST_WITHOUT_GPU=1 lets GPU tests pass on machines without one"),
    }
}

fn start() -> Vec<f32> {
    let mut words = vec![0.0; 192];
    for (i, word) in words.iter_mut().enumerate().filter(|(i, _)| *i < 32 || (128..136).contains(i)) {
        *word = ((i * 37 % 19) as f32 - 9.0) / 10.0;
    }
    words
}

fn batch(count: usize) -> (Vec<f32>, Vec<f32>) {
    let x: Vec<f32> = (0..4 * count).map(|i| ((i * 29 % 23) as f32 - 11.0) / 7.0).collect();
    let target = x.chunks(4).map(|row| row[0] - 0.5 * row[1] + row[2] * 0.25).collect();
    (x, target)
}

/// The same network in binary64.
struct Reference(Vec<f64>);

impl Reference {
    fn hidden(&self, x: &[f32]) -> [f64; 8] {
        core::array::from_fn(|j| (0..4).map(|i| f64::from(x[i]) * self.0[8 * i + j]).sum::<f64>() + self.0[64 + j])
    }

    fn predict(&self, x: &[f32]) -> f64 {
        self.hidden(x).iter().zip(&self.0[128..]).map(|(h, w)| h.max(0.0) * w).sum()
    }

    fn step(&mut self, x: &[f32], target: &[f32], rate: f64) -> f64 {
        let (mut loss, mut gradient) = (0.0, vec![0.0; 192]);
        for (x, target) in x.chunks(4).zip(target) {
            let (hidden, error) = (self.hidden(x), self.predict(x) - f64::from(*target));
            loss += error * error;
            for j in (0..8).filter(|&j| hidden[j] > 0.0) {
                gradient[128 + j] += 2.0 * error * hidden[j];
                gradient[64 + j] += 2.0 * error * self.0[128 + j];
                for i in 0..4 {
                    gradient[8 * i + j] += 2.0 * error * self.0[128 + j] * f64::from(x[i]);
                }
            }
        }
        let count = target.len() as f64;
        for (word, gradient) in self.0.iter_mut().zip(gradient) {
            *word -= rate * gradient / count;
        }
        loss / count
    }
}

fn bytes(words: &[f32]) -> &[u8] {
    bytemuck::cast_slice(words)
}

fn predict(session: &mut Session, x: &[f32]) -> Result<Vec<f32>> {
    let mut y = vec![0.0; x.len() / 4];
    let count = y.len() as u32;
    session.call(&PREDICT, &[count], &[bytes(x)], &[], &mut [bytemuck::cast_slice_mut(&mut y)])?;
    Ok(y)
}

fn close(a: f32, b: f64) -> bool {
    (f64::from(a) - b).abs() <= 1e-4 * (1.0 + b.abs())
}

#[test]
fn a_call_agrees_with_binary64() {
    let Some(gpu) = gpu() else { return };
    let model = Parameters::new(&gpu, &MLP, &start()).unwrap();
    let reference = Reference(start().iter().map(|&w| w.into()).collect());
    let mut session = model.session();
    for count in [1, 5, 130, 7] {
        let (x, _) = batch(count);
        let y = predict(&mut session, &x).unwrap();
        assert!(y.iter().zip(x.chunks(4)).all(|(&y, x)| close(y, reference.predict(x))), "batch of {count}");
    }
}

#[test]
fn training_follows_binary64_and_losses_are_read_late() {
    let Some(gpu) = gpu() else { return };
    let model = Parameters::new(&gpu, &MLP, &start()).unwrap();
    let mut reference = Reference(start().iter().map(|&w| w.into()).collect());
    let mut training = model.training().unwrap();
    let (x, target) = batch(33);
    let mut losses = Vec::new();
    for _ in 0..40 {
        let inputs = [bytes(&x), bytes(&target)];
        let loss = training.step(&TRAIN, &[33], &inputs, &[0.02_f32.to_bits()]).unwrap();
        losses.push((loss, reference.step(&x, &target, f64::from(0.02_f32))));
    }
    for (step, (loss, expected)) in losses.iter().enumerate() {
        assert!(close(loss.value().unwrap(), *expected), "step {step}: {loss:?} for {expected}");
    }
    assert!(losses[39].1 < 0.5 * losses[0].1);
    let words = model.read().unwrap();
    assert!(words.iter().zip(&reference.0).all(|(&a, &b)| close(a, b)));
    assert_eq!(model.host(), words);
    assert_eq!(losses[39].0.record().unwrap()[1], 1);
    let mut steps = [0.0];
    training.read(Pool::State, &mut steps).unwrap();
    assert_eq!(steps, [40.0]);
}

#[test]
fn handles_outlive_the_ring() {
    let Some(gpu) = gpu() else { return };
    let model = Parameters::new(&gpu, &MLP, &start()).unwrap();
    let mut training = model.training().unwrap();
    let (x, target) = batch(2);
    let mut step = || training.step(&TRAIN, &[2], &[bytes(&x), bytes(&target)], &[0.0_f32.to_bits()]).unwrap();
    let first = step();
    let rest: Vec<Loss> = (0..1500).map(|_| step()).collect();
    let expected = rest[1499].value().unwrap();
    assert!(rest.iter().all(|loss| loss.value().unwrap() == expected));
    assert_eq!(first.value().unwrap(), expected);
}

#[test]
fn nothing_is_created_after_warm_up() {
    let Some(gpu) = gpu() else { return };
    let model = Parameters::new(&gpu, &MLP, &start()).unwrap();
    let (mut session, mut training) = (model.session(), model.training().unwrap());
    let mut round = || {
        for count in [64_usize, 17] {
            let (x, target) = batch(count);
            let inputs = [bytes(&x), bytes(&target)];
            training.step(&TRAIN, &[count as u32], &inputs, &[0.01_f32.to_bits()]).unwrap().value().unwrap();
            predict(&mut session, &x).unwrap();
        }
    };
    round();
    let warm = gpu.created();
    (0..5).for_each(|_| round());
    assert_eq!(gpu.created(), warm);
    assert_eq!((warm.pipelines, warm.modules), (6, 1));
    let again = Parameters::new(&gpu, &MLP, &start()).unwrap();
    assert_eq!(gpu.created().pipelines, warm.pipelines, "two models of one program share its pipelines");
    drop(again);
}

#[test]
fn a_step_that_is_not_finite_is_skipped_on_the_device() {
    let Some(gpu) = gpu() else { return };
    let model = Parameters::new(&gpu, &MLP, &start()).unwrap();
    let mut training = model.training().unwrap();
    let (mut x, target) = batch(3);
    x[5] = f32::NAN;
    let loss = training.step(&TRAIN, &[3], &[bytes(&x), bytes(&target)], &[0.1_f32.to_bits()]).unwrap();
    assert!(loss.value().unwrap().is_nan());
    assert_eq!(loss.record().unwrap()[1], 0);
    assert_eq!(model.read().unwrap(), start());
}

#[test]
fn repeats_hand_their_indices_to_the_shader() {
    let Some(gpu) = gpu() else { return };
    let model = Parameters::new(&gpu, &MLP, &start()).unwrap();
    let mut order = [0_u32; 31];
    let output: &mut [u8] = bytemuck::bytes_of_mut(&mut order);
    model.session().call(&TURNS, &[100], &[bytemuck::bytes_of(&7_u32)], &[], &mut [output]).unwrap();
    let expected = |word: u32| 7 + 100 + (2 - word / 10) * 10 + word % 10;
    assert!((0..30).all(|word| order[word as usize] == expected(word)), "{order:?}");
}

#[test]
fn async_methods_do_the_same() {
    let Some(gpu) = gpu() else { return };
    pollster::block_on(async {
        let model = Parameters::new_async(&gpu, &MLP, &start()).await.unwrap();
        let mut training = model.training_async().await.unwrap();
        let (x, target) = batch(9);
        let mut losses = Vec::new();
        for _ in 0..40 {
            let inputs = [bytes(&x), bytes(&target)];
            losses.push(training.step_async(&TRAIN, &[9], &inputs, &[0.05_f32.to_bits()]).await.unwrap());
        }
        assert!(losses[39].value_async().await.unwrap() < losses[0].value_async().await.unwrap());
        let reference = Reference(model.read_async().await.unwrap().iter().map(|&w| w.into()).collect());
        let mut y = [0.0_f32; 9];
        let output: &mut [u8] = bytemuck::bytes_of_mut(&mut y);
        model.session().call_async(&PREDICT, &[9], &[bytes(&x)], &[], &mut [output]).await.unwrap();
        assert!(y.iter().zip(x.chunks(4)).all(|(&y, x)| close(y, reference.predict(x))));
    });
}

#[test]
fn an_abandoned_call_leaves_the_session_usable() {
    let Some(gpu) = gpu() else { return };
    let model = Parameters::new(&gpu, &MLP, &start()).unwrap();
    let mut session = model.session();
    let (x, _) = batch(4);
    let expected = predict(&mut session, &x).unwrap();
    let mut y = [0.0_f32; 4];
    let mut context = core::task::Context::from_waker(core::task::Waker::noop());
    {
        let output: &mut [u8] = bytemuck::bytes_of_mut(&mut y);
        let mut outputs = [output];
        let inputs = [bytes(&x)];
        let mut call = core::pin::pin!(session.call_async(&PREDICT, &[4], &inputs, &[], &mut outputs));
        let _ = call.as_mut().poll(&mut context);
    }
    assert_eq!(predict(&mut session, &x).unwrap(), expected);
}

#[test]
fn a_destroyed_device_is_an_error_everywhere() {
    let Some(gpu) = gpu() else { return };
    let model = Parameters::new(&gpu, &MLP, &start()).unwrap();
    let (mut session, mut training) = (model.session(), model.training().unwrap());
    let (x, target) = batch(3);
    let inputs = [bytes(&x), bytes(&target)];
    let loss = training.step(&TRAIN, &[3], &inputs, &[0.1_f32.to_bits()]).unwrap();
    let trained = model.read().unwrap();
    let late = training.step(&TRAIN, &[3], &inputs, &[0.1_f32.to_bits()]).unwrap();
    gpu.destroy();
    let lost = |error: Error| matches!(error, Error::DeviceLost { .. });
    assert!(lost(late.value().unwrap_err()));
    assert!(lost(loss.value().unwrap_err()));
    assert!(lost(predict(&mut session, &x).unwrap_err()));
    assert!(lost(training.step(&TRAIN, &[3], &inputs, &[0]).unwrap_err()));
    assert!(lost(training.read(Pool::State, &mut [0.0]).unwrap_err()));
    assert!(lost(model.read().unwrap_err()));
    assert!(lost(model.write(&start()).unwrap_err()));
    assert!(lost(model.training().unwrap_err()));
    assert!(lost(Parameters::new(&gpu, &MLP, &start()).unwrap_err()));
    assert_eq!(model.host(), trained);
}

#[test]
fn a_device_that_its_owner_destroys_is_an_error_at_the_next_read() {
    let Some(own) = gpu() else { return };
    let gpu = Gpu::from_device(own.device().clone(), own.queue().clone());
    let model = Parameters::new(&gpu, &MLP, &start()).unwrap();
    let mut session = model.session();
    let (x, _) = batch(3);
    predict(&mut session, &x).unwrap();
    own.device().destroy();
    assert!(matches!(predict(&mut session, &x), Err(Error::DeviceLost { .. })));
    assert!(matches!(model.read(), Err(Error::DeviceLost { .. })));
    assert_eq!(model.host(), start());
}

#[test]
fn mistakes_are_errors_and_reach_no_handler_of_the_caller() {
    let Some(own) = gpu() else { return };
    own.device().on_uncaptured_error(std::sync::Arc::new(|error| panic!("escaped: {error}")));
    let gpu = Gpu::from_device(own.device().clone(), own.queue().clone());
    static BROKEN: Program = Program { wgsl: "fn oops(", ..MLP };
    static GREEDY: Program = Program { needs: Needs { workgroup_bytes: 256, workgroup_threads: 1 << 30 }, ..MLP };
    assert!(matches!(Parameters::new(&gpu, &BROKEN, &start()), Err(Error::Device { .. })));
    assert!(matches!(Parameters::new(&gpu, &GREEDY, &start()), Err(Error::Device { .. })));
    assert!(matches!(Parameters::new(&gpu, &MLP, &[1.0]), Err(Error::Length { .. })));
    let model = Parameters::new(&gpu, &MLP, &start()).unwrap();
    let mut session = model.session();
    let call = session.call(&PREDICT, &[2], &[bytes(&[0.0; 7])], &[], &mut [&mut [0; 8]]);
    assert!(matches!(call, Err(Error::Length { argument: "x", found: 7, needed: 8, .. })));
    assert_eq!(predict(&mut session, &batch(2).0).unwrap().len(), 2);
}

#[test]
fn an_adapter_that_does_not_exist_is_an_error() {
    let missing = Gpu::with(&Adapter::Named("an adapter of no vendor".to_owned()));
    assert!(matches!(missing, Err(Error::NoAdapter { .. })));
}
