//! `cargo xtask reproduce pictures`: one picture a verb, for the documentation.

use std::path::{Path, PathBuf};
use tractable::attack::{self, Settings, Stop, Targets};
use tractable::data::{Dataset, digits};
use tractable::{Activation, Fit, Matrix, Network, metrics, recipes, rng, train::NoiseSchedule};
use tractable_cli::attack::pictures::four;
use tractable_cli::files;
use tractable_cli::plot::{Color, Figure, ImageGrid, Panel};
use tractable_cli::report::{Exit, Outcome, file_error};

const AFTER_HELP: &str = "\
Example:
  cargo xtask reproduce pictures -o docs/pictures

predict.svg: a noisy curve with a gap, and its uncertainty band. learn.svg: the error while samples
come one at a time, ten seeds. condition.svg: a 3 conditioned on being an 8. Takes half a minute.";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Folder for the pictures
    #[arg(short, long, value_name = "DIR", default_value = "docs/pictures")]
    out: PathBuf,
    /// Seed of data and networks
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

fn truth(x: f64) -> f64 {
    x.powi(3) - 3.0 * x
}

pub(crate) fn run(args: &Args) -> Outcome {
    let out = &args.out;
    std::fs::create_dir_all(out).map_err(file_error(out, "make this folder"))?;
    predict(args.seed)?.save(&out.join("predict"))?;
    learn(args.seed)?.save(&out.join("learn"))?;
    condition(args.seed, &out.join("condition"))?;
    // Browsers and GitHub show SVG; the PNG beside it is not needed here.
    for name in ["predict", "learn", "condition"] {
        let png = out.join(format!("{name}.png"));
        std::fs::remove_file(&png).map_err(file_error(&png, "remove it"))?;
        let svg = out.join(format!("{name}.svg"));
        let text = std::fs::read_to_string(&svg).map_err(file_error(&svg, "read it"))?;
        files::write(&svg, shorter(&text).as_bytes())?;
    }
    Ok(())
}

/// Numbers in an SVG to a hundredth of a pixel: smaller files, the same picture.
fn shorter(svg: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(svg.len()), svg);
    while let Some(dot) = rest.find('.') {
        let digits = rest[dot + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let number = dot > 0 && rest.as_bytes()[dot - 1].is_ascii_digit();
        let keep = if number { digits.min(2) } else { digits };
        text += &rest[..dot + 1 + keep];
        rest = &rest[dot + 1 + digits..];
    }
    text + rest
}

fn predict(seed: u64) -> tractable::Result<Figure> {
    let mut random = rng::stream(seed, "picture", 0);
    let x: Vec<f64> =
        (0..120).map(|i| f64::from(i) / 30.0 - 2.0).filter(|x| !(0.2..0.9).contains(x)).collect();
    let y: Vec<f64> = x.iter().map(|&x| truth(x) + 0.3 * rng::standard_normal(&mut random)).collect();
    let mut net = Network::mlp([1, 64, 64, 1], Activation::Tanh).seed(seed).build()?;
    let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(y.clone())?)?.standardize();
    net.fit(&data, &Fit::new().epochs(200).batch(1).noise_std(0.2))?;
    let grid: Vec<f64> = (0..=100).map(|i| f64::from(i) / 25.0 - 2.0).collect();
    let out = net.predict(&Matrix::column(grid.clone())?)?;
    let curve: Vec<f64> = grid.iter().map(|&x| truth(x)).collect();
    let panel = Panel::new("", "x", "y")
        .gaussian("a new point", Color::Blue, &grid, out.mean(), &out.total_std())
        .dashed_line("truth", Color::nth(2), &grid, &curve)
        .points("data", Color::Vermillion, &x, &y);
    Ok(Figure::new("predict: what comes out, and how sure is it?").panel(panel))
}

fn learn(seed: u64) -> tractable::Result<Figure> {
    let marks: Vec<usize> = (0..=32).map(|i| (10f64.powf(f64::from(i) / 8.0)).round() as usize).collect();
    let grid: Vec<f64> = (0..=80).map(|i| f64::from(i) / 20.0 - 2.0).collect();
    let curve: Vec<f64> = grid.iter().map(|&x| truth(x)).collect();
    let mut errors = vec![Vec::new(); marks.len()];
    for run in 0..10 {
        let mut random = rng::stream(seed, "picture learn", run);
        let mut net = Network::mlp([1, 64, 64, 1], Activation::Tanh)
            .seed(seed.wrapping_add(run))
            .noise_std([0.1])
            .build()?;
        let mut seen = 0;
        for (mark, errors) in marks.iter().zip(&mut errors) {
            while seen < *mark {
                let x = rng::uniform(-2.0, 2.0, &mut random);
                let y = truth(x) + 0.1 * rng::standard_normal(&mut random);
                net.learn(&Matrix::column(vec![x])?, &Matrix::column(vec![y])?)?;
                seen += 1;
            }
            let out = net.predict(&Matrix::column(grid.clone())?)?;
            errors.push(metrics::rmse(&curve, out.mean())?);
        }
    }
    let x: Vec<f64> = marks.iter().map(|&m| m as f64).collect();
    let of = |f: &dyn Fn(&[f64]) -> f64| errors.iter().map(|e| f(e)).collect::<Vec<f64>>();
    let mean = of(&|e| e.iter().sum::<f64>() / e.len() as f64);
    let low = of(&|e| e.iter().copied().fold(f64::INFINITY, f64::min));
    let high = of(&|e| e.iter().copied().fold(0.0, f64::max));
    let panel = Panel::new("", "samples seen", "error of the curve (RMSE; the noise is 0.1)")
        .band("lowest and highest of ten seeds", Color::Blue, &x, &low, &high)
        .line("mean of ten seeds", Color::Blue, &x, &mean)
        .log_x()
        .log_y();
    Ok(Figure::new("learn: one sample at a time, each seen once").panel(panel))
}

fn condition(seed: u64, path: &Path) -> Outcome {
    let train = digits(8000, seed)?;
    let mut net = recipes::mnist().seed(seed).build()?;
    let noise = NoiseSchedule { start: 0.5, decay: 0.8, floor: 0.2 };
    net.fit(&train, &Fit::new().epochs(2).batch(16).noise(noise))?;
    let test = digits(200, seed.wrapping_add(1))?;
    let settings = Settings::new().prior_std(0.1).stop(Stop::Probability(0.999));
    let mut row = Vec::new();
    for image in (0..test.len()).filter(|&i| test.label(i) == 3) {
        let x = test.matrix(image..image + 1)?;
        let found = attack::infer(&net, &x, &Targets::given(&[3], &[8]), &settings)?;
        let a = &found[0];
        if a.class_before() != 3 || !a.success {
            continue;
        }
        let pixels = x.row(0);
        row = four(test.shape(), pixels, a, 2.0)?;
        break;
    }
    if row.is_empty() {
        return Err(Exit::Error("no 3 became an 8; try another --seed".into()));
    }
    let grid = ImageGrid {
        title: "condition: what would this image be, were it an 8?",
        row_labels: &["3 to 8"],
        column_labels: &["taken for 3", "change ×2", "taken for 8", "std, white most"],
        rows: &[row],
    };
    grid.save(path).map(drop)
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_cut_and_words_are_not() {
        let svg = r#"<path d="M1.23456,7.5 L.5,10"/> v1.2.3 a.b"#;
        assert_eq!(super::shorter(svg), r#"<path d="M1.23,7.5 L.5,10"/> v1.2.3 a.b"#);
    }
}
