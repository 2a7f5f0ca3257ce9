//! Calls of ops and layers: arguments checked against the signature, result types from the body.

use super::features::mended_results;
use super::{Known, Shaper};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::attr::Attrs;
use crate::ir::graph::Call;
use crate::ir::written::{LayerSite, Site, What};
use crate::ir::{DType, Graph, Kind, Node, Type, Value};
use crate::ops::{self, Builder, Op, OpError, Signature};
use proc_macro2::Span;

impl Shaper<'_> {
    pub(super) fn call(&mut self, node: &Node, call: &Call, site: &Site) -> Known {
        let op = ops::op_of(call);
        let signature = Signature::of(op);
        let args = self.arguments(&signature, &node.args, site);
        let attrs = self.bindings.attrs(&call.attrs);
        if attrs.is_none() {
            self.report_unbound(site);
        }
        let (Some(args), Some(attrs)) = (args, attrs) else {
            return Known::Unknown;
        };
        let types: Vec<Type> = args.iter().map(|&a| self.new.ty(a).clone()).collect();
        let checked = check(op, &types, &own_names(site), call.float)
            .and_then(|()| results(op, &types, &attrs, (call.training, call.float), node.span));
        match checked {
            Ok(results) => {
                let call = Call { attrs, ..call.clone() };
                self.check_lookup(&call, &args, &types, site);
                let value = self.new.push(Kind::Op(call), args, results.first().cloned(), node.span);
                match results.len() {
                    1 => Known::One(value),
                    _ => Known::Many(value, results),
                }
            }
            Err(error) => {
                let layer = site.layer.as_ref();
                let given = layer.and_then(|layer| mended_results(layer, call, &types[..site.args.len()], &error));
                self.report_call(node, call, site, &types, error);
                self.given(node, given)
            }
        }
    }

    /// Stands for what a wrong call gives, where that is known.
    fn given(&mut self, node: &Node, results: Option<Vec<Type>>) -> Known {
        let Some(results) = results else { return Known::Unknown };
        let value = self.new.push(Kind::Input(usize::MAX), vec![], results.first().cloned(), node.span);
        self.supposed.push(value);
        match results.len() {
            1 => Known::One(value),
            _ => Known::Many(value, results),
        }
    }

    /// Whether a value is made of what a wrong call is supposed to give.
    pub(super) fn is_supposed(&self, value: Value) -> bool {
        let mut made = vec![false; self.new.nodes.len()];
        for at in self.new.values().take_while(|at| *at <= value) {
            let args = &self.new.node(at).args;
            made[at.0 as usize] = self.supposed.contains(&at) || args.iter().any(|arg| made[arg.0 as usize]);
        }
        made[value.0 as usize]
    }

    /// One result of a node with several; `site` is the user's expression where it names the result.
    pub(super) fn result(&mut self, node: &Node, k: usize, site: Option<(Option<usize>, &Site)>) -> Known {
        match self.known(node.args[0]).clone() {
            Known::Many(value, types) => {
                if let Some((of, site)) = site
                    && (of.is_some_and(|n| n != types.len()) || k >= types.len())
                {
                    let asked = of.map_or(format!("there is no `.{k}`"), |n| format!("{n} are asked for"));
                    let text = &site.args[0].0;
                    let message = format!("`{text}` has {} results, but {asked}", types.len());
                    let mut report = Diagnostic::new(Code::TupleLength, site.place, message);
                    // The names of the pattern follow the text.
                    let names = site.args[1..].iter().map(|(name, _)| name.as_str());
                    if names.len() > 0 {
                        let names: Vec<&str> = names.chain(std::iter::repeat("_")).take(types.len()).collect();
                        let help = format!("write `({})`", names.join(", "));
                        report = report.help(match of.and_then(|n| self.as_many(node.args[0], n)) {
                            Some(attr) => format!("{help}, or give {} for `{attr}`", of.unwrap_or_default()),
                            None => help,
                        });
                    }
                    self.diags.push(report);
                    return Known::Unknown;
                }
                self.push(node, Kind::Result(k), vec![value], types[k].clone())
            }
            Known::One(value) => {
                if let Some((of, site)) = site {
                    let ty = self.new.ty(value);
                    let message = format!("`{}` is one value of type {ty}, not a tuple", site.args[0].0);
                    let mut report = Diagnostic::new(Code::NotATuple, site.place, message);
                    if of == Some(2) && self.is_of_scan(node.args[0]) {
                        report = report.help("write `scan_with_state`, which gives the last state, too");
                    } else if ty.rank() > 0 {
                        report = report.help(format!("index it: `{}[{k}, ..]`", site.args[0].0));
                    }
                    self.diags.push(report);
                    return Known::Unknown;
                }
                Known::One(value)
            }
            // A call of an imported model is taken apart into as many as it gives.
            Known::Each(values) => values.get(k).map_or(Known::Unknown, |&value| Known::One(value)),
            Known::Literal(_) | Known::Unknown => Known::Unknown,
        }
    }

    /// Whether a value is what `scan` gives.
    fn is_of_scan(&self, value: Value) -> bool {
        let Kind::Written(written) = &self.old.node(value).kind else { return false };
        matches!(written.what, What::Restack { .. })
    }

    /// The attribute of a call that says how many results there are, where there can be `n`.
    fn as_many(&self, of: Value, n: usize) -> Option<&'static str> {
        let Kind::Written(written) = &self.old.node(of).kind else { return None };
        let What::Call(call) = &written.what else { return None };
        let types: Vec<Type> =
            self.old.node(of).args.iter().map(|&arg| self.one_type(arg).cloned()).collect::<Option<_>>()?;
        let attrs = self.bindings.attrs(&call.attrs)?;
        let gives = |attr: &&str| {
            let changed = attrs.with(attr, i64::try_from(n).unwrap_or_default());
            results_of_call(call, &types, &[], &changed).is_some_and(|results| results.len() == n)
        };
        written.site.attrs.iter().map(|(attr, _)| *attr).find(gives)
    }

    /// A dimension without a value follows from an earlier report, unless there is none.
    pub(super) fn report_unbound(&mut self, site: &Site) {
        if self.diags.is_empty() {
            let message = format!("no argument binds the dimensions that `{}` names", site.text);
            let report = Diagnostic::new(Code::UnboundDimension, site.place, message);
            self.diags.push(report.help("name them in the type of an argument"));
        }
    }

    pub(super) fn report_many(&mut self, value: Value, n: usize) {
        let node = self.old.node(value);
        let site = super::report::site_of(node);
        let message = format!("`{}` has {n} results, not one", site.text);
        let report = Diagnostic::new(Code::NotATensor, site.place, message);
        self.diags.push(report.help(format!("take one: `{}.0`", site.text)));
    }

    pub(super) fn report_prim(&mut self, node: &Node, message: String) -> Known {
        self.diags.push(Diagnostic::new(Code::Op, Place::from(node.span), message));
        Known::Unknown
    }
}

