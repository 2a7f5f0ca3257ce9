//! Layers: one that suits a value of the program in, a field that declares it and a call of it out.

use super::{ELEMENTS, Growing, fits, infer, resolved};
use crate::program::{Field, Local, Step};
use precast_compiler::ir::attr::Attrs;
use precast_compiler::ir::dim::product;
use precast_compiler::ir::{DType, Dim, Type};
use precast_compiler::ops::{self, Domain, Item, Layer};

/// A layer that a field declares, with the types that it was called with.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    field: usize,
    layer: &'static Layer,
    attrs: Attrs,
    params: Vec<(&'static str, Type)>,
    operands: Vec<(Type, Domain)>,
}

/// What a constructor is given, with names where it has them.
type Written = Vec<(Option<String>, String)>;

/// The layers that fields declare, besides plain parameters.
pub fn layers() -> Vec<&'static Layer> {
    let all = ops::items().filter_map(|item| if let Item::Layer(layer) = item { Some(layer) } else { None });
    all.filter(|layer| layer.name != "Parameter").collect()
}

/// Whether a call of the layer is drawn.
pub fn declares(layer: &'static Layer) -> bool {
    (0..20).any(|seed| Growing::empty(seed).declared(layer).is_some())
}

impl Growing {
    /// A call of a new layer, or of one that is there already, whose parameters both then share.
    pub(super) fn layer(&mut self) -> Option<Vec<Local>> {
        if !self.layers.is_empty() && self.random.percent(20) {
            let layers = self.layers.clone();
            let again = self.random.pick(&layers);
            if self.fixed && again.layer.name.starts_with("BatchNorm") {
                return None;
            }
            let mut operands = vec![];
            for (ty, domain) in &again.operands {
                operands.push(self.value(ty, *domain)?);
            }
            return self.called(&again, operands);
        }
        let layer = self.random.pick(&layers());
        self.declared(layer)
    }

    fn declared(&mut self, layer: &'static Layer) -> Option<Vec<Local>> {
        if self.fixed && layer.name.starts_with("BatchNorm") {
            return None;
        }
        let x = self.argument(layer)?;
        let ty = self.ty(x.0);
        // One element of each channel has no variance.
        let others = ty.shape.iter().enumerate().filter(|(axis, _)| *axis != 1).map(|(_, dim)| dim);
        if layer.name.starts_with("BatchNorm") && product(others).is(1) {
            return None;
        }
        for _ in 0..6 {
            let written = self.constructor(layer.name, &ty)?;
            let Some(attrs) = resolved(layer.attrs, &written) else { continue };
            let Ok(params) = (layer.params)(&attrs) else { continue };
            let params: Vec<(&str, Type)> =
                params.into_iter().map(|p| (p.name, Type::new(DType::F32, p.shape))).collect();
            let mut operands = vec![x];
            operands.extend(self.sequence(layer.name, &ty, &attrs)?);
            let op_attrs = (layer.op_attrs)(&attrs);
            let types = |operands: &[(Local, Domain)]| operands.iter().map(|o| self.ty(o.0)).collect::<Vec<_>>();
            let all = [types(&operands), params.iter().map(|(_, ty)| ty.clone()).collect()].concat();
            let own: Vec<&str> = params.iter().map(|(name, _)| *name).collect();
            let small = params.iter().all(|(_, ty)| ty.count().as_const().is_some_and(|n| n <= ELEMENTS));
            if !small || !infer(layer.op, &all, &own, &op_attrs).is_some_and(|results| results.iter().all(fits)) {
                continue;
            }
            let text = written.iter().map(|(name, text)| match name {
                Some(name) => format!("{name} = {text}"),
                None => text.clone(),
            });
            let declared = format!("{}({})", layer.name, text.collect::<Vec<_>>().join(", "));
            let field = self.program.fields.len();
            self.program.fields.push(Field { declared, block: None });
            let types = operands.iter().map(|&(v, domain)| (self.ty(v), domain)).collect();
            let declared = Declared { field, layer, attrs: op_attrs, params, operands: types };
            self.layers.push(declared.clone());
            return self.called(&declared, operands.into_iter().map(|o| o.0).collect());
        }
        None
    }

    fn called(&mut self, of: &Declared, operands: Vec<Local>) -> Option<Vec<Local>> {
        let (own, params): (Vec<&str>, Vec<Type>) = of.params.iter().cloned().unzip();
        let types: Vec<Type> = operands.iter().map(|&v| self.ty(v)).chain(params).collect();
        let results = infer(of.layer.op, &types, &own, &of.attrs)?;
        let results: Vec<Local> = results.into_iter().map(|ty| self.local(ty)).collect();
        self.pool.extend(&results);
        self.push(Step::Layer { field: of.field, operands, results: results.clone() });
        Some(results)
    }

