//! A handle to one device: choice of the adapter, error scopes, loss, and counters of what was created.
//!
//! Comes in: a choice of adapter, or a device of the caller's. Goes out: a cheap, shareable [`Gpu`]. Always holds: no
//! error of the device escapes as a panic, and once the device is lost every method says so.

use super::halves;
use super::options::{Adapter, Options};
use super::pipelines::{Pipelines, experimental};
use super::program::Program;
use crate::error::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

/// How many objects were created on a device since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Created {
    /// Buffers.
    pub buffers: u64,
    /// Bind groups.
    pub bind_groups: u64,
    /// Compute pipelines.
    pub pipelines: u64,
    /// Shader modules.
    pub modules: u64,
}

/// A GPU that models can be put on. Clones share the device.
#[derive(Clone)]
pub struct Gpu {
    shared: Arc<Shared>,
}

impl core::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Gpu({})", self.name())
    }
}

#[derive(Debug)]
struct Shared {
    device: wgpu::Device,
    queue: wgpu::Queue,
    lost: Arc<AtomicBool>,
    /// An error that no scope has caught.
    uncaptured: Arc<Mutex<Option<String>>>,
    counters: [AtomicU64; 4],
    /// Where pipelines are kept.
    cache: Option<PathBuf>,
    /// Whether threads that wait do not sleep.
    busy: bool,
    /// Whether it makes products of halves, once somebody has asked.
    halves: OnceLock<bool>,
    /// Compiled programs, by address.
    programs: Mutex<Vec<(usize, Arc<Pipelines>)>>,
    /// The measurement that is going on.
    #[cfg(feature = "profile")]
    profiler: Mutex<Option<super::profile::Profiler>>,
}

/// The value of a future that is ready.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// What a counter counts.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Buffer,
    BindGroup,
    Pipeline,
    Module,
}

impl Gpu {
    /// How to open a device: which adapter, and where its compiled pipelines are kept.
    pub fn options() -> Options {
        Options::default()
    }

