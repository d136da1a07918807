//! The answer as a picture: densities and the curve over one unknown input, or a map over two.

use super::answer::Answer;
use super::question::{Asked, Question, Wish};
use crate::plot::{Color, Figure, Panel};
use crate::report::{Exit, Outcome};
use tractable::{
    Matrix,
    condition::{Found, Mode},
};

/// Places along one input, and around every mode.
const LINE: usize = 241;
const AROUND: usize = 121;
/// Places along each of two inputs, cells of the map between two of them, and places in a cell, each along one.
const GRID: usize = 49;
const CELLS: usize = 3;
const INSIDE: usize = 4;
/// Standard deviations of prior and posterior that are shown.
const SHOWN: [f64; 2] = [2.5, 3.0];

/// Refuses what cannot be drawn before computing anything.
pub(super) fn check(question: &Question) -> Outcome {
    match question.unknown().len() {
        1 | 2 => Ok(()),
        n => Err(Exit::Error(format!("--plot: needs one or two unknown inputs, got {n}"))),
    }
}

pub(super) fn draw(asked: &Asked<'_>, answer: &Answer<'_>) -> Outcome<Figure> {
    let figure = match answer.question.unknown()[..] {
        [x] => line(asked, answer, x),
        [x, y] => map(asked, answer, [x, y]),
        _ => unreachable!("checked before"),
    };
    Ok(figure?)
}

/// Range shown of an input: the prior, and all modes.
fn range(answer: &Answer<'_>, input: usize) -> (f64, f64) {
    let prior = answer.question.prior[input];
    let start = (prior.mean - SHOWN[0] * prior.std, prior.mean + SHOWN[0] * prior.std);
    answer.modes().iter().fold(start, |(low, high), m| {
        let (mean, reach) = (m.mean[input], SHOWN[1] * m.var[input].sqrt());
        (low.min(mean - reach), high.max(mean + reach))
    })
}

fn evenly((low, high): (f64, f64), n: usize) -> Vec<f64> {
    (0..n).map(|i| low + (high - low) * i as f64 / (n - 1) as f64).collect()
}

/// Predictions with some inputs varied and the others at their known values.
fn say(
    asked: &Asked<'_>,
    question: &Question,
    varied: &[usize],
    places: &[f64],
) -> tractable::Result<Matrix> {
    let rows = places.chunks_exact(varied.len()).flat_map(|p| question.place(varied, p)).collect();
    asked.say(&Matrix::new(rows, question.prior.len())?)
}

/// The outputs to draw: the wanted ones, with value and standard deviation.
fn wanted(wish: &Wish) -> Vec<(usize, Option<(f64, f64)>)> {
    match wish {
        Wish::Class(label) => vec![(*label, None)],
        Wish::Extremum { output, .. } => vec![(*output, None)],
        Wish::Values(values) => {
            values.iter().enumerate().filter_map(|(o, b)| b.map(|b| (o, Some((b.mean, b.std))))).collect()
        }
    }
}

/// What an output is called: a class by its probability.
fn name(asked: &Asked<'_>, output: usize) -> String {
    match asked.is_classes() {
        true => format!("probability of {}", asked.classes[output]),
        false => asked.targets[output].clone(),
    }
}

/// `ln` of the posterior's density at a place of which the model says this; as it was found: by the places themselves, or as
/// Gaussians: that of an answer that was linearised, or the modes of a maximum or minimum.
struct Density<'a> {
    question: &'a Question,
    varied: &'a [usize],
    known_weights: bool,
    least: &'a [f64],
    gaussians: Option<Vec<Bump>>,
}

/// A Gaussian with a weight.
struct Bump {
    ln_height: f64,
    mean: Vec<f64>,
    /// Of the covariance.
    inverse: Vec<f64>,
}

impl Bump {
    fn new(weight: f64, mean: Vec<f64>, of: &dyn Fn(usize, usize) -> f64) -> Self {
        let (det, inverse) = match mean.len() {
            1 => (of(0, 0), vec![1.0 / of(0, 0)]),
            _ => {
                let det = of(0, 0) * of(1, 1) - of(0, 1) * of(1, 0);
                (det, [of(1, 1), -of(0, 1), -of(1, 0), of(0, 0)].map(|v| v / det).to_vec())
            }
        };
        Bump { ln_height: weight.ln() - 0.5 * det.ln(), mean, inverse }
    }

    fn ln(&self, place: &[f64]) -> f64 {
        let d = place.len();
        let off = |i: usize| place[i] - self.mean[i];
        self.ln_height - 0.5 * (0..d * d).map(|k| off(k / d) * self.inverse[k] * off(k % d)).sum::<f64>()
    }
}