/// The names of the called layer's parameters.
fn own_names(site: &Site) -> Vec<&'static str> {
    let params = site.layer.as_ref().and_then(|layer| (ops::layer_of(layer).params)(&layer.attrs).ok());
    params.unwrap_or_default().iter().map(|param| param.name).collect()
}

/// Whether the arguments fit the signature.
pub(super) fn check(op: &Op, types: &[Type], own: &[&str], float: DType) -> Result<(), OpError> {
    ops::check(op, types, own, float).map(|_| ())
}

/// The types of the results of a call that is right with these arguments and attributes.
pub(super) fn results_of_call(call: &Call, types: &[Type], own: &[&str], attrs: &Attrs) -> Option<Vec<Type>> {
    let op = ops::op_of(call);
    check(op, types, own, call.float).ok()?;
    results(op, types, attrs, (call.training, call.float), Span::call_site()).ok()
}

/// The same where the call is that of a layer with other attributes, whose parameters follow the arguments.
pub(super) fn results_of_layer(layer: &LayerSite, attrs: &Attrs, call: &Call, args: &[Type]) -> Option<Vec<Type>> {
    let params = (ops::layer_of(layer).params)(attrs).ok()?;
    let own: Vec<&str> = params.iter().map(|param| param.name).collect();
    let float = args.iter().map(|ty| ty.dtype).find(|dtype| dtype.is_float()).unwrap_or(DType::F32);
    let params = params.iter().map(|param| Type::new(float, param.shape.clone()));
    let types: Vec<Type> = args.iter().cloned().chain(params).collect();
    results_of_call(call, &types, &own, &(ops::layer_of(layer).op_attrs)(attrs))
}

/// The types of the results, by building the body aside: in training or not, with that type of floats that no argument
/// decides.
pub(super) fn results(
    op: &Op,
    types: &[Type],
    attrs: &Attrs,
    (training, float): (bool, DType),
    span: Span,
) -> Result<Vec<Type>, OpError> {
    let mut graph = Graph::default();
    let input = |(k, ty): (usize, &Type)| graph.push(Kind::Input(k), vec![], Some(ty.clone()), span);
    let args: Vec<Value> = types.iter().enumerate().map(input).collect();
    let mut sites = 0;
    let mut builder = Builder { graph: &mut graph, span, training, float, sites: &mut sites, loops: vec![] };
    let values = ops::build(op, &mut builder, &args, attrs)?;
    Ok(values.into_iter().map(|value| graph.ty(value).clone()).collect())
}
