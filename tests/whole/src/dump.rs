//! What a compiled program was given and gave, for other judges: with `PRECAST_PYTORCH=DIR` each program writes
//! `DIR/<seed>.json`, which `pytorch.py` reads. Numbers of one instruction set are enough: the others are compared with
//! the same oracle.

use crate::json::Json;
use crate::judge::{LOOSE, OF_LARGEST, RELATIVE, SPANS};
use crate::program::Program;
use precast_compiler::oracle::{Data, Tensor};
use std::path::PathBuf;

/// The calls of a program so far.
#[derive(Clone, Debug)]
pub struct Dump {
    folder: PathBuf,
    calls: Vec<Json>,
    /// The tensors of the call that runs.
    tensors: Vec<Json>,
}

/// What a call is given.
#[derive(Clone, Debug)]
pub struct Given<'g> {
    /// Whether it is the loss, whose gradients follow.
    pub trains: bool,
    /// The named dimensions.
    pub dims: [i64; 2],
    /// The random key of the step.
    pub key: [u32; 2],
    /// The arguments by their locals.
    pub args: Vec<(usize, &'g Tensor)>,
    /// The parameters by their names.
    pub params: Vec<(&'g str, &'g Tensor)>,
}

impl Dump {
    /// A dump where the environment asks for one.
    pub fn asked() -> Option<Dump> {
        let folder = std::env::var_os("PRECAST_PYTORCH")?.into();
        Some(Dump { folder, calls: vec![], tensors: vec![] })
    }

    /// Notes a tensor that the call made: its name, what the oracles say, and the words of the device.
    pub fn tensor(&mut self, name: &str, said: &[&Tensor], found: &[f32]) {
        let numbers: Vec<Vec<f64>> = said.iter().map(|t| t.data.numbers()).collect();
        // NaN of one rounding is NaN of the span.
        let span = |pick: fn(f64, f64) -> f64| {
            let joined = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { pick(a, b) };
            Json::numbers((0..numbers[0].len()).filter_map(|k| numbers.iter().map(|x| x[k]).reduce(joined)))
        };
        let dtype = said[0].data.dtype();
        self.tensors.push(Json::object([
            ("name", Json::text(name)),
            ("dtype", Json::text(dtype.name())),
            ("shape", Json::list(&said[0].shape, |&n| Json::Whole(n as i64))),
            ("found", Json::numbers(Data::of_words(dtype, found, said[0].data.len()).numbers())),
            ("exact", Json::numbers(numbers[0].iter().copied())),
            ("low", span(f64::min)),
            ("high", span(f64::max)),
        ]));
    }

    /// Ends a call, whose tensors have been noted.
    pub fn call(&mut self, given: &Given<'_>) {
        let tensor = |tensor: &Tensor| {
            Json::object([
                ("dtype", Json::text(tensor.data.dtype().name())),
                ("shape", Json::list(&tensor.shape, |&n| Json::Whole(n as i64))),
                ("numbers", Json::numbers(tensor.data.numbers())),
            ])
        };
        let args = given.args.iter().map(|(local, x)| (local.to_string(), tensor(x))).collect();
        let params = given.params.iter().map(|(name, x)| ((*name).to_owned(), tensor(x))).collect();
        let [b, t] = given.dims.map(Json::Whole);
        self.calls.push(Json::object([
            ("trains", Json::Bool(given.trains)),
            ("dims", Json::object([("B", b), ("T", t)])),
            ("key", Json::list(given.key, |word| Json::Whole(i64::from(word)))),
            ("args", Json::Object(args)),
            ("params", Json::Object(params)),
            ("tensors", Json::List(std::mem::take(&mut self.tensors))),
        ]));
    }

    /// Writes the file of the program, whose bounds are so many times wider than those of the CPU in f32.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(self, program: &Program, looser: f64) -> Result<(), String> {
        let bounds = [("spans", SPANS), ("relative", RELATIVE), ("of_largest", OF_LARGEST), ("loose", LOOSE)];
        let all = Json::object([
            ("program", program.json()),
            ("bounds", Json::object(bounds.map(|(name, x)| (name, Json::Number(x))))),
            ("looser", Json::Number(looser)),
            ("calls", Json::List(self.calls)),
        ]);
        std::fs::create_dir_all(&self.folder)
            .and_then(|()| std::fs::write(self.folder.join(format!("{}.json", program.seed)), all.to_string()))
            .map_err(|why| format!("{}: {why}", self.folder.display()))
    }
}
