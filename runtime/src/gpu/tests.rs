//! The GPU as a device, with a hand-written program, on whatever adapter the machine has.
//!
//! A machine without an adapter fails these tests, unless `PRECAST_WITHOUT_GPU=1` says that it may.

use super::*;
use crate::device::{Compiled, Device, Function, Memory, Place, Step, StepMemory};
use crate::spec::{ModelSpec, ParameterSpec};
use crate::{__rt::Model, __rt::Shared, Blocking, Cpu, Error, Init, Loss, Result, Session, Sgd, Trainer, Weights};
use precast_cpu::Words;

/// A network 4 → 8 → 1 with relu, mean squared error, and gradient descent.
static NET: Program = Program {
    wgsl: include_str!("tests.wgsl"),
    entries: &[
        Entry { name: "hidden", enables: "", shared: "", wgsl: "", writes: &[false, false, true] },
        Entry { name: "output", enables: "", shared: "", wgsl: "", writes: &[false, false, true] },
        Entry { name: "loss", enables: "", shared: "", wgsl: "", writes: &[false, false, true, true] },
        Entry {
            name: "gradient",
            enables: "",
            shared: "",
            wgsl: "",
            writes: &[false, false, false, true, false, false, false],
        },
        Entry {
            name: "update",
            enables: "",
            shared: "",
            wgsl: "",
            writes: &[true, false, false, false, true, false, false, true],
        },
        Entry { name: "turn", enables: "", shared: "", wgsl: "", writes: &[false, false, true] },
    ],
    loops: 4,
    dims: 2,
    call: 4 + 2 + 3 + 8,
    foreign: Foreign { wgsl: "", first: usize::MAX },
    needs: Needs { workgroup_bytes: 256, workgroup_threads: 64 },
};

static SPEC: ModelSpec = ModelSpec {
    name: "Net",
    parameters: &[
        ParameterSpec::new("hidden.weight", &[4, 8], 0, &[], Init::Zeros),
        ParameterSpec::new("hidden.bias", &[8], 64, &[], Init::Zeros),
        ParameterSpec::new("output.weight", &[8], 128, &[], Init::Zeros),
    ],
    pool_len: 192,
    states: &[],
    session: &[],
};

struct Plans;

impl Compiled for Plans {
    const SPEC: &'static ModelSpec = &SPEC;
}

/// Hidden values [B, 8], errors [B], predictions [B]; and targets among the arguments.
fn offsets(dims: &[usize]) -> [u64; 3] {
    let count = dims[0] as u64;
    [8 * count, 9 * count, (4 * count).next_multiple_of(64)]
}

/// So many workgroups of an entry point that has the first of these views, and one of the outcome, if it stores that.
fn launch<'l>(
    groups: usize,
    dims: &[usize],
    launch: &'l mut Launch,
    (views, outcome): (usize, bool),
) -> &'l mut Launch {
    let count = dims[0] as u64;
    launch.set(groups as u64);
    offsets(dims).into_iter().for_each(|offset| _ = launch.number(offset));
    match outcome {
        true => launch.slot(views, Pool::Outcome, 0, 2),
        false => launch.number(0),
    };
    let inputs = (4 * count).next_multiple_of(64) + count;
    let all = [(Pool::Weights, 192), (Pool::Inputs, inputs), (Pool::Bank(0), 10 * count), (Pool::Gradients, 192)];
    let all = all.into_iter().chain([(Pool::State, 1), (Pool::Numbers, 64), (Pool::Groups, 3)]);
    for (view, (pool, len)) in all.enumerate().take(views) {
        launch.slot(view, pool, 0, len);
    }
    launch
}

const ROWS: fn(&[usize], &mut Launch) = |dims, call| _ = launch(dims[0].div_ceil(64), dims, call, (3, false));
const ONCE: fn(&[usize], &mut Launch) = |dims, call| _ = launch(1, dims, call, (3, false));
const LOSS: fn(&[usize], &mut Launch) = |dims, call| _ = launch(1, dims, call, (3, true));
const ALL: fn(&[usize], &mut Launch) = |dims, call| _ = launch(1, dims, call, (7, false));
const UPDATE: fn(&[usize], &mut Launch) = |dims, call| _ = launch(1, dims, call, (7, true));

/// The word behind so many words for each row.
const fn bank(words: fn(&[usize]) -> u64) -> Found {
    Found { pool: Pool::Bank(0), offset: words }
}

