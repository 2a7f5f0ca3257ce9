//! Programs with random damage: the compiler reports what it finds or compiles what is left, and never panics.
//!
//! `PRECAST_FUZZ=200000` damages more of them and looks at what each takes; `PRECAST_SEED=17` prints and tries one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast_compiler::diag::Diags;
use precast_compiler::dump::Dumps;
use precast_compiler::pipeline::{check, compile};
use precast_compiler::stages::{parse::parse, shape::shape};
use proc_macro2::{Group, Literal, TokenStream, TokenTree};
use quote::quote;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const PROGRAM: &str = "
    const WIDE: usize = 16;
    pub struct Net(layers = 2, dim = 8) {
        first: Conv2d(1, 4, kernel = 3, padding = 1),
        token: Embedding(5, dim),
        blocks: [Block(dim, hidden = 2 * dim); layers],
        gain: Parameter(dim, init = \"ones\"),
        output: Linear(dim, 10, bias = false),
    }
    struct Block(dim, hidden) { norm: LayerNorm(dim), up: Linear(dim, hidden), down: Linear(hidden, dim) }
    impl Block {
        fn forward(&self, x: f32[.., dim]) -> f32[.., dim] { x + self.down(gelu(self.up(self.norm(x)))) }
    }
    fn halves(x: f32[.., 2 * H]) -> (f32[.., H], f32[.., H]) { (x[.., ..H], x[.., H..]) }
    impl Net {
        pub fn scores(&self, ids: u32[B, T <= 32], image: f32[B, 1, 4, 4]) -> f32[B, 10] {
            let picture = max_pool2d(relu(self.first(image)), window = 2);
            let mut x = self.token(ids) * self.gain + mean(picture);
            let mut total = 0.0;
            for block in self.blocks { let y = { total = total + mean(x); block(x) }; x = y; }
            x += total;
            let (a, b): (f32[B, T, 4], f32[B, T, 4]) = halves(x);
            let y = concat(a, where(b > 0, b, -1.0), axis = -1);
            for i in 0..2 { if i == 1 { x += y / 2; } else { x = softmax(x, axis = 1); } }
            self.output(dropout(x[_, -1, _], 0.25))
        }
        #[train(AdamW)]
        pub fn loss(&self, ids: u32[B, T <= 32], image: f32[B, 1, 4, 4], label: u32[B]) -> f32 {
            cross_entropy(self.scores(ids, image), label)
        }
    }";

/// Numbers at the ends of what is meant.
const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "7",
    "100000000",
    "2147483647",
    "4294967295",
    "4294967296",
    "10000000000",
    "9223372036854775807",
    "9223372036854775808",
    "0.0",
    "1e39",
];

/// What rustc gives the thread on which it runs macros.
const STACK: usize = 8 << 20;

/// What a macro may take: seconds of a build, and bytes. What takes much longer is taken for endless.
const LONGEST: Duration = Duration::from_secs(2);
const ENDLESS: Duration = Duration::from_secs(60);
const MOST: u64 = 1 << 30;

/// A sequence of numbers (Marsaglia's xorshift).
struct Numbers(u64);

impl Numbers {
    /// A sequence of its own for each seed.
    fn new(seed: u64) -> Numbers {
        let mut numbers = Numbers(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (0..8).for_each(|_| _ = numbers.below(2));
        numbers
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % n as u64) as usize
    }

    fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }
}

/// The texts of all `model!` of the examples, tests and measurements.
fn texts() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut texts, mut files) = (vec![PROGRAM.to_owned()], vec![]);
    ["examples", "tests", "benches"].iter().for_each(|folder| rust_files(&root.join(folder), &mut files));
    files.sort();
    for file in files {
        let source = std::fs::read_to_string(&file).unwrap();
        // Templates of whole programs are not Rust.
        if let Ok(tokens) = source.parse() {
            models(tokens, &mut texts);
        }
    }
    texts
}

