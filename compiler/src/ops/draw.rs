//! Random numbers: a key and a shape in, a tensor of draws out.
//!
//! Always: the bits are those of Threefry (`MapOp::Threefry`) at each element's position, so that every device and the
//! oracle draw the same, and nothing is carried from one draw to the next. An explicit key gives the same draws wherever
//! it is used; without one a place in a training function draws from the key of the step, mixed with the number of the
//! place and the rounds of the loops around it.

use super::{Builder, OpError};
use crate::diag::Code;
use crate::ir::graph::Source;
use crate::ir::prim::MapOp;
use crate::ir::{DType, Dim, Type, Value};
use std::f64::consts::TAU;

/// The two words of a key, as scalars.
pub(super) type Key = [Value; 2];

/// What an explicit key is used for. Each use has a key of its own, so that draws never meet the keys derived from it.
#[derive(Clone, Copy)]
pub(super) enum Use {
    /// Random numbers.
    Draw = 1,
    /// Another key, by a number that the model computes.
    Fold = 2,
    /// Several keys.
    Split = 3,
}

/// A unit in the last of 24 bits.
const UNIT: f64 = 1.0 / 16_777_216.0;

impl Builder<'_> {
    /// The key that a place draws from.
    ///
    /// # Errors
    /// `missing-key` outside of training where none is given.
    pub(super) fn key(&mut self, given: Option<Value>) -> Result<Key, OpError> {
        match given {
            Some(key) => self.key_for(key, Use::Draw),
            None if self.training => self.key_of_place(),
            None => {
                let message = "`{callee}` draws random numbers, which needs a key outside of training";
                let help = "declare an argument `key: u32[2]` and give it: `key = key`";
                Err(OpError::new(Code::MissingKey, message).help(help))
            }
        }
    }

    /// An explicit key for one of its uses.
    pub(super) fn key_for(&mut self, key: Value, purpose: Use) -> Result<Key, OpError> {
        let mut word = |at: i64| {
            let word = self.slice(key, 0, Dim::from(at), Dim::from(1))?;
            self.reshape(word, &[])
        };
        let words = [word(0)?, word(1)?];
        let purpose = self.u32(purpose as u32)?;
        self.fold(words, purpose)
    }

    /// The key of this step for this place.
    fn key_of_place(&mut self) -> Result<Key, OpError> {
        let scalar = Type::scalar(DType::U32);
        let mut key = [0, 1].map(|word| self.source(Source::Key(word), scalar.clone()));
        let site = *self.sites;
        *self.sites += 1;
        let mut mix = vec![self.u32(site)?];
        mix.extend(self.loops.clone());
        for data in mix {
            key = self.fold(key, data)?;
        }
        Ok(key)
    }

    /// Folding data into a key, as JAX does: two words of the generator under the old key.
    pub(super) fn fold(&mut self, key: Key, data: Value) -> Result<Key, OpError> {
        let (even, odd) = self.pair(data)?;
        Ok([self.threefry(key, even)?, self.threefry(key, odd)?])
    }

    /// `2n` and `2n + 1`
    fn pair(&mut self, n: Value) -> Result<(Value, Value), OpError> {
        let even = self.with(MapOp::Shl, n, 1.0)?;
        Ok((even, self.with(MapOp::Or, even, 1.0)?))
    }

    fn threefry(&mut self, key: Key, counter: Value) -> Result<Value, OpError> {
        self.map(MapOp::Threefry, &[key[0], key[1], counter])
    }

    /// Each element's position in row-major order.
    fn counters(&mut self, shape: &[Dim]) -> Result<Value, OpError> {
        self.iota(&[crate::ir::dim::product(shape)], 0)
    }

    /// The first 24 bits as a number from 0 to 2²⁴ − 1.
    fn leading(&mut self, bits: Value) -> Result<Value, OpError> {
        let bits = self.with(MapOp::Shr, bits, 8.0)?;
        self.convert(bits, self.float)
    }

    /// Uniform random numbers in [0, 1) of this place of a training function.
    ///
    /// # Errors
    /// `missing-key` outside of training.
    pub fn uniform(&mut self, shape: &[Dim]) -> Result<Value, OpError> {
        let key = self.key(None)?;
        self.unit(key, shape)
    }

    /// Uniform random numbers in [0, 1): 24 random bits each.
    pub(super) fn unit(&mut self, key: Key, shape: &[Dim]) -> Result<Value, OpError> {
        let counter = self.counters(shape)?;
        let bits = self.threefry(key, counter)?;
        let unit = self.leading(bits)?;
        let unit = self.with(MapOp::Mul, unit, UNIT)?;
        self.reshape(unit, shape)
    }

    /// Standard normal random numbers by the transform of Box and Muller (1958), from two draws each.
    pub(super) fn normal(&mut self, key: Key, shape: &[Dim]) -> Result<Value, OpError> {
        let counter = self.counters(shape)?;
        let (first, second) = self.pair(counter)?;
        let (first, second) = (self.threefry(key, first)?, self.threefry(key, second)?);
        let (radius, angle) = (self.leading(first)?, self.leading(second)?);
        // From one unit to 1, of which every logarithm is finite.
        let radius = self.with(MapOp::Add, radius, 1.0)?;
        let radius = self.with(MapOp::Mul, radius, UNIT)?;
        let log = self.unary(MapOp::Log, radius)?;
        let square = self.with(MapOp::Mul, log, -2.0)?;
        let radius = self.unary(MapOp::Sqrt, square)?;
        let angle = self.with(MapOp::Mul, angle, TAU * UNIT)?;
        let cosine = self.unary(MapOp::Cos, angle)?;
        let draws = self.mul(radius, cosine)?;
        self.reshape(draws, shape)
    }
}
