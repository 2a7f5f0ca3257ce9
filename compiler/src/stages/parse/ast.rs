//! The syntax tree of `model!`: what the user wrote, without meaning.
//!
//! `Error` stands where the text could not be read; it has been reported, and nothing is said about its uses.

pub(super) use super::field::{Entry, Field, FieldType};
pub(super) use super::import::Import;
use crate::diag::Place;
use proc_macro2::{Ident, Span, TokenStream};

/// Everything inside the macro, or in one text that travelled to it.
#[derive(Default, Debug)]
pub(super) struct Program {
    pub(super) items: Vec<Item>,
    pub(super) uses: Vec<Use>,
    /// The names of imports that could not be read.
    pub(super) unread_uses: Vec<String>,
    pub(super) consts: Vec<Const>,
    pub(super) externs: Vec<Extern>,
    pub(super) structs: Vec<Struct>,
    pub(super) aliases: Vec<Alias>,
    pub(super) imports: Vec<Import>,
    pub(super) fns: Vec<Fn>,
    pub(super) impls: Vec<Impl>,
}

/// One item as it was written; imports are none.
#[derive(Debug)]
pub(super) struct Item {
    /// What it declares, or the struct that it implements.
    pub(super) name: String,
    pub(super) tokens: TokenStream,
}

/// One block of `use path::{Block, Other as Mine};`
#[derive(Debug)]
pub(super) struct Use {
    /// Whether the path starts with `::`.
    pub(super) absolute: bool,
    /// What stands before the last `::`.
    pub(super) path: Vec<Ident>,
    /// The block's own name.
    pub(super) target: Ident,
    /// What it is called here.
    pub(super) name: Ident,
}

/// `extern fn simulate(action: f32[B, 2]) -> f32[B, 4] with grad(cotangent: f32[B, 4]) -> f32[B, 2];`
#[derive(Debug)]
pub(super) struct Extern {
    pub(super) name: Ident,
    pub(super) params: Vec<(Pat, TypeExpr)>,
    pub(super) result: TypeExpr,
    pub(super) gradient: Option<ExternGradient>,
    pub(super) wgsl: Option<Wgsl>,
}

/// What follows `with grad`.
#[derive(Debug)]
pub(super) enum ExternGradient {
    /// The signature of another foreign function: `grad(cotangent: f32[B, 4]) -> f32[B, 2]`.
    Declared { params: Vec<(Pat, TypeExpr)>, result: TypeExpr, place: Place },
    /// A function that is declared elsewhere: `grad = simulate_grad`.
    Named(Ident),
}

/// What follows `with wgsl =`: a text, or the path of a file that holds it.
#[derive(Debug)]
pub(super) struct Wgsl {
    pub(super) literal: syn::LitStr,
    /// Whether it stands in `include_str!(…)`.
    pub(super) in_file: bool,
}

/// `const N: usize = 3;`
#[derive(Debug)]
pub(super) struct Const {
    pub(super) name: Ident,
    pub(super) value: Expr,
}

/// `pub struct Name(dim, hidden = 4 * dim) { … }`
#[derive(Debug)]
pub(super) struct Struct {
    /// In which text it stands: 0 is the macro's own.
    pub(super) source: usize,
    pub(super) attrs: Vec<syn::Attribute>,
    pub(super) vis: syn::Visibility,
    pub(super) name: Ident,
    pub(super) params: Vec<(Ident, Option<Expr>)>,
    pub(super) fields: Vec<Field>,
}

/// `pub struct Small = Gpt(layers = 2);`
#[derive(Debug)]
pub(super) struct Alias {
    /// In which text it stands.
    pub(super) source: usize,
    pub(super) attrs: Vec<syn::Attribute>,
    pub(super) vis: syn::Visibility,
    pub(super) name: Ident,
    pub(super) target: Ident,
    pub(super) args: Vec<Arg>,
}

/// `impl Name { … }`
#[derive(Debug)]
pub(super) struct Impl {
    pub(super) name: Ident,
    pub(super) fns: Vec<Fn>,
}

/// An argument, by position or by name.
#[derive(Clone, Debug)]
pub(super) struct Arg {
    pub(super) name: Option<Ident>,
    pub(super) value: Expr,
}

/// A function.
#[derive(Debug)]
pub(super) struct Fn {
    /// In which text it stands.
    pub(super) source: usize,
    /// Outer attributes without those of the language.
    pub(super) attrs: Vec<syn::Attribute>,
    /// The optimisers named by `#[train(…)]`, each once.
    pub(super) train: Vec<Train>,
    /// Where `#[remat]` stands.
    pub(super) remat: Option<Place>,
    pub(super) vis: syn::Visibility,
    pub(super) name: Ident,
    pub(super) receiver: Receiver,
    pub(super) params: Vec<(Pat, TypeExpr)>,
    pub(super) result: TypeExpr,
    pub(super) body: Block,
}