type Count = fn(&[usize]) -> Option<usize>;

const BANKS: [Count; Pool::BANKS] =
    [|dims| dims[0].checked_mul(10)?.checked_add(32), |_| Some(0), |_| Some(0), |_| Some(0)];

struct Predict;

impl Function for Predict {
    const NAME: &'static str = "predict";

    fn scratch(dims: &[usize]) -> Option<usize> {
        dims[0].checked_mul(10)?.checked_add(2)
    }

    fn result(dims: &[usize], _: usize) -> Place {
        Place { offset: 9 * dims[0], len: dims[0] }
    }

    fn cpu(_: Memory<'_>, _: &[usize]) -> Result<()> {
        Ok(())
    }

    fn gpu() -> (&'static Program, &'static Plan) {
        static PLAN: Plan = Plan {
            dims: &[1],
            results: &[bank(|dims| 9 * dims[0] as u64)],
            banks: BANKS,
            arguments_apart: true,
            commands: &[Command::Dispatch { entry: 0, launch: ROWS }, Command::Dispatch { entry: 1, launch: ROWS }],
        };
        (&NET, &PLAN)
    }
}

struct Train;

impl Step for Train {
    const NAME: &'static str = "train";
    type Optimizer = Sgd;
    type Float = f32;

    fn scratch(dims: &[usize]) -> Option<usize> {
        Predict::scratch(dims)
    }

    fn outcome(dims: &[usize]) -> [usize; 2] {
        [10 * dims[0], 10 * dims[0] + 1]
    }

    fn cpu(_: StepMemory<'_>, _: &[usize]) -> Result<()> {
        Ok(())
    }

    fn gpu() -> (&'static Program, &'static Plan) {
        static PLAN: Plan = Plan {
            dims: &[1],
            results: &[Found { pool: Pool::Outcome, offset: |_| 0 }],
            banks: BANKS,
            arguments_apart: true,
            commands: &[
                Command::Dispatch { entry: 0, launch: ROWS },
                Command::Dispatch { entry: 2, launch: LOSS },
                Command::Dispatch { entry: 3, launch: ALL },
                Command::Dispatch { entry: 4, launch: UPDATE },
            ],
        };
        (&NET, &PLAN)
    }
}

/// The order of the turns of two repeats.
struct Turns;

impl Function for Turns {
    const NAME: &'static str = "turns";

    fn scratch(_: &[usize]) -> Option<usize> {
        Some(31)
    }

    fn result(_: &[usize], _: usize) -> Place {
        Place { offset: 0, len: 31 }
    }

    fn cpu(_: Memory<'_>, _: &[usize]) -> Result<()> {
        Ok(())
    }

    fn gpu() -> (&'static Program, &'static Plan) {
        static INNER: [Command; 1] = [Command::Dispatch { entry: 5, launch: ONCE }];
        static OUTER: [Command; 1] = [Command::Repeat { count: |_| 10, reverse: false, body: &INNER }];
        static PLAN: Plan = Plan {
            dims: &[1],
            results: &[bank(|_| 0)],
            banks: BANKS,
            arguments_apart: true,
            commands: &[Command::Repeat { count: |_| 3, reverse: true, body: &OUTER }],
        };
        (&NET, &PLAN)
    }
}

#[derive(Debug)]
struct Net<D: Device> {
    weights: Weights<D>,
}

impl<D: Device> Model for Net<D> {
    type Device = D;
    type Float = f32;

    fn weights(&self) -> &Weights<D> {
        &self.weights
    }

    fn weights_mut(&mut self) -> &mut Weights<D> {
        &mut self.weights
    }
}

impl Net<Gpu> {
    fn new(gpu: &Gpu) -> Result<Self> {
        let mut words = Words::zeroed(192)?;
        words.as_mut_slice().copy_from_slice(&start());
        let host = Weights::new(&SPEC, Cpu, words);
        Ok(Net { weights: host.__emitted_code_only_on_blocking::<Plans, Gpu>(gpu)? })
    }

    fn session(&self) -> Session<'_, Self> {
        Session::new(Shared::Borrowed(self))
    }

    fn words(&self) -> Result<Vec<f32>> {
        Ok(self.weights.device().wait(self.weights.host())?.as_slice().to_vec())
    }
}

