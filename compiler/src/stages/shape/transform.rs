//! Functions mapped and differentiated: the body typed once for a slice or point, and what the user asks of
//! it checked.

use super::report::type_text;
use super::{Known, Shaper};
use crate::diag::{Code, Diagnostic, Diags};
use crate::ir::written::{Made, Site};
use crate::ir::{Category, How, Kind, Node, Transform, Type, Value};

impl Shaper<'_> {
    pub(super) fn transform(&mut self, node: &Node, made: &Made, site: &Site) -> Known {
        let args: Vec<Option<Value>> = node.args.iter().map(|&a| self.one(a)).collect();
        let types: Vec<Option<Type>> = args.iter().map(|arg| arg.map(|a| self.new.ty(a).clone())).collect();
        let before = self.diags.list().len();
        let fits = self.arguments_fit(made, site, &types);
        let known = if fits { types } else { vec![None; args.len()] };
        // Slices and points are as many as the body's inputs; unknown ones silence what uses them.
        let inputs: Vec<Option<Type>> = match known.iter().cloned().collect::<Option<Vec<Type>>>() {
            Some(types) => made.transform.slices(&types).into_iter().map(Some).collect(),
            None => vec![None; made.transform.inputs(args.len())],
        };
        let body = Shaper::new(&made.transform.body, self.diags, self.dims, self.bindings, Some(inputs));
        let (body, sure) = body.run();
        if sure.contains(&false) || self.diags.list().len() > before {
            self.suggest_map(made, site, before, &known);
            return Known::Unknown;
        }
        let transform = Transform { how: made.transform.how.clone(), body };
        if !self.result_fits(made, &transform) || !self.cotangents_fit(made, site, &transform, &known) {
            return Known::Unknown;
        }
        let (Some(args), Some(types)) = (args.into_iter().collect::<Option<Vec<_>>>(), all(&known)) else {
            return Known::Unknown;
        };
        let results = transform.results(&types);
        let kind = Kind::Transform(Box::new(transform));
        let value = self.new.push(kind, args, results.first().cloned(), node.span);
        match results.len() {
            1 => Known::One(value),
            _ => Known::Many(value, results),
        }
    }

    /// Adds to the one report of a body, that it takes values of one axis less, how it is mapped over the first axis, where
    /// its mistakes are gone with slices along that.
    fn suggest_map(&mut self, made: &Made, site: &Site, before: usize, known: &[Option<Type>]) {
        let given = &known[..made.arguments.min(known.len())];
        let [report] = &self.diags.list()[before..] else { return };
        let mut report = report.clone();
        let Some(types) = given.iter().cloned().collect::<Option<Vec<Type>>>() else { return };
        let same = types.iter().all(|ty| ty.rank() > 0 && ty.shape[0] == types[0].shape[0]);
        if report.code != Code::WrongRank || made.maker == "map" || !same {
            return;
        }
        let slice = |ty: &Type| Type::new(ty.dtype, ty.shape[1..].to_vec());
        let others = known[given.len()..].iter().cloned();
        let slices: Option<Vec<Type>> = types.iter().map(|ty| Some(slice(ty))).chain(others).collect();
        let Some(slices) = slices else { return };
        let inputs = made.transform.slices(&slices).into_iter().map(Some).collect();
        let (mut silent, mut bindings) = (Diags::default(), self.bindings.clone());
        Shaper::new(&made.transform.body, &mut silent, self.dims, &mut bindings, Some(inputs)).run();
        if silent.is_empty() {
            let args: Vec<&str> = site.args[..given.len()].iter().map(|(text, _)| text.as_str()).collect();
            report.help = Some(format!("write `map({}({}))({})`", made.maker, made.function, args.join(", ")));
            self.diags.forget(before);
            self.diags.push(report);
        }
    }

    /// Whether the arguments are ones that the function can be mapped over or differentiated by.
    fn arguments_fit(&mut self, made: &Made, site: &Site, types: &[Option<Type>]) -> bool {
        match &made.transform.how {
            How::Map { mapped } => self.slices_fit(made, site, &types[..*mapped]),
            How::Gradient { wrt, .. } | How::Jacobian { wrt } => self.are_floats(made, site, types, wrt),
            How::Jvp { wrt } => {
                let points: Vec<usize> = (0..*wrt).collect();
                self.are_floats(made, site, types, &points) && self.directions_fit(made, site, types, *wrt)
            }
            How::Vjp { wrt, .. } => self.are_floats(made, site, types, wrt),
        }
    }

    fn slices_fit(&mut self, made: &Made, site: &Site, types: &[Option<Type>]) -> bool {
        let (maker, function) = (made.maker, &made.function);
        let mut first: Option<(usize, &Type)> = None;
        let mut fits = true;
        for (k, ty) in types.iter().enumerate() {
            let (Some(ty), (text, place)) = (ty, &site.args[k]) else { continue };
            let Some(axis) = ty.shape.first() else {
                let message = format!("`{text}` is {}, which has no axis to map `{function}` over", type_text(ty));
                let report = Diagnostic::new(Code::MapAxis, *place, message);
                self.diags.push(report.help(format!("let `{function}` see `{text}` from outside")));
                fits = false;
                continue;
            };
            match first {
                None => first = Some((k, ty)),
                Some((_, other)) if other.shape.first() == Some(axis) => {}
                Some((j, other)) => {
                    let (other, ty, before) = (type_text(other), type_text(ty), &site.args[j].0);
                    let message = format!("`{maker}` runs over `{before}: {other}` and `{text}: {ty}` together");
                    let report = Diagnostic::new(Code::MapAxis, *place, message);
                    self.diags.push(report.note("their first extents must be the same"));
                    fits = false;
                }
            }
        }
        fits
    }

    fn are_floats(&mut self, made: &Made, site: &Site, types: &[Option<Type>], wrt: &[usize]) -> bool {
        let mut fits = true;
        for &k in wrt {
            let Some(ty) = types[k].as_ref().filter(|ty| !ty.dtype.is_float()) else { continue };
            let (text, place) = match site.args.get(k).filter(|_| k < made.arguments) {
                Some((text, place)) => (text.clone(), *place),
                None => (made.function.clone(), made.place),
            };
            let message = format!("there is no derivative by `{text}`, which is {}", type_text(ty));
            let mut report = Diagnostic::new(Code::IntegerDerivative, place, message);
            let float = (0..made.arguments).find(|&k| types[k].as_ref().is_some_and(|ty| ty.dtype.is_float()));
            report = match float {
                Some(k) => {
                    report.help(format!("choose another argument: `{}({}, wrt = {k})`", made.maker, made.function))
                }
                None => report.help("give it an f32"),
            };
            self.diags.push(report);
            fits = false;
        }
        fits
    }

    fn directions_fit(&mut self, made: &Made, site: &Site, types: &[Option<Type>], count: usize) -> bool {
        let first = types.len() - count;
        let mut fits = true;
        for k in 0..count {
            let (Some(point), Some(direction)) = (&types[k], &types[first + k]) else { continue };
            if point == direction {
                continue;
            }
            let (name, (text, place)) = (&site.args[k].0, &site.args[made.arguments + k]);
            let (point, direction) = (type_text(point), type_text(direction));
            let message = format!("the direction `{text}` is {direction}, but `{name}` is {point}");
            self.diags.push(Diagnostic::new(Code::ShapeMismatch, *place, message));
            fits = false;
        }
        fits
    }

    /// Whether the function gives what can be differentiated.
    fn result_fits(&mut self, made: &Made, transform: &Transform) -> bool {
        let results: Vec<&Type> = transform.body.outputs.iter().map(|&v| transform.body.ty(v)).collect();
        let (maker, function) = (made.maker, &made.function);
        let wrong = match transform.how {
            How::Map { .. } => None,
            How::Gradient { .. } => results.iter().find(|ty| !ty.dtype.is_float() || ty.rank() > 0),
            How::Jvp { .. } | How::Vjp { .. } | How::Jacobian { .. } => results.iter().find(|ty| !ty.dtype.is_float()),
        };
        let Some(ty) = wrong else { return true };
        let (wanted, help) = match (&transform.how, ty.dtype.category()) {
            (How::Gradient { .. }, Category::Float) => {
                ("one number", format!("give the mean, or take all derivatives: `jacobian({function})`"))
            }
            _ => ("floats", format!("convert what `{function}` gives: `.{}()`", self.bindings.float)),
        };
        let message =
            format!("`{maker}` needs a function that gives {wanted}, but `{function}` gives {}", type_text(ty));
        self.diags.push(Diagnostic::new(Code::NonScalarGradient, made.place, message).help(help));
        false
    }
}

impl Shaper<'_> {
    /// Whether each result has a cotangent of its type.
    fn cotangents_fit(&mut self, made: &Made, site: &Site, transform: &Transform, types: &[Option<Type>]) -> bool {
        let How::Vjp { cotangents, .. } = &transform.how else { return true };
        let first = types.len() - cotangents;
        let results = transform.body.outputs.iter().map(|&v| transform.body.ty(v));
        let pairs = results.zip(&types[first..]).enumerate();
        let Some((k, (result, given))) = pairs.into_iter().find(|(_, (ty, given))| given.as_ref() != Some(*ty)) else {
            return true;
        };
        if let (Some(given), (text, place)) = (given, &site.args[made.arguments + k]) {
            let (given, result) = (type_text(given), type_text(result));
            let message = format!("the cotangent `{text}` is {given}, but `{}` gives {result}", made.function);
            self.diags.push(Diagnostic::new(Code::ShapeMismatch, *place, message));
        }
        false
    }
}

fn all(types: &[Option<Type>]) -> Option<Vec<Type>> {
    types.iter().cloned().collect()
}