impl<'a> Density<'a> {
    fn new(asked: &Asked<'_>, answer: &'a Answer<'_>, varied: &'a [usize]) -> tractable::Result<Self> {
        let linearised = matches!(answer.posterior.found(0), Found::Linearised { .. });
        let extremum = matches!(answer.question.wish, Wish::Extremum { .. });
        let some = |all: &[f64]| varied.iter().map(|&i| all[i]).collect::<Vec<f64>>();
        let gaussians = match answer.modes() {
            _ if !linearised && !extremum => None,
            [one] => {
                let covariance = answer.posterior.covariance(0)?;
                let of = |i: usize, j: usize| covariance.row(varied[i])[varied[j]];
                Some(vec![Bump::new(1.0, some(&one.mean), &of)])
            }
            modes => {
                let bump = |m: &Mode| {
                    let of = |i: usize, j: usize| if i == j { m.var[varied[i]] } else { 0.0 };
                    Bump::new(m.weight, some(&m.mean), &of)
                };
                Some(modes.iter().map(bump).collect())
            }
        };
        let (question, known_weights, least) = (answer.question, asked.known_weights, &answer.least);
        Ok(Density { question, varied, known_weights, least, gaussians })
    }

    fn ln(&self, place: &[f64], said: &[f64]) -> f64 {
        match &self.gaussians {
            None => {
                let wish = &self.question.wish;
                let weighed = wish.ln_likelihood(said, self.least, self.known_weights).unwrap_or(0.0);
                weighed + self.question.ln_prior(self.varied, place)
            }
            Some(bumps) => {
                let ln: Vec<f64> = bumps.iter().map(|b| b.ln(place)).collect();
                let most = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                most + ln.iter().map(|l| (l - most).exp()).sum::<f64>().ln()
            }
        }
    }
}

/// Of logarithms: numbers whose largest is 1.
fn relative(ln: &[f64]) -> Vec<f64> {
    let most = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return vec![0.0; ln.len()];
    }
    ln.iter().map(|l| (l - most).exp()).collect()
}

fn line(asked: &Asked<'_>, answer: &Answer<'_>, input: usize) -> tractable::Result<Figure> {
    let (question, range, varied) = (answer.question, range(answer, input), [input]);
    let mut x = evenly(range, LINE);
    for mode in answer.modes() {
        let (mean, reach) = (mode.mean[input], 4.0 * mode.var[input].sqrt());
        x.extend(evenly((mean - reach, mean + reach), AROUND));
    }
    x.retain(|x| (range.0..=range.1).contains(x));
    x.sort_by(f64::total_cmp);
    x.dedup();
    let said = say(asked, question, &varied, &x)?;
    let column = |c: usize| (0..said.rows()).map(|i| said.row(i)[c]).collect::<Vec<_>>();
    let density = Density::new(asked, answer, &varied)?;
    let posterior: Vec<f64> = (0..x.len()).map(|i| density.ln(&x[i..=i], said.row(i))).collect();
    let prior: Vec<f64> = x.iter().map(|x| question.ln_prior(&varied, &[*x])).collect();
    let (posterior, prior) = (relative(&posterior), relative(&prior));

    let x_label = asked.inputs[input].as_str();
    let figure = Figure::new("The input that gives the wanted output").panel_size(560.0, 230.0);
    let densities = Panel::new("", x_label, "density, the largest is 1")
        .x_limits(range.0, range.1)
        .y_limits(0.0, 1.08)
        .line("before", Color::Grey, &x, &prior)
        .band("after", Color::Blue, &x, &vec![0.0; x.len()], &posterior)
        .line("after", Color::Blue, &x, &posterior);
    let mut figure = figure.panel(densities);
    for (output, wish) in wanted(&question.wish) {
        let own = name(asked, output);
        let mut panel = Panel::new("", x_label, &own).x_limits(range.0, range.1);
        let mean = column(output);
        let (low, high) = shown(&mean, wish, asked.is_classes());
        panel = panel.y_limits(low, high);
        if let Some((level, std)) = wish {
            if std > 0.0 {
                let at = |z: f64| vec![level + z * std; 2];
                panel =
                    panel.band("wanted ± 2 std", Color::Vermillion, &[range.0, range.1], &at(-2.0), &at(2.0));
            }
            let name = if std > 0.0 { "wanted ± 2 std" } else { "wanted" };
            panel = panel.horizontal(name, Color::Vermillion, level);
        }
        panel = match asked.is_classes() {
            true => panel.line("the model", Color::Green, &x, &mean),
            false => {
                let std: Vec<f64> = column(asked.targets.len() + output).iter().map(|v| v.sqrt()).collect();
                panel.gaussian("the model", Color::Green, &x, &mean, &std)
            }
        };
        let places: Vec<f64> = answer.modes().iter().map(|m| m.mean[input]).collect();
        let said = say(asked, question, &varied, &places)?;
        let values: Vec<f64> = (0..said.rows()).map(|i| said.row(i)[output]).collect();
        let name = if places.len() > 1 { "answers" } else { "answer" };
        figure = figure.panel(panel.points(name, Color::Blue, &places, &values));
    }
    Ok(figure)
}

