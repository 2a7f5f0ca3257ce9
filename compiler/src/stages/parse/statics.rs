//! Values that are known at build time: expressions over constants, struct parameters and dimensions.

use super::ast::*;
use super::attributes::{self, Given};
use super::names::Names;
use super::words;
use crate::diag::{Code, Diagnostic, Diags, closest};
use crate::ir::attr::Attr;
use crate::ir::limits::INTEGER;
use crate::ir::{DType, Dim};
use crate::ops::{ABSENT, INITIALIZERS, initial_value, initializer, nearest_divisor};
use proc_macro2::Ident;

/// What a missing name is called in a report.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Wanted {
    /// An extent of a type.
    Dimension,
    /// Any value.
    Value,
}

/// The value of an expression; `None` after a report.
pub(super) fn eval(expr: &Expr, names: &Names, wanted: Wanted, diags: &mut Diags) -> Option<Attr> {
    match &expr.kind {
        ExprKind::Int(n) => Some(Attr::Int((*n).into())),
        ExprKind::Float(x) => Some(Attr::Float(*x)),
        ExprKind::Bool(b) => Some(Attr::Bool(*b)),
        ExprKind::Text(text) => Some(Attr::Text(text.clone())),
        ExprKind::Name(name) => lookup(name, names, wanted, diags),
        ExprKind::Unary(op, of) => {
            let of = eval(of, names, wanted, diags)?;
            unary(*op, &of).or_else(|| no_value(expr, diags))
        }
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (eval(a, names, wanted, diags), eval(b, names, wanted, diags));
            let (a, b) = (a?, b?);
            if uneven(*op, &a, &b) {
                let report = division(expr, &a, &b, names, diags);
                diags.push(report);
                return None;
            }
            if overflows(*op, &a, &b) {
                diags.push(too_large(expr));
                return None;
            }
            binary(*op, &a, &b).or_else(|| no_value(expr, diags))
        }
        ExprKind::List(items) | ExprKind::Tuple(items) => {
            let items: Vec<_> = items.iter().map(|item| eval(item, names, wanted, diags)).collect();
            items.into_iter().collect::<Option<_>>().map(Attr::List)
        }
        ExprKind::Call(of, args) => match &of.kind {
            ExprKind::Name(name) if name == "sqrt" && args.len() == 1 => {
                let of = eval(&args[0].value, names, wanted, diags)?;
                match number(&of) {
                    Some(x) => Some(Attr::Float(x.sqrt())),
                    None => no_value(expr, diags),
                }
            }
            ExprKind::Name(name) if name == "pow" && args.len() == 2 => {
                let of = |k: usize, diags: &mut Diags| eval(&args[k].value, names, wanted, diags);
                let (base, exponent) = (of(0, diags), of(1, diags));
                power(&base?, &exponent?).or_else(|| no_value(expr, diags))
            }
            ExprKind::Name(name) if !args.is_empty() => initial(expr, name, args, names, diags),
            _ => no_value(expr, diags),
        },
        ExprKind::Error => None,
        ExprKind::SelfValue
        | ExprKind::Method(..)
        | ExprKind::Field(..)
        | ExprKind::Part(..)
        | ExprKind::Index(..)
        | ExprKind::Rest
        | ExprKind::Block(_)
        | ExprKind::If { .. }
        | ExprKind::Struct(..)
        | ExprKind::Closure(_)
        | ExprKind::Match(..) => no_value(expr, diags),
    }
}

/// An initialiser with its numbers: `normal(0.02)`.
fn initial(expr: &Expr, name: &Ident, args: &[Arg], names: &Names, diags: &mut Diags) -> Option<Attr> {
    let text = name.to_string();
    let Some(of) = initializer(&text) else {
        let mut report = dynamic(expr);
        let near = closest(&text, INITIALIZERS.iter().map(|one| one.name));
        report.help = near.map(|near| format!("write `{near}`"));
        diags.push(report);
        return None;
    };
    let given: Vec<Given> =
        args.iter().map(|arg| Given::new(arg, eval(&arg.value, names, Wanted::Value, diags))).collect();
    attributes::bind(of.name, of.attrs, &given, DType::F32, expr.place, diags)
        .attrs
        .map(|attrs| initial_value(of, attrs))
}

fn no_value(expr: &Expr, diags: &mut Diags) -> Option<Attr> {
    diags.push(dynamic(expr));
    None
}