    /// A value of that type made of others, or a new argument.
    pub(super) fn value(&mut self, ty: &Type, domain: Domain) -> Option<Local> {
        match self.source(ty, domain) {
            Some(v) => Some(v),
            None if self.closed => None,
            None => Some(self.given(ty.clone(), domain)),
        }
    }

    /// The argument of a layer: of the rank and with the constant extent that it needs.
    fn argument(&mut self, layer: &Layer) -> Option<(Local, Domain)> {
        let (ranks, axis): (&[usize], usize) = match layer.name {
            "Conv1d" | "ConvTranspose1d" | "InstanceNorm1d" => (&[3], 1),
            "Conv2d" | "ConvTranspose2d" | "InstanceNorm2d" | "BatchNorm2d" => (&[4], 1),
            "BatchNorm1d" => (&[2, 3, 3], 1),
            "GroupNorm" => (&[2, 3, 3, 4, 4, 5], 1),
            "RNN" | "LSTM" | "GRU" => (&[3], 2),
            "Embedding" => {
                let rank = self.random.below(4);
                let ty = Type::new(if self.random.percent(70) { DType::U32 } else { DType::I32 }, self.extents(rank));
                let domain = Domain::Below(2 + self.random.below(12) as u32);
                return Some((self.value(&ty, domain)?, domain));
            }
            _ => (&[1, 2, 2, 3, 3, 4], usize::MAX),
        };
        let suits = |ty: &Type| {
            let at = axis.min(ty.rank().wrapping_sub(1));
            ty.dtype == DType::F32 && ranks.contains(&ty.rank()) && ty.shape[at].as_const().is_some_and(|n| n > 0)
        };
        let those: Vec<Local> = self.pool.iter().copied().filter(|&v| suits(&self.program.types[v])).collect();
        if !those.is_empty() && self.random.percent(50) {
            return Some((self.random.pick(&those), Domain::Normal));
        }
        let rank = self.random.pick(ranks);
        let mut shape = self.extents(rank);
        let at = axis.min(rank - 1);
        if shape[at].as_const().is_none() {
            shape[at] = Dim::from(self.random.pick(&[3, 4, 6]));
        }
        Some((self.value(&Type::new(DType::F32, shape), Domain::Normal)?, Domain::Normal))
    }

    /// Some axes, the batch first more often than not.
    fn extents(&mut self, rank: usize) -> Vec<Dim> {
        let some: &[i64] = if rank > 3 { &[1, 2, 3, 4, 5, 6] } else { &[1, 2, 3, 4, 5, 6, 8, 9, 16] };
        let mut shape: Vec<Dim> = (0..rank).map(|_| Dim::from(self.random.pick(some))).collect();
        if rank > 0 && self.random.percent(60) {
            shape[0] = Dim::name("B");
        }
        if rank > 1 && self.random.percent(15) {
            let at = 1 + self.random.below(rank - 1);
            shape[at] = Dim::name("T");
        }
        shape
    }

    /// A state to begin with and the lengths of sequences, where a recurrent layer is given them.
    fn sequence(&mut self, layer: &str, x: &Type, attrs: &Attrs) -> Option<Vec<(Local, Domain)>> {
        let mut more = vec![];
        if !matches!(layer, "RNN" | "LSTM" | "GRU") {
            return Some(more);
        }
        if self.random.percent(40) {
            let stack = attrs.known("layers") * if attrs.flag("bidirectional") { 2 } else { 1 };
            let shape = [stack.into(), x.shape[0].clone(), attrs.known("hidden").into()];
            for _ in 0..if layer == "LSTM" { 2 } else { 1 } {
                more.push((self.value(&Type::new(DType::F32, &shape[..]), Domain::Normal)?, Domain::Normal));
            }
        }
        if self.random.percent(40) {
            let steps = x.shape[1].as_const().unwrap_or(1);
            let domain = Domain::Below(steps as u32 + 1);
            more.push((self.value(&Type::new(DType::U32, [x.shape[0].clone()]), domain)?, domain));
        }
        Some(more)
    }

