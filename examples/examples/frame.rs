//! A model inside of the frame of a program that draws with wgpu: what was just rendered is classified before anything leaves the
//! device.
//!
//! Each frame is one encoder: a render pass draws a digit by its strokes, a compute pass turns the texture into the pixels that
//! the model was trained on, and the model reads them where they are and writes its scores into a buffer of the program's own.
//!
//! ```text
//! cargo run --release -p examples --features gpu --example frame
//! ```

use std::error::Error;

use examples::{digits::split, picture};
use precast::{gpu::GpuArray, prelude::*};

model! {
    /// Handwritten digits: 8×8 grey pixels to ten classes.
    pub struct Digits {
        hidden: Linear(64, 128),
        output: Linear(128, 10),
    }

    impl Digits {
        /// Unnormalised class scores.
        pub fn scores(&self, image: f32[B, 1, 8, 8]) -> f32[B, 10] {
            self.output(relu(self.hidden(flatten(image))))
        }

        /// Mean cross-entropy over the batch.
        #[train(AdamW)]
        pub fn loss(&self, image: f32[B, 1, 8, 8], label: u32[B]) -> f32 {
            cross_entropy(self.scores(image), label)
        }
    }
}

/// One channel of pixels.
type Image = [[[f32; 8]; 8]; 1];

/// Sides of the texture; a pixel of the model is a square of four by four texels, as in the data.
const SIDE: u32 = 32;

/// The strokes of each digit, as points of the square of 8 × 8 pixels whose first row is the upper one.
const STROKES: [&[[f32; 2]]; 10] = [
    &[[4.0, 0.7], [2.4, 2.2], [2.1, 5.0], [3.4, 7.2], [5.2, 6.4], [5.8, 3.4], [4.9, 1.2], [4.0, 0.7]],
    &[[2.6, 2.6], [4.2, 0.8], [4.0, 7.4]],
    &[[2.2, 2.0], [3.4, 0.8], [4.8, 1.0], [5.2, 2.6], [4.2, 4.6], [2.2, 7.0], [5.8, 6.9]],
    &[[2.0, 1.2], [4.6, 0.9], [5.2, 2.2], [3.6, 3.7], [5.3, 5.0], [4.8, 6.8], [2.4, 7.1]],
    &[[3.4, 0.7], [2.0, 4.6], [5.8, 4.4], [5.0, 2.8], [4.4, 7.4]],
    &[[5.6, 0.9], [2.6, 1.0], [2.4, 3.4], [4.6, 3.4], [5.4, 5.2], [4.4, 7.0], [2.2, 7.0]],
    &[[4.2, 0.6], [2.6, 3.0], [2.2, 5.6], [3.6, 7.3], [5.4, 6.4], [4.8, 4.6], [2.6, 5.0]],
    &[[2.0, 1.0], [5.6, 0.9], [4.4, 3.8], [3.2, 7.4]],
    &[[5.2, 1.4], [3.4, 0.8], [2.8, 2.2], [5.0, 5.0], [4.6, 7.0], [3.0, 6.9], [2.8, 5.2], [5.0, 2.8], [5.2, 1.4]],
    &[[5.2, 2.2], [3.8, 0.8], [2.6, 2.2], [3.4, 3.6], [5.2, 2.4], [5.0, 5.0], [3.6, 7.3]],
];

/// Half of the width of a stroke, in pixels of the model.
const RADIUS: f32 = 0.55;

/// What draws triangles, and what makes an image of the texels.
const SHADERS: &str = "
@vertex fn corner(@location(0) at: vec2f) -> @builtin(position) vec4f {
    return vec4f(at.x / 4.0 - 1.0, 1.0 - at.y / 4.0, 0.0, 1.0);
}
@fragment fn ink() -> @location(0) vec4f { return vec4f(1.0); }

@group(0) @binding(0) var drawn: texture_2d<f32>;
@group(0) @binding(1) var<storage, read_write> image: array<f32, 64>;
@compute @workgroup_size(8, 8) fn pixels(@builtin(local_invocation_id) at: vec3u) {
    var sum = 0.0;
    for (var k = 0u; k < 16u; k++) { sum += textureLoad(drawn, 4u * at.xy + vec2u(k % 4u, k / 4u), 0).r; }
    image[8u * at.y + at.x] = sum / 16.0;
}
";

fn main() -> Result<(), Box<dyn Error>> {
    let (device, queue) = pollster::block_on(open())?;
    let canvas = Canvas::new(&device);
    // The model shares the device of the program.
    let gpu = Gpu::from_device(device.clone(), queue.clone());
    let digits = trained()?.on(&gpu)?;
    let mut session = digits.session();
    let image = GpuArray::<Image>::from_buffer(&gpu, &canvas.image, 0, [1])?;
    let scores = GpuArray::<[f32; 10]>::new(&gpu, [1])?;

    let (mut images, mut captions, mut right) = (vec![], vec![], 0);
    for (digit, strokes) in STROKES.iter().enumerate() {
        let corners = triangles(strokes);
        let bytes: Vec<u8> = corners.as_flattened().iter().flat_map(|number| number.to_ne_bytes()).collect();
        queue.write_buffer(&canvas.corners, 0, &bytes);
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        canvas.draw(&mut encoder, corners.len() as u32);
        session.scores_encode(&mut encoder, &image, &scores)?;
        queue.submit([encoder.finish()]);

        // A program that draws would go on with the buffer of the scores on the device; this one shows them.
        let (scores, [drawn]) = (scores.read()?[0], image.read()?[0]);
        let guess = (0..10).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0);
        right += usize::from(guess == digit);
        images.push(drawn);
        captions.push(format!("{guess}"));
    }
    println!("{}", picture::row(&images[..5], &captions[..5]));
    println!("{}", picture::row(&images[5..], &captions[5..]));
    println!("{right} of 10 drawn digits are right on {}", gpu.name());
    Ok(())
}