impl Fn {
    pub(super) fn is_pub(&self) -> bool {
        !matches!(self.vis, syn::Visibility::Inherited)
    }
}

/// How a function takes `self`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Receiver {
    None,
    Shared,
    /// `&mut self`, and where the `mut` stands.
    Mut(Span),
}

/// `#[train(AdamW, only = [head, body.norm])]`
#[derive(Debug)]
pub(super) struct Train {
    /// `None` where it could not be read.
    pub(super) optimizer: Option<Ident>,
    /// The fields that are trained, or not; all are where it is absent.
    pub(super) chosen: Option<Chosen>,
}

/// Fields behind `only`, or behind a word of other libraries that leaves fields out, which the language has not.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) word: Ident,
    pub(super) fields: Vec<Expr>,
}

/// What a value is bound to.
#[derive(Clone, Debug)]
pub(super) enum Pat {
    Name { name: Ident, mutable: bool },
    Tuple(Vec<Pat>, Place),
    Ignore(Span),
}

impl Pat {
    pub(super) fn place(&self) -> Place {
        match self {
            Pat::Name { name, .. } => name.span().into(),
            Pat::Tuple(_, place) => *place,
            Pat::Ignore(span) => (*span).into(),
        }
    }
}

/// `f32[B, 64]`, tuples of such, or a named struct of such.
#[derive(Clone, Debug)]
pub(super) enum TypeExpr {
    Tensor { dtype: Ident, axes: Vec<AxisExpr>, place: Place },
    Tuple(Vec<TypeExpr>, Place),
    Struct(Ident, Vec<(Ident, TypeExpr)>),
    Error,
}

/// One extent of a type.
#[derive(Clone, Debug)]
pub(super) enum AxisExpr {
    /// `..`
    Rest,
    /// `T` or `T <= 512`
    Dim { value: Expr, bound: Option<Expr> },
}

/// `{ …; tail }`
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) stmts: Vec<Stmt>,
    pub(super) tail: Option<Box<Expr>>,
    /// The closing brace, where a missing result is reported.
    pub(super) close: Span,
}

impl Block {
    /// The expressions of its statements, and the blocks in them.
    pub(super) fn inside(&self) -> (Vec<&Expr>, Vec<&Block>) {
        let (mut exprs, mut blocks) = (vec![], vec![]);
        for stmt in &self.stmts {
            match stmt {
                Stmt::Let { value, .. } => exprs.push(value),
                Stmt::Assign { target, value, .. } => {
                    exprs.extend(target.all());
                    exprs.push(value);
                }
                Stmt::For { over, body, .. } => {
                    match over {
                        Iter::Range { start, end, .. } => exprs.extend([start, end]),
                        Iter::Field(field) => exprs.push(field),
                    }
                    blocks.push(body);
                }
                Stmt::Expr(expr) => exprs.push(expr),
            }
        }
        exprs.extend(self.tail.as_deref());
        (exprs, blocks)
    }
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) enum Stmt {
    Let { pat: Pat, ty: Option<TypeExpr>, value: Expr },
    Assign { target: Target, op: Option<Binary>, value: Expr },
    For { pat: Pat, over: Iter, body: Block },
    Expr(Expr),
}

/// What an assignment changes.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// A variable, a state or a part of one.
    One(Expr),
    /// `(a, b)`
    Tuple(Vec<Target>, Place),
    /// `_`
    Ignore,
}

impl Target {
    /// The variables and states in it, in order.
    pub(super) fn all(&self) -> Vec<&Expr> {
        match self {
            Target::One(expr) => vec![expr],
            Target::Tuple(items, _) => items.iter().flat_map(Target::all).collect(),
            Target::Ignore => vec![],
        }
    }
}

/// What a loop runs over.
#[derive(Clone, Debug)]
pub(super) enum Iter {
    Range { start: Expr, end: Expr, inclusive: bool },
    Field(Expr),
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) place: Place,
}

impl Expr {
    /// The expressions directly inside of this one, and its blocks.
    pub(super) fn inside(&self) -> (Vec<&Expr>, Vec<&Block>) {
        let exprs: Vec<&Expr> = match &self.kind {
            ExprKind::Unary(_, of) | ExprKind::Part(of, _) | ExprKind::Field(of, _) => vec![of],
            ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::Call(of, args) | ExprKind::Method(of, _, args) => {
                std::iter::once(&**of).chain(args.iter().map(|arg| &arg.value)).collect()
            }
            ExprKind::Index(of, items) => std::iter::once(&**of).chain(items.iter().flat_map(Index::sides)).collect(),
            ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().collect(),
            ExprKind::Struct(_, fields) => fields.iter().map(|(_, value)| value).collect(),
            ExprKind::If { condition, otherwise, .. } => {
                std::iter::once(&**condition).chain(otherwise.as_deref()).collect()
            }
            ExprKind::Closure(closure) => vec![&closure.body],
            ExprKind::Match(of, arms) => std::iter::once(&**of).chain(arms.iter().map(|arm| &arm.body)).collect(),
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Text(_)
            | ExprKind::Name(_)
            | ExprKind::SelfValue
            | ExprKind::Rest
            | ExprKind::Block(_)
            | ExprKind::Error => vec![],
        };
        let blocks = match &self.kind {
            ExprKind::Block(block) | ExprKind::If { then: block, .. } => vec![&**block],
            _ => vec![],
        };
        (exprs, blocks)
    }
}

