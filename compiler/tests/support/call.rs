//! Calls of ops as text in, graphs out: the smallest evaluator that the examples of ops need.

use super::builder;
use precast_compiler::ir::attr::Attr;
use precast_compiler::ir::graph::Call;
use precast_compiler::ir::{DType, Graph, Kind, Type, Value};
use precast_compiler::ops::{OpError, check, op, read_dim, resolve};
use proc_macro2::Span;
use syn::{Expr, Lit, UnOp};

/// The names of values in scope.
pub type Names<'n> = &'n [(&'n str, Value)];

/// Appends the call and gives its results.
pub fn call(graph: &mut Graph, text: &str, names: Names<'_>) -> Result<Vec<Value>, OpError> {
    // `where` is a keyword of Rust, but not of the model language.
    let text = text.replace("where(", "r#where(");
    let expr: Expr = syn::parse_str(&text).unwrap_or_else(|why| panic!("`{text}`: {why}"));
    tensors(graph, &expr, names).unwrap_or_else(|| panic!("`{text}` is no call"))
}

fn tensors(graph: &mut Graph, expr: &Expr, names: Names<'_>) -> Option<Result<Vec<Value>, OpError>> {
    let expr = match expr {
        Expr::Path(path) => {
            let name = path.path.get_ident()?.to_string();
            return names.iter().find(|(n, _)| *n == name).map(|(_, v)| Ok(vec![*v]));
        }
        Expr::Call(call) => call,
        _ => return None,
    };
    let Expr::Path(callee) = &*expr.func else { return None };
    let name = callee.path.get_ident()?.to_string().replace("r#", "");
    let op = op(&name).unwrap_or_else(|| panic!("there is no op `{name}`"));
    let (mut args, mut positional, mut named) = (vec![], vec![], vec![]);
    for arg in &expr.args {
        if let Expr::Assign(assign) = arg {
            let Expr::Path(name) = &*assign.left else { return None };
            if let Some(values) = tensors(graph, &assign.right, names) {
                match values {
                    Ok(values) => args.extend(values),
                    Err(error) => return Some(Err(error)),
                }
                continue;
            }
            named.push((name.path.get_ident()?.to_string(), attr(&assign.right)?));
        } else {
            match tensors(graph, arg, names) {
                Some(Ok(values)) => args.extend(values),
                Some(Err(error)) => return Some(Err(error)),
                None => positional.push(attr(arg)?),
            }
        }
    }
    let types: Vec<Type> = args.iter().map(|&a| graph.ty(a).clone()).collect();
    Some((|| {
        check(op, &types, &[], DType::F32)?;
        let attrs = resolve(op.attrs, positional, named).map_err(|mut errors| errors.remove(0).error)?;
        let mut scratch = Graph::default();
        let inputs: Vec<Value> = types
            .iter()
            .enumerate()
            .map(|(k, ty)| scratch.push(Kind::Input(k), vec![], Some(ty.clone()), Span::call_site()))
            .collect();
        let results = precast_compiler::ops::build(op, &mut builder(&mut scratch, &mut 0), &inputs, &attrs)?;
        let types: Vec<Type> = results.iter().map(|&r| scratch.ty(r).clone()).collect();
        let call = Call { op: op.name.into(), attrs, callee: name.clone(), training: false, float: DType::F32 };
        let node = graph.push(Kind::Op(call), args, Some(types[0].clone()), Span::call_site());
        if types.len() == 1 {
            return Ok(vec![node]);
        }
        let parts = types.into_iter().enumerate();
        Ok(parts.map(|(k, ty)| graph.push(Kind::Result(k), vec![node], Some(ty), Span::call_site())).collect())
    })())
}

fn attr(expr: &Expr) -> Option<Attr> {
    match expr {
        Expr::Lit(lit) => Some(match &lit.lit {
            Lit::Int(n) => Attr::Int(n.base10_parse::<i64>().ok()?.into()),
            Lit::Float(x) => Attr::Float(x.base10_parse().ok()?),
            Lit::Bool(b) => Attr::Bool(b.value),
            Lit::Str(text) => Attr::Text(text.value()),
            _ => return None,
        }),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => match attr(&unary.expr)? {
            Attr::Int(dim) => Some(Attr::Int(-dim)),
            Attr::Float(x) => Some(Attr::Float(-x)),
            _ => None,
        },
        Expr::Array(list) => Some(Attr::List(list.elems.iter().map(attr).collect::<Option<_>>()?)),
        Expr::Path(path) if path.path.is_ident("None") => Some(Attr::Text("None".into())),
        other => read_dim(other).map(Attr::Int),
    }
}
