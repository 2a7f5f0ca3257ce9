//! Nodes: how values get into the graph of the innermost loop.

use super::super::ast::Expr;
use super::super::instance::FieldInstance;
use super::super::words;
use super::state::Lasting;
use super::{Elaborator, Frame, Module, Pick, Tensor, Val};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::attr::Attr;
use crate::ir::model::ParamId;
use crate::ir::written::{Item, Site, What};
use crate::ir::{Kind, Type, Value, Written};

impl Elaborator<'_, '_> {
    pub(super) fn top(&mut self) -> &mut Frame {
        match self.frames.last_mut() {
            Some(frame) => frame,
            None => unreachable!("the function's own graph stays open"),
        }
    }

    /// Appends a node to the innermost graph.
    pub(super) fn push(&mut self, kind: Kind, args: &[Tensor], ty: Option<Type>, place: Place) -> Tensor {
        let args = args.iter().map(|&arg| self.reach(arg)).collect();
        let frame = self.frames.len() - 1;
        let value = self.top().graph.push(kind, args, ty, place.first);
        Tensor { frame, value }
    }

    /// Appends a node that shape will check.
    pub(super) fn write(&mut self, what: What, site: Site, args: &[Tensor]) -> Tensor {
        let (place, via) = (site.place, self.diags.entered());
        self.push(Kind::Written(Box::new(Written { what, site, via })), args, None, place)
    }

    /// The value as seen by the innermost graph.
    pub(super) fn reach(&mut self, tensor: Tensor) -> Value {
        let mut value = tensor.value;
        for frame in tensor.frame + 1..self.frames.len() {
            value = self.import(frame, value, false);
        }
        value
    }

    /// An input of a loop's body that gives a value of the graph around it, or a slice of that value.
    pub(super) fn import(&mut self, frame: usize, outer: Value, sliced: bool) -> Value {
        let known = |list: &[(Value, Value)]| list.iter().find(|(o, _)| *o == outer).map(|(_, inner)| *inner);
        let list = if sliced { &self.frames[frame].stacked } else { &self.frames[frame].invariants };
        if let Some(inner) = known(list) {
            return inner;
        }
        let node = self.frames[frame - 1].graph.node(outer).clone();
        let ty = node.ty.map(|ty| match sliced {
            true => Type::new(ty.dtype, ty.shape.get(1..).unwrap_or_default()),
            false => ty,
        });
        // The numbers of inputs are settled when the loop is closed.
        let graph = &mut self.frames[frame].graph;
        let inner = graph.push(Kind::Input(usize::MAX), vec![], ty, node.span);
        graph.node_mut(inner).name = node.name;
        let frame = &mut self.frames[frame];
        let list = if sliced { &mut frame.stacked } else { &mut frame.invariants };
        list.push((outer, inner));
        inner
    }

    /// A parameter, of which the picks select a slice.
    pub(super) fn parameter(&mut self, id: ParamId, module: &Module, place: Place) -> Tensor {
        let param = &self.params[id.0 as usize];
        if self.training && !param.trained {
            return self.lasting(Lasting::Companion(id), module, place);
        }
        let (ty, name) = (param.stacked(), param.name.clone());
        let known = |n: &crate::ir::Node| matches!(n.kind, Kind::Param(p) if p == id);
        let root = &mut self.frames[0].graph;
        let mut value = match root.nodes.iter().position(known) {
            Some(at) => Value(at as u32),
            None => {
                let value = root.push(Kind::Param(id), vec![], Some(ty), place.first);
                root.node_mut(value).name = Some(name);
                value
            }
        };
        let mut picks = module.picks.iter().peekable();
        for frame in 0..self.frames.len() {
            if frame > 0 {
                let sliced = picks.next_if(|p| matches!(p, Pick::Frame(f) if *f == frame)).is_some();
                value = self.import(frame, value, sliced);
            }
            while let Some(Pick::Index(i)) = picks.next_if(|p| matches!(p, Pick::Index(_))) {
                let what = What::Index(vec![Item::At((*i).into()), Item::Rest]);
                let site = Site { args: vec![(module.text.clone(), place)], ..plain_site(&module.text, place) };
                let kind = Kind::Written(Box::new(Written { what, site, via: self.diags.entered() }));
                value = self.frames[frame].graph.push(kind, vec![value], None, place.first);
            }
        }
        Tensor { frame: self.frames.len() - 1, value }
    }

    /// The value as a tensor; numbers become literals. `None` after a report.
    pub(super) fn tensor(&mut self, val: Val, text: &str, place: Place) -> Option<Tensor> {
        match val {
            Val::Tensor(tensor) => Some(tensor),
            Val::Static(attr @ (Attr::Int(_) | Attr::Float(_) | Attr::Bool(_))) => {
                Some(self.write(What::Literal(attr), plain_site(text, place), &[]))
            }
            Val::Unknown => None,
            Val::Module(module) => {
                let message = format!("`{}` is a layer or block, not a tensor", module.text);
                let report = Diagnostic::new(Code::NotATensor, place, message);
                self.diags.push(report.help(match &module.held {
                    FieldInstance::List(list) if !list.is_chain => format!("name its number: `{}[0]`", module.text),
                    _ => format!("call it: `{}(…)`", module.text),
                }));
                None
            }
            Val::Function(function) => {
                self.not_called(&function, place);
                None
            }
            Val::Tuple(items) => {
                let message = format!("`{text}` is a tuple of {}, not a tensor", items.len());
                let report = Diagnostic::new(Code::NotATensor, place, message);
                self.diags.push(report.help(format!("take one of its values: `{text}.0`")));
                None
            }
            Val::Struct(name, _) => {
                self.not_a_tensor(&format!("`{text}` is the struct `{name}`, not a tensor"), place);
                None
            }
            Val::Static(attr) => {
                self.not_a_tensor(&format!("{attr} is not a tensor"), place);
                None
            }
        }
    }

    fn not_a_tensor(&mut self, message: &str, place: Place) {
        self.diags.push(Diagnostic::new(Code::NotATensor, place, message));
    }

    /// Gives a node the user's name, unless it has one.
    pub(super) fn name(&mut self, tensor: Tensor, name: &str) {
        let node = self.frames[tensor.frame].graph.node_mut(tensor.value);
        node.name.get_or_insert_with(|| name.to_owned());
    }
}

/// A site without arguments.
pub(super) fn plain_site(text: &str, place: Place) -> Site {
    Site { text: text.to_owned(), place, args: vec![], items: vec![], attrs: vec![], layer: None }
}

/// The site of an expression without arguments.
pub(super) fn site_of(expr: &Expr) -> Site {
    plain_site(&words::brief(expr), expr.place)
}