/// What an expression is.
#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Name(Ident),
    SelfValue,
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    Call(Box<Expr>, Vec<Arg>),
    Method(Box<Expr>, Ident, Vec<Arg>),
    Field(Box<Expr>, Ident),
    Part(Box<Expr>, usize),
    Index(Box<Expr>, Vec<Index>),
    Tuple(Vec<Expr>),
    List(Vec<Expr>),
    /// `..` inside a list of extents.
    Rest,
    Block(Box<Block>),
    If {
        condition: Box<Expr>,
        then: Box<Block>,
        otherwise: Option<Box<Expr>>,
    },
    Struct(Ident, Vec<(Ident, Expr)>),
    Closure(Box<Closure>),
    Match(Box<Expr>, Vec<Arm>),
    Error,
}

/// `|state, x| body`
#[derive(Clone, Debug)]
pub(super) struct Closure {
    pub(super) params: Vec<(Pat, Option<TypeExpr>)>,
    pub(super) body: Expr,
}

/// `1 | 2 => body`
#[derive(Clone, Debug)]
pub(super) struct Arm {
    pub(super) cases: Vec<(Case, Place)>,
    pub(super) body: Expr,
}

/// What an arm of a `match` takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Case {
    Int(i64),
    Bool(bool),
    /// `_`
    Rest,
}

/// One item between the brackets of `x[…]`.
#[derive(Clone, Debug)]
pub(super) enum Index {
    /// `..`
    Rest(Place),
    /// `_`
    Whole,
    At(Expr),
    Range {
        start: Option<Expr>,
        end: Option<Expr>,
        inclusive: bool,
    },
    /// `(1..8).step_by(2)`; the place is that of the whole.
    Stepped {
        start: Option<Expr>,
        end: Option<Expr>,
        inclusive: bool,
        step: Expr,
        place: Place,
    },
    /// `1..8..2` or `::2`, which is a mistake.
    Step {
        start: Option<Expr>,
        end: Option<Expr>,
        step: Option<Expr>,
        place: Place,
    },
}

impl Index {
    /// From the first number of it to the last, where it has one.
    pub(super) fn place(&self) -> Option<Place> {
        if let Index::Step { place, .. } | Index::Stepped { place, .. } = self {
            return Some(*place);
        }
        let sides = self.sides();
        Some(sides.first()?.place.to(sides.last()?.place))
    }

    fn sides(&self) -> Vec<&Expr> {
        match self {
            Index::Rest(_) | Index::Whole => vec![],
            Index::At(at) => vec![at],
            Index::Range { start, end, .. } => start.iter().chain(end).collect(),
            Index::Step { start, end, step, .. } => start.iter().chain(end).chain(step).collect(),
            Index::Stepped { start, end, step, .. } => start.iter().chain(end).chain([step]).collect(),
        }
    }
}

/// A prefix operator.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Unary {
    Neg,
    Not,
}

/// An infix operator.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Binary {
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    BitOr,
    BitXor,
    BitAnd,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

impl Binary {
    /// As the user writes it.
    pub(super) fn text(self) -> &'static str {
        match self {
            Binary::Or => "||",
            Binary::And => "&&",
            Binary::Eq => "==",
            Binary::Ne => "!=",
            Binary::Lt => "<",
            Binary::Le => "<=",
            Binary::Gt => ">",
            Binary::Ge => ">=",
            Binary::BitOr => "|",
            Binary::BitXor => "^",
            Binary::BitAnd => "&",
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::Rem => "%",
        }
    }

    /// Whether it compares two values.
    pub(super) fn compares(self) -> bool {
        matches!(self, Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge)
    }

    /// The higher binds tighter, as in Rust.
    pub(super) fn precedence(self) -> u8 {
        match self {
            Binary::Or => 1,
            Binary::And => 2,
            Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => 3,
            Binary::BitOr => 4,
            Binary::BitXor => 5,
            Binary::BitAnd => 6,
            Binary::Add | Binary::Sub => 7,
            Binary::Mul | Binary::Div | Binary::Rem => 8,
        }
    }
}
