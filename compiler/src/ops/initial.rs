//! Initialisers: what a model writes behind `init =` in, how a parameter starts out.
//!
//! `xavier_uniform`, `normal(0.02)` and the like are values of attributes of the kind [`AttrKind::Init`]. They are kept
//! as a list of the name and the numbers, in the order in which the initialiser declares them.

use super::{Attr, AttrDecl, AttrKind, Attrs, LayerParam, OpError, resolve};
use crate::diag::{Code, closest};
use crate::ir::Dim;
use crate::ir::model::Init;

/// A rule by which a parameter starts.
#[derive(Debug)]
pub struct Initializer {
    /// PyTorch's name.
    pub name: &'static str,
    /// Its numbers, positional order first.
    pub attrs: &'static [AttrDecl],
    /// What it draws, with the source.
    pub doc: &'static str,
    rule: fn(&Attrs, &Fans) -> Result<Init, OpError>,
}

/// What an initialiser knows of the parameter.
struct Fans {
    rank: usize,
    fan_in: f64,
    fan_out: f64,
}

const GAIN: AttrDecl = AttrDecl::optional("gain", AttrKind::Float, "1", "a factor for every value");
const SLOPE: AttrDecl =
    AttrDecl::optional("a", AttrKind::Float, "0", "the slope below zero of the rectifier that follows");
const MODE: AttrDecl = AttrDecl::optional(
    "mode",
    AttrKind::Word(&["fan_in", "fan_out"]),
    "\"fan_in\"",
    "\"fan_in\" keeps the size of values, \"fan_out\" that of gradients",
);

/// How a layer's weight starts.
pub(super) const INIT: AttrDecl =
    AttrDecl::optional("init", AttrKind::Init, "", "how the weight starts; as in PyTorch where absent");
/// How a layer's bias starts.
pub(super) const BIAS_INIT: AttrDecl =
    AttrDecl::optional("bias_init", AttrKind::Init, "", "how the bias starts; as in PyTorch where absent");

/// All initialisers.
pub static INITIALIZERS: &[Initializer] = &[
    Initializer { name: "zeros", attrs: &[], doc: "All 0.", rule: |_, _| Ok(Init::Zeros) },
    Initializer { name: "ones", attrs: &[], doc: "All 1.", rule: |_, _| Ok(Init::Ones) },
    Initializer {
        name: "constant",
        attrs: &[AttrDecl::required("value", AttrKind::Float, "every element")],
        doc: "All one number.",
        rule: |attrs, _| Ok(Init::Constant(attrs.number("value"))),
    },
    Initializer {
        name: "normal",
        attrs: &[AttrDecl::optional("std", AttrKind::Float, "1", "the standard deviation")],
        doc: "Normal with mean 0.",
        rule: |attrs, _| Ok(Init::Normal { std: at_least_zero(attrs, "std")? }),
    },
    Initializer {
        name: "uniform",
        attrs: &[AttrDecl::optional("bound", AttrKind::Float, "1", "the largest size")],
        doc: "Uniform between −bound and bound.",
        rule: |attrs, _| Ok(Init::Uniform { bound: at_least_zero(attrs, "bound")? }),
    },
    Initializer {
        name: "trunc_normal",
        attrs: &[AttrDecl::optional("std", AttrKind::Float, "1", "the standard deviation before truncation")],
        doc: "Normal with mean 0, drawn again while further than two standard deviations from it.",
        rule: |attrs, _| Ok(Init::TruncNormal { std: at_least_zero(attrs, "std")? }),
    },
    Initializer {
        name: "orthogonal",
        attrs: &[GAIN],
        doc: "Orthogonal rows, or columns where these are fewer, of length `gain`, uniform among all such (Saxe, \
              McClelland and Ganguli 2013); all axes but the first count as one.",
        rule: |attrs, fans| {
            fans.must_be_a_matrix()?;
            Ok(Init::Orthogonal { gain: attrs.number("gain") })
        },
    },
    Initializer {
        name: "xavier_uniform",
        attrs: &[GAIN],
        doc: "Uniform with bound `gain · √(6 / (fan_in + fan_out))` (Glorot and Bengio 2010).",
        rule: |attrs, fans| {
            fans.must_be_a_matrix()?;
            Ok(Init::Uniform { bound: attrs.number("gain") * (6.0 / (fans.fan_in + fans.fan_out)).sqrt() })
        },
    },
    Initializer {
        name: "xavier_normal",
        attrs: &[GAIN],
        doc: "Normal with standard deviation `gain · √(2 / (fan_in + fan_out))` (Glorot and Bengio 2010).",
        rule: |attrs, fans| {
            fans.must_be_a_matrix()?;
            Ok(Init::Normal { std: attrs.number("gain") * (2.0 / (fans.fan_in + fans.fan_out)).sqrt() })
        },
    },
    Initializer {
        name: "kaiming_uniform",
        attrs: &[SLOPE, MODE],
        doc: "Uniform with bound `√(6 / ((1 + a²) · fan))` (He et al. 2015).",
        rule: |attrs, fans| Ok(Init::Uniform { bound: 3_f64.sqrt() * kaiming(attrs, fans)? }),
    },
    Initializer {
        name: "kaiming_normal",
        attrs: &[SLOPE, MODE],
        doc: "Normal with standard deviation `√(2 / ((1 + a²) · fan))` (He et al. 2015).",
        rule: |attrs, fans| Ok(Init::Normal { std: kaiming(attrs, fans)? }),
    },
];