fn dynamic(expr: &Expr) -> Diagnostic {
    let text = words::brief(expr);
    Diagnostic::new(Code::DynamicValue, expr.place, format!("`{text}` is not known at build time"))
}

/// Whether two integers do not divide evenly.
pub(super) fn uneven(op: Binary, a: &Attr, b: &Attr) -> bool {
    match (op, a, b) {
        (Binary::Div, Attr::Int(a), Attr::Int(b)) => match (a.as_const(), b.as_const()) {
            (Some(a), Some(b)) => b == 0 || a % b != 0,
            _ => b.is(0),
        },
        _ => false,
    }
}

/// Whether an integer operation leaves what extents are counted in.
pub(super) fn overflows(op: Binary, a: &Attr, b: &Attr) -> bool {
    let (Attr::Int(a), Attr::Int(b)) = (a, b) else { return false };
    let (Some(a), Some(b)) = (a.as_const(), b.as_const()) else { return false };
    match op {
        Binary::Add => a.checked_add(b).is_none(),
        Binary::Sub => a.checked_sub(b).is_none(),
        Binary::Mul => a.checked_mul(b).is_none(),
        _ => false,
    }
}

pub(super) fn too_large(expr: &Expr) -> Diagnostic {
    let message = format!("`{}` is larger than any extent", words::full(expr));
    let report = Diagnostic::new(Code::LiteralOutOfRange, expr.place, message);
    report.note(format!("extents and other integers are at most {INTEGER}"))
}

/// The report of a division that does not come out even, at the number that the user gave: that of the divisor, or of
/// the dividend where the divisor is a number itself.
fn division(expr: &Expr, a: &Attr, b: &Attr, names: &Names, diags: &Diags) -> Diagnostic {
    let number = |attr: &Attr| match attr {
        Attr::Int(dim) => dim.to_string(),
        _ => String::new(),
    };
    let text = words::full(expr);
    let message = format!("`{text}` is not a whole number: {} does not divide {}", number(b), number(a));
    let ExprKind::Binary(_, dividend, divisor) = &expr.kind else {
        return Diagnostic::new(Code::NonDivisible, expr.place, message);
    };
    let by = names.origin_of_name(divisor);
    let place = by.or_else(|| names.origin_of_name(dividend)).unwrap_or(expr.place);
    let mut report = Diagnostic::new(Code::NonDivisible, place, message);
    report = report.used(&text, expr.place, &diags.line(expr.place));
    if let (Some(_), Attr::Int(a), Attr::Int(b)) = (by, a, b) {
        let near = a.as_const().zip(b.as_const()).and_then(|(a, b)| nearest_divisor(a, b));
        report.help = near.map(|near| format!("write `{near}`"));
    }
    report
}

fn lookup(name: &Ident, names: &Names, wanted: Wanted, diags: &mut Diags) -> Option<Attr> {
    let text = name.to_string();
    if let Some(value) = names.get(&text) {
        return value.clone();
    }
    // The attribute that gets a word for nothing says what it takes.
    let absent = wanted == Wanted::Value && ABSENT.contains(&&*text);
    if absent || DType::from_name(&text).is_some() || initializer(&text).is_some() {
        return Some(Attr::Text(text));
    }
    let (code, what) = match wanted {
        Wanted::Dimension => (Code::UnknownDimension, "dimension"),
        Wanted::Value => (Code::UnknownVariable, "constant"),
    };
    let mut report = Diagnostic::new(code, name.span(), format!("there is no {what} `{text}`"));
    let initial: Vec<&str> =
        INITIALIZERS.iter().map(|one| one.name).chain(["true", "false"]).filter(|_| wanted == Wanted::Value).collect();
    let first =
        initial.iter().copied().find(|name| name.strip_prefix(&*text).is_some_and(|rest| rest.starts_with('_')));
    let near = first.or_else(|| closest(&text, names.keys().map(String::as_str).chain(initial)));
    report.help = near.map(|near| format!("write `{near}`"));
    if report.help.is_none() && wanted == Wanted::Dimension {
        report = report.note("names that a call binds start with a capital letter, such as `B`");
        let capital = words::capital(&text);
        report.help = (capital != text).then(|| format!("write `{capital}`"));
    }
    // A dimension that a signature names again is the same mistake.
    let line = report.place.line();
    let again = |other: &Diagnostic| other.message == report.message && other.place.line() == line;
    if wanted == Wanted::Value || !diags.list().iter().any(again) {
        diags.push_about(&text, report);
    }
    None
}

