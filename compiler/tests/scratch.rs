use precast_compiler::{diag::Diags, stages};
#[test]
fn scratch() {
    let file = std::env::var("SRC").unwrap();
    let source = std::fs::read_to_string(file).unwrap();
    let mut diags = Diags::default();
    let mut models = stages::parse::parse(source.parse().unwrap(), &mut diags);
    println!("parse: {} models", models.len());
    stages::shape::shape(&mut models, &mut diags);
    for d in diags.list() {
        println!("error[{}] line {}: {}", d.code, d.place.line(), d.text());
    }
    for m in &models {
        println!("model {}", m.name);
        for p in &m.params {
            println!("  {} {} {:?} @{}", p.name, p.ty, p.stack, p.offset);
        }
        for f in &m.functions {
            println!("  fn {} {:?}", f.name, f.dims);
            show(&f.graph, 4);
        }
    }
}
fn show(g: &precast_compiler::ir::Graph, n: usize) {
    use precast_compiler::ir::Kind;
    for v in g.values() {
        let node = g.node(v);
        let k = match &node.kind {
            Kind::Op(c) => format!("{} {:?} ({})", c.op.name, c.attrs.0, c.callee),
            Kind::Repeat(r) => {
                format!("repeat {} carried {} stacked {}", r.count, r.carried, r.stacked)
            }
            k => format!("{k:?}"),
        };
        println!(
            "{:n$}{} = {k} {:?} : {:?} {:?}",
            "",
            v.0,
            node.args.iter().map(|a| a.0).collect::<Vec<_>>(),
            node.ty.as_ref().map(|t| t.to_string()),
            node.name
        );
        if let Kind::Repeat(r) = &node.kind {
            show(&r.body, n + 4);
        }
    }
    println!("{:n$}-> {:?}", "", g.outputs.iter().map(|a| a.0).collect::<Vec<_>>());
}
