//! Literals: which element type a number takes, and the node that it becomes.

use super::{Known, Shaper};
use crate::diag::{Code, Diagnostic};
use crate::ir::attr::Attr;
use crate::ir::prim::Scalar;
use crate::ir::written::Site;
use crate::ir::{Category, DType, Kind, Prim, Type, Value};
use crate::ops::{Class, Signature};
use proc_macro2::Span;

/// The element type of a number by itself, where floats have that one.
pub(super) fn own_dtype(attr: &Attr, float: DType) -> DType {
    match attr {
        Attr::Int(dim) if dim.as_const().is_some() => DType::I32,
        Attr::Int(_) => DType::U32,
        Attr::Bool(_) => DType::Bool,
        Attr::Float(_) | Attr::Absent | Attr::Text(_) | Attr::List(_) => float,
    }
}

/// Whether a number can be written as a literal of that type.
pub(super) fn suits(attr: &Attr, dtype: DType) -> bool {
    let (least, greatest) = dtype.integers();
    match (attr, dtype.category()) {
        (Attr::Int(_) | Attr::Float(_), Category::Float) | (Attr::Bool(_), Category::Bool) => true,
        (Attr::Int(dim), Category::Signed | Category::Unsigned) => {
            dim.as_const().is_none_or(|n| (least..=greatest).contains(&n.into()))
        }
        _ => false,
    }
}

impl Shaper<'_> {
    /// The node of a number.
    pub(super) fn literal(&mut self, attr: &Attr, dtype: DType, span: Span) -> Value {
        let number = match attr {
            Attr::Int(dim) => match dim.as_const() {
                Some(n) => n as f64,
                None => {
                    let scalar = Type::scalar(DType::U32);
                    let kind = Kind::Prim(Prim::Extent(dim.clone()));
                    let extent = self.new.push(kind, vec![], Some(scalar), span);
                    return match dtype {
                        DType::U32 => extent,
                        _ => {
                            let kind = Kind::Prim(Prim::Convert(dtype));
                            self.new.push(kind, vec![extent], Some(Type::scalar(dtype)), span)
                        }
                    };
                }
            },
            Attr::Float(x) => *x,
            Attr::Bool(b) => f64::from(u8::from(*b)),
            Attr::Absent | Attr::Text(_) | Attr::List(_) => 0.0,
        };
        if !dtype.holds(number) {
            let text = if number.abs() < 1e15 { number.to_string() } else { format!("{number:e}") };
            let message = format!("`{text}` is no {dtype}");
            let range = format!("{dtype} holds {}", dtype.range());
            self.diags.push(Diagnostic::new(Code::LiteralOutOfRange, span, message).note(range));
        }
        let scalar = match attr {
            Attr::Int(dim) if dtype.is_integer() => Scalar::Int(dtype, dim.as_const().unwrap_or_default().into()),
            _ => Scalar::of(dtype, number),
        };
        let kind = Kind::Prim(Prim::Const(scalar));
        self.new.push(kind, vec![], Some(Type::scalar(dtype)), span)
    }

    /// Whether a value is a dimension that a call binds.
    fn is_dimension(&self, value: Value) -> bool {
        matches!(self.known(value), Known::Literal(attr @ Attr::Int(_)) if own_dtype(attr, self.bindings.float) == DType::U32)
    }

    /// The arguments of a call: literals take the element type of the others of their class. `None` where an
    /// argument is unknown.
    pub(super) fn arguments(&mut self, signature: &Signature, args: &[Value], site: &Site) -> Option<Vec<Value>> {
        let class = |k: usize| signature.slot(k).map(|slot| slot.pattern.class);
        let mut dtypes: Vec<Option<DType>> = vec![];
        for &arg in args {
            dtypes.push(match self.known(arg) {
                Known::One(value) => Some(self.new.ty(*value).dtype),
                Known::Literal(_) | Known::Many(..) | Known::Each(_) | Known::Unknown => None,
            });
        }
        let (mut all, float) = (vec![], self.bindings.float);
        let guess = self.guessing && dtypes.iter().any(Option::is_some);
        for (k, &arg) in args.iter().enumerate() {
            if guess && matches!(self.known(arg), Known::Unknown) {
                // A scalar broadcasts, so that the others alone decide the type.
                let like = (0..args.len()).find_map(|j| dtypes[j].filter(|_| class(j) == class(k)));
                let like = like.unwrap_or(float);
                all.push(Some(self.literal(&Attr::Int(0.into()), like, site.place.first)));
                continue;
            }
            let Known::Literal(attr) = self.known(arg).clone() else {
                all.push(self.one(arg));
                continue;
            };
            let like = (0..args.len()).find_map(|j| dtypes[j].filter(|_| class(j) == class(k)));
            let wanted = match (class(k), like) {
                (Some(Class::Only(dtype)), _) => dtype,
                (_, Some(dtype)) => dtype,
                (Some(Class::Float), None) => float,
                // Beside a named dimension a number is one, too.
                _ if (0..args.len()).any(|j| class(j) == class(k) && self.is_dimension(args[j])) => DType::U32,
                _ => own_dtype(&attr, float),
            };
            // A number that is no literal of that type keeps its own, and the check of the call reports it.
            let own = [own_dtype(&attr, float), DType::I64].into_iter();
            let dtype = [wanted].into_iter().chain(own).find(|dtype| suits(&attr, *dtype)).unwrap_or(float);
            let span = site.args.get(k).map_or(site.place.first, |(_, place)| place.first);
            all.push(Some(self.literal(&attr, dtype, span)));
        }
        all.into_iter().collect()
    }
}
