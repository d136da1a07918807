//! The part of the box that is searched: it grows while the search gets better and shrinks while it does not.

use serde::{Deserialize, Serialize};

/// Half-widths of the box around the best point, at the start and at most, and when to begin somewhere else.
const WIDEST: f64 = 0.8;
const NARROWEST: f64 = 1e-6;
const GROW: f64 = 1.6;
const SHRINK: f64 = 0.7;
/// Improvements in a row that make it grow.
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

    /// Points that are spread over the box before inference begins.
    pub(super) fn first_points(coordinates: usize) -> usize {
        // Capped: as many coordinates times as many points would be without measure.
        (2 * coordinates + 2).min(200)
    }

    /// Learns whether a point was better than all before it in this region.
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

    /// Whether a file of a search in so many coordinates may hold this.
    pub(super) fn is_sound(&self, coordinates: usize) -> bool {
        let counts = self.wins < WINS && self.fails < Self::patience(coordinates);
        counts && (NARROWEST..=WIDEST).contains(&self.radius)
    }

    /// Points without an improvement in a row that make it shrink.
    fn patience(coordinates: usize) -> u32 {
        (coordinates as u32 / 2).max(2)
    }
}
