//! Part 2: a small convolutional network learns digits; its calibration, and an attack.

use super::Stage;
use crate::attack::pictures::four;
use crate::page::{Picture, Section};
use crate::plot::{ImageGrid, reliability_panel};
use crate::report::{Exit, Outcome};
use crate::scores;
use serde::Serialize;
use std::ops::ControlFlow;
use std::time::Instant;
use tractable::attack::{self, Attacked, Settings, Stop, Targets};
use tractable::data::{self, Images};
use tractable::{Activation, Fit, Layer, Matrix, Network, Shape, metrics, train::NoiseSchedule};

const TRAIN: usize = 6000;
const TEST: usize = 2000;
const EPOCHS: usize = 3;
/// What is shown, and what it is to be taken for.
const FROM: usize = 3;
const TO: usize = 8;
/// Images that are changed.
const CHANGED: usize = 50;
/// How sure the network is to be of the wrong class.
const SURE: f64 = 0.9;

/// Line `digits` of `demo`.
#[derive(Serialize)]
struct Digits {
    /// Training images.
    images: usize,
    /// How many.
    test_images: usize,
    /// Weights and biases.
    parameters: usize,
    /// In total.
    seconds: f64,
    /// On the test images.
    error_rate: f64,
    /// On the test images.
    nll: f64,
    /// On the test images.
    ece: f64,
    /// Threes that were classified as threes.
    attacked: usize,
    /// Of those, then classified as eights.
    fooled: usize,
    /// Of a pixel; 1 is black to white.
    median_largest_change: f64,
    /// Probability of an eight for the digit in the picture.
    shown_before: f64,
    /// The same after the attack.
    shown_after: f64,
}