fn rust_files(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// What stands in the braces behind `model!`, at any depth.
fn models(tokens: TokenStream, texts: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (k, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let before = |n: usize| k.checked_sub(n).map(|at| tokens[at].to_string());
        match before(1).as_deref() == Some("!") && before(2).as_deref() == Some("model") {
            true => texts.push(group.stream().to_string()),
            false => models(group.stream(), texts),
        }
    }
}

fn every_token(tokens: &TokenStream, into: &mut Vec<TokenTree>) {
    for token in tokens.clone() {
        if let TokenTree::Group(group) = &token {
            every_token(&group.stream(), into);
        }
        into.push(token);
    }
}

/// What happens to a token.
enum Damage {
    Removed,
    Doubled,
    Replaced(TokenTree),
}

/// The text with its `at`-th token damaged.
fn damaged(tokens: &TokenStream, at: &mut usize, how: &Damage) -> TokenStream {
    let mut out = vec![];
    for token in tokens.clone() {
        let token = match token {
            TokenTree::Group(group) => {
                let inner = damaged(&group.stream(), at, how);
                let mut new = Group::new(group.delimiter(), inner);
                new.set_span(group.span());
                TokenTree::Group(new)
            }
            token => token,
        };
        let here = *at == 0;
        *at = at.wrapping_sub(1);
        match how {
            _ if !here => out.push(token),
            Damage::Removed => {}
            Damage::Doubled => out.extend([token.clone(), token]),
            Damage::Replaced(other) => out.push(other.clone()),
        }
    }
    out.into_iter().collect()
}

/// One of the programs with one to three damages.
fn mutant(programs: &[TokenStream], numbers: &mut Numbers) -> TokenStream {
    let mut text = numbers.one(programs).clone();
    let mut others = vec![];
    every_token(numbers.one(programs), &mut others);
    for _ in 0..1 + numbers.below(3) {
        let mut tokens = vec![];
        every_token(&text, &mut tokens);
        if tokens.is_empty() {
            continue;
        }
        let how = match numbers.below(8) {
            0 | 1 => Damage::Removed,
            2 => Damage::Doubled,
            3 | 4 => Damage::Replaced(numbers.one(&tokens).clone()),
            5 if !others.is_empty() => Damage::Replaced(numbers.one(&others).clone()),
            _ => Damage::Replaced(numbers.one(&NUMBERS).parse::<Literal>().unwrap().into()),
        };
        // A number where there was one is more often a program than a number where there was a word.
        let literals = || (0..tokens.len()).filter(|k| matches!(tokens[*k], TokenTree::Literal(_))).collect::<Vec<_>>();
        let mut at = match &how {
            Damage::Replaced(TokenTree::Literal(_)) if !literals().is_empty() => *numbers.one(&literals()),
            _ => numbers.below(tokens.len()),
        };
        text = damaged(&text, &mut at, &how);
    }
    text
}

/// What is wrong with what the compiler does with a text.
fn judge(text: &TokenStream) -> Result<(), String> {
    let compiled = catch_unwind(AssertUnwindSafe(|| {
        let (_, diags) = check(text.clone());
        // Names of inner dimensions are the compiler's own.
        let inner = |text: &str| text.split('#').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let leak = diags.list().iter().map(|report| report.text()).find(|text| inner(text));
        (leak, compile(quote!((::precast) #text), 0, &mut Dumps::default()))
    }));
    match compiled {
        Err(_) => Err("it panics".into()),
        Ok((Some(leak), _)) => Err(format!("it says {leak}")),
        Ok((None, emitted)) => match syn::parse2::<syn::File>(emitted) {
            Ok(_) => Ok(()),
            Err(why) => Err(format!("what is emitted is not Rust: {why}")),
        },
    }
}

/// What all threads share.
struct Fuzz {
    texts: Vec<String>,
    /// The next seed, and where it ends.
    next: AtomicU64,
    end: u64,
    /// Whether the time of each is looked at.
    is_long: bool,
    /// The seeds that are being tried, and since when.
    running: Mutex<BTreeMap<u64, Instant>>,
    failed: Mutex<Vec<String>>,
}

impl Fuzz {
    fn programs(&self) -> Vec<TokenStream> {
        self.texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// Tries seeds until there are no more.
    fn work(&self) {
        let mut programs = self.programs();
        for round in 1.. {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= self.end {
                return;
            }
            self.round(&programs, seed);
            // Every number that is parsed is remembered with its place.
            if round % 500 == 0 {
                proc_macro2::extra::invalidate_current_thread_spans();
                programs = self.programs();
            }
        }
    }

    fn round(&self, programs: &[TokenStream], seed: u64) {
        let text = mutant(programs, &mut Numbers::new(seed));
        let start = Instant::now();
        self.running.lock().unwrap().insert(seed, start);
        let mut judged = judge(&text);
        self.running.lock().unwrap().remove(&seed);
        if self.is_long && judged.is_ok() && start.elapsed() > LONGEST {
            judged = Err(format!("it takes {:?}", start.elapsed()));
        }
        if let Err(why) = judged {
            self.failed.lock().unwrap().push(format!("PRECAST_SEED={seed}: {why}\n{text}\n"));
        }
    }

    /// Ends the process where a text takes for ever, which nothing else can.
    fn watch(&self) {
        let is_done = || self.next.load(Ordering::Relaxed) >= self.end && self.running.lock().unwrap().is_empty();
        while !is_done() {
            let running = self.running.lock().unwrap();
            if let Some((seed, _)) = running.iter().find(|(_, start)| start.elapsed() > ENDLESS) {
                eprintln!("PRECAST_SEED={seed} does not end");
                std::process::abort();
            }
            drop(running);
            std::thread::park_timeout(Duration::from_millis(100));
        }
    }
}

/// The most memory that this process has had, where Linux tells it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

#[test]
fn the_undamaged_program_has_no_mistakes() {
    let mut diags = Diags::default();
    let mut models = parse(PROGRAM.parse().unwrap(), &mut diags);
    shape(&mut models, &mut diags);
    assert!(diags.is_empty(), "{diags:?}");
}

#[test]
fn damage_is_reported_and_never_panics() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let (rounds, seed) = (number("PRECAST_FUZZ"), number("PRECAST_SEED"));
    let first = seed.unwrap_or(0);
    let end = first + rounds.unwrap_or(if seed.is_some() { 1 } else { 400 });
    let fuzz = Fuzz {
        texts: texts(),
        next: AtomicU64::new(first),
        end,
        is_long: rounds.is_some(),
        running: Mutex::default(),
        failed: Mutex::default(),
    };
    if seed.is_some() && rounds.is_none() {
        eprintln!("{}", mutant(&fuzz.programs(), &mut Numbers::new(first)));
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || fuzz.work()).unwrap();
        }
        if fuzz.is_long {
            fuzz.watch();
        }
    });
    let failed = fuzz.failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), end - first, failed.join("\n"));
    assert!(rounds.is_none() || peak().is_none_or(|bytes| bytes < MOST), "{:?} bytes were taken", peak());
}
