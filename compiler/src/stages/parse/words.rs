//! Expressions and types back as text: what diagnostics quote.

use super::ast::*;

/// How much of an expression is shown; what is deeper is `…`.
#[derive(Clone, Copy)]
struct Depth {
    /// Calls within calls.
    calls: usize,
    /// Operands within operands: of a longer sum the last ones are shown.
    operands: usize,
}

/// The most numbers that a help lists.
pub(super) const LISTED: usize = 16;

/// Operands within operands that a reader takes in.
const OPERANDS: usize = 32;

/// The letters of code that fit a line of rustdoc; a longer signature has a line for each argument.
const LINE: usize = 88;

/// The expression with the arguments of inner calls shortened: `relu(self.hidden(…))`.
pub(super) fn brief(expr: &Expr) -> String {
    print(expr, Depth { calls: 1, operands: OPERANDS })
}

/// The whole expression.
pub(super) fn full(expr: &Expr) -> String {
    print(expr, Depth { calls: usize::MAX, operands: OPERANDS })
}

fn print(expr: &Expr, depth: Depth) -> String {
    match &expr.kind {
        ExprKind::Int(n) => n.to_string(),
        ExprKind::Float(x) => format!("{x:?}"),
        ExprKind::Bool(b) => b.to_string(),
        ExprKind::Text(text) => format!("{text:?}"),
        ExprKind::Name(name) => name.to_string(),
        ExprKind::SelfValue => "self".into(),
        ExprKind::Unary(Unary::Neg, of) => format!("-{}", operand(of, 9, depth)),
        ExprKind::Unary(Unary::Not, of) => format!("!{}", operand(of, 9, depth)),
        ExprKind::Binary(op, a, b) => {
            let least = op.precedence();
            format!("{} {} {}", operand(a, least, depth), op.text(), operand(b, least + 1, depth))
        }
        ExprKind::Call(of, args) => format!("{}({})", operand(of, 10, depth), arguments(args, depth)),
        ExprKind::Method(of, name, args) => {
            format!("{}.{name}({})", operand(of, 10, depth), arguments(args, depth))
        }
        ExprKind::Field(of, name) => format!("{}.{name}", operand(of, 10, depth)),
        ExprKind::Part(of, k) => format!("{}.{k}", operand(of, 10, depth)),
        ExprKind::Index(of, items) => {
            let items: Vec<String> = items.iter().map(|item| index(item, depth)).collect();
            format!("{}[{}]", operand(of, 10, depth), items.join(", "))
        }
        ExprKind::Tuple(items) => format!("({})", list(items, depth)),
        ExprKind::List(items) => format!("[{}]", list(items, depth)),
        ExprKind::Rest => "..".into(),
        ExprKind::Block(_) => "{ … }".into(),
        ExprKind::If { .. } => "if …".into(),
        ExprKind::Struct(name, _) => format!("{name} {{ … }}"),
        ExprKind::Closure(closure) => {
            let params: Vec<String> = closure.params.iter().map(|(pat, _)| pattern_text(pat)).collect();
            format!("|{}| …", params.join(", "))
        }
        ExprKind::Match(..) => "match …".into(),
        ExprKind::Error => "…".into(),
    }
}

/// An operand, in parentheses where it binds more loosely than `least`.
fn operand(expr: &Expr, least: u8, depth: Depth) -> String {
    let binds = match &expr.kind {
        ExprKind::Binary(op, ..) => op.precedence(),
        ExprKind::Unary(..) => 9,
        _ => 10,
    };
    let Some(operands) = depth.operands.checked_sub(1) else { return "…".into() };
    let text = print(expr, Depth { operands, ..depth });
    if binds < least { format!("({text})") } else { text }
}