/// The initialiser of that name.
pub fn initializer(name: &str) -> Option<&'static Initializer> {
    INITIALIZERS.iter().find(|one| one.name == name)
}

/// An initialiser and its numbers as the value of an attribute.
pub fn initial_value(of: &Initializer, attrs: Attrs) -> Attr {
    let numbers = attrs.0.into_iter().map(|(_, value)| value);
    Attr::List([Attr::Text(of.name.into())].into_iter().chain(numbers).collect())
}

/// The value of an attribute of the kind [`AttrKind::Init`] from what was given: a name alone has the defaults.
///
/// # Errors
/// `wrong-attribute`, where there is no such initialiser, or where it needs a number.
pub(super) fn fit_initial(attr: &'static str, value: Attr) -> Result<Attr, OpError> {
    match &value {
        Attr::List(parts) if matches!(parts.first(), Some(Attr::Text(name)) if initializer(name).is_some()) => {
            Ok(value)
        }
        Attr::Text(name) => match initializer(name) {
            Some(of) => match resolve(of.attrs, vec![], vec![]) {
                Ok(attrs) => Ok(initial_value(of, attrs)),
                Err(_) => {
                    let numbers: Vec<&str> = of.attrs.iter().map(|decl| decl.name).collect();
                    let message = format!("`{name}` needs a number: {}", of.attrs[0].doc);
                    let help = format!("write `{attr} = {name}({} = 0.5)`", numbers.join(", "));
                    Err(OpError::new(Code::WrongAttribute, message).attr(attr).help(help))
                }
            },
            None => {
                let error = OpError::new(Code::WrongAttribute, format!("there is no initialiser `{name}`")).attr(attr);
                let known = || INITIALIZERS.iter().map(|one| one.name);
                let called = name.split_once('(').and_then(|(called, _)| initializer(called));
                Err(match (called, closest(name, known())) {
                    (Some(_), _) => error.help(format!("write `{attr} = {name}`, without quotes")),
                    (None, Some(near)) => error.help(format!("write `{attr} = {near}`")),
                    (None, None) => error.help(format!("there are `{}`", known().collect::<Vec<_>>().join("`, `"))),
                })
            }
        },
        Attr::Absent | Attr::Int(_) | Attr::Float(_) | Attr::Bool(_) | Attr::List(_) => {
            let message = format!("`{attr}` must be an initialiser, not {value}");
            let help = match value {
                Attr::Int(_) | Attr::Float(_) => format!("write `{attr} = constant({value})`"),
                _ => format!("write `{attr} = normal(0.02)`"),
            };
            Err(OpError::new(Code::WrongAttribute, message).attr(attr).help(help))
        }
    }
}

