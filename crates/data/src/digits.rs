//! Synthetic handwriting-like digits from a seed, for tests and experiments.

mod strokes;

use super::images::Images;
use strokes::STYLES;
use tractable_core::error::{Error, Result};
use tractable_core::rng::{self, ChaCha8Rng, Rng};
use tractable_core::shape::Shape;

const SIDE: usize = 28;
/// Straight pieces between two points of a stroke.
const PIECES: usize = 6;

/// `n` grey images of 28 by 28 with handwriting-like digits. Image `i` depends only on the seed and `i`, and is
/// bit-identical on every machine.
///
/// Strokes of one of several styles are moved about, bent, slanted, turned and stretched, and drawn with a
/// pen of random width and pressure; the paper has grain.
///
/// ```
/// let (few, more) = (tractable::data::digits(3, 7)?, tractable::data::digits(5, 7)?);
/// assert_eq!((few.pixels(2), few.label(2)), (more.pixels(2), more.label(2)));
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn digits(n: usize, seed: u64) -> Result<Images> {
    let shape = Shape::image(1, SIDE, SIDE);
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    let room = n.checked_mul(shape.len()).map(|n| pixels.try_reserve_exact(n));
    if !matches!(room, Some(Ok(()))) || labels.try_reserve_exact(n).is_err() {
        return Err(Error::invalid("digits", format!("not enough memory for {n} images")));
    }
    for i in 0..n {
        let mut draw = Draw(rng::stream(seed, "digits", i as u64));
        let digit = draw.below(10);
        labels.push(digit as u16);
        pixels.extend(write(digit, &mut draw));
    }
    Images::new(shape, pixels, labels, (0..10).map(|d| d.to_string()).collect())
}

/// Random numbers of one image.
struct Draw(ChaCha8Rng);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        rng::below(n as u64, &mut self.0) as usize
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * rng::open_unit(&mut self.0)
    }

    /// From N(0, std^2), but never more than two standard deviations out: a digit stays one.
    fn about(&mut self, std: f64) -> f64 {
        std * rng::standard_normal(&mut self.0).clamp(-2.0, 2.0)
    }
}

type Point = (f64, f64);

/// One digit's pixels.
fn write(digit: usize, draw: &mut Draw) -> [u8; SIDE * SIDE] {
    let mut lines = bent(digit, draw);
    place(&mut lines, draw);
    let ink = inked(&lines, draw);
    grained(&ink, draw)
}

/// The strokes of a style with points moved about, as lines of short pieces, bent by slow waves.
fn bent(digit: usize, draw: &mut Draw) -> Vec<Vec<Point>> {
    let style = STYLES[digit][draw.below(STYLES[digit].len())];
    let wobble = draw.between(0.008, 0.032);
    let mut moved: Vec<(Point, Point)> = Vec::new();
    let mut lines = Vec::with_capacity(style.len());
    for stroke in style {
        // Where strokes meet they move together.
        let points: Vec<Point> = stroke
            .iter()
            .map(|&p| match moved.iter().find(|(from, _)| *from == p) {
                Some(&(_, to)) => to,
                None => {
                    let to = (p.0 + draw.about(wobble), p.1 + draw.about(wobble));
                    moved.push((p, to));
                    to
                }
            })
            .collect();
        lines.push(smooth(&points));
    }
    let waves: [(f64, f64, f64, f64); 4] = std::array::from_fn(|i| {
        let slow = if i < 2 { 0.7 } else { 1.5 };
        let height = if i < 2 { 0.055 } else { 0.02 };
        (draw.about(slow), draw.about(slow), draw.between(0.0, std::f64::consts::TAU), draw.about(height))
    });
    let wave = |(x, y): Point, (fx, fy, phase, height): (f64, f64, f64, f64)| {
        height * libm::sin(std::f64::consts::TAU * (fx * x + fy * y) + phase)
    };
    for p in lines.iter_mut().flatten() {
        let (dx, dy) = (wave(*p, waves[0]) + wave(*p, waves[2]), wave(*p, waves[1]) + wave(*p, waves[3]));
        *p = (p.0 + dx, p.1 + dy);
    }
    lines
}

