//! Whether a device makes products of halves by cooperative matrices, and makes them well.
//!
//! Comes in: a device. Goes out: yes or no. Always holds: yes is said of no device whose features, limits and size of subgroups
//! were not looked at, and which has not shown that such sums are what they should be, for every subgroup of a workgroup, and not
//! finite where an element is beyond the range of halves. Which matrices there are an adapter is asked; of a device that the caller
//! opened nobody knows its adapter, so that it is the caller who says so by its features.

use super::device::Gpu;
use crate::error::Result;

/// What a device has to have been opened with.
pub(super) const FEATURES: wgpu::Features =
    wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX.union(wgpu::Features::SHADER_F16);
/// Invocations that have a matrix together, invocations of a workgroup and its shared memory: what the compiler's `ir/tile.rs` counts on.
const LANES: u32 = 32;
const INVOCATIONS: u32 = 256;
const SHARED: u32 = 48 << 10;

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
///
/// # Errors
/// Where there is no answer.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn works(gpu: &Gpu) -> Result<bool> {
    let (features, limits, info) = (gpu.device().features(), gpu.device().limits(), gpu.device().adapter_info());
    let has_all = features.contains(FEATURES)
        && [info.subgroup_min_size, info.subgroup_max_size] == [LANES; 2]
        && limits.max_compute_invocations_per_workgroup >= INVOCATIONS
        && limits.max_compute_workgroup_storage_size >= SHARED;
    Ok(has_all && check::is_passed(&check::sums(gpu)?))
}

/// No browser has cooperative matrices.
#[cfg(target_arch = "wasm32")]
pub(super) fn works(_: &Gpu) -> Result<bool> {
    Ok(false)
}

#[cfg(not(target_arch = "wasm32"))]
mod check {
    use super::super::arena::{create_storage, read_back};
    use super::super::device::{Gpu, Kind};
    use super::super::mapping;
    use crate::error::Result;

    /// Subgroups, and rows, columns and terms.
    const SUBGROUPS: usize = 8;
    const SIDE: usize = 16;
    const ALL: usize = SUBGROUPS * SIDE * SIDE;
    /// The largest error, in parts of the largest sum: a hundredth of that of sums of halves alone.
    const ERROR: f64 = 4e-6;

    /// A number of the check; halves.wgsl has the same.
    fn element(n: usize) -> f64 {
        ((n * 7919) % 65521) as f64 / 65536.0 - 0.5
    }

    /// The row of a subgroup's matrix, and the column of the other one, that make a sum.
    fn factors(at: usize) -> [usize; 2] {
        [SIDE * (at / SIDE), ALL + SIDE * (at % SIDE)]
    }

    /// Whether sums are right, and not finite where they cannot be.
    pub(super) fn is_passed(sums: &[f32]) -> bool {
        let (usual, beyond) = sums.split_at(ALL);
        let (of_rows, of_columns) = beyond.split_at(ALL);
        let finite_but = |sums: &[f32], is_beyond: &dyn Fn(usize) -> bool| {
            sums.iter().enumerate().all(|(at, sum)| sum.is_finite() != is_beyond(at))
        };
        is_right(usual)
            && finite_but(of_rows, &|at| (at / SIDE).is_multiple_of(SIDE))
            && finite_but(of_columns, &|at| at.is_multiple_of(SIDE))
    }

    /// Whether all sums, each of which was made twice, are right.
    fn is_right(sums: &[f32]) -> bool {
        let right = |at: usize| -> f64 {
            let [row, column] = factors(at);
            (0..SIDE).map(|k| 2.0 * element(row + k) * element(column + k)).sum()
        };
        let largest = (0..ALL).map(|at| right(at).abs()).fold(0.0, f64::max);
        sums.iter().enumerate().all(|(at, &sum)| (f64::from(sum) - right(at)).abs() <= ERROR * largest)
    }

    /// The sums that a device makes, in range, and beyond it by a row and by a column.
    pub(super) fn sums(gpu: &Gpu) -> Result<Vec<f32>> {
        let mut words = vec![0.0; 3 * ALL];
        let buffer = create_storage(gpu, "check", words.len())?;
        gpu.scoped(|| dispatch(gpu, &buffer))?;
        mapping::wait(read_back(gpu, &buffer, 0, &mut words))?;
        Ok(words)
    }

    fn dispatch(gpu: &Gpu, buffer: &wgpu::Buffer) {
        let device = gpu.device();
        gpu.count(Kind::Module);
        let source = wgpu::ShaderSource::Wgsl(include_str!("halves.wgsl").into());
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

        /// What a device gives that cuts off so many bits of an operand, and whose largest half is what it makes of larger numbers.
        fn given(bits: u32, largest: f64) -> Vec<f32> {
            let keep = |x: f64| f64::from(f32::from_bits((x as f32).to_bits() & (u32::MAX << bits)));
            let half = |x: f64| if x.abs() >= 65536.0 { largest.copysign(x) } else { x };
            let sum = |at: usize, scales: [f64; 2]| -> f64 {
                let [row, column] = factors(at);
                let product = |k| half(keep(element(row + k)) * scales[0]) * half(element(column + k) * scales[1]);
                (0..SIDE).map(|k| 2.0 * product(k)).sum()
            };
            let large = |is_first: bool| if is_first { 1048576.0 } else { 1.0 };
            let usual = (0..ALL).map(|at| sum(at, [1.0; 2]));
            let of_rows = (0..ALL).map(|at| sum(at, [large((at / SIDE).is_multiple_of(SIDE)), 1.0]));
            let of_columns = (0..ALL).map(|at| sum(at, [1.0, large(at.is_multiple_of(SIDE))]));
            usual.chain(of_rows).chain(of_columns).map(|sum| sum as f32).collect()
        }

        #[test]
        fn the_check_takes_sums_of_f32_and_no_others() {
            assert!(is_passed(&given(0, f64::INFINITY)));
            // An operand of halves alone, whose significands have 13 bits fewer.
            assert!(!is_passed(&given(13, f64::INFINITY)));
            // Numbers beyond the range that become the largest half.
            assert!(!is_passed(&given(0, 65504.0)));
            let mut swapped = given(0, f64::INFINITY);
            swapped[..ALL].rotate_left(SIDE * SIDE);
            assert!(!is_passed(&swapped));
        }
    }
}