    /// What the constructor of a layer for such an argument is given.
    fn constructor(&mut self, layer: &str, ty: &Type) -> Option<Written> {
        let extent = |axis: usize| ty.shape.get(axis).and_then(Dim::as_const);
        let last = ty.shape.last().and_then(Dim::as_const);
        let plain = |all: &[i64]| all.iter().map(|n| (None, n.to_string())).collect::<Written>();
        let mut written = match layer {
            "Linear" | "TransposedLinear" => plain(&[last?, self.random.pick(&[1, 2, 3, 4, 5, 8, 16, 17, 33])]),
            "LayerNorm" | "RMSNorm" => plain(&[last?]),
            "InstanceNorm1d" | "InstanceNorm2d" | "BatchNorm1d" | "BatchNorm2d" => plain(&[extent(1)?]),
            "GroupNorm" => {
                let channels = extent(1)?;
                let groups: Vec<i64> = (1..=channels).filter(|g| channels % g == 0).collect();
                plain(&[self.random.pick(&groups), channels])
            }
            "Embedding" => plain(&[13, self.random.pick(&[1, 2, 3, 5, 8, 16])]),
            "PReLU" => match extent(1) {
                Some(channels) if self.random.percent(50) => plain(&[channels]),
                _ => vec![],
            },
            "Dropout" => vec![(None, self.random.pick(&["0.25", "0.5", "0.0", "1.0", "0.9"]).to_owned())],
            "RNN" | "LSTM" | "GRU" => plain(&[last?, self.random.pick(&[1, 2, 3, 4, 5, 8])]),
            "Conv1d" | "Conv2d" | "ConvTranspose1d" | "ConvTranspose2d" => return self.convolution(layer, extent(1)?),
            _ => return None,
        };
        let options: &[(&str, usize, &[&str])] = match layer {
            "Linear" | "TransposedLinear" => {
                &[("bias", 30, &["false"]), ("init", 20, &["\"zeros\"", "\"orthogonal\""])]
            }
            "LayerNorm" => &[("eps", 30, &["0.01"]), ("elementwise_affine", 15, &["false"]), ("bias", 20, &["false"])],
            "RMSNorm" => &[("eps", 30, &["0.01"]), ("elementwise_affine", 15, &["false"])],
            "GroupNorm" => &[("eps", 30, &["0.01"]), ("affine", 15, &["false"])],
            "BatchNorm1d" | "BatchNorm2d" => &[
                ("eps", 50, &["0.01"]),
                ("momentum", 40, &["0.4", "None"]),
                ("affine", 15, &["false"]),
                ("track_running_stats", 15, &["false"]),
            ],
            "InstanceNorm1d" | "InstanceNorm2d" => &[("eps", 30, &["0.01"]), ("affine", 60, &["true"])],
            "PReLU" => &[("init", 20, &["0.1"])],
            "RNN" | "LSTM" | "GRU" => &[
                ("layers", 35, &["2", "2", "3"]),
                ("bidirectional", 35, &["true"]),
                ("bias", 25, &["false"]),
                ("dropout", 15, &["0.5"]),
            ],
            _ => &[],
        };
        self.chosen(options, &mut written);
        Some(written)
    }

    /// Adds each option as often as it says.
    fn chosen(&mut self, options: &[(&str, usize, &[&str])], written: &mut Written) {
        for (name, often, values) in options {
            if self.random.percent(*often) {
                written.push((Some((*name).to_owned()), self.random.pick(values).to_owned()));
            }
        }
    }

    fn convolution(&mut self, layer: &str, input: i64) -> Option<Written> {
        let groups: Vec<i64> = (1..=input).filter(|g| input % g == 0).collect();
        let groups = if self.random.percent(40) { self.random.pick(&groups) } else { 1 };
        let output = groups * self.random.pick(&[1, 1, 2, 3, 4, 8]);
        let flat = layer.ends_with("1d");
        let kernels: &[&str] =
            if flat { &["1", "2", "3", "4"] } else { &["1", "2", "3", "[2, 3]", "[1, 2]", "[3, 1]"] };
        let kernel = self.random.pick(kernels).to_owned();
        let mut written: Written = [input.to_string(), output.to_string(), kernel].map(|text| (None, text)).into();
        if groups > 1 {
            written.push((Some("groups".to_owned()), groups.to_string()));
        }
        let options: &[(&str, usize, &[&str])] = match (layer.starts_with("ConvT"), flat) {
            (false, true) => &[
                ("stride", 35, &["2", "3"]),
                ("padding", 50, &["1", "2", "\"same\""]),
                ("dilation", 25, &["2"]),
                ("bias", 25, &["false"]),
            ],
            (false, false) => &[
                ("stride", 35, &["2", "3", "[1, 2]", "[2, 1]"]),
                ("padding", 50, &["1", "2", "\"same\"", "[0, 1]"]),
                ("dilation", 25, &["2", "[1, 2]"]),
                ("bias", 25, &["false"]),
            ],
            (true, true) => &[
                ("stride", 50, &["2", "3"]),
                ("padding", 30, &["1", "2"]),
                ("output_padding", 25, &["1"]),
                ("dilation", 25, &["2"]),
                ("bias", 25, &["false"]),
            ],
            (true, false) => &[
                ("stride", 50, &["2", "3", "[1, 2]"]),
                ("padding", 30, &["1", "[0, 1]"]),
                ("output_padding", 25, &["1", "[0, 1]"]),
                ("dilation", 25, &["2", "[2, 1]"]),
                ("bias", 25, &["false"]),
            ],
        };
        self.chosen(options, &mut written);
        Some(written)
    }
}
