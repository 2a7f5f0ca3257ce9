//! What a device can do at most, by two kernels that do nothing else.
//!
//! In: a device. Out: bytes in a second of a copy, and operations in a second of multiply-adds whose operands are in
//! registers. Always: as much memory as no cache holds, where the device lends that much in one buffer; the best of several
//! batches.

use precast::Gpu;
use std::error::Error;
use std::time::Instant;
use wgpu::BufferUsages as Usage;

/// What was measured.
pub(super) struct Peak {
    /// Bytes in a second, read and written ones together.
    pub(super) bytes: f64,
    /// Operations in a second, of which a multiply-add is two.
    pub(super) operations: f64,
}

/// Most bytes that are copied.
const BYTES: u64 = 1 << 30;

/// Invocations of a workgroup, and how many workgroups are side by side.
const INVOCATIONS: u32 = 256;
const ACROSS: u32 = 1 << 12;

/// Turns of the loop of multiply-adds, and operations of each: 8 chains of 4 lanes, 4 times.
const TURNS: u32 = 64;
const OPERATIONS: u32 = 2 * 8 * 4 * 4;

/// Batches, and seconds of each.
const BATCHES: usize = 5;
const SECONDS: f64 = 0.05;

/// Runs both kernels.
pub(super) fn measure(gpu: &Gpu) -> Result<Peak, Box<dyn Error>> {
    let limits = gpu.device().limits();
    let line = u64::from(16 * INVOCATIONS * ACROSS);
    let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size).min(BYTES);
    let bytes = most - most % line;
    if bytes == 0 {
        return Err(format!("the adapter lends {most} bytes in one buffer, which no peak is measured with").into());
    }
    let device = Device::new(gpu, bytes);
    let copied = device.seconds("copy", [ACROSS, (bytes / line) as u32])?;
    let multiplied = device.seconds("multiply_add", [ACROSS, 1])?;
    let operations = f64::from(ACROSS * INVOCATIONS) * f64::from(TURNS * OPERATIONS);
    Ok(Peak { bytes: 2.0 * bytes as f64 / copied, operations: operations / multiplied })
}

/// The kernels, and what they read and write.
struct Device<'g> {
    gpu: &'g Gpu,
    module: wgpu::ShaderModule,
    buffers: [wgpu::Buffer; 2],
}

impl<'g> Device<'g> {
    fn new(gpu: &'g Gpu, size: u64) -> Self {
        let source = wgpu::ShaderSource::Wgsl(wgsl().into());
        let module = gpu.device().create_shader_module(wgpu::ShaderModuleDescriptor { label: Some("peak"), source });
        let buffers = ["given", "made"].map(|label| {
            let usage = Usage::STORAGE | Usage::COPY_DST;
            let descriptor = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
            gpu.device().create_buffer(&descriptor)
        });
        // A factor and an addend whose chains stay finite, in all lanes.
        let numbers: Vec<u8> = [0.5f32, 0.25].iter().flat_map(|x| [x.to_ne_bytes(); 4].concat()).collect();
        gpu.queue().write_buffer(&buffers[0], 0, &numbers);
        Self { gpu, module, buffers }
    }

    /// The least seconds of a dispatch, of batches of them.
    fn seconds(&self, entry: &str, groups: [u32; 2]) -> Result<f64, Box<dyn Error>> {
        let device = self.gpu.device();
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout: None,
            module: &self.module,
            entry_point: Some(entry),
            compilation_options: Default::default(),
            cache: None,
        });
        let entries =
            [0, 1].map(|n| wgpu::BindGroupEntry { binding: n as u32, resource: self.buffers[n].as_entire_binding() });
        let layout = pipeline.get_bind_group_layout(0);
        let group =
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries });
        let batch = |dispatches: usize| -> Result<f64, Box<dyn Error>> {
            let start = Instant::now();
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            (0..dispatches).for_each(|_| pass.dispatch_workgroups(groups[0], groups[1], 1));
            drop(pass);
            self.gpu.queue().submit([encoder.finish()]);
            device.poll(wgpu::PollType::wait_indefinitely())?;
            Ok(start.elapsed().as_secs_f64() / dispatches as f64)
        };
        batch(1)?;
        let dispatches = (SECONDS / batch(1)?).clamp(1.0, 1000.0) as usize;
        (0..BATCHES).try_fold(f64::INFINITY, |least, _| Ok(batch(dispatches)?.min(least)))
    }
}

/// A vector for each invocation to copy, and chains that depend on what is read, so that none is known before.
fn wgsl() -> String {
    let chains = 0..8;
    let starts: String = chains.clone().map(|n| format!("    var s{n} = vec4<f32>(f32(id.x) + {n}.0);\n")).collect();
    let turn: String = chains.clone().map(|n| format!("        s{n} = fma(s{n}, a, b);\n")).collect();
    let sum = chains.map(|n| format!("s{n}")).collect::<Vec<_>>().join(" + ");
    let turn = turn.repeat(4);
    format!(
        "@group(0) @binding(0) var<storage, read> given: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> made: array<vec4<f32>>;

@compute @workgroup_size({INVOCATIONS})
fn copy(@builtin(global_invocation_id) id: vec3<u32>) {{
    let at = id.x + {INVOCATIONS}u * {ACROSS}u * id.y;
    made[at] = given[at];
}}

@compute @workgroup_size({INVOCATIONS})
fn multiply_add(@builtin(global_invocation_id) id: vec3<u32>) {{
    let a = given[0];
    let b = given[1];
{starts}    for (var turn = 0u; turn < {TURNS}u; turn++) {{
{turn}    }}
    made[id.x] = {sum};
}}
"
    )
}
