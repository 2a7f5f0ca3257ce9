//! One turn of a recurrence, in the order of its definition: the product element by element, and its map.

use super::launch::{Launch, Tried};
use super::race::Moment;
use crate::ir::prim::Scalar;
use crate::ir::recurrence::{Half, Recurrence};

impl Launch<'_> {
    pub(super) fn recur(&mut self, own: &Recurrence) -> Tried<()> {
        match own.first {
            Half::Product => {
                self.sums(own)?;
                self.map(own)
            }
            Half::Map => {
                self.map(own)?;
                self.sums(own)
            }
        }
    }

    /// Rows, and columns of the map.
    fn size(&self, own: &Recurrence) -> (i64, i64) {
        (own.rows.map_or(1, |rows| self.extents[rows]), self.extents[own.columns])
    }

    /// The sums of all rows, with what is added to them.
    fn sums(&mut self, own: &Recurrence) -> Tried<()> {
        let (rows, columns) = self.size(own);
        let (width, depth) = (columns * own.groups as i64, columns * own.parts as i64);
        let start = self.numbers.path(&own.start).base;
        let [column, step] = own.strides.each_ref().map(|stride| (self.numbers.size)(stride));
        for row in 0..rows {
            for n in 0..width {
                let mut sum = match own.addend {
                    Some(addend) => self.float_at(addend, row * width + n)?,
                    None => 0.0,
                };
                for k in 0..depth {
                    let (state, matrix) = (row * depth + k, start + n * column + k * step);
                    sum += self.float_at(own.state, state)? * self.float_at(own.matrix, matrix)?;
                }
                self.put(own.sums, row * width + n, Scalar::f32(sum), false)?;
            }
        }
        Ok(())
    }

    fn float_at(&self, slot: usize, at: i64) -> Tried<f64> {
        match self.peek(slot, at)? {
            Scalar::Float(_, x) => Ok(x),
            other => Err(format!("a product with {other}")),
        }
    }

    /// The map at all positions.
    fn map(&mut self, own: &Recurrence) -> Tried<()> {
        let puts = self.numbers.puts(&own.stores);
        let (_, columns) = self.size(own);
        let axes: Vec<usize> = own.rows.into_iter().chain([own.columns]).collect();
        self.each(&axes, &mut |launch, position| {
            launch.now = Moment { row: position, pass: 0, point: 0 };
            let (row, column) = (position as i64 / columns, position as i64 % columns);
            let sum = |group: usize| {
                let group = group as i64;
                launch.peek(own.sums, (row * own.groups as i64 + group) * columns + column)
            };
            launch.finished = vec![(0..own.groups).map(sum).collect::<Tried<_>>()?];
            launch.store(&puts)
        })
    }
}
