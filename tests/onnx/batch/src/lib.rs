//! What runs a model that was compiled without its public face: a call whose arguments and results are files of words.

use precast::__rt::{Compiled, Foreigns, Function, Isa, force_isa};
use precast::{Blocking, Cpu};
use std::path::PathBuf;

/// Runs a model.
pub type Run = fn(&Call) -> Result<(), String>;

/// Words that begin where an element of 64 bits may.
#[derive(Debug)]
struct Words(Vec<f64>, usize);

/// What a model is given.
#[derive(Debug)]
pub struct Call {
    on_gpu: bool,
    folder: PathBuf,
    dims: Vec<usize>,
    parameters: Words,
    inputs: Vec<Words>,
}

impl Call {
    /// The arguments in a folder, for the device `cpu` or `gpu`.
    ///
    /// # Errors
    /// That a file cannot be read.
    pub fn read(device: &str, folder: PathBuf) -> Result<Call, String> {
        let words = |name: &str| {
            let path = folder.join(name);
            let bytes = std::fs::read(&path).map_err(|why| format!("{}: {why}", path.display()))?;
            let mut pairs = vec![0.0; bytes.len().div_ceil(size_of::<f64>())];
            bytemuck::cast_slice_mut::<f64, u8>(&mut pairs)[..bytes.len()].copy_from_slice(&bytes);
            Ok::<_, String>(Words(pairs, bytes.len() / size_of::<f32>()))
        };
        let there = |name: &String| folder.join(name).exists();
        let inputs = (0..).map(|k| format!("input_{k}")).take_while(there).map(|name| words(&name));
        let inputs = inputs.collect::<Result<_, String>>()?;
        let dims = bytemuck::pod_collect_to_vec::<f64, u64>(&words("dims")?.0).into_iter().map(|value| value as usize);
        Ok(Call { on_gpu: device == "gpu", dims: dims.collect(), parameters: words("parameters")?, inputs, folder })
    }

    fn parameters(&self) -> &[f32] {
        self.parameters.words()
    }

    fn inputs(&self) -> Vec<&[f32]> {
        self.inputs.iter().map(Words::words).collect()
    }

    fn write(&self, run: usize, k: usize, words: &[f32]) -> Result<(), String> {
        let path = self.folder.join(format!("result_{run}_{k}"));
        std::fs::write(&path, bytemuck::cast_slice(words)).map_err(|why| format!("{}: {why}", path.display()))
    }
}

impl Words {
    fn words(&self) -> &[f32] {
        &bytemuck::cast_slice(&self.0)[..self.1]
    }
}

/// Runs a model of so many results: on every instruction set that the CPU has, or on the GPU.
///
/// # Errors
/// Why the model does not run, or that a result cannot be written.
pub fn run<C: Compiled, F: Function>(call: &Call, results: usize) -> Result<(), String> {
    if call.on_gpu {
        #[cfg(feature = "gpu")]
        return on_gpu::<C, F>(call, results);
        #[cfg(not(feature = "gpu"))]
        return Err("it was built without the feature `gpu`".into());
    }
    for (position, _) in Isa::available().enumerate() {
        force_isa(Some(position));
        on::<_, C, F>(&Cpu, call, position, results)?;
    }
    Ok(())
}

#[cfg(feature = "gpu")]
fn on_gpu<C: Compiled, F: Function>(call: &Call, results: usize) -> Result<(), String> {
    use precast::Gpu;
    use std::sync::LazyLock;
    static GPU: LazyLock<Result<Gpu, String>> = LazyLock::new(|| Gpu::new().map_err(|why| why.to_string()));
    match C::CPU_ONLY {
        Some(why) => Err(why.into()),
        None => on::<_, C, F>(GPU.as_ref().map_err(String::clone)?, call, 0, results),
    }
}

/// Runs a model on a device.
fn on<D: Blocking, C: Compiled, F: Function>(
    device: &D,
    call: &Call,
    run: usize,
    results: usize,
) -> Result<(), String> {
    let (inputs, foreign) = (call.inputs(), Foreigns::default());
    let ran = async {
        let pool = device.pool::<C>(call.parameters().into()).await?;
        let mut workspace = device.workspace(&pool);
        device.call::<F>(&pool, None, &mut workspace, &call.dims, &inputs, &foreign).await?;
        Ok::<_, precast::Error>(workspace)
    };
    let workspace = device.wait(ran).map_err(|why| why.to_string())?;
    (0..results).try_for_each(|k| call.write(run, k, device.result::<F>(&workspace, &call.dims, k)))
}
