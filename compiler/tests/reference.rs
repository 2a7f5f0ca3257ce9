//! REFERENCE.md, and the same as items of Rust that editors and rustdoc show: every layer, function, optimiser and initialiser
//! with its arguments, from the one declaration of each.
//!
//! `BLESS=1 cargo test -p precast-compiler --test reference` writes them anew.

use precast_compiler::ops::{AttrDecl, AttrKind, INITIALIZERS, Initializer, Item, Layer, Op, Optimizer, items};
use precast_compiler::pipeline::check;
use std::fmt::Write;
use std::path::Path;

/// What stands before the entries.
const INTRODUCTION: &str = "\
# Reference

Every layer, function, optimiser and initialiser of the model language. The page is generated from their declarations in
[`compiler/src/ops`](compiler/src/ops); a test keeps it current.

**Signatures.** `float[.., K]` is a tensor of `f32` whose last axis is `K`. `..` is any number of axes, the same wherever it
stands in one signature, `[...]` is any shape, a name is an extent, equal wherever it stands, and `_` is any extent. `number` is
`f32`, `i32` or `u32`, `int` is `i32` or `u32`, `any` is these or `bool`, and arguments of one class have one type; only those of
`each` may differ. `?` marks an argument that may be left out, `!` one that is given by its name, `*` a last one that may stand
several times. A result `*` is what the text says.

**Attributes** are known at build time and stand behind the tensors, in this order or by their names:
`conv2d(x, w, stride = 2, padding = \"same\")`. Functions may be called as methods too: `x.mean(axis = -1)`.
";

#[test]
fn the_reference_is_current() {
    is_current("REFERENCE.md", &page());
}

#[test]
fn the_items_of_the_reference_are_current() {
    is_current("runtime/src/reference.rs", &module());
}

fn is_current(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).expect("the repository can be written");
    }
    let kept = std::fs::read_to_string(&path).expect("the file is kept");
    assert!(kept == text, "{file} is not what the declarations say: run this test with BLESS=1");
}

/// What stands before the items.
const ITEMS: &str = "\
//! What the names of the model language mean: an item for each layer and function, which editors show where `model!` names
//! it. Nothing here is to be called.
//!
//! The file is generated from the declarations in the compiler; a test keeps it current.
";

/// The reference as a module.
fn module() -> String {
    let (mut layers, mut ops) = (vec![], vec![]);
    for item in items() {
        let mut doc = String::new();
        match item {
            Item::Layer(one) => {
                layer(&mut doc, one);
                layers.push((one.name, String::new(), doc));
            }
            Item::Op(one) => {
                op(&mut doc, one);
                ops.push((one.name, format!("{}{}", one.name, one.signature), doc));
            }
            Item::Optimizer(_) => {}
        }
    }
    let mut out = ITEMS.to_owned();
    for (name, title, mut entries) in [("layers", "Layers.", layers), ("functions", "Functions.", ops)] {
        entries.sort();
        _ = write!(out, "\n/// {title}\n#[allow(non_upper_case_globals)]\npub mod {name} {{\n");
        let entries = entries.iter().map(|(name, text, doc)| entry(name, text, doc));
        out.push_str(&entries.collect::<Vec<_>>().join("\n"));
        out.push_str("}\n");
    }
    out
}

/// One entry: its documentation without the heading, and links as words; `text` is its signature, where it has one.
fn entry(name: &str, text: &str, doc: &str) -> String {
    let mut out = String::new();
    let body = doc.split_once("</a>").map_or(doc, |(_, body)| body);
    let body = body.split_once('\n').map_or(body, |(_, body)| body);
    for line in body.trim().lines() {
        _ = writeln!(out, "{}", format!("    /// {}", unlinked(line)).trim_end());
    }
    let name = if name == "where" { "r#where" } else { name };
    _ = match text {
        "" => writeln!(out, "    pub struct {name};"),
        text => writeln!(out, "    pub const {name}: &str = {text:?};"),
    };
    out
}

/// A line with the words of its links.
fn unlinked(line: &str) -> String {
    let Some((before, after)) = line.split_once("](#") else { return line.to_owned() };
    let (Some((text, word)), Some((_, rest))) = (before.rsplit_once('['), after.split_once(')')) else {
        return line.to_owned();
    };
    format!("{text}{word}{}", unlinked(rest))
}

