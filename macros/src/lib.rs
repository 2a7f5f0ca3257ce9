//! The procedural macro behind `precast::model!`.

use precast_compiler::{dump::Dumps, pipeline};
use proc_macro::TokenStream;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The calls in this crate: rustc runs for one crate and expands it in the same order each time.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// The models of a text in the model language. The tokens start with a group that holds the path of the runtime
/// crate, which `precast::model!` knows as `$crate`; programs call that macro and not this one.
///
/// `PRECAST_DUMP=<stages>` writes what the stages make of each model to `PRECAST_DUMP_DIR`, or `target/precast`.
#[doc(hidden)]
#[proc_macro]
pub fn model(tokens: TokenStream) -> TokenStream {
    let wish = std::env::var("PRECAST_DUMP").unwrap_or_default();
    let mut dumps = match Dumps::of(&wish) {
        Ok(dumps) => dumps,
        Err(word) => return failure(&format!("PRECAST_DUMP names `{word}`, which is no stage")),
    };
    let number = CALLS.fetch_add(1, Ordering::Relaxed);
    let tokens = pipeline::compile(tokens.into(), number, &mut dumps).into();
    match write(&dumps) {
        Ok(()) => tokens,
        Err(why) => failure(&format!("PRECAST_DUMP cannot write: {why}")),
    }
}

fn write(dumps: &Dumps) -> std::io::Result<()> {
    let folder = std::env::var("PRECAST_DUMP_DIR").unwrap_or_else(|_| "target/precast".into());
    for file in &dumps.files {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(std::path::Path::new(&folder).join(&file.name), &file.text)?;
    }
    Ok(())
}

fn failure(message: &str) -> TokenStream {
    TokenStream::from_iter(
        [format!("::core::compile_error!({message:?});").parse().unwrap_or_default()] as [TokenStream; 1]
    )
}
