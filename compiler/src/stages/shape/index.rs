//! `x[…]`: slices, dropped axes and gathered ones, as primitives.

use super::bindings::shown;
use super::report::type_text;
use super::{Known, Shaper, literal, step};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::ellipses::Ellipses;
use crate::ir::prim::Cut;
use crate::ir::written::{Item, Site};
use crate::ir::{Category, DType, Dim, Kind, Node, Prim, Type, Value};
use crate::ops::{Builder, OpError};
use proc_macro2::Span;

/// What happens to one axis.
struct Part {
    cut: Cut,
    /// Whether the axis disappears.
    drop: bool,
    /// The indices that replace the axis.
    gather: Option<Value>,
}

impl Shaper<'_> {
    pub(super) fn index(&mut self, node: &Node, items: &[Item], site: &Site) -> Known {
        let Some(args) = self.all(&node.args) else { return Known::Unknown };
        match self.parts(&args, items, site) {
            Some(parts) => self.build(node, args[0], &parts),
            None => Known::Unknown,
        }
    }

    /// `x[…] = value`
    pub(super) fn set_index(&mut self, node: &Node, items: &[Item], site: &Site) -> Known {
        let Some(whole) = self.one(node.args[0]) else { return Known::Unknown };
        let Some(parts) = self.parts(&[whole], items, site) else { return Known::Unknown };
        let dtype = self.new.ty(whole).dtype;
        let cuts: Vec<Cut> = parts.iter().map(|p| p.cut.clone()).collect();
        let shape: Vec<Dim> = parts.iter().filter(|p| !p.drop).map(|p| p.cut.len.clone()).collect();
        let wanted = Type::new(dtype, shape.clone());
        let value = match self.known(node.args[1]).clone() {
            Known::Literal(attr) if literal::suits(&attr, dtype) => {
                let scalar = self.literal(&attr, dtype, node.span);
                self.prim(node, Prim::Broadcast { shape, axes: vec![] }, &[scalar])
            }
            _ => self.one(node.args[1]),
        };
        let Some(value) = value else { return Known::Unknown };
        let found = self.new.ty(value).clone();
        if found != wanted {
            let (text, place) = &site.args[1];
            let code = match found.dtype == wanted.dtype {
                false => Code::WrongDtype,
                true if found.rank() != wanted.rank() => Code::WrongRank,
                true => Code::WrongDimension,
            };
            let message = format!("`{}` is {}, but `{text}` is {}", site.text, type_text(&wanted), type_text(&found));
            self.diags.push(Diagnostic::new(code, *place, message));
            return Known::Unknown;
        }
        let part = Prim::Reshape(cuts.iter().map(|c| c.len.clone()).collect());
        let set =
            self.prim(node, part, &[value]).and_then(|part| self.prim(node, Prim::SetSlice(cuts), &[whole, part]));
        set.map_or(Known::Unknown, Known::One)
    }

    /// Reports an index with more than one `..`.
    pub(super) fn ellipses(&mut self, node: &Node, ellipses: &Ellipses, site: &Site) -> Known {
        let ty = self.one(node.args[0]).map(|value| self.new.ty(value).clone());
        self.diags.push(ellipses.report(ty.as_ref().map(Type::rank)));
        if let Some(ty) = ty {
            self.fits_rank(ellipses.named(), &ty, site);
        }
        Known::Unknown
    }

    /// Whether there is an axis for each of so many items; reports where there is none.
    fn fits_rank(&mut self, named: usize, ty: &Type, site: &Site) -> bool {
        let fits = named <= ty.rank();
        if !fits {
            let message =
                format!("`{}` is {}, which has no {named} dimensions to index", site.args[0].0, type_text(ty));
            self.diags.push(Diagnostic::new(Code::WrongRank, site.place, message));
        }
        fits
    }

    /// What happens to each axis; `None` after a report.
    fn parts(&mut self, args: &[Value], items: &[Item], site: &Site) -> Option<Vec<Part>> {
        let ty = self.new.ty(args[0]).clone();
        let named = items.iter().filter(|item| !matches!(item, Item::Rest)).count();
        if !self.fits_rank(named, &ty, site) {
            return None;
        }
        let whole = |extent: &Dim| Part { cut: cut(Dim::from(0), extent.clone()), drop: false, gather: None };
        let mut parts: Vec<Part> = vec![];
        let mut indices = args[1..].iter();
        for (k, item) in items.iter().enumerate() {
            let at = parts.len();
            let place = site.items.get(k).copied().unwrap_or(site.place);
            match item {
                Item::Rest => parts.extend(ty.shape[at..at + ty.rank() - named].iter().map(whole)),
                Item::Whole => parts.push(whole(&ty.shape[at])),
                Item::Gather => {
                    let Some(&index) = indices.next() else {
                        unreachable!("every gathering item has an argument");
                    };
                    if !self.check_index(index, &ty, site, args.len() - indices.len() - 1) {
                        return None;
                    }
                    let written = &site.args[args.len() - indices.len() - 1];
                    self.check_counted(index, written, &site.args[0].0, &ty.shape[at]);
                    let gather = self.position(index, written.1.first);
                    parts.push(Part { gather: Some(gather), ..whole(&ty.shape[at]) });
                }
                Item::Step { .. } | Item::Range { step: ..=0, .. } => {
                    self.diags.push(step::report(&ty, at, (items, k), (&site.args[0].0, place)));
                    return None;
                }
                Item::At(_) | Item::Range { .. } => match self.part(item, &ty, at, (site, place)) {
                    Some(part) => parts.push(part),
                    None => {
                        self.report_unbound(site);
                        return None;
                    }
                },
            }
        }
        parts.extend(ty.shape[parts.len()..].iter().map(whole));
        Some(parts)
    }

    fn check_index(&mut self, index: Value, whole: &Type, site: &Site, arg: usize) -> bool {
        let ty = self.new.ty(index);
        if ty.dtype.is_integer() {
            return true;
        }
        let (text, place) = &site.args[arg];
        let message = format!("an index is an integer, but `{text}` is {}", type_text(ty));
        let report = Diagnostic::new(Code::WrongDtype, *place, message);
        self.diags.push(match ty.dtype {
            DType::Bool => {
                let help = masked(&site.args[0].0, whole, text, ty).filter(|_| site.items.len() == 1);
                let report = report.note("how many elements a mask picks is not known at build time");
                Diagnostic { help: help.map(|help| format!("keep the shape: `{help}`")), ..report }
            }
            _ => {
                let convert = OpError::new(Code::WrongDtype, "").help("convert it: `{0}.u32()`");
                Diagnostic { help: convert.render("", std::slice::from_ref(text)).1, ..report }
            }
        });
        false
    }

    /// An index as the u32 that primitives take.
    fn position(&mut self, index: Value, span: Span) -> Value {
        let (graph, sites) = (&mut self.new, &mut 0);
        let mut builder = Builder { graph, span, training: false, float: DType::F32, sites, loops: vec![] };
        match builder.index(index) {
            Ok(position) => position,
            Err(error) => unreachable!("an integer has been checked: {}", error.message),
        }
    }

    /// One element or a range of an axis; `None` after a report.
    fn part(&mut self, item: &Item, ty: &Type, axis: usize, (site, place): (&Site, Place)) -> Option<Part> {
        let extent = &ty.shape[axis];
        let (first, last, step) = match item {
            Item::At(at) => (self.bindings.dim(at)?, None, 1),
            Item::Range { start, end, step } => {
                let start = start.as_ref().map_or(Some(Dim::from(0)), |d| self.bindings.dim(d))?;
                (start, Some(end.as_ref().map_or(Some(extent.clone()), |d| self.bindings.dim(d))?), *step)
            }
            Item::Rest | Item::Whole | Item::Step { .. } | Item::Gather => unreachable!("handled with the other axes"),
        };
        let drop = last.is_none();
        let start = from_start(&first, extent);
        let end = last.as_ref().map_or(start.clone() + Dim::from(1), |last| from_start(last, extent));
        let negative = |d: &Dim| d.as_const().is_some_and(|n| n < 0);
        let len = end.clone() - start.clone();
        if negative(&start) || negative(&(extent.clone() - end.clone())) {
            let (code, what) = match &last {
                None => (Code::IndexOutOfRange, format!("index {}", shown(&first))),
                Some(last) => (Code::SliceOutOfRange, format!("{}..{}", shown(&first), shown(last))),
            };
            let text = &site.args[0].0;
            let message = format!("{what} is outside of axis {axis} of `{text}`, which has {}", shown(extent));
            let report = Diagnostic::new(code, place, message).note(format!("`{text}` is {}", type_text(ty)));
            self.diags.push(match (drop, negative(&start)) {
                (true, true) => report.help("the first one is `0`"),
                (true, false) => report.help(format!("the last one is `{}`", shown(&(extent.clone() - Dim::from(1))))),
                (false, _) => report,
            });
            return None;
        }
        if len.as_const().is_some_and(|n| n <= 0) {
            let message = format!("`{}` is empty: axis {axis} from {} to {}", site.text, shown(&start), shown(&end));
            self.diags.push(Diagnostic::new(Code::SliceOutOfRange, place, message));
            return None;
        }
        Some(Part { cut: Cut { start, len: len.ceil_div(step), step }, drop, gather: None })
    }

    /// A slice, then the gathers from the last axis on, then the dropped axes.
    fn build(&mut self, node: &Node, value: Value, parts: &[Part]) -> Known {
        let mut value = value;
        let cuts: Vec<Cut> = parts.iter().map(|p| p.cut.clone()).collect();
        let whole = self.new.ty(value).shape.iter().zip(&cuts).all(|(d, c)| c.len == *d);
        if !whole {
            value = match self.prim(node, Prim::Slice(cuts), &[value]) {
                Some(value) => value,
                None => return Known::Unknown,
            };
        }
        let kept = |(part, extent): (&Part, &Dim)| (!part.drop).then(|| extent.clone());
        let shape: Vec<Dim> = parts.iter().zip(&self.new.ty(value).shape).filter_map(kept).collect();
        if parts.iter().any(|part| part.drop) {
            value = match self.prim(node, Prim::Reshape(shape), &[value]) {
                Some(value) => value,
                None => return Known::Unknown,
            };
        }
        let gathers: Vec<_> =
            parts.iter().filter(|p| !p.drop).enumerate().filter_map(|(k, p)| Some((k, p.gather?))).collect();
        for (axis, index) in gathers.into_iter().rev() {
            value = match self.prim(node, Prim::Gather { axis }, &[value, index]) {
                Some(value) => value,
                None => return Known::Unknown,
            };
        }
        Known::One(value)
    }

    fn prim(&mut self, node: &Node, prim: Prim, args: &[Value]) -> Option<Value> {
        let types: Vec<&Type> = args.iter().map(|&a| self.new.ty(a)).collect();
        match prim.infer(&types) {
            Ok(ty) => Some(self.new.push(Kind::Prim(prim), args.to_vec(), Some(ty), node.span)),
            Err(message) => {
                self.report_prim(node, message);
                None
            }
        }
    }
}

fn cut(start: Dim, len: Dim) -> Cut {
    Cut { start, len, step: 1 }
}

/// Zeros where a mask of a value does not hold, in the user's words; `None` where it does not broadcast to the value.
fn masked(text: &str, whole: &Type, mask: &str, ty: &Type) -> Option<String> {
    let zero = match whole.dtype.category() {
        Category::Float => "0.0",
        Category::Signed | Category::Unsigned => "0",
        Category::Bool => "false",
    };
    let mask = match whole.shape.strip_prefix(&ty.shape[..])?.len() {
        0 => mask.to_owned(),
        1 => format!("unsqueeze({mask}, -1)"),
        _ => return None,
    };
    Some(format!("where({mask}, {text}, {zero})")).filter(|help| !help.contains('…'))
}

/// A position counted from the start.
fn from_start(at: &Dim, extent: &Dim) -> Dim {
    match at.as_const() {
        Some(n) if n < 0 => extent.clone() + at.clone(),
        _ => at.clone(),
    }
}