fn page() -> String {
    let (mut layers, mut ops, mut optimizers) = (vec![], vec![], vec![]);
    for item in items() {
        match item {
            Item::Layer(layer) => layers.push(layer),
            Item::Op(op) => ops.push(op),
            Item::Optimizer(optimizer) => optimizers.push(optimizer),
        }
    }
    layers.sort_by_key(|layer| layer.name);
    ops.sort_by_key(|op| op.name);
    let mut out = INTRODUCTION.to_owned();
    contents(&mut out, "Layers", "layer", layers.iter().map(|one| one.name));
    contents(&mut out, "Functions", "function", ops.iter().map(|one| one.name));
    contents(&mut out, "Optimisers", "optimiser", optimizers.iter().map(|one| one.name));
    out.push_str("\n[Initialisers](#initialisers) · [Names in PyTorch and ONNX](#names)\n");
    out.push_str("\n## Layers\n");
    layers.iter().for_each(|one| layer(&mut out, one));
    out.push_str("\n## Functions\n");
    ops.iter().for_each(|one| op(&mut out, one));
    out.push_str("\n## Optimisers\n");
    optimizers.iter().for_each(|one| optimizer(&mut out, one));
    out.push_str("\n## <a id=\"initialisers\"></a>Initialisers\n\nWhat `init = …` and `bias_init = …` take; each is PyTorch's `torch.nn.init` function of that name.\n");
    INITIALIZERS.iter().for_each(|one| initializer(&mut out, one));
    names(&mut out, &layers, &ops, &optimizers);
    out
}

/// All entries of a kind, each a link.
fn contents<'a>(out: &mut String, title: &str, kind: &str, names: impl Iterator<Item = &'a str>) {
    let links: Vec<String> = names.map(|name| link(kind, name)).collect();
    _ = writeln!(out, "\n**{title}**: {}", links.join(" · "));
}

/// The way from names of PyTorch and ONNX to ours.
fn names(out: &mut String, layers: &[&Layer], ops: &[&Op], optimizers: &[&Optimizer]) {
    let mut torch: Vec<(String, String)> =
        layers.iter().map(|layer| (layer.torch.to_owned(), link("layer", layer.name))).collect();
    torch.extend(ops.iter().filter_map(|op| Some((op.torch?.to_owned(), link("function", op.name)))));
    torch.extend(optimizers.iter().map(|one| (format!("torch.optim.{}", one.torch), link("optimiser", one.name))));
    let onnx = ops.iter().filter_map(|op| Some((op.onnx?.to_owned(), link("function", op.name)))).collect();
    out.push_str("\n## <a id=\"names\"></a>Names in PyTorch and ONNX\n");
    rows(out, "PyTorch", torch);
    rows(out, "ONNX", onnx);
}

fn rows(out: &mut String, theirs: &str, mut pairs: Vec<(String, String)>) {
    _ = writeln!(out, "\n| {theirs} | here |\n|---|---|");
    pairs.sort();
    for same in pairs.chunk_by(|a, b| a.0 == b.0) {
        let ours: Vec<&str> = same.iter().map(|(_, link)| link.as_str()).collect();
        _ = writeln!(out, "| `{}` | {} |", same[0].0, ours.join(", "));
    }
}

/// Some kinds have entries of one name, of which anchors do not keep the capitals.
fn anchor(kind: &str, name: &str) -> String {
    format!("{kind}-{}", name.to_lowercase())
}

fn link(kind: &str, name: &str) -> String {
    format!("[`{name}`](#{})", anchor(kind, name))
}

fn heading(out: &mut String, kind: &str, name: &str) {
    _ = writeln!(out, "\n### <a id=\"{}\"></a>`{name}`\n", anchor(kind, name));
}

