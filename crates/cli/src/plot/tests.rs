//! Tests of whole pictures. `TRACTABLE_GALLERY=DIR cargo test -p tractable-cli gallery -- --ignored` writes
//! every kind of figure for a look.

use super::*;
use std::path::Path;
use tractable::metrics::ece;
use tractable::{Activation, Device, Network, Shape};

fn line(n: usize, low: f64, high: f64) -> Vec<f64> {
    (0..n).map(|i| low + (high - low) * i as f64 / (n - 1) as f64).collect()
}

fn of(x: &[f64], f: impl Fn(f64) -> f64) -> Vec<f64> {
    x.iter().map(|x| f(*x)).collect()
}

fn curves(log_y: bool) -> Figure {
    let x = line(60, 1.0, 60.0);
    let adam = of(&x, |x| 2.0 * (-x / 9.0).exp() + 0.02 + 0.01 * (x * 1.7).sin());
    let ours = of(&x, |x| 1.5 * (-x / 5.0).exp() + 0.004 + 0.001 * (x * 2.3).cos());
    let (low, high) = (of(&ours, |y| y - 0.3 * y - 0.002), of(&ours, |y| 1.3 * y + 0.002));
    let (adam_low, adam_high) = (of(&adam, |y| 0.8 * y), of(&adam, |y| 1.2 * y));
    let line = |name: &str, y: &[f64], band: Option<(Vec<f64>, Vec<f64>)>| Line {
        name: name.into(),
        x: x.clone(),
        y: y.into(),
        band,
    };
    let panel = Panel::new("", "epoch", "negative log-likelihood [nats]").curves(&[
        line("tractable", &ours, Some((low, high))),
        line("Adam", &adam, Some((adam_low, adam_high))),
        line("linear model", &of(&x, |_| 0.4), None),
    ]);
    Figure::new("Test error while learning").panel(if log_y { panel.log_y() } else { panel })
}

fn cubic() -> Figure {
    let data_x = line(25, -1.9, 1.9);
    let data_y: Vec<f64> = data_x.iter().map(|x| x.powi(3) - 3.0 * x + 0.2 * (31.0 * x).sin()).collect();
    let iterations = line(30, 0.0, 29.0);
    let net = Network::mlp([1, 16, 1], Activation::Tanh).device(Device::reference()).build().unwrap();
    let figure = OptimumFigure {
        title: "Maximum of x³ − 3x by inference",
        x_label: "x",
        y_label: "f(x)",
        net: &net,
        output: 0,
        range: (-2.0, 2.0),
        truth: Some(&|x| x.powi(3) - 3.0 * x),
        data: (&data_x, &data_y),
        places: Places::Path {
            mean: &of(&iterations, |i| -1.0 + 1.6 * (-i / 5.0).exp()),
            std: &of(&iterations, |i| 0.02 + 0.25 * (-i / 6.0).exp()),
        },
        known: Some(-1.0),
    };
    four_panels(&figure).unwrap()
}

fn diagram() -> Figure {
    let (mut probs, mut labels) = (Vec::new(), Vec::new());
    for i in 0..4000 {
        let p = 0.5 + 0.5 * (f64::from(i) / 4000.0).sqrt();
        probs.extend([p, 1.0 - p]);
        labels.push(usize::from(f64::from(i * 7919 % 4000) / 4000.0 > p.powf(1.4)));
    }
    reliability("Reliability on the test set", &ece(&probs, &labels, 15).unwrap())
}

fn ring(k: usize) -> Image {
    let pixel = |i: usize| {
        let (x, y) = ((i % 28) as f64 - 13.5, (i / 28) as f64 - 13.5);
        (-(x.hypot(y) - 3.0 - k as f64).powi(2) / 6.0).exp()
    };
    Image::new(Shape::image(1, 28, 28), &(0..784).map(pixel).collect::<Vec<_>>(), (0.0, 1.0)).unwrap()
}

fn patch(k: usize) -> Image {
    let value = |i: usize| ((i % 32) as f64 / 32.0 + (i / 1024) as f64 * 0.3 + k as f64 * 0.1).fract();
    Image::new(Shape::image(3, 32, 32), &(0..3072).map(value).collect::<Vec<_>>(), (0.0, 1.0)).unwrap()
}

fn images() -> Vec<Vec<Option<Image>>> {
    let rings = (0..6).map(|k| Some(ring(k))).collect();
    let patches = (0..6).map(|k| (k != 2).then(|| patch(k))).collect();
    let noise: Vec<Option<Image>> = (0..6).map(|k| Some(ring(8 - k))).collect();
    vec![rings, patches, noise]
}

/// Names that would be markup, in every place where text can be.
const MARKUP: &str = r#"<script>alert("1")</script> & 'q' $\alpha^2$ \$ ]]> "#;