fn gpu() -> Option<Gpu> {
    match Gpu::options().without_cache().open() {
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
    fn new(words: &[f32]) -> Self {
        Reference(words.iter().map(|&word| word.into()).collect())
    }

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

fn predict(session: &mut Session<'_, Net<Gpu>>, x: &[f32]) -> Result<Vec<f32>> {
    let dims = [x.len() / 4];
    session.device().wait(session.__emitted_code_only_call::<Predict>(&dims, &[x]))?;
    Ok(session.__emitted_code_only_result::<Predict>(&dims, 0).to_vec())
}

fn step(trainer: &mut Trainer<'_, Net<Gpu>, Sgd>, count: usize) -> Result<Loss<Gpu>> {
    let (x, target) = batch(count);
    trainer.device().wait(trainer.__emitted_code_only_step::<Train>(&[count], &[&x, &target]))
}

fn sgd(rate: f32) -> Sgd {
    Sgd { rate, ..crate::default() }
}

fn close(a: f32, b: f64) -> bool {
    (f64::from(a) - b).abs() <= 1e-4 * (1.0 + b.abs())
}

fn is_lost<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::DeviceLost { .. }))
}

#[test]
fn a_call_agrees_with_binary64() {
    let Some(gpu) = gpu() else { return };
    let net = Net::new(&gpu).unwrap();
    let reference = Reference::new(&start());
    let mut session = net.session();
    for count in [1, 5, 130, 7] {
        let (x, _) = batch(count);
        let y = predict(&mut session, &x).unwrap();
        assert!(y.iter().zip(x.chunks(4)).all(|(&y, x)| close(y, reference.predict(x))), "batch of {count}");
        let mut recycled = vec![0.0; count];
        net.weights
            .device()
            .wait(net.weights.__emitted_code_only_call::<Predict>(&[count], &[&x], &mut [&mut recycled]))
            .unwrap();
        assert_eq!(recycled, y);
    }
}

#[test]
fn training_follows_binary64_and_losses_are_read_late() {
    let Some(gpu) = gpu() else { return };
    let mut net = Net::new(&gpu).unwrap();
    let mut reference = Reference::new(&start());
    let mut trainer = Trainer::new(&mut net, sgd(0.02));
    trainer.group("output.*", |o| o.rate = 0.02).unwrap();
    let (x, target) = batch(33);
    let mut losses = Vec::new();
    for _ in 0..40 {
        losses.push((step(&mut trainer, 33).unwrap(), reference.step(&x, &target, f64::from(0.02_f32))));
    }
    for (step, (loss, expected)) in losses.iter().enumerate() {
        assert!(close(loss.value().unwrap(), *expected), "step {step}: {loss:?} for {expected}");
    }
    assert!(losses[39].1 < 0.5 * losses[0].1);
    let mut steps = [0.0];
    let training = trainer.training.as_ref().unwrap();
    gpu.wait(gpu.read_states(training, &mut steps)).unwrap();
    assert_eq!(steps, [40.0]);
    let words = net.words().unwrap();
    assert!(words.iter().zip(&reference.0).all(|(&a, &b)| close(a, b)));
    assert_eq!(net.weights.last_copy().parameter("output.weight").unwrap(), &words[128..136]);
}

#[test]
fn handles_outlive_the_ring() {
    let Some(gpu) = gpu() else { return };
    let mut net = Net::new(&gpu).unwrap();
    let mut trainer = Trainer::new(&mut net, sgd(0.0));
    let losses: Vec<_> = (0..1500).map(|_| step(&mut trainer, 2).unwrap()).collect();
    let expected = losses[1499].value().unwrap();
    assert!(losses.iter().all(|loss| loss.value().unwrap() == expected));
}

#[test]
fn nothing_is_created_after_warm_up() {
    let Some(gpu) = gpu() else { return };
    let (mut net, other) = (Net::new(&gpu).unwrap(), Net::new(&gpu).unwrap());
    let mut session = other.session();
    let mut trainer = Trainer::new(&mut net, sgd(0.01));
    let mut round = || {
        for count in [64, 17] {
            let _ = step(&mut trainer, count).unwrap().value().unwrap();
            predict(&mut session, &batch(count).0).unwrap();
        }
    };
    round();
    let warm = gpu.created();
    (0..5).for_each(|_| round());
    assert_eq!(gpu.created(), warm);
    assert_eq!((warm.pipelines, warm.modules), (5, 5), "two models of one program share what plans need of it");
}