/// A Catmull-Rom curve through the points, as a line of short pieces.
fn smooth(points: &[Point]) -> Vec<Point> {
    let last = points.len() - 1;
    let mut line = vec![points[0]];
    for i in 0..last {
        let around = [i.saturating_sub(1), i, i + 1, (i + 2).min(last)].map(|i| points[i]);
        let along = |t: f64, [a, b, c, d]: [f64; 4]| {
            let (t2, t3) = (t * t, t * t * t);
            0.5 * (2.0 * b
                + (c - a) * t
                + (2.0 * a - 5.0 * b + 4.0 * c - d) * t2
                + (3.0 * (b - c) + d - a) * t3)
        };
        for piece in 1..=PIECES {
            let t = piece as f64 / PIECES as f64;
            line.push((along(t, around.map(|p| p.0)), along(t, around.map(|p| p.1))));
        }
    }
    line
}

/// Turns, slants, stretches and moves the lines to where they lie on the paper, in pixels.
fn place(lines: &mut [Vec<Point>], draw: &mut Draw) {
    let (turn, slant) = (draw.about(0.12), 0.12 + draw.about(0.2));
    let (sin, cos) = (libm::sin(turn), libm::cos(turn));
    let stretch = draw.between(0.65, 1.0);
    for p in lines.iter_mut().flatten() {
        let (x, y) = (stretch * (p.0 - 0.5) - slant * (p.1 - 0.5), p.1 - 0.5);
        *p = (cos * x - sin * y, sin * x + cos * y);
    }
    let all = || lines.iter().flatten();
    let span = |at: fn(&Point) -> f64| {
        let (low, high) = (all().map(at).fold(f64::MAX, f64::min), all().map(at).fold(f64::MIN, f64::max));
        (0.5 * (low + high), high - low)
    };
    let ((x, width), (y, height)) = (span(|p| p.0), span(|p| p.1));
    let scale = draw.between(15.5, 19.5) / width.max(height);
    let middle = 0.5 * (SIDE - 1) as f64;
    let (right, down) = (middle + draw.about(0.9), middle + draw.about(0.9));
    for p in lines.iter_mut().flatten() {
        *p = ((p.0 - x) * scale + right, (p.1 - y) * scale + down);
    }
}

/// How dark each pixel is, 0 to 1: a pen with soft edge, whose width follows the pressure.
fn inked(lines: &[Vec<Point>], draw: &mut Draw) -> [f64; SIDE * SIDE] {
    let mut ink = [0.0; SIDE * SIDE];
    let (radius, soft) = (draw.between(0.75, 1.75), draw.between(0.9, 1.6));
    for line in lines {
        let (start, end) = (radius * (1.0 + draw.about(0.15)), radius * (1.0 + draw.about(0.15)));
        for (i, piece) in line.windows(2).enumerate() {
            let share = i as f64 / (line.len() - 1) as f64;
            let radius = start + (end - start) * share;
            press(&mut ink, piece[0], piece[1], radius, soft);
        }
    }
    ink
}

/// Draws one straight piece.
fn press(ink: &mut [f64; SIDE * SIDE], from: Point, to: Point, radius: f64, soft: f64) {
    let reach = radius + soft;
    let pixels = |a: f64, b: f64| {
        let low = (a.min(b) - reach).ceil().clamp(0.0, SIDE as f64) as usize;
        let high = ((a.max(b) + reach).floor() + 1.0).clamp(0.0, SIDE as f64) as usize;
        low..high
    };
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let squared = (dx * dx + dy * dy).max(1e-12);
    for row in pixels(from.1, to.1) {
        for column in pixels(from.0, to.0) {
            let (x, y) = (column as f64 - from.0, row as f64 - from.1);
            let along = ((x * dx + y * dy) / squared).clamp(0.0, 1.0);
            let (x, y) = (x - along * dx, y - along * dy);
            let distance = (x * x + y * y).sqrt();
            let dark = ((reach - distance) / (2.0 * soft)).clamp(0.0, 1.0);
            let pixel = &mut ink[row * SIDE + column];
            *pixel = pixel.max(dark * dark * (3.0 - 2.0 * dark));
        }
    }
}

/// Ink on paper with grain, as bytes.
fn grained(ink: &[f64; SIDE * SIDE], draw: &mut Draw) -> [u8; SIDE * SIDE] {
    let (blackness, grain) = (draw.between(0.85, 1.1), draw.between(0.0, 0.08));
    ink.map(|dark| {
        // Four times 16 bits, whose sum is close to normal.
        let bits = draw.0.next_u64();
        let sum: u64 = (0..4).map(|i| bits >> (16 * i) & 0xffff).sum();
        let noise = (sum as f64 / 65535.0 - 2.0) * 1.7;
        // Grain shows in the ink; bare paper stays almost clean.
        let value = blackness * dark + grain * noise * (0.3 + 0.7 * dark);
        (255.0 * value).round().clamp(0.0, 255.0) as u8
    })
}
