//! Repeated blocks train, share what they are told to share, and count as many parameters as they have.

use precast::prelude::*;

model! {
    const DIM: usize = 16;

    /// Residual blocks between two layers.
    pub struct Tower(depth = 4) {
        input: Linear(2, DIM),
        blocks: [Residual(DIM); depth],
        output: Linear(DIM, 2),
    }

    /// The same, deeper.
    pub struct Deep = Tower(depth = 9);

    struct Residual(dim, hidden = 2 * dim) {
        norm: RMSNorm(dim),
        up: Linear(dim, hidden),
        down: Linear(hidden, dim, bias = false),
    }

    impl Residual {
        fn forward(&self, x: f32[.., dim]) -> f32[.., dim] {
            x + self.down(dropout(silu(self.up(self.norm(x))), 0.05))
        }
    }

    impl Tower {
        /// Unnormalised scores of two classes.
        pub fn scores(&self, point: f32[B, 2]) -> f32[B, 2] {
            let mut x = self.input(point);
            for block in self.blocks {
                x = block(x);
            }
            self.output(x)
        }

        /// Mean cross-entropy.
        #[train(AdamW)]
        pub fn loss(&self, point: f32[B, 2], class: u32[B]) -> f32 {
            cross_entropy(self.scores(point), class)
        }

        /// The same, for another optimiser.
        #[train(Sgd)]
        pub fn descent(&self, point: f32[B, 2], class: u32[B]) -> f32 {
            self.loss(point, class)
        }
    }
}

/// Two classes, alternating in the four quadrants.
fn quadrants() -> (Vec<[f32; 2]>, Vec<u32>) {
    let points: Vec<[f32; 2]> = crate::numbers(256, 5).chunks(2).map(|c| [c[0], c[1]]).collect();
    let classes = points.iter().map(|[x, y]| u32::from((x * y) > 0.0)).collect();
    (points, classes)
}

#[test]
fn blocks_are_counted_and_named() {
    let block = 16 + 32 * 16 + 32 + 16 * 32;
    assert_eq!(Tower::PARAMS, 2 * 16 + 16 + 4 * block + 2 * 16 + 2);
    assert_eq!(Deep::PARAMS, 2 * 16 + 16 + 9 * block + 2 * 16 + 2);
    let tower = Tower::init(1);
    let (first, last) =
        (tower.parameter("blocks.0.up.weight").unwrap(), tower.parameter("blocks.3.up.weight").unwrap());
    assert_eq!((first.len(), last.len()), (512, 512));
    assert_ne!(first, last);
    assert!(tower.parameter("blocks.4.up.weight").is_err());
}

#[test]
fn a_tower_learns() {
    let (points, classes) = quadrants();
    let mut tower = Tower::init(3);
    let before = tower.loss(&points, &classes).unwrap();
    let copy = tower.clone();
    let mut trainer = tower.trainer(AdamW { rate: 1e-2, clip: Some(1.0), ..default() });
    trainer.group("*.bias", |o| o.decay = 0.0).unwrap();
    let mut loader = Loader::new(&points, &classes, 32).unwrap();
    for epoch in 0..60 {
        for (point, class) in loader.shuffled(epoch) {
            trainer.loss(point, class).unwrap().value().unwrap();
        }
    }
    let after = tower.loss(&points, &classes).unwrap();
    assert!(after < 0.25 * before, "{before} {after}");
    let moved = |(name, _, values): &(String, &[usize], &[f32])| copy.parameter(name).unwrap() != *values;
    assert!(tower.parameters().all(|p| moved(&p)), "every parameter of every block has moved");
}

#[test]
fn the_deep_tower_trains_with_the_same_code() {
    let (points, classes) = quadrants();
    let mut deep = Deep::init(3);
    let before = deep.loss(&points, &classes).unwrap();
    let mut trainer = deep.trainer(Sgd { rate: 0.02, momentum: 0.9, ..default() });
    for _ in 0..60 {
        trainer.descent(&points, &classes).unwrap().value().unwrap();
    }
    assert!(deep.loss(&points, &classes).unwrap() < before);
}

#[test]
fn dropout_draws_in_training_only() {
    let (points, classes) = quadrants();
    let mut tower = Tower::init(3);
    assert_eq!(tower.scores(&points).unwrap(), tower.scores(&points).unwrap());
    let evaluated = tower.loss(&points, &classes).unwrap();
    let mut trainer = tower.trainer(Sgd { rate: 0.0, ..default() });
    let mut drawn = |seed| {
        trainer.seed = seed;
        trainer.descent_gradients(&points, &classes).unwrap().loss
    };
    let (one, two, again) = (drawn(1), drawn(2), drawn(1));
    assert!(one == again && one != two && one != evaluated);
}

