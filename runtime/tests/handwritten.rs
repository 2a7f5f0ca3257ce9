//! The public face of a model, written by hand as `model!` emits it: a two-layer network with plain
//! scalar kernels. The tests are what a program does with any model.

mod handwritten {
    pub(crate) mod allocations;
    pub(crate) mod net;
}

use std::{path::PathBuf, sync::Arc};

use handwritten::{allocations::allocations, net::Net};
use precast::{Difference, Error, prelude::*};

/// Points of two classes, separated by a circle.
fn points() -> (Vec<[f32; 2]>, Vec<u32>) {
    (0..200u32)
        .map(|i| {
            let (angle, radius) = (i as f32 * 2.4, (i as f32 / 200.0).sqrt());
            ([radius * angle.cos(), radius * angle.sin()], u32::from(radius > 0.7))
        })
        .unzip()
}

fn file(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    directory.join(format!("{name}-{}.safetensors", std::process::id()))
}

fn bits(net: &Net) -> Vec<u32> {
    net.parameters().flat_map(|(_, _, values)| values.iter().map(|x| x.to_bits())).collect()
}

#[test]
fn training_lowers_the_loss_and_predicts() {
    let (inputs, targets) = points();
    let mut loader = Loader::new(&inputs, &targets, 32).unwrap();
    let mut net = Net::init(1);
    let before = net.loss(&inputs, &targets).unwrap();
    let mut trainer = net.trainer(AdamW { rate: 2e-2, ..default() });
    trainer.seed = 9;
    trainer.group("*.bias", |o| o.decay = 0.0).unwrap();
    for epoch in 0..150 {
        for (point, class) in loader.shuffled(epoch) {
            trainer.loss(point, class).unwrap().value().unwrap();
        }
        trainer.optimizer.rate *= 0.995;
    }
    assert_eq!(trainer.steps(), 150 * 7);
    let after = trainer.model().loss(&inputs, &targets).unwrap();
    assert!(after < 0.3 * before, "{before} {after}");
    let scores = net.scores(&inputs).unwrap();
    let right = scores.iter().zip(&targets).filter(|(s, t)| u32::from(s[1] > s[0]) == **t).count();
    assert!(right > 180, "{right}");
}

#[test]
fn sessions_and_conveniences_agree_on_many_threads() {
    let (inputs, _) = points();
    let net = Arc::new(Net::init(3));
    let expected = net.scores(&inputs).unwrap();
    let mut out = vec![[0.0; 2]; inputs.len()];
    net.scores_into(&inputs, &mut out).unwrap();
    assert_eq!(out, expected);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = net.session();
                for n in [200, 1, 7, 200] {
                    assert_eq!(session.scores(&inputs[..n]).unwrap(), &expected[..n]);
                    assert_eq!(net.scores(&inputs[..n]).unwrap(), &expected[..n]);
                }
            });
        }
    });
    let mut session = Net::shared_session(&net);
    drop(net);
    std::thread::spawn(move || assert_eq!(session.scores(&inputs).unwrap(), expected)).join().unwrap();
}

#[test]
fn futures_of_the_cpu_are_ready() {
    let net = Net::init(3);
    let input = [[0.5, -0.5]];
    let scores = Cpu.wait(net.scores_async(&input)).unwrap();
    assert_eq!(scores, net.scores(&input).unwrap());
    let mut session = net.session();
    assert_eq!(Cpu.wait(session.scores_async(&input)).unwrap(), &scores[..]);
}

#[test]
fn after_warm_up_nothing_is_allocated() {
    let (inputs, targets) = points();
    let mut net = Net::init(1);
    let mut out = vec![[0.0; 2]; inputs.len()];
    let mut session = net.session();
    session.scores(&inputs).unwrap();
    net.scores_into(&inputs, &mut out).unwrap();
    assert_eq!(allocations(|| session.scores(&inputs).map(|_| ()).unwrap()), 0);
    assert_eq!(allocations(|| session.scores(&inputs[..3]).map(|_| ()).unwrap()), 0);
    assert_eq!(allocations(|| net.scores_into(&inputs, &mut out).unwrap()), 0);

    let mut loader = Loader::new(&inputs, &targets, 32).unwrap();
    let mut trainer = net.trainer(AdamW { clip: Some(1.0), ..default() });
    trainer.group("*.bias", |o| o.decay = 0.0).unwrap();
    let mut epoch = |seed| {
        for (point, class) in loader.shuffled(seed) {
            trainer.loss(point, class).unwrap().value().unwrap();
        }
    };
    epoch(0);
    assert_eq!(allocations(|| epoch(1)), 0);
}