/// How a parameter of that shape starts: as the attribute says, by the layer's own rule where it is absent.
///
/// # Errors
/// `wrong-attribute`, where the initialiser's numbers or the shape do not suit it.
pub(super) fn initial(attrs: &Attrs, name: &'static str, shape: &[Dim], own: Init) -> Result<Init, OpError> {
    let Attr::List(parts) = attrs.get(name) else { return Ok(own) };
    let Some((Attr::Text(of), numbers)) = parts.split_first() else {
        unreachable!("`fit_initial` made the list, which starts with a name");
    };
    let Some(of) = initializer(of) else { unreachable!("`fit_initial` found the initialiser") };
    let numbers = of.attrs.iter().map(|decl| decl.name.into()).zip(numbers.iter().cloned()).collect();
    (of.rule)(&Attrs(numbers), &Fans::of(shape)).map_err(|error| OpError { attr: Some(name), ..error })
}

/// The weight of that shape and, where the attribute `bias` asks for it, a bias for each of the outputs. They start as the attributes say, or by PyTorch's default: Kaiming uniform with a = √5, which is uniform
/// over ±1/√fan_in.
///
/// # Errors
/// Where an initialiser does not suit its parameter.
pub(super) fn weight_and_bias(
    attrs: &Attrs,
    shape: Vec<Dim>,
    outputs: i64,
    fan_in: i64,
) -> Result<Vec<LayerParam>, OpError> {
    let own = Init::Uniform { bound: 1.0 / (fan_in as f64).sqrt() };
    let outputs = vec![Dim::from(outputs)];
    let start = |name, shape: &[Dim]| initial(attrs, name, shape, own.clone());
    let mut params = vec![LayerParam { name: "weight", init: start("init", &shape)?, shape, trained: true }];
    if attrs.flag("bias") {
        params.push(LayerParam { name: "bias", init: start("bias_init", &outputs)?, shape: outputs, trained: true });
    } else if *attrs.get("bias_init") != Attr::Absent {
        return Err(
            OpError::new(Code::WrongAttribute, "there is no bias that `bias_init` could start").attr("bias_init")
        );
    }
    Ok(params)
}

impl Fans {
    /// PyTorch's fans: the second and the first extent, each times the remaining ones.
    fn of(shape: &[Dim]) -> Fans {
        let extents: Vec<f64> = shape.iter().map(|d| d.as_const().unwrap_or(1) as f64).collect();
        let field: f64 = extents.iter().skip(2).product();
        let extent = |axis: usize| extents.get(axis).copied().unwrap_or(1.0) * field;
        Fans { rank: shape.len(), fan_in: extent(1), fan_out: extent(0) }
    }

    fn must_be_a_matrix(&self) -> Result<(), OpError> {
        if self.rank >= 2 {
            return Ok(());
        }
        let message =
            format!("this initialiser needs two axes, for inputs and outputs; the parameter has {}", self.rank);
        Err(OpError::new(Code::WrongAttribute, message).help("write `normal(0.02)`"))
    }
}

/// `√(2 / ((1 + a²) · fan))`
fn kaiming(attrs: &Attrs, fans: &Fans) -> Result<f64, OpError> {
    fans.must_be_a_matrix()?;
    let fan = if attrs.text("mode") == Some("fan_out") { fans.fan_out } else { fans.fan_in };
    let slope = attrs.number("a");
    Ok((2.0 / ((1.0 + slope * slope) * fan)).sqrt())
}

fn at_least_zero(attrs: &Attrs, name: &str) -> Result<f64, OpError> {
    match attrs.number(name) {
        n if n >= 0.0 => Ok(n),
        n => Err(OpError::new(Code::WrongAttribute, format!("`{name}` cannot be negative, as {n} is"))),
    }
}