/// A gradient of 0 and none at all are two things where weights decay.
mod unused {
    use precast::prelude::*;

    model! {
        /// Blocks with parameters that the loss does not depend on.
        pub struct Spare(depth = 3) {
            blocks: [Block; depth],
            pairs: [Pair; depth],
        }

        struct Block {
            used: Linear(4, 4),
            unused: Linear(4, 4),
        }

        struct Pair {
            inner: [Block; 2],
            beside: Linear(4, 4),
        }

        impl Block {
            fn forward(&self, x: f32[.., 4]) -> f32[.., 4] {
                tanh(self.used(x))
            }

            fn other(&self, x: f32[.., 4]) -> f32[.., 4] {
                self.unused(x)
            }
        }

        impl Pair {
            /// What is beside reaches a value that nobody reads.
            fn forward(&self, x: f32[.., 4], seen: f32[.., 4]) -> (f32[.., 4], f32[.., 4]) {
                let mut y = x;
                for block in self.inner {
                    y = block(y);
                }
                (y, seen + self.beside(y))
            }
        }

        impl Spare {
            /// The outputs of all blocks.
            pub fn apply(&self, x: f32[B, 4]) -> f32[B, 4] {
                let mut x = x;
                for block in self.blocks {
                    x = block(x);
                }
                let mut seen = x;
                for pair in self.pairs {
                    let (y, z) = pair(x, seen);
                    x = y;
                    seen = z;
                }
                x
            }

            /// What only this needs.
            pub fn other(&self, x: f32[B, 4]) -> f32[B, 4] {
                let mut x = x;
                for block in self.blocks {
                    x = block.other(x);
                }
                for pair in self.pairs {
                    for block in pair.inner {
                        x = block.other(x);
                    }
                }
                x
            }

            /// The mean of squares.
            #[train(AdamW)]
            pub fn loss(&self, x: f32[B, 4]) -> f32 {
                mean(square(self.apply(x)))
            }
        }
    }

    #[test]
    fn unused_parameters_of_repeated_blocks_stay_as_they_are() {
        let mut model = Spare::init(1);
        let before = model.clone();
        let mut trainer = model.trainer(AdamW { rate: 0.1, decay: 0.5, ..AdamW::default() });
        for _ in 0..3 {
            trainer.loss(&[[1.0, 2.0, 3.0, 4.0]]).unwrap().value().unwrap();
        }
        drop(trainer);
        for ((name, _, now), (_, _, then)) in model.parameters().zip(before.parameters()) {
            let stays = name.contains("unused") || name.contains("beside");
            assert_eq!(now == then, stays, "{name}");
        }
    }
}

/// What a block leaves to the next one is of no use behind the last.
mod last {
    use precast::prelude::*;

    model! {
        /// Blocks of blocks, each of which gives a term of the result and what the next one reads.
        pub struct Highway(depth = 3) {
            blocks: [Block; depth],
            groups: [Group; 2],
        }

        struct Block {
            mix: Linear(5, 5),
            up: Linear(5, 5),
        }

        struct Group {
            inner: [Block; 3],
            beside: Linear(5, 5),
        }

        impl Block {
            fn forward(&self, h: f32[.., 5], y: f32[.., 5]) -> (f32[.., 5], f32[.., 5]) {
                (tanh(self.mix(h)), y + tanh(self.up(h)))
            }
        }

        impl Group {
            fn forward(&self, h: f32[.., 5], y: f32[.., 5]) -> (f32[.., 5], f32[.., 5]) {
                let mut state = (h, self.beside(y));
                for block in self.inner {
                    state = block(state.0, state.1);
                }
                state
            }
        }

        impl Highway {
            /// The mean of squares.
            #[train(AdamW)]
            pub fn loss(&self, x: f32[B, 5]) -> f32 {
                let mut first = (x, x);
                for block in self.blocks {
                    first = block(first.0, first.1);
                }
                let mut second = (x, first.1);
                for group in self.groups {
                    second = group(second.0, second.1);
                }
                mean(square(second.1))
            }
        }
    }

    #[test]
    fn what_the_last_block_leaves_behind_is_not_trained() {
        let mut model = Highway::init(1);
        let before = model.clone();
        let mut trainer = model.trainer(AdamW { rate: 0.1, decay: 0.5, ..AdamW::default() });
        for _ in 0..3 {
            trainer.loss(&[[1.0, 2.0, 3.0, 4.0, 5.0]]).unwrap().value().unwrap();
        }
        drop(trainer);
        for ((name, _, now), (_, _, then)) in model.parameters().zip(before.parameters()) {
            let stays = ["blocks.2.mix", "groups.1.inner.2.mix"].iter().any(|last| name.contains(last));
            assert_eq!(now == then, stays, "{name}");
        }
    }
}
