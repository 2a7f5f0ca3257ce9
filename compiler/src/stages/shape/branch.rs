//! Branches: what chooses, and the cases, which must give equal types.

use super::report::{site_of, type_text};
use super::{Known, Shaper, literal};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::attr::Attr;
use crate::ir::prim::MapOp;
use crate::ir::written::Site;
use crate::ir::{Branch, Category, DType, Graph, Kind, Node, Prim, Type, Value};

impl Shaper<'_> {
    pub(super) fn branch(&mut self, node: &Node, branch: &Branch) -> Known {
        let args: Vec<Option<Value>> = node.args.iter().map(|&a| self.one(a)).collect();
        let inputs: Vec<Option<Type>> = args[1..].iter().map(|a| a.map(|a| self.new.ty(a).clone())).collect();
        let before = self.diags.list().len();
        let mut walked = vec![];
        for case in &branch.cases {
            let mut shaper = Shaper::new(case, self.diags, self.dims, self.bindings, Some(inputs.clone()));
            shaper.walk();
            walked.push((shaper.new, shaper.known));
        }
        // A number takes the element type of what another case gives.
        let of_case =
            |k: usize, case: &Graph, (graph, known): &(Graph, Vec<Known>)| match &known[case.outputs[k].0 as usize] {
                Known::One(value) => Some(graph.ty(*value).dtype),
                Known::Many(..) | Known::Each(_) | Known::Literal(_) | Known::Unknown => None,
            };
        let like: Vec<Option<DType>> = (0..branch.results())
            .map(|k| branch.cases.iter().zip(&walked).find_map(|(case, walked)| of_case(k, case, walked)))
            .collect();
        let mut cases: Vec<Graph> = vec![];
        let mut sure = vec![true; branch.results()];
        for (case, (new, known)) in branch.cases.iter().zip(walked) {
            let shaper = Shaper::new(case, self.diags, self.dims, self.bindings, Some(inputs.clone()));
            let (graph, known) = Shaper { new, known, ..shaper }.finish(&like);
            sure.iter_mut().zip(known).for_each(|(all, one)| *all &= one);
            cases.push(graph);
        }
        for k in (0..sure.len()).filter(|&k| sure[k]) {
            self.same_types(branch, &cases, k);
        }
        let reported = self.diags.list().len() > before;
        let Some(args) =
            args.into_iter().collect::<Option<Vec<Value>>>().filter(|_| !reported && !sure.contains(&false))
        else {
            return Known::Unknown;
        };
        let typed = Branch { cases };
        let results: Vec<Type> = (0..typed.results()).map(|k| typed.result(k)).collect();
        let value = self.new.push(Kind::Branch(Box::new(typed)), args, results.first().cloned(), node.span);
        match results.len() {
            1 => Known::One(value),
            _ => Known::Many(value, results),
        }
    }

    /// Reports the first case whose k-th output has another type than the case before it.
    fn same_types(&mut self, branch: &Branch, cases: &[Graph], k: usize) {
        let site = |n: usize| site_of(branch.cases[n].node(branch.cases[n].outputs[k]));
        let ty = |n: usize| cases[n].ty(cases[n].outputs[k]);
        let mut order: Vec<usize> = (0..cases.len()).collect();
        // In the order of the text, which need not be that of the cases.
        let start = |n: usize| site(n).place.first.start();
        order.sort_by_key(|&n| (start(n).line, start(n).column));
        let Some(pair) = order.windows(2).find(|pair| ty(pair[0]) != ty(pair[1])) else { return };
        let ([first, second], [a, b]) =
            ([site(pair[0]), site(pair[1])], [type_text(ty(pair[0])), type_text(ty(pair[1]))]);
        let message = match first.text == second.text {
            true => format!("`{}` is {b} after this branch, but {a} after another", second.text),
            false => format!("`{}` is {b}, but the branch before gives `{}`, which is {a}", second.text, first.text),
        };
        let mut report = Diagnostic::new(Code::BranchTypes, second.place, message);
        report = report.note("only one of the branches runs, so all must give the same type");
        let scalar = [ty(pair[0]), ty(pair[1])].iter().position(|ty| ty.rank() == 0);
        if let Some(which) = scalar.filter(|_| ty(pair[0]).dtype == ty(pair[1]).dtype) {
            let (text, like) = ([&first, &second][which], ty(pair[1 - which]));
            let shape = type_text(like).split_once('[').map_or(String::new(), |(_, axes)| format!("[{axes}"));
            report = report.help(format!("give it that shape: `broadcast_to({}, {shape})`", text.text));
        }
        self.diags.push(report);
    }

    /// The condition of an `if`.
    pub(super) fn condition(&mut self, node: &Node, site: &Site) -> Known {
        let Some(value) = self.one(node.args[0]) else { return Known::Unknown };
        let (ty, text) = (self.new.ty(value).clone(), &site.text);
        if ty == Type::scalar(DType::Bool) {
            return Known::One(value);
        }
        let help = match (ty.rank(), ty.dtype.category()) {
            (0, Category::Float) => format!("compare it: `{text} > 0.0`"),
            (0, Category::Signed | Category::Unsigned | Category::Bool) => format!("compare it: `{text} != 0`"),
            (_, Category::Bool) => match &site.args[..] {
                [_, (then, _), (otherwise, _)] => format!("choose by element: `where({text}, {then}, {otherwise})`"),
                _ => format!("choose by element: `where({text}, …, …)`"),
            },
            (_, Category::Float | Category::Signed | Category::Unsigned) => {
                format!("choose by element: `where({text} > …, …, …)`")
            }
        };
        self.report_selector(site, &ty, "a condition is one bool", help);
        Known::Unknown
    }

    fn report_selector(&mut self, site: &Site, ty: &Type, wanted: &str, help: String) {
        let message = format!("`{}` is {}, but {wanted}", site.text, type_text(ty));
        let code = if ty.rank() > 0 { Code::ConditionNotScalar } else { Code::ConditionType };
        self.diags.push(Diagnostic::new(code, site.place, message).help(help));
    }

    /// The number of the arm that takes the value.
    pub(super) fn choice(&mut self, node: &Node, arms: &[Vec<(Attr, Place)>], site: &Site) -> Known {
        let Some(value) = self.one(node.args[0]) else { return Known::Unknown };
        let ty = self.new.ty(value).clone();
        if ty.rank() > 0 || ty.dtype.is_float() {
            let help = match ty.rank() {
                0 => format!("compare it: `if {} < … {{ … }} else {{ … }}`", site.text),
                _ => format!("choose by element: `where({} == …, …, …)`", site.text),
            };
            self.report_selector(site, &ty, "`match` takes one integer or bool", help);
            return Known::Unknown;
        }
        let mut sure = true;
        for (attr, place) in arms.iter().flatten().filter(|(attr, _)| !literal::suits(attr, ty.dtype)) {
            let message = format!("`{}` is {}, so it is never `{attr}`", site.text, type_text(&ty));
            self.diags.push(Diagnostic::new(Code::PatternType, *place, message));
            sure = false;
        }
        if !sure {
            return Known::Unknown;
        }
        // Values of types of memory are compared in the type that they are computed in.
        let computed = ty.dtype.computed();
        let value = match computed == ty.dtype {
            true => value,
            false => {
                let kind = Kind::Prim(Prim::Convert(computed));
                self.new.push(kind, vec![value], Some(Type::scalar(computed)), node.span)
            }
        };
        let number = |this: &mut Self, n: usize| this.literal(&Attr::Int((n as i64).into()), DType::U32, node.span);
        let mut selector = number(self, arms.len());
        for (n, attrs) in arms.iter().enumerate() {
            let arm = number(self, n);
            for (attr, place) in attrs {
                let pattern = self.literal(attr, computed, place.first);
                let equal = self.map(MapOp::Eq, &[value, pattern], DType::Bool, node);
                selector = self.map(MapOp::Select, &[equal, arm, selector], DType::U32, node);
            }
        }
        Known::One(selector)
    }

    fn map(&mut self, op: MapOp, args: &[Value], dtype: DType, node: &Node) -> Value {
        self.new.push(Kind::Prim(Prim::Map(op)), args.to_vec(), Some(Type::scalar(dtype)), node.span)
    }
}