/// What is shown of an output: the curve and the wish. The band may be cut off where the model knows nothing.
fn shown(mean: &[f64], wish: Option<(f64, f64)>, classes: bool) -> (f64, f64) {
    if classes {
        return (-0.03, 1.05);
    }
    let wish = wish.map_or(Vec::new(), |(level, std)| vec![level - 2.0 * std, level + 2.0 * std]);
    let all = mean.iter().chain(&wish);
    let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    let room = if high > low { 0.15 * (high - low) } else { 1.0 };
    (low - room, high + room)
}

fn map(asked: &Asked<'_>, answer: &Answer<'_>, varied: [usize; 2]) -> tractable::Result<Figure> {
    let question = answer.question;
    let ranges = varied.map(|i| range(answer, i));
    let [x, y] = ranges.map(|r| evenly(r, GRID));
    let places: Vec<f64> = y.iter().flat_map(|&y| x.iter().flat_map(move |&x| [x, y])).collect();
    let said = say(asked, question, &varied, &places)?;
    let density = Density::new(asked, answer, &varied)?;
    // The model is smooth between the places it was asked about; the posterior may be a narrow ridge.
    let cells = (GRID - 1) * CELLS;
    let fine = cells * INSIDE;
    let at = |i: usize| (i as f64 + 0.5) / fine as f64;
    let mut ln = Vec::with_capacity(fine * fine);
    for row in 0..fine {
        for column in 0..fine {
            let (u, v) = (at(column), at(row));
            let place = [
                ranges[0].0 + u * (ranges[0].1 - ranges[0].0),
                ranges[1].0 + v * (ranges[1].1 - ranges[1].0),
            ];
            ln.push(density.ln(&place, &between(&said, u, v)));
        }
    }
    let shades = relative(&ln);
    let mut averaged = vec![0.0; cells * cells];
    for (i, shade) in shades.iter().enumerate() {
        averaged[i / fine / INSIDE * cells + i % fine / INSIDE] += shade;
    }
    let most = averaged.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    averaged.iter_mut().for_each(|s| *s *= 0.85 / most);

    let edges = ranges.map(|r| evenly(r, cells + 1));
    let [x_label, y_label] = varied.map(|i| asked.inputs[i].as_str());
    let mut panel = Panel::new("", x_label, y_label)
        .x_limits(ranges[0].0, ranges[0].1)
        .y_limits(ranges[1].0, ranges[1].1)
        .shades("after", Color::Blue, &edges[0], &edges[1], &averaged);
    let turn: Vec<f64> = evenly((0.0, std::f64::consts::TAU), 121);
    for times in [1.0, 2.0] {
        let around = |k: usize, f: fn(f64) -> f64| {
            let b = question.prior[varied[k]];
            turn.iter().map(|t| b.mean + times * b.std * f(*t)).collect::<Vec<_>>()
        };
        let (x, y) = (around(0, f64::cos), around(1, f64::sin));
        panel = panel.dashed_line("before, 1 and 2 std", Color::Grey, &x, &y);
    }
    for (k, (output, wish)) in wanted(&question.wish).into_iter().enumerate() {
        let values: Vec<f64> = (0..said.rows()).map(|i| said.row(i)[output]).collect();
        let color = [Color::Vermillion, Color::Green, Color::Purple, Color::Orange][k % 4];
        let own = name(asked, output);
        let level = match wish {
            Some((level, _)) => (format!("{own} = {}", crate::report::short(level)), level),
            None if asked.is_classes() => (format!("{own} is a half"), 0.5),
            None => continue,
        };
        panel = panel.level(&level.0, color, [&x, &y], &values, level.1);
    }
    let of = |k: usize| answer.modes().iter().map(|m| m.mean[varied[k]]).collect::<Vec<_>>();
    let name = if answer.modes().len() > 1 { "answers" } else { "answer" };
    let panel = panel.points(name, Color::Ink, &of(0), &of(1));
    Ok(Figure::new("The inputs that give the wanted output").panel_size(480.0, 480.0).panel(panel))
}

/// What the model says between the places of a grid, `u` and `v` from 0 to 1 along its sides.
fn between(said: &Matrix, u: f64, v: f64) -> Vec<f64> {
    let part = |u: f64| {
        let at = u * (GRID - 1) as f64;
        let from = (at as usize).min(GRID - 2);
        (from, at - from as f64)
    };
    let ((column, s), (row, t)) = (part(u), part(v));
    let corner = |r: usize, c: usize| said.row((row + r) * GRID + column + c);
    let value = |k: usize| {
        (1.0 - t) * ((1.0 - s) * corner(0, 0)[k] + s * corner(0, 1)[k])
            + t * ((1.0 - s) * corner(1, 0)[k] + s * corner(1, 1)[k])
    };
    (0..said.width()).map(value).collect()
}
