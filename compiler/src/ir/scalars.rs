//! The list of a kernel's scalars: what nothing uses is dropped, and what positions have in common is shared.
//!
//! In: a kernel. Out: the same kernel with other scalars. Always: a scalar stands behind those that it uses.

use super::index::{Atom, Index};
use super::kernel::{Expr, ExprId, Kernel};
use super::ty::DType;
use std::collections::BTreeMap;

impl Kernel {
    /// For each scalar whether the roots need it.
    pub fn needed(&self, roots: &[ExprId]) -> Vec<bool> {
        let mut needed = vec![false; self.scalars.len()];
        roots.iter().for_each(|&root| needed[root] = true);
        for id in (0..needed.len()).rev() {
            if needed[id] {
                self.scalars[id].operands(&mut |operand| needed[operand] = true);
            }
        }
        needed
    }

    /// The element type of each scalar.
    pub fn dtypes(&self) -> Vec<DType> {
        let mut dtypes: Vec<DType> = vec![];
        for expr in &self.scalars {
            match self.dtype(expr, &dtypes) {
                Ok(dtype) => dtypes.push(dtype),
                Err(why) => unreachable!("shape has checked the types: {why}"),
            }
        }
        dtypes
    }

    /// The element type of a scalar that uses those of known types.
    pub(super) fn dtype(&self, expr: &Expr, known: &[DType]) -> Result<DType, String> {
        Ok(match expr {
            Expr::Load { slot, .. } => self.slots[*slot].dtype,
            Expr::Const(x) => x.dtype(),
            Expr::Extent(_) | Expr::Index(_) => DType::U32,
            Expr::Inside(_) => DType::Bool,
            Expr::Map(op, args) => op.dtype(&args.iter().map(|&arg| known[arg]).collect::<Vec<_>>())?,
            Expr::Convert(dtype, _) => *dtype,
            Expr::Accumulated { dtype, .. } => *dtype,
        })
    }

    /// Drops the scalars that nothing uses.
    pub fn prune(&mut self) {
        let roots: Vec<ExprId> = self.uses().into_iter().map(|id| *id).collect();
        let live = self.needed(&roots);
        let new: Vec<ExprId> = live.iter().scan(0, |n, &l| Some(std::mem::replace(n, *n + usize::from(l)))).collect();
        self.uses().into_iter().for_each(|id| *id = new[*id]);
        let mut keep = live.iter();
        self.scalars.retain(|_| keep.next() == Some(&true));
        self.scalars.iter_mut().for_each(|scalar| scalar.renumber(&new, &mut |index| renumbered(index, &new)));
    }

    /// Puts scalars before all others, of which they use none.
    pub fn prepend(&mut self, scalars: Vec<Expr>) {
        let new: Vec<ExprId> = (0..self.scalars.len()).map(|id| id + scalars.len()).collect();
        self.scalars.iter_mut().for_each(|scalar| scalar.renumber(&new, &mut |index| renumbered(index, &new)));
        self.uses().into_iter().for_each(|id| *id = new[*id]);
        self.schedule.rows.for_each_scalar(&mut |id| *id = new[*id]);
        self.for_each_place(&mut |index| *index = renumbered(index, &new));
        self.scalars.splice(0..0, scalars);
    }

    /// Divides once what is divided several times: each such quotient and remainder becomes a scalar. Movement that was
    /// folded into positions repeats its divisions in every load, in every guard and in each other, by powers of two. Only
    /// what cannot be negative is shared, since scalars of positions are `u32`.
    ///
    /// This hides from ranges and strides what a position varies with, and so comes last, before kernels are printed.
    pub fn share_divisions(&mut self) {
        let mut sharing = Sharing { often: BTreeMap::new(), known: BTreeMap::new(), scalars: vec![] };
        let mut new = vec![];
        self.scalars.iter_mut().for_each(|scalar| scalar.for_each_index(&mut |index| sharing.count(index)));
        for mut scalar in std::mem::take(&mut self.scalars) {
            scalar.renumber(&new, &mut |index| sharing.shared(index, &new));
            new.push(sharing.scalars.len());
            sharing.scalars.push(scalar);
        }
        self.uses().into_iter().for_each(|id| *id = new[*id]);
        self.schedule.rows.for_each_scalar(&mut |id| *id = new[*id]);
        self.for_each_place(&mut |index| *index = renumbered(index, &new));
        self.scalars = sharing.scalars;
    }
}

impl Expr {
    /// Replaces the scalars that it uses, in indices by `with`.
    fn renumber(&mut self, new: &[ExprId], with: &mut dyn FnMut(&Index) -> Index) {
        self.for_each_index(&mut |index| *index = with(index));
        match self {
            Expr::Map(_, args) => args.iter_mut().for_each(|a| *a = new[*a]),
            Expr::Convert(_, arg) => *arg = new[*arg],
            Expr::Load { .. }
            | Expr::Inside(_)
            | Expr::Index(_)
            | Expr::Const(_)
            | Expr::Extent(_)
            | Expr::Accumulated { .. } => {}
        }
    }
}

/// The same index of scalars with other numbers.
fn renumbered(index: &Index, new: &[ExprId]) -> Index {
    index.map(&mut |atom| match atom {
        Atom::Value(v) => Index::atom(Atom::Value(new[*v])),
        Atom::Axis(_) | Atom::Loop(_) | Atom::Div(..) | Atom::Mod(..) => Index::atom(atom.clone()),
    })
}

/// Quotients and remainders that become scalars.
struct Sharing {
    /// How often each occurs.
    often: BTreeMap<Atom, usize>,
    /// The scalars of those that were met.
    known: BTreeMap<Atom, ExprId>,
    /// The new scalars.
    scalars: Vec<Expr>,
}

impl Sharing {
    fn count(&mut self, index: &Index) {
        for (atom, _) in &index.terms {
            let (Atom::Div(inner, _) | Atom::Mod(inner, _)) = atom else { continue };
            self.count(inner);
            if Index::atom(atom.clone()).is_unsigned() {
                *self.often.entry(atom.clone()).or_default() += 1;
            }
        }
    }

    /// An index of the old scalars as one of the new ones.
    fn shared(&mut self, index: &Index, new: &[ExprId]) -> Index {
        index.replace(&mut |atom| Index::atom(self.atom(atom, new)))
    }

    fn atom(&mut self, atom: &Atom, new: &[ExprId]) -> Atom {
        if let Some(&known) = self.known.get(atom) {
            return Atom::Value(known);
        }
        let divided = match atom {
            Atom::Axis(_) | Atom::Loop(_) => return atom.clone(),
            Atom::Value(v) => return Atom::Value(new[*v]),
            Atom::Div(inner, by) => Atom::Div(Box::new(self.shared(inner, new)), by.clone()),
            Atom::Mod(inner, by) => Atom::Mod(Box::new(self.shared(inner, new)), by.clone()),
        };
        if self.often.get(atom).is_none_or(|&often| often < 2) {
            return divided;
        }
        self.scalars.push(Expr::Index(Index::atom(divided)));
        self.known.insert(atom.clone(), self.scalars.len() - 1);
        Atom::Value(self.scalars.len() - 1)
    }
}