#[test]
fn text_is_never_markup() {
    let figure = Figure::new(MARKUP).panel(
        Panel::new(MARKUP, MARKUP, MARKUP).line(MARKUP, Color::Blue, &[0.0, 1.0], &[0.0, 1.0]).vertical(
            "control \u{0} \u{1b} \n tab\t",
            Color::Ink,
            0.5,
        ),
    );
    let rows = [vec![Some(ring(1))]];
    let (labels, names) = ([MARKUP], [MARKUP]);
    let grid = ImageGrid { title: MARKUP, row_labels: &labels, column_labels: &names, rows: &rows };
    for svg in [figure.draw().unwrap().svg, grid.draw().unwrap().svg] {
        assert!(!svg.contains("<script") && !svg.contains('α'), "{svg}");
        assert!(svg.contains("&lt;script&gt;alert(&quot;1&quot;)"), "{svg}");
        assert!(svg.chars().all(|c| !c.is_control() || c == '\n'), "control characters are not XML");
        // Every element ends, and what stands between them has no angle brackets.
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
        assert_eq!(svg.matches('<').count(), svg.matches('>').count());
    }
    // Dollars stay dollars.
    let svg = Figure::new(r"$a$ \$b \").panel(Panel::new("", "", "").line("", Color::Blue, &[1.0], &[1.0]));
    assert!(svg.draw().unwrap().svg.contains(r">$a$ \$b \<"));
}

#[test]
fn both_files_are_written_or_neither() {
    let dir = tempfile::tempdir().unwrap();
    assert!(curves(true).save(&dir.path().join("a.b")).is_ok());
    let png = std::fs::read(dir.path().join("a.b.png")).unwrap();
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
    let svg = std::fs::read_to_string(dir.path().join("a.b.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>") && svg.contains("viewBox"));
    // The same picture is the same file.
    assert_eq!(curves(true).draw().unwrap().svg, svg);

    let nan = Figure::new("t").panel(Panel::new("p", "x", "y").line("l", Color::Blue, &[0.0], &[f64::NAN]));
    let Err(crate::report::Exit::Error(why)) = nan.save(&dir.path().join("nan")) else { panic!("no error") };
    assert_eq!(why, "cannot draw the figure: series `l` of panel `p`: y is NaN at number 1 of 1");
    let Err(crate::report::Exit::Error(why)) = curves(false).save(&dir.path().join("no/such/place")) else {
        panic!("no error")
    };
    assert!(why.contains("place.svg: cannot write"), "{why}");
    let mut names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.b.png", "a.b.svg"]);
}

#[test]
fn every_figure_can_be_drawn() {
    for figure in [curves(true), curves(false), cubic(), diagram(), corners()] {
        let drawing = figure.draw().unwrap();
        let numbers = drawing.svg.replace("by inference", "");
        assert!(!numbers.contains("NaN") && !numbers.contains("inf"), "a number is missing");
        assert!(drawing.png.len() > 10_000);
    }
    assert_eq!(cubic().draw().unwrap().svg.matches("clipPath id").count(), 4);
    assert!(Figure::new("empty").draw().err().unwrap().contains("no panels"));
}

/// Data that are hard to show: very many, all alike, one only, far outside the limits, over many decades.
fn corners() -> Figure {
    let x = line(200_000, 1e-3, 1e4);
    let noisy: Vec<f64> =
        x.iter().enumerate().map(|(i, x)| x.sqrt() + (i * 7919 % 1000) as f64 / 50.0).collect();
    let few = line(50, -3.0, 3.0);
    let steep = of(&few, |x| 1e6 * x.powi(7));
    Figure::new("Corners")
        .columns(3)
        .panel_size(300.0, 200.0)
        .panel(Panel::new("200 000 points", "step", "return").line("", Color::Blue, &x, &noisy))
        .panel(Panel::new("constant", "x", "y").gaussian("c", Color::Green, &few, &[1e-9; 50], &[0.0; 50]))
        .panel(Panel::new("one point", "x", "y").line("", Color::Orange, &[1234567.0], &[-5e-12]))
        .panel(
            Panel::new("limits", "x", "y")
                .band("", Color::Sky, &few, &of(&steep, |y| y - 1e12), &of(&steep, |y| y + 1.0))
                .line("", Color::Blue, &few, &steep)
                .y_limits(-2.0, 2.0),
        )
        .panel(Panel::new("log", "x", "y").line("", Color::Purple, &x, &of(&x, |x| x.powi(-3))).log_y())
        .panel(Panel::new("far from zero", "x", "y").points(
            "p",
            Color::Ink,
            &of(&few, |x| 1e6 + x * 1e-3),
            &few,
        ))
        .panel(Panel::new("", "", "").bars("", Color::Green, &[0.0, 1.0, 2.0, 3.0], &[1.0, -2.0, 0.5]))
}

#[test]
#[ignore = "writes pictures for a look"]
fn gallery() {
    let dir = std::env::var("TRACTABLE_GALLERY").expect("TRACTABLE_GALLERY names a folder");
    let dir = Path::new(&dir);
    let save = |figure: Figure, name: &str| assert!(figure.save(&dir.join(name)).is_ok(), "{name}");
    save(curves(false), "curves");
    save(curves(true), "curves_log");
    save(cubic(), "optimum");
    save(diagram(), "reliability");
    save(corners(), "corners");
    let x = line(40, 0.0, 2e6);
    let named: Vec<String> = (0..10).map(|i| format!("environment number {i} with a long name")).collect();
    let ys: Vec<Vec<f64>> = (0..10).map(|i| of(&x, |x| (x / 1e5 + f64::from(i)).sqrt() * 1e-6)).collect();
    let line =
        |(name, y): (&String, &Vec<f64>)| Line { name: name.clone(), x: x.clone(), y: y.clone(), band: None };
    let many: Vec<Line> = named.iter().zip(&ys).map(line).collect();
    let title = "A title that is so long that it has to be broken into several lines, since nobody reads one line of it";
    let label = "a very long label of the vertical axis, with units [kg m² / s²]";
    save(Figure::new(title).panel(Panel::new("", MARKUP, label).curves(&many)), "many");
    let rows = images();
    let grid = ImageGrid {
        title: "Attacked images",
        row_labels: &["original", "posterior mean", "difference"],
        column_labels: &["0 → 1", "1 → 2", "2 → 3", "3 → 4", "4 → 5", "a long label"],
        rows: &rows,
    };
    assert!(grid.save(&dir.join("images")).is_ok());
    let one = [vec![Some(ring(3))]];
    let small =
        ImageGrid { title: "One image under a title of some length", rows: &one, ..ImageGrid::default() };
    assert!(small.save(&dir.join("image")).is_ok());
}
