//! The verifier of programs and plans: what fuse, schedule and memory make in, every broken invariant out.

use super::ensure;
use super::kernels::kernel_errors;
use crate::ir::joint::Joined;
use crate::ir::kernel::{Kernel, Skeleton};
use crate::ir::plan::Plans;
use crate::ir::program::{Buffer, BufferId, KernelId, Program, Role, Step};
use crate::ir::{DType, Type};

/// Checks programs after fuse or schedule; an error for each broken invariant, with the function and the kernel.
pub fn verify_programs(programs: &[Program]) -> Result<(), Vec<String>> {
    result(programs.iter().flat_map(|program| errors_of(program, false, &|kernel| Some(kernel))).collect())
}

/// Checks plans after memory.
pub fn verify_plans(plans: &Plans) -> Result<(), Vec<String>> {
    let mut errors = vec![];
    for plan in &plans.plans {
        errors.extend(errors_of(&plan.program, true, &|id: &KernelId| plans.kernels.get(id.0)));
        for places in [&plan.places, &plan.banked] {
            if places.len() != plan.program.buffers.len() {
                errors.push(format!("{}: {} places", plan.program.name, places.len()));
            }
        }
    }
    result(errors)
}

fn result(errors: Vec<String>) -> Result<(), Vec<String>> {
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Finds the kernel of a launch.
type Find<'p, K> = &'p dyn Fn(&'p K) -> Option<&'p Kernel>;

fn errors_of<'p, K>(program: &'p Program<K>, scheduled: bool, find: Find<'p, K>) -> Vec<String> {
    let mut scope = Scope { buffers: &program.buffers, find, scheduled, depth: 0, errors: vec![] };
    scope.steps(&program.steps);
    scope.errors.into_iter().map(|error| format!("{}: {error}", program.name)).collect()
}

/// What surrounds a step.
struct Scope<'p, K> {
    buffers: &'p [Buffer],
    find: Find<'p, K>,
    /// Whether every launch must say how a GPU runs it.
    scheduled: bool,
    /// How many loops.
    depth: usize,
    errors: Vec<String>,
}

impl<'p, K> Scope<'p, K> {
    fn steps(&mut self, steps: &'p [Step<K>]) {
        for step in steps {
            match step {
                Step::Launch { kernel, buffers } => {
                    self.launch(kernel, buffers);
                    let Some(kernel) = (self.find)(kernel) else { continue };
                    let alone = matches!(kernel.skeleton, Skeleton::Recur(_)) && kernel.schedule.workgroup.is_none();
                    self.keep("a recurrence", ensure(!alone, || "has no loop that does the same".into()));
                    let told = alone || !self.scheduled || kernel.schedule.workgroup.is_some();
                    self.keep(&kernel.name, ensure(told, || "does not say how a GPU runs it".into()));
                }
                Step::Loop { count: _, reverse: _, body } => {
                    self.depth += 1;
                    self.steps(body);
                    self.depth -= 1;
                }
                Step::Branch { selector, cases } => {
                    let selected = self.buffer(*selector).and_then(|buffer| {
                        ensure(matches!(buffer.dtype, DType::U32 | DType::Bool), || {
                            format!("selects by {}", buffer.dtype)
                        })
                    });
                    self.keep("a branch", selected.and_then(|()| ensure(!cases.is_empty(), || "has no case".into())));
                    cases.iter().for_each(|case| self.steps(case));
                }
                Step::Fused { kernel, buffers, steps } => {
                    self.launch(kernel, buffers);
                    self.steps(steps);
                }
                Step::Joined { joint, steps } => {
                    self.steps(steps);
                    let launch = |step: &'p Step<K>| {
                        let (kernel, buffers) = step.launch()?;
                        Some(((self.find)(kernel)?, buffers))
                    };
                    let launches: Option<Vec<Joined<'p>>> = steps.iter().map(launch).collect();
                    let wrong = launches
                        .map_or(Some("something that is no launch"), |launches| joint.error(&launches, self.buffers));
                    let what = format!("launches that are joined {}", joint.name());
                    self.keep(&what, wrong.map_or(Ok(()), |why| Err(format!("have {why}"))));
                }
                Step::Foreign { function, args, results } => {
                    for value in args.iter().chain(results) {
                        let found = self.value(value);
                        self.keep(&format!("foreign function {function}"), found);
                    }
                }
            }
        }
    }

    fn keep(&mut self, what: &str, found: Result<(), String>) {
        self.errors.extend(found.err().map(|why| format!("{what} {why}")));
    }

    fn buffer(&self, id: BufferId) -> Result<&Buffer, String> {
        self.buffers.get(id.0).ok_or_else(|| format!("uses b{}, which there is not", id.0))
    }

    /// A buffer that is the whole of a value of that type.
    fn value(&self, (id, ty): &(BufferId, Type)) -> Result<(), String> {
        let buffer = self.buffer(*id)?;
        let fits = buffer.dtype == ty.dtype && buffer.len == ty.count();
        ensure(fits, || format!("takes b{} for {ty}", id.0))
    }

    fn launch(&mut self, kernel: &'p K, bound: &[BufferId]) {
        match (self.find)(kernel) {
            None => self.errors.push("launches a kernel that there is not".into()),
            Some(kernel) => {
                let found = self.bound(kernel, bound);
                self.keep(&kernel.name, found);
                let errors = kernel_errors(kernel, self.depth);
                self.errors.extend(errors.into_iter().map(|why| format!("{}: {why}", kernel.name)));
            }
        }
    }

    /// Whether slots are bound to memory of their type and length that may be used so.
    fn bound(&self, kernel: &Kernel, bound: &[BufferId]) -> Result<(), String> {
        ensure(bound.len() == kernel.slots.len(), || format!("has {} slots on {}", kernel.slots.len(), bound.len()))?;
        for (number, (slot, id)) in kernel.slots.iter().zip(bound).enumerate() {
            let buffer = self.buffer(*id)?;
            let fits = slot.dtype == buffer.dtype && slot.len == buffer.len;
            ensure(fits, || format!("has slot s{number} on b{}, of {} {}", id.0, buffer.len, buffer.dtype))?;
            let constant = matches!(buffer.role, Role::Argument(_));
            ensure(!(slot.write && constant), || format!("writes the argument b{}", id.0))?;
        }
        Ok(())
    }
}