#[test]
fn a_step_that_is_not_finite_is_skipped_on_the_device() {
    let Some(gpu) = gpu() else { return };
    let mut net = Net::new(&gpu).unwrap();
    let mut trainer = Trainer::new(&mut net, sgd(0.1));
    // In the target, because WGSL lets a device drop a NaN on its way through a rectifier.
    let (x, mut target) = batch(3);
    target[1] = f32::NAN;
    let loss = trainer.device().wait(trainer.__emitted_code_only_step::<Train>(&[3], &[&x, &target])).unwrap();
    assert!(matches!(loss.value(), Err(Error::NonFinite { step: 1, skipped: true, .. })));
    assert_eq!(net.words().unwrap(), start());
}

#[test]
fn repeats_hand_their_indices_to_the_shader() {
    let Some(gpu) = gpu() else { return };
    let net = Net::new(&gpu).unwrap();
    let mut session = net.session();
    session.device().wait(session.__emitted_code_only_call::<Turns>(&[100], &[&[f32::from_bits(7)]])).unwrap();
    let order: Vec<u32> =
        session.__emitted_code_only_result::<Turns>(&[100], 0).iter().map(|word| word.to_bits()).collect();
    let expected = |word: u32| 7 + 100 + (2 - word / 10) * 10 + word % 10;
    assert!((0..30).all(|word| order[word as usize] == expected(word)), "{order:?}");
}

#[test]
fn futures_do_the_same_without_blocking() {
    let Some(gpu) = gpu() else { return };
    pollster::block_on(async {
        let mut net = Net::new(&gpu).unwrap();
        let mut trainer = Trainer::new(&mut net, sgd(0.05));
        let (x, target) = batch(9);
        let mut losses = Vec::new();
        for _ in 0..40 {
            losses.push(trainer.__emitted_code_only_step::<Train>(&[9], &[&x, &target]).await.unwrap());
        }
        assert!(losses[39].value_async().await.unwrap() < losses[0].value_async().await.unwrap());
        let reference = Reference::new(net.weights.host().await.unwrap().as_slice());
        let mut session = net.session();
        session.__emitted_code_only_call::<Predict>(&[9], &[&x]).await.unwrap();
        let y = session.__emitted_code_only_result::<Predict>(&[9], 0);
        assert!(y.iter().zip(x.chunks(4)).all(|(&y, x)| close(y, reference.predict(x))));
    });
}

#[test]
fn an_abandoned_call_leaves_the_session_usable() {
    let Some(gpu) = gpu() else { return };
    let net = Net::new(&gpu).unwrap();
    let mut session = net.session();
    let (x, _) = batch(4);
    let expected = predict(&mut session, &x).unwrap();
    let mut context = core::task::Context::from_waker(core::task::Waker::noop());
    {
        let inputs: [&[f32]; 1] = [&x];
        let mut call = core::pin::pin!(session.__emitted_code_only_call::<Predict>(&[4], &inputs));
        let _ = call.as_mut().poll(&mut context);
    }
    assert_eq!(predict(&mut session, &x).unwrap(), expected);
}

#[test]
fn a_destroyed_device_is_an_error_everywhere() {
    let Some(gpu) = gpu() else { return };
    let (mut net, other) = (Net::new(&gpu).unwrap(), Net::new(&gpu).unwrap());
    let mut trainer = Trainer::new(&mut net, sgd(0.1));
    let _ = step(&mut trainer, 3).unwrap();
    let trained = trainer.model().words().unwrap();
    let late = step(&mut trainer, 3).unwrap();
    let mut session = other.session();
    gpu.destroy();
    assert!(is_lost(late.value()));
    assert!(is_lost(predict(&mut session, &batch(3).0)));
    assert!(is_lost(step(&mut trainer, 3)));
    let gradients = trainer.__emitted_code_only_gradients::<Train, ()>(&[1], &[&[0.0; 4], &[0.0]]);
    assert!(is_lost(gpu.wait(gradients)));
    assert!(is_lost(net.words()));
    assert!(is_lost(gpu.wait(net.weights.write("output.weight", &[0.0; 8]))));
    assert!(is_lost(Net::new(&gpu)));
    assert_eq!(net.weights.last_copy().parameter("hidden.weight").unwrap(), &trained[..32]);
}

