//! The text form: it reads as it should, and what prints parses back.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::type_complexity,
    reason = "tests fail by panicking, and share a public module"
)]

use precast_compiler::dump::Dumps;
use precast_compiler::ir::plan::Plans;
use precast_compiler::ir::verify::{After, verify};
use precast_compiler::ir::{Graph, Model, dot};
use precast_compiler::pipeline::compile;
use precast_compiler::stages::expand::expand;
use std::path::Path;

const MODEL: &str = r##"model Net vis="pub" deterministic=true attrs=["# [doc = \" Two layers.\"]"] {
  param "blocks.*.weight": f32[4, 4] stack=[3] offset=0 init={of uniform, number 0.5}
  param "scale": f32 stack=[] offset=64 init={of ones}
  function run(x: f32[B, 4], n: u32[T]) dims=[{name B}, {name T, bound 512}] results=Out names=[y, m] {
    %0: f32[B, 4] = input() index=0 ; x
    return %0
  }
}
"##;

#[test]
fn a_model_prints_and_parses_back() {
    let model: Model = MODEL.parse().unwrap();
    assert_eq!(model.to_string(), MODEL);
    assert_eq!(model.params[0].stack, [3]);
    assert_eq!(model.functions[0].dims[1].bound, Some(512));
    verify(&model, After::Expand).unwrap();
}

#[test]
fn an_error_names_its_line() {
    let refused = |text: &str| text.parse::<Graph>().unwrap_err();
    assert_eq!(
        refused("%0: f32 = const() value=-1e-5\n%2: f32 = neg(%0)\nreturn %2\n"),
        "line 2: %2 where %1 comes next"
    );
    assert_eq!(refused("%0: f32 = nought()\nreturn %0"), "line 1: no primitive `nought`");
}

const OPS: &str = r#"model Net {
  param "weight": f32[2, 3, 3] stack=[] offset=0 init={of zeros}
  function run(x: f32[B, 3]) dims=[{name B}] {
    %0: f32[B, 3] = input() index=0 ; x
    %1: f32[2, 3, 3] = param() index=0
    %2 = repeat(%0, %1) count=2 reverse=false carried=1 stacked=1 {
      %0: f32[B, 3] = input() index=0
      %1: f32[3, 3] = input() index=1
      %2: f32[B, 3] = op(%0, %1) name=linear callee="self.layer" training=false attrs={} ; h
      %3: f32[B, 3] = op(%2) name=softmax callee="softmax" training=false attrs={axis -1} ; h
      return %3
    }
    %3: f32[B, 3] = result(%2) index=0
    return %3
  }
}
"#;

#[test]
fn ops_expand_inside_regions() {
    let model: Model = OPS.parse().unwrap();
    assert_eq!(model.to_string(), OPS);
    let expanded = expand(model);
    verify(&expanded, After::Expand).unwrap();
    let text = expanded.to_string();
    assert!(!text.contains(" op("), "{text}");
    assert!(text.contains("%2: f32[B, 3] = contract(%0, %1) lhs=\"ak\" rhs=\"nk\" out=\"an\" ; h"), "{text}");
    assert_eq!(text.parse::<Model>().unwrap().to_string(), text);
    let picture = dot::function(&expanded.functions[0]);
    assert!(picture.contains("subgraph cluster_n2 {"), "{picture}");
}

#[test]
fn the_verifier_names_what_is_broken() {
    let refused = |from: &str, to: &str| {
        let model: Model = OPS.replace(from, to).parse().unwrap();
        verify(&model, After::Shape).unwrap_err().join("; ")
    };
    verify(&OPS.parse().unwrap(), After::Shape).unwrap();
    assert_eq!(refused("%3: f32[B, 3] = result", "%3: f32[B, 2] = result"), "run: %3: is f32[B, 2], not f32[B, 3]");
    assert_eq!(refused("count=2", "count=3"), "run: %2: the stacked argument 1 is f32[2, 3, 3] for 3 iterations");
    assert_eq!(refused("(%2) name=softmax", "(%3) name=softmax"), "run: %2: in its body %3: uses %3 before it exists");
    assert_eq!(verify(&OPS.parse().unwrap(), After::Expand).unwrap_err().len(), 2);
}