#[test]
fn weights_survive_a_file() {
    let path = file("weights");
    let net = Net::init(5);
    net.save(&path).unwrap();
    assert_eq!(bits(&Net::open(&path).unwrap()), bits(&net));
    let mut other = Net::init(6);
    assert_ne!(bits(&other), bits(&net));
    other.load(&path).unwrap();
    assert_eq!(bits(&other), bits(&net));
    assert_eq!(bits(&Net::open_bytes(&std::fs::read(&path).unwrap()).unwrap()), bits(&net));
    let reference = std::fs::read(&path).unwrap();
    let reference = safetensors::SafeTensors::deserialize(&reference).unwrap();
    assert_eq!(reference.tensor("hidden.weight").unwrap().shape(), [16, 2]);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_file_that_does_not_fit_changes_nothing_and_every_difference_is_listed() {
    let path = file("unfit");
    let zeros = [0u8; 8 * 32];
    let view = |dtype, shape: &[usize], bytes| {
        safetensors::tensor::TensorView::new(dtype, shape.to_vec(), &zeros[..bytes]).unwrap()
    };
    use safetensors::Dtype::{F32, F64};
    let tensors = [
        ("hidden.weight", view(F32, &[2, 16], 128)),
        ("hidden.bias", view(F64, &[16], 128)),
        ("output.weight", view(F32, &[2, 16], 128)),
        ("outputs.bias", view(F32, &[2], 8)),
    ];
    std::fs::write(&path, safetensors::serialize(tensors, None).unwrap()).unwrap();
    let mut net = Net::init(5);
    let before = bits(&net);
    let Err(Error::Tensors { differences, .. }) = net.load(&path) else { panic!("the file does not fit") };
    let shown: Vec<String> = differences.iter().map(Difference::to_string).collect();
    assert_eq!(
        shown,
        [
            "`hidden.weight` is [2, 16], but should be [16, 2]",
            "`hidden.bias` holds F64, but should hold F32",
            "`output.bias` [2] is missing",
            "`outputs.bias` [2] is not expected",
        ]
    );
    std::fs::write(&path, b"short").unwrap();
    let error = net.load(&path).unwrap_err();
    assert!(error.to_string().ends_with("truncated: a safetensors file has at least 8 bytes, this one 5"));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(net.load(&path), Err(Error::Io { .. })));
    assert!(matches!(net.save("no/such/directory/net.safetensors"), Err(Error::Io { .. })));
    assert_eq!(bits(&net), before);
}