#[test]
fn a_device_that_its_owner_destroys_is_an_error_at_the_next_read() {
    let Some(own) = gpu() else { return };
    let gpu = Gpu::from_device(own.device().clone(), own.queue().clone());
    let net = Net::new(&gpu).unwrap();
    let mut session = net.session();
    predict(&mut session, &batch(3).0).unwrap();
    own.device().destroy();
    assert!(is_lost(predict(&mut session, &batch(3).0)));
    assert!(is_lost(net.words()));
    assert_eq!(net.weights.last_copy().parameter("hidden.weight").unwrap(), &start()[..32]);
}

#[test]
fn mistakes_are_errors_and_reach_no_handler_of_the_caller() {
    let Some(own) = gpu() else { return };
    own.device().on_uncaptured_error(std::sync::Arc::new(|error| panic!("escaped: {error}")));
    let gpu = Gpu::from_device(own.device().clone(), own.queue().clone());
    static BROKEN: Program = Program { wgsl: "fn oops(", ..NET };
    static GREEDY: Program = Program { needs: Needs { workgroup_bytes: 0, workgroup_threads: 1 << 30 }, ..NET };
    let compiled = |program| gpu.pipelines(program)?.compile(&gpu, 0..1);
    let refused = |program| matches!(compiled(program), Err(Error::Device { .. }));
    assert!(refused(&BROKEN) && refused(&GREEDY));
    let huge = 1 << 40;
    assert!(matches!(arena::create_storage(&gpu, "nothing", huge), Err(Error::Device { .. })));
    let net = Net::new(&gpu).unwrap();
    assert_eq!(predict(&mut net.session(), &batch(2).0).unwrap().len(), 2);
}

/// What a device compiles is kept for the next one, also where the file was damaged in between, and where nothing can be kept.
#[test]
fn pipelines_outlast_a_device() {
    if gpu().is_none() {
        return;
    }
    let scene = crate::scene::Scene::new("pipelines");
    let (kept, taken) = (scene.path("kept"), scene.path("taken"));
    std::fs::write(&taken, "mine").unwrap();
    let names = || std::fs::read_dir(&kept).map_or(vec![], |all| all.map(|one| one.unwrap().path()).collect());
    let mut predicted = vec![];
    for (directory, damage) in [(&kept, false), (&kept, false), (&kept, true), (&kept, false), (&taken, false)] {
        let gpu = Gpu::options().cache(directory).open().unwrap();
        let caches = gpu.device().features().contains(wgpu::Features::PIPELINE_CACHE) && directory == &kept;
        let net = Net::new(&gpu).unwrap();
        let mut session = net.session();
        predicted.push(predict(&mut session, &batch(9).0).unwrap());
        assert_eq!(names().len(), usize::from(caches || !names().is_empty()));
        assert_eq!(gpu.created().pipelines, 2);
        let file = cache::CacheFile::new(directory, &gpu.device().adapter_info(), &NET);
        assert_eq!(file.is_some_and(|file| file.read().is_some()), caches);
        if damage {
            names().iter().for_each(|path| std::fs::write(path, "damaged").unwrap());
        }
    }
    assert!(predicted.iter().all(|one| *one == predicted[0]));
}

#[test]
fn an_adapter_that_does_not_exist_is_an_error() {
    let missing = Gpu::with(&Adapter::Named("an adapter of no vendor".to_owned()));
    assert!(matches!(missing, Err(Error::NoAdapter { .. })));
}

#[cfg(feature = "profile")]
#[test]
fn calls_and_dispatches_are_timed() {
    use profile::Grain;
    let Some(gpu) = gpu() else { return };
    let net = Net::new(&gpu).unwrap();
    let mut session = net.session();
    for (grain, names) in [(Grain::Calls, &["predict"][..]), (Grain::Dispatches, &["hidden", "output"])] {
        assert!(gpu.start_profile(grain), "{} has no timestamps", gpu.name());
        predict(&mut session, &batch(130).0).unwrap();
        let timings = gpu.wait(gpu.finish_profile()).unwrap();
        assert_eq!(timings.iter().map(|timing| timing.name).collect::<Vec<_>>(), names);
        predict(&mut session, &batch(130).0).unwrap();
        assert!(gpu.wait(gpu.finish_profile()).unwrap().is_empty(), "nothing is timed behind the end");
    }
}