/// Opens a device as a program that draws would.
async fn open() -> Result<(wgpu::Device, wgpu::Queue), Box<dyn Error>> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter = instance.request_adapter(&wgpu::RequestAdapterOptions::default()).await?;
    Ok(adapter.request_device(&wgpu::DeviceDescriptor::default()).await?)
}

/// The model, after some epochs on the CPU.
fn trained() -> precast::Result<Digits> {
    let (samples, _) = split()?;
    let mut digits = Digits::init(1);
    let mut trainer = digits.trainer(AdamW { rate: 3e-3, ..default() });
    let mut loader = Loader::new(&samples.images, &samples.labels, 64)?;
    for epoch in 0..20 {
        for (image, label) in loader.shuffled(epoch) {
            trainer.loss(image, label)?.value()?;
        }
    }
    Ok(digits)
}

/// Corners of the triangles of a line through points: a rectangle for each stroke, and a disc of six at its end.
fn triangles(points: &[[f32; 2]]) -> Vec<[f32; 2]> {
    let mut corners = vec![];
    for pair in points.windows(2) {
        let ([ax, ay], [bx, by]) = (pair[0], pair[1]);
        let (dx, dy) = (bx - ax, by - ay);
        let scale = RADIUS / dx.hypot(dy);
        let (x, y) = (-dy * scale, dx * scale);
        let [p, q, r, s] = [[ax + x, ay + y], [ax - x, ay - y], [bx + x, by + y], [bx - x, by - y]];
        corners.extend([p, q, r, q, r, s]);
    }
    for [x, y] in points {
        let rim = |k: u32| (k as f32 * core::f32::consts::FRAC_PI_3).sin_cos();
        for k in 0..6 {
            let ((s, c), (t, d)) = (rim(k), rim(k + 1));
            corners.extend([[*x, *y], [x + RADIUS * s, y + RADIUS * c], [x + RADIUS * t, y + RADIUS * d]]);
        }
    }
    corners
}

/// What the program draws with.
struct Canvas {
    corners: wgpu::Buffer,
    texture: wgpu::TextureView,
    strokes: wgpu::RenderPipeline,
    pixels: wgpu::ComputePipeline,
    bound: wgpu::BindGroup,
    /// The pixels that the model reads.
    image: wgpu::Buffer,
}

impl Canvas {
    fn new(device: &wgpu::Device) -> Self {
        use wgpu::{BufferUsages, TextureUsages};
        let buffer = |size, usage| {
            device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
        };
        let corners = buffer(1 << 16, BufferUsages::VERTEX | BufferUsages::COPY_DST);
        let image = buffer(256, BufferUsages::STORAGE | BufferUsages::COPY_SRC);
        let format = wgpu::TextureFormat::R8Unorm;
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("canvas"),
            size: wgpu::Extent3d { width: SIDE, height: SIDE, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage: TextureUsages::RENDER_ATTACHMENT | TextureUsages::TEXTURE_BINDING,
            view_formats: &[],
        });
        let texture = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let source = wgpu::ShaderSource::Wgsl(SHADERS.into());
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        let pixels = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("pixels"),
            layout: None,
            module: &module,
            entry_point: Some("pixels"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let bound = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pixels.get_bind_group_layout(0),
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&texture) },
                wgpu::BindGroupEntry { binding: 1, resource: image.as_entire_binding() },
            ],
        });
        Self { corners, texture, strokes: strokes(device, &module, format), pixels, bound, image }
    }

    /// Records the drawing of so many corners of triangles, and the image of it.
    fn draw(&self, encoder: &mut wgpu::CommandEncoder, corners: u32) {
        let ops = wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store };
        let attachment =
            wgpu::RenderPassColorAttachment { view: &self.texture, depth_slice: None, resolve_target: None, ops };
        let descriptor = wgpu::RenderPassDescriptor {
            color_attachments: &[Some(attachment)],
            ..wgpu::RenderPassDescriptor::default()
        };
        let mut pass = encoder.begin_render_pass(&descriptor);
        pass.set_pipeline(&self.strokes);
        pass.set_vertex_buffer(0, self.corners.slice(..));
        pass.draw(0..corners, 0..1);
        drop(pass);
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pixels);
        pass.set_bind_group(0, &self.bound, &[]);
        pass.dispatch_workgroups(1, 1, 1);
    }
}

/// The pipeline that draws triangles.
fn strokes(device: &wgpu::Device, module: &wgpu::ShaderModule, format: wgpu::TextureFormat) -> wgpu::RenderPipeline {
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("strokes"),
        layout: None,
        vertex: wgpu::VertexState {
            module,
            entry_point: Some("corner"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[Some(wgpu::VertexBufferLayout {
                array_stride: 8,
                step_mode: wgpu::VertexStepMode::Vertex,
                attributes: &wgpu::vertex_attr_array![0 => Float32x2],
            })],
        },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil: None,
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module,
            entry_point: Some("ink"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[Some(format.into())],
        }),
        multiview_mask: None,
        cache: None,
    })
}
