//! Whether a device makes products of f32 as three products of halves, by cooperative matrices, and makes them well.
//!
//! Comes in: a device. Goes out: yes or no. Always holds: yes is said of no device whose features, limits and size of subgroups
//! were not looked at, and which has not shown that such sums are what they should be, for every subgroup of a workgroup.

use super::arena::{create_storage, read_back};
use super::device::{Gpu, Kind};
use super::mapping;
use crate::error::Result;

/// What a device has to have been opened with.
pub(super) const FEATURES: wgpu::Features =
    wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX.union(wgpu::Features::SHADER_F16);
/// Invocations that have a matrix together, of which entry points count on workgroups of as many as these, and on so much shared
/// memory.
const LANES: u32 = 32;
const INVOCATIONS: u32 = 256;
const SHARED: u32 = 48 << 10;

/// Subgroups, rows or columns, and terms of the check.
const SUBGROUPS: usize = 8;
const SIDE: usize = 16;
const TERMS: usize = 32;
/// The largest error, in parts of the largest sum: a hundredth of that of sums of halves alone.
const ERROR: f64 = 4e-6;

/// Whether an adapter has matrices of 16 × 16 halves whose sums are f32.
pub(super) fn has_matrices(adapter: &wgpu::Adapter) -> bool {
    let half = wgpu::CooperativeScalarType::F16;
    adapter.features().contains(FEATURES)
        && adapter.cooperative_matrix_properties().iter().any(|own| {
            let sides = [own.m_size, own.n_size, own.k_size];
            sides == [16; 3] && own.ab_type == half && own.cr_type == wgpu::CooperativeScalarType::F32
        })
}

/// Whether the device is one. Its answer to the check is waited for.
pub(super) fn works(gpu: &Gpu) -> bool {
    let (features, limits, info) = (gpu.device().features(), gpu.device().limits(), gpu.device().adapter_info());
    features.contains(FEATURES)
        && [info.subgroup_min_size, info.subgroup_max_size] == [LANES; 2]
        && limits.max_compute_invocations_per_workgroup >= INVOCATIONS
        && limits.max_compute_workgroup_storage_size >= SHARED
        && sums(gpu).is_ok_and(|sums| {
            let (usual, beyond) = sums.split_at(sums.len() / 2);
            is_right(usual) && is_beyond(beyond)
        })
}

/// A number of the check; split.wgsl has the same.
fn element(n: usize) -> f64 {
    ((n * 7919) % 65521) as f64 / 65536.0 - 0.5
}

/// Whether all sums are right.
fn is_right(sums: &[f32]) -> bool {
    let right = |at: usize| -> f64 {
        let (row, column) = (at / SIDE, at % SIDE);
        (0..TERMS).map(|k| element(row * TERMS + k) * element(SUBGROUPS * SIDE * TERMS + column * TERMS + k)).sum()
    };
    let largest = (0..sums.len()).map(|at| right(at).abs()).fold(0.0, f64::max);
    sums.iter().enumerate().all(|(at, &sum)| (f64::from(sum) - right(at)).abs() <= ERROR * largest)
}

/// Whether the first row of each subgroup, which has an element beyond the range of halves, has no finite sums, and others have.
fn is_beyond(sums: &[f32]) -> bool {
    sums.chunks(SIDE).enumerate().all(|(row, sums)| sums.iter().all(|sum| sum.is_finite() != row.is_multiple_of(SIDE)))
}

/// The sums that a device makes, in range and beyond it.
fn sums(gpu: &Gpu) -> Result<Vec<f32>> {
    let mut words = vec![0.0; 2 * SUBGROUPS * SIDE * SIDE];
    let buffer = create_storage(gpu, "check", words.len())?;
    gpu.scoped(|| dispatch(gpu, &buffer))?;
    #[cfg(not(target_arch = "wasm32"))]
    mapping::wait(read_back(gpu, &buffer, 0, &mut words))?;
    Ok(words)
}

fn dispatch(gpu: &Gpu, buffer: &wgpu::Buffer) {
    let device = gpu.device();
    gpu.count(Kind::Module);
    let source = wgpu::ShaderSource::Wgsl(include_str!("split.wgsl").into());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some("check"), source });
    gpu.count(Kind::Pipeline);
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("check"),
        layout: None,
        module: &module,
        entry_point: Some("check"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    gpu.count(Kind::BindGroup);
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("check"),
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
    }
    gpu.queue().submit([encoder.finish()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(bits: u32) -> Vec<f32> {
        let keep = |x: f64| f64::from(f32::from_bits((x as f32).to_bits() & (u32::MAX << bits)));
        let sum = |row: usize, column: usize| -> f64 {
            (0..TERMS)
                .map(|k| keep(element(row * TERMS + k)) * element(SUBGROUPS * SIDE * TERMS + column * TERMS + k))
                .sum()
        };
        (0..SUBGROUPS * SIDE * SIDE).map(|at| sum(at / SIDE, at % SIDE) as f32).collect()
    }

    #[test]
    fn the_check_takes_sums_of_f32_and_no_others() {
        assert!(is_right(&rounded(0)));
        // An operand of halves alone, whose significands have 13 bits fewer.
        assert!(!is_right(&rounded(13)));
        let mut swapped = rounded(0);
        swapped.rotate_left(SIDE * SIDE);
        assert!(!is_right(&swapped));
    }
}
