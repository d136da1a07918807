//! Pictures of attacks: the grid of true labels and targets, the strip of one attack, success against budget.

use crate::plot::{Color, Figure, Image, ImageGrid, Panel};
use crate::report::{Exit, Outcome};
use std::collections::BTreeMap;
use std::path::Path;
use tractable::Shape;
use tractable::attack::Attacked;

/// Attacks that are shown: the first image of every label that the network had right.
#[derive(Default)]
pub(crate) struct Shown {
    by_label: BTreeMap<usize, OfLabel>,
}

/// The image's number and pixels, and its attacks by target (the label itself where there is none).
type OfLabel = (usize, Vec<f64>, BTreeMap<usize, Attacked>);

impl Shown {
    pub(crate) fn look(&mut self, number: usize, pixels: &[f64], a: &Attacked) {
        if a.class_before() == a.label {
            let new = || (number, pixels.to_vec(), BTreeMap::new());
            let (first, _, attacks) = self.by_label.entry(a.label).or_insert_with(new);
            if *first == number {
                attacks.insert(a.target.unwrap_or(a.label), a.clone());
            }
        }
    }

    /// Rows are what the images show, columns what they were taken for after the attack; on the diagonal, or in the
    /// first column where there were no targets, the image itself.
    pub(crate) fn grid(&self, title: &str, shape: Shape, names: &[String], path: &Path) -> Outcome {
        let targets: Vec<usize> = {
            let all = self.by_label.values().flat_map(|(_, _, a)| a.values()).filter_map(|a| a.target);
            all.chain(self.by_label.keys().copied())
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .collect()
        };
        let untargeted = self.by_label.values().any(|(_, _, a)| a.values().any(|a| a.target.is_none()));
        let (mut rows, mut row_labels) = (Vec::new(), Vec::new());
        for (label, (_, pixels, attacks)) in &self.by_label {
            row_labels.push(name(names, *label));
            let own = Some(picture(shape, pixels, (0.0, 1.0))?);
            let result = |a: &Attacked| picture(shape, &a.result(pixels), (0.0, 1.0));
            rows.push(match untargeted {
                true => vec![own, attacks.values().next().map(result).transpose()?],
                false => {
                    let cell = |t: &usize| match t == label {
                        true => Ok(own.clone()),
                        false => attacks.get(t).filter(|a| a.success).map(result).transpose(),
                    };
                    targets.iter().map(cell).collect::<Outcome<_>>()?
                }
            });
        }
        let columns: Vec<&str> = match untargeted {
            true => vec!["image", "attacked"],
            false => targets.iter().map(|t| name(names, *t)).collect(),
        };
        let grid = ImageGrid { title, row_labels: &row_labels, column_labels: &columns, rows: &rows };
        grid.save(path).map(drop)
    }

    /// One row per attack: the image, ten times the change around grey, the result, the standard deviation of every
    /// pixel.
    pub(crate) fn strip(&self, shape: Shape, names: &[String], path: &Path) -> Outcome {
        let (mut rows, mut labels) = (Vec::new(), Vec::new());
        for (i, (_, pixels, attacks)) in self.by_label.values().enumerate() {
            let won: Vec<&Attacked> = attacks.values().filter(|a| a.success).collect();
            // Another target in every row.
            let Some(a) = won.get(i % won.len().max(1)) else { continue };
            rows.push(four(shape, pixels, a, 10.0)?);
            labels.push(format!("{} as {}", name(names, a.label), name(names, a.class_after())));
        }
        if rows.is_empty() {
            return Ok(());
        }
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let grid = ImageGrid {
            title: "The change and its standard deviation",
            row_labels: &labels,
            column_labels: &["image", "change ×10", "result", "std, white most"],
            rows: &rows,
        };
        grid.save(path).map(drop)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_label.is_empty()
    }
}

fn name(names: &[String], class: usize) -> &str {
    names.get(class).map_or("?", String::as_str)
}

/// An image of one channel or three.
pub(crate) fn picture(shape: Shape, values: &[f64], range: (f64, f64)) -> Outcome<Image> {
    Image::new(shape, values, range).map_err(|why| Exit::Error(format!("cannot draw an image: {why}")))
}

/// The image, so many times the change around grey, the result, and the standard deviation of every pixel, from the least
/// (black) to the most (white).
pub fn four(shape: Shape, pixels: &[f64], a: &Attacked, times: f64) -> Outcome<Vec<Option<Image>>> {
    let change: Vec<f64> = a.change.mean().iter().map(|c| times * c).collect();
    let std = a.change.std();
    let (least, most) = std.iter().fold((f64::INFINITY, 0.0f64), |(l, m), s| (l.min(*s), m.max(*s)));
    let range = if least < most { (least, most) } else { (0.0, 2.0 * most + 1.0) };
    let result = a.result(pixels);
    let all =
        [(pixels, (0.0, 1.0)), (&change[..], (-1.0, 1.0)), (&result[..], (0.0, 1.0)), (&std[..], range)];
    all.into_iter().map(|(values, range)| picture(shape, values, range).map(Some)).collect()
}

/// Success against budget, one curve a method.
pub(crate) fn curves(
    title: &str,
    norm: &str,
    budgets: &[f64],
    of: &[(&str, Vec<f64>)],
    path: &Path,
) -> Outcome {
    let panel =
        Panel::new("", &format!("budget, {norm}"), "share of attacks that succeed").y_limits(0.0, 1.0);
    let panel = of.iter().enumerate().fold(panel, |panel, (i, (name, shares))| {
        panel.line(name, Color::nth(i), budgets, shares).points(name, Color::nth(i), budgets, shares)
    });
    Figure::new(title).panel(panel).save(path)
}
