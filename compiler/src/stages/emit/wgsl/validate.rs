//! Checks printed WGSL while the macro runs, so that nobody's program meets a shader that does not compile.

use naga::valid::{Capabilities, ValidationFlags, Validator};

/// Validates a module as naga, which wgpu uses, does.
///
/// # Panics
/// Where the text is not valid: the printer is wrong then, and never the user.
pub(super) fn validate(wgsl: &str) {
    let module = match naga::front::wgsl::parse_str(wgsl) {
        Ok(module) => module,
        Err(error) => {
            unreachable!("this is a bug in precast, please report it: {}\n{wgsl}", error.emit_to_string(wgsl))
        }
    };
    // The runtime asks a device for these where an entry point needs them.
    let capabilities = Capabilities::default() | Capabilities::SHADER_FLOAT16 | Capabilities::COOPERATIVE_MATRIX;
    let mut validator = Validator::new(ValidationFlags::all(), capabilities);
    if let Err(error) = validator.validate(&module) {
        unreachable!("this is a bug in precast, please report it: {}\n{wgsl}", error.emit_to_string(wgsl));
    }
}
