//! The trust region: grows while the search improves and shrinks while it does not.

use serde::{Deserialize, Serialize};

/// Radius in half-widths of the box: initial, maximum, and the one below which to restart.
const WIDEST: f64 = 0.8;
const NARROWEST: f64 = 1e-6;
const GROW: f64 = 1.6;
const SHRINK: f64 = 0.7;
/// Consecutive improvements that make it grow.
const WINS: u32 = 2;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Region {
    /// Half-widths of the box.
    pub(super) radius: f64,
    wins: u32,
    fails: u32,
    /// Regions before this one.
    pub(super) number: usize,
    /// Points asked for in this region.
    pub(super) asked: usize,
}

impl Region {
    pub(super) fn new(number: usize) -> Self {
        Region { radius: WIDEST, wins: 0, fails: 0, number, asked: 0 }
    }

    /// Points spread over the box before inference starts.
    pub(super) fn first_points(coordinates: usize) -> usize {
        // Capped: the number of coordinates times points would be too large.
        (2 * coordinates + 2).min(200)
    }

    /// Records whether a point was better than all before it in this region.
    pub(super) fn tell(&mut self, better: bool, coordinates: usize) {
        (self.wins, self.fails) = if better { (self.wins + 1, 0) } else { (0, self.fails + 1) };
        if self.wins >= WINS {
            (self.radius, self.wins) = ((self.radius * GROW).min(WIDEST), 0);
        }
        if self.fails >= Self::patience(coordinates) {
            (self.radius, self.fails) = (self.radius * SHRINK, 0);
        }
        if self.radius < NARROWEST {
            *self = Region::new(self.number + 1);
        }
    }

    /// Whether this is valid in a file with this many coordinates.
    pub(super) fn is_sound(&self, coordinates: usize) -> bool {
        let counts = self.wins < WINS && self.fails < Self::patience(coordinates);
        counts && (NARROWEST..=WIDEST).contains(&self.radius)
    }

    /// Consecutive points without improvement that make it shrink.
    fn patience(coordinates: usize) -> u32 {
        (coordinates as u32 / 2).max(2)
    }
}