fn layer(out: &mut String, layer: &Layer) {
    heading(out, "layer", layer.name);
    _ = writeln!(
        out,
        "{} In PyTorch `{}`. A call computes {}.",
        layer.doc,
        layer.torch,
        link("function", layer.op.name)
    );
    attributes(out, layer.attrs);
    let example = &layer.example;
    let (models, diags) = check(example.program().parse().expect("balanced brackets"));
    assert!(diags.is_empty(), "{}: {:?}", layer.name, diags.list());
    let params = models[0].params.iter().map(|param| format!("`{}: {}`", param.name, param.ty));
    let params: Vec<String> = params.collect();
    let inputs: Vec<String> = example.inputs.iter().map(|(name, ty)| format!("`{name}: {ty}`")).collect();
    let (declared, call, inputs) = (example.declared, example.call, inputs.join(", "));
    _ = write!(out, "\nExample: with `layer: {declared}`, `{call}` of {inputs} is `{}`.", example.result);
    if !params.is_empty() {
        _ = write!(out, " Its parameters: {}.", params.join(", "));
    }
    out.push('\n');
}

fn op(out: &mut String, op: &Op) {
    heading(out, "function", op.name);
    _ = writeln!(out, "```text\n{}{}\n```\n\n{}", op.name, op.signature, op.doc);
    let torch = op.torch.map(|name| format!("in PyTorch `{name}`"));
    let onnx = op.onnx.map(|name| format!("in ONNX `{name}`"));
    let elsewhere: Vec<String> = torch.into_iter().chain(onnx).collect();
    if !elsewhere.is_empty() {
        let text = elsewhere.join(", ");
        _ = writeln!(out, "\n{}{}.", text[..1].to_uppercase(), &text[1..]);
    }
    attributes(out, op.attrs);
    let Some(example) = op.examples.first() else { unreachable!("the item tests ask each op for examples") };
    let inputs: Vec<String> = example.inputs.iter().map(|(name, ty, _)| format!("`{name}: {ty}`")).collect();
    let of = if inputs.is_empty() { String::new() } else { format!(" of {}", inputs.join(", ")) };
    _ = writeln!(out, "\nExample: `{}`{of} is `{}`.", example.call, example.result);
}

fn optimizer(out: &mut String, one: &Optimizer) {
    heading(out, "optimiser", one.name);
    let states: Vec<String> = one.states.iter().map(|name| format!("`{name}`")).collect();
    _ = writeln!(out, "{} In PyTorch `torch.optim.{}`.\n", one.doc, one.torch);
    _ = writeln!(out, "States of a parameter: {}.\n\n| field | default |\n|---|---|", states.join(", "));
    one.fields.iter().for_each(|(field, default)| _ = writeln!(out, "| `{field}` | `{default}` |"));
    let name = one.name;
    _ = writeln!(
        out,
        "\nExample: `#[train({name})]` before `pub fn loss`, and `net.trainer({name} {{ rate: 0.1, ..{name}::default() }})`."
    );
}

fn initializer(out: &mut String, one: &Initializer) {
    heading(out, "initialiser", one.name);
    _ = writeln!(out, "{}", one.doc);
    attributes(out, one.attrs);
}

fn attributes(out: &mut String, attrs: &[AttrDecl]) {
    if attrs.is_empty() {
        return;
    }
    out.push_str("\n| attribute | takes | default | meaning |\n|---|---|---|---|\n");
    for attr in attrs {
        let default = match attr.default {
            None => "required".to_owned(),
            Some("") => String::new(),
            Some(text) => format!("`{text}`"),
        };
        _ = writeln!(out, "| `{}` | {} | {default} | {} |", attr.name, takes(attr.kind), attr.doc.replace('|', "\\|"));
    }
}

fn takes(kind: AttrKind) -> String {
    let words = |words: &[&str]| words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ");
    match kind {
        AttrKind::Int => "an integer".into(),
        AttrKind::Dim => "an extent".into(),
        AttrKind::Ints => "integers, one for each axis or one for all".into(),
        AttrKind::IntsOr(list) => format!("integers, one for each axis or one for all, or {}", words(list)),
        AttrKind::Shape => "extents".into(),
        AttrKind::Float => "a number".into(),
        AttrKind::FloatOrNone => "a number or `None`".into(),
        AttrKind::Bool => "`true` or `false`".into(),
        AttrKind::BoolOr(list) => format!("`true`, `false` or {}", words(list)),
        AttrKind::Word(list) => words(list),
        AttrKind::Text => "a text".into(),
        AttrKind::Init => "an [initialiser](#initialisers)".into(),
    }
}