/// The value of a prefix operator, where it has one.
pub(super) fn unary(op: Unary, of: &Attr) -> Option<Attr> {
    match (op, of) {
        (Unary::Neg, Attr::Int(n)) => Some(Attr::Int(-n.clone())),
        (Unary::Neg, Attr::Float(x)) => Some(Attr::Float(-x)),
        (Unary::Not, Attr::Bool(b)) => Some(Attr::Bool(!b)),
        _ => None,
    }
}

/// The value of an infix operator, where it has one.
pub(super) fn binary(op: Binary, a: &Attr, b: &Attr) -> Option<Attr> {
    match (a, b) {
        (Attr::Int(x), Attr::Int(y)) => integers(op, x, y),
        (Attr::Bool(x), Attr::Bool(y)) => match op {
            Binary::And | Binary::BitAnd => Some(Attr::Bool(*x && *y)),
            Binary::Or | Binary::BitOr => Some(Attr::Bool(*x || *y)),
            Binary::Eq => Some(Attr::Bool(x == y)),
            Binary::Ne | Binary::BitXor => Some(Attr::Bool(x != y)),
            _ => None,
        },
        (Attr::Text(x), Attr::Text(y)) => match op {
            Binary::Eq => Some(Attr::Bool(x == y)),
            Binary::Ne => Some(Attr::Bool(x != y)),
            _ => None,
        },
        _ => floats(op, number(a)?, number(b)?),
    }
}

fn number(attr: &Attr) -> Option<f64> {
    match attr {
        Attr::Float(x) => Some(*x),
        Attr::Int(dim) => dim.as_const().map(|n| n as f64),
        Attr::Absent | Attr::Bool(_) | Attr::Text(_) | Attr::List(_) => None,
    }
}

/// `pow(2, i)`: an integer where both are, and it is one that an extent can be.
fn power(base: &Attr, exponent: &Attr) -> Option<Attr> {
    match (base, exponent) {
        (Attr::Int(base), Attr::Int(exponent)) => {
            let (base, exponent) = (base.as_const()?, u32::try_from(exponent.as_const()?).ok()?);
            base.checked_pow(exponent).filter(|n| n.unsigned_abs() <= INTEGER as u64).map(|n| Attr::Int(n.into()))
        }
        _ => Some(Attr::Float(number(base)?.powf(number(exponent)?))),
    }
}

fn integers(op: Binary, x: &Dim, y: &Dim) -> Option<Attr> {
    let (cx, cy) = (x.as_const(), y.as_const());
    let compare = |holds: fn(i64, i64) -> bool| Some(Attr::Bool(holds(cx?, cy?)));
    match op {
        Binary::Add => Some(Attr::Int(x.clone() + y.clone())),
        Binary::Sub => Some(Attr::Int(x.clone() - y.clone())),
        Binary::Mul => Some(Attr::Int(x.clone() * y.clone())),
        Binary::Div if !y.is(0) => Some(Attr::Int(x.floor_div(y))),
        Binary::Rem if !y.is(0) => Some(Attr::Int(x.clone() - y.clone() * x.floor_div(y))),
        Binary::Div | Binary::Rem => None,
        Binary::Eq => compare(|a, b| a == b),
        Binary::Ne => compare(|a, b| a != b),
        Binary::Lt => compare(|a, b| a < b),
        Binary::Le => compare(|a, b| a <= b),
        Binary::Gt => compare(|a, b| a > b),
        Binary::Ge => compare(|a, b| a >= b),
        Binary::Or | Binary::And | Binary::BitOr | Binary::BitXor | Binary::BitAnd => None,
    }
}

fn floats(op: Binary, x: f64, y: f64) -> Option<Attr> {
    Some(match op {
        Binary::Add => Attr::Float(x + y),
        Binary::Sub => Attr::Float(x - y),
        Binary::Mul => Attr::Float(x * y),
        Binary::Div => Attr::Float(x / y),
        Binary::Eq => Attr::Bool(x == y),
        Binary::Ne => Attr::Bool(x != y),
        Binary::Lt => Attr::Bool(x < y),
        Binary::Le => Attr::Bool(x <= y),
        Binary::Gt => Attr::Bool(x > y),
        Binary::Ge => Attr::Bool(x >= y),
        Binary::Rem | Binary::Or | Binary::And | Binary::BitOr | Binary::BitXor | Binary::BitAnd => return None,
    })
}