fn arguments(args: &[Arg], depth: Depth) -> String {
    if args.is_empty() {
        return String::new();
    }
    // Arguments that are as short as the ellipsis are shown.
    let plain = args
        .iter()
        .all(|a| a.name.is_none() && matches!(a.value.kind, ExprKind::Name(_) | ExprKind::Int(_) | ExprKind::Float(_)));
    if depth.calls == 0 && !plain {
        return "…".into();
    }
    let one = |arg: &Arg| {
        let value = print(&arg.value, Depth { calls: depth.calls.saturating_sub(1), ..depth });
        arg.name.as_ref().map_or(value.clone(), |name| format!("{name} = {value}"))
    };
    args.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The name with a capital first letter.
pub(super) fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// The call of a function with these arguments.
pub(super) fn call(name: &proc_macro2::Ident, args: &[Arg]) -> String {
    format!("{name}({})", args.iter().map(argument).collect::<Vec<_>>().join(", "))
}

/// One argument, with its name where it has one.
pub(super) fn argument(arg: &Arg) -> String {
    let value = full(&arg.value);
    arg.name.as_ref().map_or(value.clone(), |name| format!("{name} = {value}"))
}

fn list(items: &[Expr], depth: Depth) -> String {
    items.iter().map(|item| print(item, depth)).collect::<Vec<_>>().join(", ")
}

/// One entry between the brackets of an index.
pub(super) fn entry(item: &Index) -> String {
    index(item, Depth { calls: usize::MAX, operands: OPERANDS })
}

fn index(item: &Index, depth: Depth) -> String {
    let side = |side: &Option<Expr>| side.as_ref().map_or(String::new(), |e| print(e, depth));
    match item {
        Index::Rest(_) => "..".into(),
        Index::Whole => "_".into(),
        Index::At(expr) => print(expr, depth),
        Index::Range { start, end, inclusive } => {
            format!("{}{}{}", side(start), if *inclusive { "..=" } else { ".." }, side(end))
        }
        Index::Stepped { start, end, inclusive, step, .. } => {
            let dots = if *inclusive { "..=" } else { ".." };
            format!("({}{dots}{}).step_by({})", side(start), side(end), print(step, depth))
        }
        Index::Step { start, end, step, .. } => format!("{}:{}:{}", side(start), side(end), side(step)),
    }
}

/// A type as the user wrote it.
pub(super) fn type_text(ty: &TypeExpr) -> String {
    match ty {
        TypeExpr::Tensor { dtype, axes, .. } if axes.is_empty() => dtype.to_string(),
        TypeExpr::Tensor { dtype, axes, .. } => {
            let axes: Vec<String> = axes.iter().map(axis).collect();
            format!("{dtype}[{}]", axes.join(", "))
        }
        TypeExpr::Tuple(items, _) => format!("({})", items.iter().map(type_text).collect::<Vec<_>>().join(", ")),
        TypeExpr::Struct(name, _) => format!("{name} {{ … }}"),
        TypeExpr::Error => "…".into(),
    }
}

/// A function as the user wrote it, without its body.
pub(super) fn signature(function: &Fn) -> String {
    let receiver = match function.receiver {
        Receiver::None => None,
        Receiver::Shared => Some("&self".to_owned()),
        Receiver::Mut(_) => Some("&mut self".to_owned()),
    };
    let params = function.params.iter().map(|(pat, ty)| format!("{}: {}", pattern_text(pat), whole_type(ty)));
    let params: Vec<String> = receiver.into_iter().chain(params).collect();
    let (name, result) = (&function.name, whole_type(&function.result));
    let line = format!("fn {name}({}) -> {result}", params.join(", "));
    if line.chars().count() <= LINE {
        return line;
    }
    let params: String = params.iter().map(|param| format!("    {param},\n")).collect();
    format!("fn {name}(\n{params}) -> {result}")
}

/// A type as the user wrote it, with the fields of a struct.
fn whole_type(ty: &TypeExpr) -> String {
    match ty {
        TypeExpr::Tensor { .. } | TypeExpr::Error => type_text(ty),
        TypeExpr::Tuple(items, _) => format!("({})", items.iter().map(whole_type).collect::<Vec<_>>().join(", ")),
        TypeExpr::Struct(name, fields) => {
            let fields: Vec<String> = fields.iter().map(|(name, ty)| format!("{name}: {}", whole_type(ty))).collect();
            format!("{name} {{ {} }}", fields.join(", "))
        }
    }
}

fn axis(axis: &AxisExpr) -> String {
    match axis {
        AxisExpr::Rest => "..".into(),
        AxisExpr::Dim { value, bound: Some(bound) } => format!("{} <= {}", full(value), full(bound)),
        AxisExpr::Dim { value, bound: None } => full(value),
    }
}

/// What a field is, as the user wrote it.
pub(super) fn field_text(ty: &FieldType) -> String {
    match ty {
        FieldType::One { name, args, .. } if args.is_empty() => name.to_string(),
        FieldType::One { name, args, .. } => call(name, args),
        FieldType::Repeat { item, count } => format!("[{}; {}]", field_text(item), full(count)),
        FieldType::Each { item, name, start, end } => {
            format!("[{} for {name} in {}..{}]", field_text(item), full(start), full(end))
        }
        FieldType::List { entries, is_chain } => {
            let entries: Vec<String> = entries.iter().map(entry_text).collect();
            let (open, close) = if *is_chain { ("Sequential(", ")") } else { ("[", "]") };
            format!("{open}{}{close}", entries.join(", "))
        }
        FieldType::State(ty) => type_text(ty),
        FieldType::Error => "…".into(),
    }
}

fn entry_text(entry: &Entry) -> String {
    match entry {
        Entry::Field(ty) => field_text(ty),
        Entry::Function(function) => full(function),
    }
}

/// A pattern as the user wrote it.
pub(super) fn pattern_text(pat: &Pat) -> String {
    match pat {
        Pat::Name { name, .. } => name.to_string(),
        Pat::Tuple(items, _) => format!("({})", items.iter().map(pattern_text).collect::<Vec<_>>().join(", ")),
        Pat::Ignore(_) => "_".into(),
    }
}