    /// Opens the best adapter and waits for it. What the device refuses of the program's own commands, outside of any error scope, is
    /// an error of the next call, step, or access to parameters, states or arrays, which then does nothing else.
    ///
    /// # Errors
    /// [`Error::NoAdapter`] if there is none, [`Error::Device`] if it cannot be opened.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn new() -> Result<Self> {
        Self::with(&Adapter::Any)
    }

    /// Opens the adapter of choice and waits for it.
    ///
    /// # Errors
    /// As [`Gpu::new`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn with(choice: &Adapter) -> Result<Self> {
        Self::options().adapter(choice.clone()).open()
    }

    /// Opens the best adapter.
    ///
    /// # Errors
    /// As [`Gpu::new`].
    pub async fn new_async() -> Result<Self> {
        Self::with_async(&Adapter::Any).await
    }

    /// Opens the adapter of choice.
    ///
    /// # Errors
    /// As [`Gpu::new`].
    pub async fn with_async(choice: &Adapter) -> Result<Self> {
        Self::options().adapter(choice.clone()).open_async().await
    }

    /// Opens the adapter of choice, whose pipelines are kept in a directory.
    pub(super) async fn open(choice: &Adapter, cache: Option<PathBuf>, busy: bool) -> Result<Self> {
        // wgpu panics where it was built for no API of this platform.
        if wgpu::Instance::enabled_backend_features().is_empty() {
            return Err(Error::NoAdapter { reason: "this build has no API for GPUs".to_owned() });
        }
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapter = choose(&instance, choice).await?;
        let optional = wgpu::Features::SUBGROUP | wgpu::Features::PIPELINE_CACHE;
        let has_matrices = halves::has_matrices(&adapter);
        let optional = optional | if has_matrices { halves::FEATURES } else { wgpu::Features::empty() };
        #[cfg(feature = "profile")]
        let optional = optional | super::profile::FEATURES;
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor {
                label: Some("precast"),
                required_features: adapter.features() & optional,
                required_limits: adapter.limits(),
                experimental_features: experimental(has_matrices),
                ..Default::default()
            })
            .await
            .map_err(|error| Error::Device { reason: error.to_string() })?;
        let gpu = Self::of(device, queue, cache, busy);
        let lost = Arc::clone(&gpu.shared.lost);
        gpu.shared.device.set_device_lost_callback(move |_, _| lost.store(true, Ordering::Release));
        let uncaptured = Arc::clone(&gpu.shared.uncaptured);
        gpu.shared.device.on_uncaptured_error(Arc::new(move |error| {
            // What follows from the first one says less.
            uncaptured.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| error.to_string());
        }));
        Ok(gpu)
    }

    /// Uses a device that the caller opened, once for all models and arrays of the program, which take clones; its error and loss
    /// handlers stay the caller's, and so does what is kept of its pipelines.
    pub fn from_device(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        Self::of(device, queue, None, false)
    }

    fn of(device: wgpu::Device, queue: wgpu::Queue, cache: Option<PathBuf>, busy: bool) -> Self {
        let shared = Shared {
            device,
            queue,
            lost: Arc::default(),
            uncaptured: Arc::default(),
            counters: Default::default(),
            cache,
            busy,
            halves: OnceLock::new(),
            programs: Mutex::default(),
            #[cfg(feature = "profile")]
            profiler: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The wgpu device underneath. What destroys it is [`Gpu::destroy`], of which models, sessions and arrays then know.
    pub fn device(&self) -> &wgpu::Device {
        &self.shared.device
    }

    /// The wgpu queue underneath.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.shared.queue
    }

    /// Whether both are clones of one. wgpu tells devices of different instances apart by numbers that both may have.
    pub(super) fn is_same(&self, other: &Gpu) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Has `record` write commands into an encoder, and submits them. Waits for nothing: what reads their results does.
    ///
    /// # Errors
    /// What `record` gives, or if the device refuses the commands or is lost.
    pub fn submit(&self, record: impl FnOnce(&mut wgpu::CommandEncoder) -> Result<()>) -> Result<()> {
        self.ready()?;
        self.scoped(|| {
            let mut encoder = self.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            record(&mut encoder)?;
            self.queue().submit([encoder.finish()]);
            Ok(())
        })?
    }

    /// The adapter's name, as its driver gives it.
    pub fn name(&self) -> String {
        self.shared.device.adapter_info().name
    }

    /// Destroys the device: every later use of it gives [`Error::DeviceLost`].
    pub fn destroy(&self) {
        self.shared.lost.store(true, Ordering::Release);
        self.shared.device.destroy();
    }

    /// Whether the device is known to be lost.
    pub fn is_lost(&self) -> bool {
        self.shared.lost.load(Ordering::Acquire)
    }

    /// Whether models with `precision = split` or `mixed` run their products on this device as products of halves, by cooperative
    /// matrices (tensor cores): it has such of 16 × 16 halves with sums in f32, subgroups of 32 invocations, workgroups of 256 with
    /// 48 KiB of shared memory, and has passed a check of some milliseconds, which the first question waits for, and so does the first
    /// session or trainer of such a model. Elsewhere, as in browsers, these models compute in f32.
    ///
    /// A device that the caller opened has them if it was opened with wgpu's features `EXPERIMENTAL_COOPERATIVE_MATRIX` and
    /// `SHADER_F16`, with experimental features enabled and such limits, on an adapter whose `cooperative_matrix_properties` have these
    /// matrices. A device that is lost has none.
    pub fn has_cooperative_matrices(&self) -> bool {
        self.multiplies_halves().unwrap_or(false)
    }

    /// The same, where a device that is lost is an error.
    pub(super) fn multiplies_halves(&self) -> Result<bool> {
        if let Some(&known) = self.shared.halves.get() {
            return Ok(known);
        }
        // A device that refuses the check has no such products.
        let works = halves::works(self).unwrap_or(false);
        self.alive()?;
        // Several threads may ask the device at once, and get one answer.
        Ok(*self.shared.halves.get_or_init(|| works))
    }

    /// What was created on this device so far.
    pub fn created(&self) -> Created {
        let of = |kind: Kind| self.shared.counters[kind as usize].load(Ordering::Relaxed);
        Created {
            buffers: of(Kind::Buffer),
            bind_groups: of(Kind::BindGroup),
            pipelines: of(Kind::Pipeline),
            modules: of(Kind::Module),
        }
    }

    /// Where pipelines are kept.
    pub(super) fn cache(&self) -> Option<&Path> {
        self.shared.cache.as_deref()
    }

    /// The pipelines of a program; all models of one program share them.
    pub(super) fn pipelines(&self, program: &'static Program) -> Result<Arc<Pipelines>> {
        let key = core::ptr::from_ref(program).addr();
        let mut programs = self.shared.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = programs.iter().find(|(of, _)| *of == key) {
            return Ok(Arc::clone(known));
        }
        let new = Arc::new(Pipelines::new(self, program)?);
        programs.push((key, Arc::clone(&new)));
        Ok(new)
    }

    #[cfg(feature = "profile")]
    pub(super) fn profiler(&self) -> std::sync::MutexGuard<'_, Option<super::profile::Profiler>> {
        self.shared.profiler.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self, kind: Kind) {
        self.shared.counters[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn mark_lost(&self) -> Error {
        self.shared.lost.store(true, Ordering::Release);
        lost()
    }

    pub(super) fn alive(&self) -> Result<()> {
        if self.is_lost() { Err(lost()) } else { Ok(()) }
    }

    /// Whether a call may begin: the device is there, and has refused nothing since the last one began, such as commands of the
    /// program's own outside of any scope, or in a browser of an earlier call. What it has refused is said once, and the call does nothing.
    pub(super) fn ready(&self) -> Result<()> {
        self.alive()?;
        match self.shared.uncaptured.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => Ok(()),
            Some(reason) => Err(Error::Device { reason: format!("before this call: {reason}") }),
        }
    }

    /// Runs `work` and says what the device thinks of it. Native devices judge at once; a browser would do so later, and what it refuses
    /// outside of scopes is what the next call finds.
    pub(super) fn scoped<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.alive()?;
        if cfg!(target_arch = "wasm32") {
            return Ok(work());
        }
        let device = &self.shared.device;
        let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
        let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let value = work();
        let reports = [now(validation.pop()), now(internal.pop()), now(memory.pop())];
        self.alive()?;
        let [validation, internal, memory] = reports.map(Option::flatten);
        match validation.or(internal).or(memory) {
            None => Ok(value),
            Some(error) => Err(Error::Device { reason: error.to_string() }),
        }
    }

    /// Lets finished work report; with `wait`, blocks until all submitted work is finished, unless the program is to ask again
    /// instead. A browser does this itself.
    pub(super) fn poll(&self, wait: bool) -> Result<()> {
        self.alive()?;
        let kind = if wait && !self.shared.busy { wgpu::PollType::wait_indefinitely() } else { wgpu::PollType::Poll };
        self.poll_as(kind)
    }

    /// Blocks until one submission is finished.
    pub(super) fn wait_for(&self, submission: wgpu::SubmissionIndex) -> Result<()> {
        self.alive()?;
        self.poll_as(wgpu::PollType::Wait { submission_index: Some(submission), timeout: None })
    }

    fn poll_as(&self, kind: wgpu::PollType) -> Result<()> {
        // wgpu panics where a device is lost during a wait, and offers no other report of it.
        match catch_unwind(AssertUnwindSafe(|| self.shared.device.poll(kind))) {
            Ok(_) => self.alive(),
            Err(_) => Err(self.mark_lost()),
        }
    }
}

