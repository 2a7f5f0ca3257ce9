//! Functions mapped and differentiated, on the CPU, and training of a part of a model.

use precast::prelude::*;

mod field {
    precast::model! {
        /// A potential of points in space.
        pub struct Field {
            first: Linear(3, 16),
            second: Linear(16, 16),
            last: Linear(16, 1),
        }

        impl Field {
            fn potential(&self, x: f32[3]) -> f32 {
                self.last(tanh(self.second(tanh(self.first(x)))))[0]
            }

            /// At some points.
            pub fn potentials(&self, x: f32[N, 3]) -> f32[N] {
                map(self.potential)(x)
            }

            /// The force and the matrix of second derivatives.
            pub fn forces(&self, x: f32[N, 3]) -> (f32[N, 3], f32[N, 3, 3]) {
                (map(|x| -grad(self.potential)(x))(x), map(hessian(self.potential))(x))
            }

            /// The change of the force along a direction.
            pub fn along(&self, x: f32[N, 3], v: f32[3]) -> f32[N, 3] {
                map(|x| jvp(grad(self.potential))(x, v).1)(x)
            }

            /// How far the forces are from given ones.
            #[train(Adam)]
            pub fn loss(&self, x: f32[N, 3], force: f32[N, 3]) -> f32 {
                mean(square(map(|x| grad(self.potential)(x))(x) + force))
            }
        }
    }
}

mod tuned {
    precast::model! {
        /// A network of which a part is trained.
        pub struct Tuned {
            body: Linear(4, 8),
            head: Linear(8, 2),
        }

        impl Tuned {
            fn error(&self, x: f32[B, 4], y: f32[B, 2]) -> f32 {
                mean(square(self.head(tanh(self.body(x))) - y))
            }

            /// All of it.
            #[train(AdamW)]
            pub fn all(&self, x: f32[B, 4], y: f32[B, 2]) -> f32 {
                self.error(x, y)
            }

            /// The head.
            #[train(AdamW, only = head)]
            pub fn tune(&self, x: f32[B, 4], y: f32[B, 2]) -> f32 {
                self.error(x, y)
            }
        }
    }
}

fn points(n: usize) -> Vec<[f32; 3]> {
    super::numbers(3 * n, 5).chunks(3).map(|p| [p[0], p[1], p[2]]).collect()
}

#[test]
fn forces_are_slopes_of_the_potential() {
    let field = field::Field::init(3);
    let x = points(37);
    let (forces, curvatures) = field.forces(&x).unwrap();
    let h = 1e-2;
    for axis in 0..3 {
        let moved = |s: f32| -> Vec<[f32; 3]> {
            let shift = |mut p: [f32; 3]| {
                p[axis] += s * h;
                p
            };
            x.iter().copied().map(shift).collect()
        };
        let (up, down) = (moved(1.0), moved(-1.0));
        let (above, below) = (field.potentials(&up).unwrap(), field.potentials(&down).unwrap());
        let (more, less) = (field.forces(&up).unwrap().0, field.forces(&down).unwrap().0);
        for k in 0..x.len() {
            let slope = (above[k] - below[k]) / (2.0 * h);
            assert!((forces[k][axis] + slope).abs() < 2e-3, "{} against {slope}", forces[k][axis]);
            for other in 0..3 {
                let bend = (less[k][other] - more[k][other]) / (2.0 * h);
                assert!((curvatures[k][axis][other] - bend).abs() < 2e-3, "{:?} against {bend}", curvatures[k]);
            }
        }
    }
    let along = field.along(&x, &[0.5, -1.0, 2.0]).unwrap();
    for (product, matrix) in along.iter().zip(&curvatures) {
        for axis in 0..3 {
            let wanted = 0.5 * matrix[axis][0] - matrix[axis][1] + 2.0 * matrix[axis][2];
            assert!((product[axis] - wanted).abs() < 1e-4, "{product:?} against {wanted}");
        }
    }
}

