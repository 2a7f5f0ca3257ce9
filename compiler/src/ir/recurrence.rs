//! Recurrences: all turns of a loop as one kernel, in which a product with a state and a map of its sums take turns.
//!
//! In: a kernel of this kind. Out: where its map reads and writes. Always: the map reads the state, and what it writes, only at
//! the position that it writes; the product rounds no operand.

use super::dim::Dim;
use super::index::{Atom, Index, is_nonnegative};
use super::kernel::{Expr, Kernel, Load, Skeleton, Store};
use super::limits::SERIES_OF_A_RECURRENCE;
use super::ty::DType;

/// The loops of a recurrence. The kernel's scalars are those of the map, over rows and columns; accumulator (0, group) is a sum,
/// and `Atom::Loop(0)` the turn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Recurrence {
    /// How many turns.
    pub count: Dim,
    /// Whether the last turn comes first.
    pub reverse: bool,
    /// What a turn adds to the start of each slot, for loads and stores alike.
    pub starts: Vec<Index>,
    /// The axis of rows, if there is more than one.
    pub rows: Option<usize>,
    /// The axis of columns.
    pub columns: usize,
    /// What a turn begins with.
    pub first: Half,
    /// The slot that the product reads: `parts` times the columns of the map for each row.
    pub state: usize,
    /// The slot that it stores: `groups` times the columns of the map for each row.
    pub sums: usize,
    /// How many times its columns the sums have.
    pub groups: usize,
    /// How many times its columns the state has.
    pub parts: usize,
    /// The slot of the map that is added to the sums of the turn before.
    pub addend: Option<usize>,
    /// The slot of the product's other operand.
    pub matrix: usize,
    /// Where that starts.
    pub start: Index,
    /// Words from column to column of the product, and from k to k.
    pub strides: [Dim; 2],
    /// What the map stores.
    pub stores: Vec<Store>,
}

impl Recurrence {
    /// An index that counts no turns of the recurrence, in terms of the loops around it, the innermost of which is the first.
    pub fn outside(index: &Index) -> Index {
        index.map(&mut |atom| match atom {
            Atom::Loop(level) => Index::atom(Atom::Loop(level.saturating_sub(1))),
            other => Index::atom(other.clone()),
        })
    }
}

/// What a turn begins with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Half {
    /// The product: the state is carried.
    Product,
    /// The map: the sums are carried, and the states of all turns are kept.
    Map,
}

impl Half {
    /// Its name in dumps.
    pub fn name(self) -> &'static str {
        match self {
            Half::Product => "product",
            Half::Map => "map",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Half> {
        [Half::Product, Half::Map].into_iter().find(|half| half.name() == name)
    }
}

/// Where a slot is written: where row and column 0 are, words from row to row, and neighbours of as many columns as the map.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// The first word.
    pub base: Dim,
    /// Words from row to row.
    pub row: Dim,
    /// How many neighbours.
    pub parts: usize,
}

/// A kernel of this kind.
#[derive(Clone, Copy)]
pub struct Recurrent<'k> {
    /// The whole.
    pub kernel: &'k Kernel,
    /// Its loops.
    pub own: &'k Recurrence,
}

impl<'k> Recurrent<'k> {
    /// The kernel, if it is of this kind.
    pub fn of(kernel: &'k Kernel) -> Option<Recurrent<'k>> {
        let Skeleton::Recur(own) = &kernel.skeleton else { return None };
        Some(Recurrent { kernel, own })
    }

    /// The extent of the columns.
    pub fn columns(&self) -> &'k Dim {
        &self.kernel.axes[self.own.columns]
    }

    /// The position in a row-major tensor of rows and columns.
    pub fn position(&self, width: &Dim) -> Index {
        let column = Index::axis(self.own.columns);
        match self.own.rows {
            Some(rows) => column.plus(&Index::axis(rows).times(width)),
            None => column,
        }
    }

    /// Positions of the map.
    pub fn elements(&self) -> Dim {
        let columns = self.columns().clone();
        self.own.rows.map_or(columns.clone(), |rows| self.kernel.axes[rows].clone() * columns)
    }

    /// The slots that the map writes beside the state.
    pub fn series(&self) -> Vec<usize> {
        let Recurrence { state, sums, .. } = *self.own;
        (0..self.kernel.slots.len())
            .filter(|&slot| self.kernel.slots[slot].write && slot != state && slot != sums)
            .collect()
    }

    /// Where a slot is written, if its stores are the parts of one row.
    pub fn place(&self, slot: usize) -> Option<Place> {
        let stores: Vec<&Store> = self.own.stores.iter().filter(|s| s.slot == slot).collect();
        let columns = self.columns();
        let row = self
            .own
            .rows
            .map_or(Some(columns.clone() * Dim::from(stores.len())), |rows| stores.first()?.index.stride(rows))?;
        let apart = is_nonnegative(&(row.clone() - columns.clone() * Dim::from(stores.len())));
        let places =
            stores.iter().map(|store| Place { base: store.index.base.clone(), row: row.clone(), parts: stores.len() });
        let is_first = |place: &Place| {
            (0..place.parts).all(|part| {
                let at = self.at(place, part);
                stores.iter().any(|store| store.index == at)
            })
        };
        places.into_iter().find(is_first).filter(|_| apart)
    }

    /// The position of a part of a slot that is written.
    fn at(&self, place: &Place, part: usize) -> Index {
        self.position(&place.row).offset(place.base.clone() + self.columns().clone() * Dim::from(part))
    }

    /// The part of a slot that an index is.
    pub fn part(&self, slot: usize, index: &Index) -> Option<usize> {
        let place = self.place(slot)?;
        (0..place.parts).find(|&part| *index == self.at(&place, part))
    }

    /// Whether everything that is written is written once, row by row, and read nowhere else.
    pub fn holds(&self) -> bool {
        let Recurrence { state, sums, addend, first, parts, groups, .. } = *self.own;
        let loads = || self.kernel.scalars.iter().filter_map(Expr::load);
        let written = |slot: usize| {
            let elsewhere = |load: Load<'_>| {
                load.slot == slot && (self.part(slot, load.index).is_none() || !load.guards.is_empty())
            };
            let float = self.kernel.slots[slot].dtype == DType::F32;
            self.place(slot).filter(|_| float && !loads().any(elsewhere))
        };
        let whole = |slot: usize, parts: usize| {
            let row = self.columns().clone() * Dim::from(parts);
            written(slot) == Some(Place { base: Dim::default(), row, parts })
        };
        let still = |slot: usize| self.own.starts[slot] == Index::default();
        let series = self.series();
        let carried = match first {
            Half::Product => {
                still(state) && parts == 1 && addend.is_none() && self.kernel.slots[state].len == self.elements()
            }
            Half::Map => !self.kernel.slots[state].read,
        };
        let added = |slot: usize| series.contains(&slot) && groups == 1 && still(slot) && whole(slot, 1);
        let stays = |atom: &Atom| !matches!(atom, Atom::Axis(_) | Atom::Loop(0) | Atom::Value(_));
        carried
            && loads().all(|load| load.slot != sums)
            && whole(state, parts)
            && still(sums)
            && addend.is_none_or(added)
            && series.len() <= SERIES_OF_A_RECURRENCE
            && series.iter().all(|&slot| written(slot).is_some())
            && !self.own.start.any(&|atom| !stays(atom))
            && self.own.strides.iter().all(is_nonnegative)
    }
}