fn lost() -> Error {
    Error::DeviceLost { reason: "it was destroyed, or its driver gave up".to_owned() }
}

#[cfg(target_arch = "wasm32")]
async fn choose(instance: &wgpu::Instance, choice: &Adapter) -> Result<wgpu::Adapter> {
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        force_fallback_adapter: *choice == Adapter::Software,
        ..Default::default()
    };
    instance.request_adapter(&options).await.map_err(|error| Error::NoAdapter { reason: error.to_string() })
}

#[cfg(not(target_arch = "wasm32"))]
async fn choose(instance: &wgpu::Instance, choice: &Adapter) -> Result<wgpu::Adapter> {
    let mut found = instance.enumerate_adapters(wgpu::Backends::all()).await;
    found.sort_by_key(|adapter| rank(adapter.get_info().device_type));
    let software = |adapter: &wgpu::Adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu;
    let names: Vec<String> = found.iter().map(|adapter| adapter.get_info().name).collect();
    found
        .into_iter()
        .find(|adapter| match choice {
            Adapter::Any => true,
            Adapter::Hardware => !software(adapter),
            Adapter::Software => software(adapter),
            Adapter::Named(part) => adapter.get_info().name.to_lowercase().contains(&part.to_lowercase()),
        })
        .ok_or_else(|| match names.is_empty() {
            true => Error::NoAdapter { reason: "none was found".to_owned() },
            false => Error::NoAdapter { reason: format!("none of {} was asked for", names.join(", ")) },
        })
}

#[cfg(not(target_arch = "wasm32"))]
fn rank(kind: wgpu::DeviceType) -> u8 {
    match kind {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Cpu => 3,
        wgpu::DeviceType::Other => 4,
    }
}