#[test]
fn a_potential_is_learnt_from_its_forces() {
    let mut field = field::Field::init(3);
    let x = points(64);
    // The force of a spring.
    let force: Vec<[f32; 3]> = x.iter().map(|p| p.map(|c| -c)).collect();
    let mut trainer = field.trainer(Adam { rate: 1e-2, ..default() });
    let first = trainer.loss(&x, &force).unwrap().value().unwrap();
    let mut last = first;
    for _ in 0..300 {
        last = trainer.loss(&x, &force).unwrap().value().unwrap();
    }
    assert!(last < first / 50.0, "from {first} to {last}");
}

#[test]
fn what_is_not_tuned_stays_as_it_is() {
    let x: Vec<[f32; 4]> = super::numbers(40, 1).chunks(4).map(|r| [r[0], r[1], r[2], r[3]]).collect();
    let y: Vec<[f32; 2]> = super::numbers(20, 2).chunks(2).map(|r| [r[0], r[1]]).collect();
    let mut net = tuned::Tuned::init(1);
    let body = net.parameter("body.weight").unwrap().to_vec();
    let head = net.parameter("head.weight").unwrap().to_vec();
    let mut trainer = net.trainer(AdamW { rate: 1e-2, decay: 0.5, clip: Some(1e-3), ..default() });
    for _ in 0..5 {
        trainer.tune(&x, &y).unwrap().value().unwrap();
    }
    assert_eq!(trainer.model().parameter("body.weight").unwrap(), body);
    assert_ne!(trainer.model().parameter("head.weight").unwrap(), head);
    // What a step of the whole left in the gradients is none of the tuning's.
    trainer.all(&x, &y).unwrap().value().unwrap();
    assert_ne!(trainer.model().parameter("body.weight").unwrap(), body);
    let whole = trainer.all_gradients(&x, &y).unwrap();
    let tuned = trainer.tune_gradients(&x, &y).unwrap();
    assert!(whole.get("body.weight").unwrap().iter().any(|g| *g != 0.0));
    assert!(tuned.get("body.weight").unwrap().iter().all(|g| *g == 0.0));
    assert_eq!(whole.get("head.weight").unwrap(), tuned.get("head.weight").unwrap());
    assert_eq!(whole.views().head.weight, tuned.views().head.weight);
    assert!(tuned.views().body.weight.as_flattened().iter().all(|g| *g == 0.0));
}

mod heat {
    precast::model! {
        const PI: f32 = 3.141592653589793;

        /// The temperature of a rod whose ends are kept at 0.
        pub struct Heat {
            first: Linear(2, 16),
            second: Linear(16, 16),
            last: Linear(16, 1),
        }

        impl Heat {
            fn u(&self, x: f32, t: f32) -> f32 {
                let h = tanh(self.second(tanh(self.first(stack(x, t)))));
                sin(PI * x) + t * x * (1 - x) * self.last(h)[0]
            }

            /// At some points.
            pub fn at(&self, x: f32[N], t: f32[N]) -> f32[N] {
                map(self.u)(x, t)
            }

            /// How far `u_t = u_xx / 10` is from true at some points.
            #[train(Adam)]
            pub fn loss(&self, x: f32[N], t: f32[N]) -> f32 {
                mean(square(map(|x, t| {
                    grad(self.u, wrt = 1)(x, t) - 0.1 * grad(grad(|x| self.u(x, t)))(x)
                })(x, t)))
            }
        }
    }
}

#[test]
fn a_solution_is_found_from_its_equation() {
    let mut heat = heat::Heat::init(2);
    let (x, t): (Vec<f32>, Vec<f32>) =
        super::numbers(256, 3).chunks(2).map(|p| ((p[0] + 1.0) / 2.0, (p[1] + 1.0) / 2.0)).unzip();
    let mut trainer = heat.trainer(Adam { rate: 1e-2, ..default() });
    for _ in 0..400 {
        trainer.loss(&x, &t).unwrap().value().unwrap();
    }
    let found = heat.at(&x, &t).unwrap();
    let pi = core::f32::consts::PI;
    let exact = |x: f32, t: f32| (-0.1 * pi * pi * t).exp() * (pi * x).sin();
    let squares = |f: &dyn Fn(usize) -> f32| (0..x.len()).map(|k| f(k) * f(k)).sum::<f32>();
    let error = squares(&|k| found[k] - exact(x[k], t[k])) / squares(&|k| exact(x[k], t[k]));
    assert!(error.sqrt() < 1e-2, "relative error {}", error.sqrt());
}
