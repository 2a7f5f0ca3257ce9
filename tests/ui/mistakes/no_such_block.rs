use precast::prelude::*;

mod library {
    precast::model! {
        pub struct Known { inner: Hidden }
        impl Known {
            fn forward(&self, x: f32[B, 4]) -> f32[B, 4] { self.inner(x) }
        }
        struct Hidden { layer: Linear(4, 4) }
        impl Hidden {
            fn forward(&self, x: f32[B, 4]) -> f32[B, 4] { self.layer(x) }
        }
        pub(self) struct Local { layer: Linear(4, 4) }
        impl Local {
            fn forward(&self, x: f32[B, 4]) -> f32[B, 4] { self.layer(x) }
        }
    }
}

model! {
    use library::Unknown;

    pub struct First { block: Unknown }
    impl First { pub fn out(&self, x: f32[B, 4]) -> f32[B, 4] { self.block(x) } }
}

model! {
    use library::Hidden;

    pub struct Second { block: Hidden }
    impl Second { pub fn out(&self, x: f32[B, 4]) -> f32[B, 4] { self.block(x) } }
}

model! {
    use library::Local;

    pub struct Third { block: Local }
    impl Third { pub fn out(&self, x: f32[B, 4]) -> f32[B, 4] { self.block(x) } }
}

model! {
    use library::*;

    pub struct Fourth { block: Linear(4, 4) }
    impl Fourth { pub fn out(&self, x: f32[B, 4]) -> f32[B, 4] { self.block(x) } }
}

fn main() {
    let _ = First::init(0);
    let _ = Second::init(0);
    let _ = Third::init(0);
    let _ = Fourth::init(0);
}
