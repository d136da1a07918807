//! Bodies at six moments of an episode, for pictures that cannot move.

use super::canvas::Canvas;
use super::drawing::png;
use super::style::{Color, LABEL, SMALL};
use kuva::render::render::TextAnchor::{Middle, Start};
use tractable::rl::env::Segment;

const COLUMNS: usize = 3;
const MOMENTS: usize = 2 * COLUMNS;
const CELL: (f64, f64) = (300.0, 190.0);
const EDGE: f64 = 14.0;
/// Above the cells, for the title, and in each, for the number of its step.
const HEAD: f64 = 34.0;
const FOOT: f64 = 20.0;
/// No body is drawn thinner, and no picture shows less than this many metres.
const THIN: f64 = 1.5;
const LEAST: f64 = 0.5;

/// The picture as PNG.
pub(crate) fn moments(title: &str, frames: &[Vec<Segment>]) -> Result<Vec<u8>, String> {
    let count = MOMENTS.min(frames.len());
    let chosen: Vec<usize> = (0..count).map(|i| i * (frames.len() - 1) / (count - 1).max(1)).collect();
    // The middle of what is seen follows the bodies; the scale is the same for all.
    let ends = |k: usize, axis: usize| {
        let all = frames[k].iter().flat_map(move |s| {
            [s.from[axis] - s.radius, s.from[axis] + s.radius, s.to[axis] - s.radius, s.to[axis] + s.radius]
        });
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let room = [CELL.0 - 2.0 * EDGE, CELL.1 - 2.0 * EDGE - FOOT];
    let largest = |axis: usize| {
        chosen.iter().map(|&k| ends(k, axis)).map(|(low, high)| high - low).fold(LEAST, f64::max)
    };
    let scale = (room[0] / largest(0)).min(room[1] / largest(1));
    let rows = count.div_ceil(COLUMNS) as f64;
    let mut canvas = Canvas::new(COLUMNS as f64 * CELL.0, HEAD + rows * CELL.1);
    canvas.text(title, LABEL, EDGE, HEAD - EDGE, Start);
    for (i, &k) in chosen.iter().enumerate() {
        let (left, top) = ((i % COLUMNS) as f64 * CELL.0, HEAD + (i / COLUMNS) as f64 * CELL.1);
        let center = [0, 1].map(|axis| (ends(k, axis).0 + ends(k, axis).1) / 2.0);
        let x = |p: [f64; 2]| left + CELL.0 / 2.0 + (p[0] - center[0]) * scale;
        let y = |p: [f64; 2]| top + (CELL.1 - FOOT) / 2.0 - (p[1] - center[1]) * scale;
        for (body, s) in frames[k].iter().enumerate() {
            let width = (2.0 * s.radius * scale).max(THIN);
            // A body without length is a disc.
            let to = if s.from == s.to { (x(s.to) + 0.1, y(s.to)) } else { (x(s.to), y(s.to)) };
            canvas.stroke(vec![(x(s.from), y(s.from)), to], Color::nth(body), width);
        }
        canvas.text(&format!("step {k}"), SMALL, left + CELL.0 / 2.0, top + CELL.1 - EDGE / 2.0, Middle);
    }
    png(&canvas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_frames_makes_a_picture() {
        let frame = |x: f64| vec![Segment { from: [x, 0.5], to: [x + 1.0, 0.5], radius: 0.05 }; 2];
        for n in [1, 2, 6, 50] {
            let frames: Vec<_> = (0..n).map(|i| frame(f64::from(i))).collect();
            assert!(moments("two", &frames).unwrap().starts_with(b"\x89PNG"), "{n}");
        }
    }
}
