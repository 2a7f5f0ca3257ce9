//! Models on many threads: sessions of one model agree with it, and models, sessions and trainers cross threads.

use precast::prelude::*;
use std::sync::Arc;

model! {
    /// A policy.
    pub struct Policy {
        body: Linear(4, 32),
        head: Linear(32, 2),
    }

    impl Policy {
        /// How much each of two actions is preferred.
        pub fn act(&self, observation: f32[B, 4]) -> f32[B, 2] {
            self.head(tanh(self.body(observation)))
        }

        /// Mean squared error.
        #[train(Adam)]
        pub fn loss(&self, observation: f32[B, 4], target: f32[B, 2]) -> f32 {
            mse_loss(self.act(observation), target)
        }
    }
}

fn observations() -> Vec<[f32; 4]> {
    crate::numbers(4 * 50, 2).chunks(4).map(|c| [c[0], c[1], c[2], c[3]]).collect()
}

#[test]
fn sessions_of_one_model_run_on_many_threads() {
    let observations = observations();
    let policy = Arc::new(Policy::init(3));
    let expected = policy.act(&observations).unwrap();
    let mut out = vec![[0.0; 2]; observations.len()];
    policy.act_into(&observations, &mut out).unwrap();
    assert_eq!(out, expected);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = policy.session();
                for n in [50, 1, 7, 50] {
                    let alone = policy.act(&observations[..n]).unwrap();
                    assert_eq!(session.act(&observations[..n]).unwrap(), alone);
                    let close = |(a, b): (&[f32; 2], &[f32; 2])| (a[0] - b[0]).abs().max((a[1] - b[1]).abs()) < 1e-5;
                    assert!(alone.iter().zip(&expected).all(close));
                }
            });
        }
    });
    let mut session = Policy::shared_session(&policy);
    drop(policy);
    std::thread::spawn(move || assert_eq!(session.act(&observations).unwrap(), expected)).join().unwrap();
}

#[test]
fn models_that_train_at_once_do_not_disturb_each_other() {
    let observations = observations();
    let targets: Vec<[f32; 2]> = observations.iter().map(|[a, b, ..]| [a * b, a + b]).collect();
    let train = &|seed| {
        let mut policy = Policy::init(seed);
        let mut trainer = policy.trainer(Adam::default());
        let losses: Vec<u32> =
            (0..30).map(|_| trainer.loss(&observations, &targets).unwrap().value().unwrap().to_bits()).collect();
        losses
    };
    let alone: Vec<_> = (0..3).map(train).collect();
    let at_once: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|seed| scope.spawn(move || train(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, at_once);
}

#[test]
fn futures_on_the_cpu_are_ready() {
    let mut policy = Policy::init(3);
    let observation = [[0.5, -0.5, 0.25, 1.0]];
    let direct = policy.act(&observation).unwrap();
    assert_eq!(Cpu.wait(policy.act_async(&observation)).unwrap(), direct);
    assert_eq!(Cpu.wait(policy.session().act_async(&observation)).unwrap(), &direct[..]);
    let mut trainer = policy.trainer(Adam::default());
    let loss = Cpu.wait(trainer.loss_async(&observation, &direct)).unwrap();
    assert!(Cpu.wait(loss.value_async()).unwrap().abs() < 1e-10);
}

#[test]
fn models_sessions_and_trainers_cross_threads() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<Policy>();
    sync::<Policy>();
    send::<PolicySession<'_>>();
    sync::<PolicySession<'_>>();
    send::<PolicyTrainer<'_, Adam>>();
}

/// A thread-local value that calls a model when the thread ends, after what kernels keep for the thread is gone.
struct Last(Policy);

impl Drop for Last {
    fn drop(&mut self) {
        let observations = observations();
        self.0.act(&observations).unwrap();
        self.0.session().act(&observations).unwrap();
        let targets = vec![[0.5; 2]; observations.len()];
        let mut trainer = self.0.trainer(Adam::default());
        trainer.loss(&observations, &targets).unwrap().value().unwrap();
        CALLED.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

static CALLED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

#[test]
fn models_run_in_destructors_of_thread_locals() {
    thread_local! {
        static LAST: std::cell::OnceCell<Last> = const { std::cell::OnceCell::new() };
    }
    let thread = std::thread::spawn(|| {
        // What is registered first is destroyed last or first, by system; the kernels' own values come after it here.
        LAST.with(|last| last.get_or_init(|| Last(Policy::init(1))).0.act(&observations()).unwrap());
    });
    thread.join().unwrap();
    assert!(CALLED.load(std::sync::atomic::Ordering::Relaxed));
}