const PLANS: &str = r#"kernel k0 row {
  slot s0: f32[B*T] read
  slot s1: f32[T + 1] read write
  axis i0: B
  axis i1: T
  v0 = load s0[i0 - i1 + (T + 1)*div(i1 + 2*l0, 3) - 2*T - 1] where within(i0 - 1, B), multiple(mod(i1, T), 3) else -inf
  v1 = accumulated f32(0, 0)
  v2 = convert u32(v1)
  v3 = index v2 + max(B, T)
  row parallel=[i0] reduced=[i1] {
    pass {
      argmin v0
      store s1[i1] = v0
    }
    store s1[T] = v1
  }
  schedule vector=i0
  workgroup of=rows invocations=64 cooperative=true block=16
}
plan run scratch=64*B banks=[64*B, 0, 0, B] {
  b0: f32[B*T] argument index=1 in argument index=1 offset=0
  b1: f32[T + 1] source of=state index=2 in scratch offset=64*B - 64 len=0 in bank index=3 offset=0
  loop count=3 reverse=true {
    launch k0(b0, b1)
  }
}
"#;

#[test]
fn plans_print_and_parse_back() {
    assert_eq!(PLANS.parse::<Plans>().unwrap().to_string(), PLANS);
    let refused = |from: &str, to: &str| PLANS.replace(from, to).parse::<Plans>().unwrap_err();
    assert_eq!(refused("axis i1", "axis i2"), "line 5: i2 where i1 comes next");
    assert_eq!(refused("argmin v0", "argmin s0"), "line 12: `s0` where `v` and a number are wanted");
    assert_eq!(refused("multiple", "odd"), "line 6: no condition `odd`");
    assert_eq!(refused("i0 - i1", "i0 * i1"), "line 6: a product of two indices");
    assert_eq!(refused("[64*B, 0, 0, B]", "[64*B]"), "line 20: 1 banks instead of 4");
    assert_eq!(refused("vector=i0", "vectors=i0"), "no field is called `vectors` here");
    assert_eq!(refused("of=rows", "of=attend"), "no field is called `cooperative` here");
    assert_eq!(refused("invocations=64", "invocations=4294967360"), "a workgroup of 4294967360");
}

/// What stands beside a line of a dump, behind three spaces, is about it.
#[test]
fn the_step_that_the_architecture_shows_is_what_schedule_makes_of_the_digits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let program = read("examples/examples/digits.rs");
    let (_, rest) = program.split_once("model! {\n").unwrap();
    let (model, _) = rest.split_once("\n}\n").unwrap();
    let mut dumps = Dumps::of("schedule").unwrap();
    let model: proc_macro2::TokenStream = model.parse().unwrap();
    compile(quote::quote!({ ::precast } #model), 0, &mut dumps);
    let dump = dumps.files.iter().map(|file| file.text.as_str()).collect::<String>();
    let (_, step) = dump.rsplit_once("program loss {\n").unwrap();
    let mut made = step.lines().map(str::trim);
    let page = read("ARCHITECTURE.md");
    let (_, rest) = page.split_once("```text\nlaunch ").unwrap();
    let (shown, _) = rest.split_once("\n```").unwrap();
    let shown = format!("launch {shown}");
    let lines = shown.lines().filter(|line| !line.starts_with(&" ".repeat(20)));
    let lines: Vec<&str> = lines.filter_map(|line| line.trim().split("   ").next()).collect();
    assert!(lines.len() > 20, "{lines:?}");
    for line in lines {
        assert!(made.any(|one| one == line), "`{line}` is not what schedule makes, or not in this order");
    }
}