pub(super) fn act(stage: &Stage) -> Outcome<Section> {
    let (train, test) = if stage.args.quick { (1500, 500) } else { (TRAIN, TEST) };
    let epochs = if stage.args.quick { 2 } else { EPOCHS };
    let seed = stage.args.seed;
    let mut progress = stage.progress(train * epochs);
    let began = Instant::now();
    let (images, kept) = (data::digits(train, seed)?, data::digits(test, seed.wrapping_add(1))?);
    let mut net = Network::builder(Shape::image(1, 28, 28))
        .layer(Layer::conv2d(8, 5))
        .layer(Activation::Relu)
        .layer(Layer::avg_pool2d(3).stride(2))
        .layer(Layer::conv2d(16, 5))
        .layer(Activation::Relu)
        .layer(Layer::avg_pool2d(3).stride(2))
        .layer(Layer::linear(64))
        .layer(Activation::Relu)
        .layer(Layer::linear(11))
        .classes(10)
        .seed(seed)
        .build()?;
    let noise = NoiseSchedule { start: 0.5, decay: 0.7, floor: 0.2 };
    let fit = Fit::new().epochs(epochs).batch(16).noise(noise).seed(seed);
    let mut finished = 0;
    net.fit_with(&images, &fit, |p| {
        match p {
            tractable::train::Progress::Rows(done, _) => progress
                .at((finished * train + done) as u64, || {
                    format!("2/3 digits: pass {} of {epochs}", finished + 1)
                }),
            tractable::train::Progress::Epoch(_, e) => finished = e.epoch,
        }
        if crate::interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    stage.check()?;
    let score = scores::images::of(&net, &kept)?;
    let seconds = began.elapsed().as_secs_f64();
    drop(progress);

    let (threes, attacks) = fooled(&net, &kept)?;
    stage.check()?;
    let won: Vec<&Attacked> = attacks.iter().filter(|a| a.success).collect();
    let Some(shown) = won.first().or(attacks.first().as_ref()).copied() else {
        return Err(Exit::Error("the network recognised no 3 in the test images; try another --seed".into()));
    };
    let mut largest: Vec<f64> = won.iter().map(|a| a.l_inf).collect();
    largest.sort_by(f64::total_cmp);
    let found = Digits {
        images: train,
        test_images: test,
        parameters: net.parameters(),
        seconds,
        error_rate: score.error_rate,
        nll: score.nll,
        ece: score.reliability.ece,
        attacked: attacks.len(),
        fooled: won.len(),
        median_largest_change: largest.get(largest.len() / 2).copied().unwrap_or(f64::NAN),
        shown_before: shown.before[TO],
        shown_after: shown.after[TO],
    };
    let calibration = reliability_panel(&score.reliability);
    let strip = strip(threes.row(shown.image), shown, stage)?;
    let percent = |v: f64| format!("{:.1} %", 100.0 * v);
    stage.report.say("digits", &found, || {
        format!(
            "2/3 digits: a small convolutional network, then a 3 changed until it is classified as an 8\n    error {} on {test} \
             new images, calibration error {} ({} weights, {seconds:.1} s)\n    {} of {} threes become eights, largest change \
             of a pixel {:.2} (median); probability of 8 for the one shown: {} before, {} after\n",
            percent(found.error_rate),
            percent(found.ece),
            found.parameters,
            found.fooled,
            found.attacked,
            found.median_largest_change,
            percent(found.shown_before),
            percent(found.shown_after)
        )
    })?;
    let bins = score.reliability.bins.iter();
    let sure = bins.filter_map(|b| Some(b.count as f64 * b.confidence?)).sum::<f64>() / test as f64;
    let more = if sure < 1.0 - found.error_rate { "more" } else { "less" };
    let said = format!(
        "Accuracy against confidence. On average the network's confidence is {} and its accuracy {}: it is right {more} often \
         than it says.",
        percent(sure),
        percent(1.0 - found.error_rate)
    );
    let about = "A 3; the change (grey: none); the result, which the network classifies as an 8; and the standard \
                 deviation of every pixel, from lowest (black) to highest (white). The change fools the network, \
                 not us.";
    Ok(Section::new("digits", "2. Digits: calibration and an attack")
        .text(
            "A convolutional network learns handwriting-like digits in a few epochs, without a learning rate or \
             gradients. Then the label is set to 8 and the image is inferred.",
        )
        .facts(&[
            (format!("error on {test} new images"), percent(found.error_rate)),
            ("calibration error".into(), percent(found.ece)),
            (format!("of {} threes classified as 8", found.attacked), found.fooled.to_string()),
            ("largest change of a pixel, median".into(), format!("{:.2} of 1", found.median_largest_change)),
            ("probability of 8 before".into(), percent(found.shown_before)),
            ("and after".into(), percent(found.shown_after)),
        ])
        .pictures(&[stage.picture("reliability", &said, &calibration)?, Picture::new(about, strip)]))
}

/// Threes that the network knows, and what became of them.
fn fooled(net: &Network, kept: &Images) -> Outcome<(Matrix, Vec<Attacked>)> {
    let threes: Vec<usize> = (0..kept.len()).filter(|&i| kept.label(i) == FROM).collect();
    let all = kept.select(&threes)?;
    let p = net.predict_classes(&all.matrix(0..all.len())?)?;
    let known: Vec<usize> =
        (0..p.rows()).filter(|&i| metrics::argmax(p.row(i)) == FROM).take(CHANGED).collect();
    if known.is_empty() {
        return Err(Exit::Error("the network recognised no 3 in the test images; try another --seed".into()));
    }
    let images = all.select(&known)?;
    let x = images.matrix(0..images.len())?;
    let (labels, targets) = (vec![FROM; known.len()], vec![TO; known.len()]);
    let settings = Settings::new().prior_std(0.05).stop(Stop::Probability(SURE));
    let attacks = attack::infer(net, &x, &Targets::given(&labels, &targets), &settings)?;
    Ok((x, attacks))
}

/// The image, what was changed, what came of it, and how sure that is.
fn strip(pixels: &[f64], a: &Attacked, stage: &Stage) -> Outcome<String> {
    let largest = a.change.mean().iter().fold(1e-6, |m: f64, c| m.max(c.abs()));
    let row = four(Shape::image(1, 28, 28), pixels, a, 1.0 / largest)?;
    let column_labels = &["a 3", "change", "an 8 to it", "std"];
    ImageGrid { column_labels, rows: &[row], ..ImageGrid::default() }.save(&stage.path("three-to-eight"))
}