#[test]
fn a_resumed_run_is_the_run_that_was_not_interrupted() {
    let path = file("checkpoint");
    let (inputs, targets) = points();
    let start = |net: &mut Net, resume: bool, steps: u64, save: bool| {
        let mut trainer = net.trainer(AdamW { rate: 1e-2, clip: Some(0.5), ..default() });
        trainer.seed = 77;
        trainer.group("*.bias", |o| o.decay = 0.0).unwrap();
        if resume {
            trainer.seed = 1;
            trainer.load(&path).unwrap();
            assert_eq!((trainer.seed, trainer.steps()), (77, 9));
        }
        while trainer.steps() < steps {
            trainer.optimizer.rate *= 0.97;
            trainer.loss(&inputs, &targets).unwrap().value().unwrap();
        }
        if save {
            trainer.save(&path).unwrap();
        }
    };
    let mut whole = Net::init(1);
    start(&mut whole, false, 20, false);
    start(&mut Net::init(1), false, 9, true);
    let mut resumed = Net::init(2);
    start(&mut resumed, true, 20, false);
    assert_eq!(bits(&whole), bits(&resumed));

    let before = bits(&resumed);
    let mut trainer = resumed.trainer(AdamW::default());
    let error = trainer.load(&path).unwrap_err().to_string();
    assert!(error.ends_with("its groups is `*.bias`, but the trainer's is ``"), "{error}");
    assert_eq!(bits(trainer.model()), before);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn bad_arguments_are_errors_and_change_nothing() {
    let mut net = Net::init(1);
    let before = bits(&net);
    let error = |result: precast::Result<()>| result.unwrap_err().to_string();
    assert_eq!(error(net.scores(&[]).map(drop)), "`point` is empty: B must be at least 1");
    assert_eq!(error(net.loss(&[[0.0; 2]; 4], &[0; 3]).map(drop)), "`class` has B = 3, but `point` has B = 4");
    assert_eq!(error(net.scores_into(&[[0.0; 2]; 4], &mut [[0.0; 2]; 3])), "`out` has 3 elements, but 4 are needed");
    assert_eq!(error(net.write("hidden.bias", &[0.0])), "`hidden.bias` has 16 values, but 1 were given");
    assert_eq!(
        error(net.parameter("hidden.bais").map(drop)),
        "no parameter is named `hidden.bais`; did you mean `hidden.bias`?"
    );
    let mut trainer = net.trainer(AdamW::default());
    assert!(trainer.loss(&[[0.0; 2]; 4], &[0; 3]).is_err());
    let loss = trainer.loss(&[[f32::NAN; 2]], &[0]).unwrap();
    assert_eq!(error(loss.value().map(drop)), "`loss` or its gradient is not finite in step 1; the update was skipped");
    assert_eq!(bits(&net), before);
}

#[test]
fn gradients_have_names_and_are_those_of_the_step() {
    let (inputs, targets) = points();
    let mut net = Net::init(1);
    let before = bits(&net);
    let mut trainer = net.trainer(AdamW::default());
    let gradients = trainer.loss_gradients(&inputs, &targets).unwrap();
    let loss = trainer.loss(&inputs, &targets).unwrap().value().unwrap();
    assert_eq!(gradients.loss, loss);
    let names: Vec<String> = gradients.iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["hidden.weight", "hidden.bias", "output.weight", "output.bias"]);
    assert!(gradients.get("output.bias").unwrap().iter().any(|&x| x != 0.0));
    let weight: &[[f32; 16]; 2] = gradients.views().output.weight;
    assert_eq!(weight.as_flattened(), gradients.get("output.weight").unwrap());
    assert_ne!(bits(&net), before);
}

#[test]
fn models_and_checkpoints_are_not_saved_to_an_index() {
    let path = file("refused").with_extension("safetensors.index.json");
    let mut net = Net::init(1);
    let message = net.save(&path).unwrap_err().to_string();
    assert!(message.ends_with(&format!("save to {}", file("refused").display())), "{message}");
    assert_eq!(net.trainer(AdamW::default()).save(&path).unwrap_err().to_string(), message);
    assert!(!path.exists());
}

#[test]
fn parameters_are_named_counted_and_written() {
    let mut net = Net::init(1);
    let all: Vec<_> = net.parameters().map(|(name, shape, values)| (name, shape, values.len())).collect();
    assert_eq!(all[0], ("hidden.weight".into(), &[16, 2][..], 32));
    assert_eq!(all.iter().map(|(.., len)| len).sum::<usize>(), Net::PARAMS);
    net.write("output.bias", &[1.0, 2.0]).unwrap();
    net.parameter_mut("output.bias").unwrap()[0] = 3.0;
    assert_eq!(net.parameter("output.bias").unwrap(), [3.0, 2.0]);
    let copy = net.on(&Cpu).unwrap();
    assert_eq!(bits(&copy), bits(&net));
    assert_eq!(bits(&net.clone()), bits(&net));
}

#[test]
fn models_sessions_and_trainers_cross_threads() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<Net>();
    sync::<Net>();
    send::<handwritten::net::NetSession<'_>>();
    sync::<handwritten::net::NetSession<'_>>();
    send::<handwritten::net::NetTrainer<'_, AdamW>>();
}
