//! `cargo xtask reproduce table-1`: attacks on MNIST and CIFAR-10 as in the paper's table, then at the usual budgets.
//!
//! The paper: every wrong class of 1000 test images, a prior standard deviation of 0.03, at most 100 iterations, pixels
//! not clipped, no budget. Its "non-targeted" counts the same attacks, wherever the class changed at all.

use serde::Serialize;
use std::path::{Path, PathBuf};
use tractable::attack::{Budget, Settings};
use tractable::data::Images;
use tractable::{Device, Network};
use tractable_cli::attack::{Choice, Job, MeanMedian, Method, Summary, check_images, percent, test_images};
use tractable_cli::console;
use tractable_cli::console::note;
use tractable_cli::files;
use tractable_cli::image_sets::ImageSet;
use tractable_cli::interrupt;
use tractable_cli::report::{Exit, Outcome, Report, table};
use tractable_cli::run::load_trained;
use tractable_cli::scores;

const AFTER_HELP: &str = "\
Example:
  cargo xtask reproduce table-1 --mnist mnist-run/ --cifar10 cifar10-run/ --out docs/results/table-1.json

The runs come from `cargo xtask reproduce images`. On two cores the paper's attacks take minutes per
set, all budgets several times that; --images 100 is a quick look. Misclassified images are included.";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, allow_negative_numbers = true)]
pub(crate) struct Args {
    /// Run on MNIST
    #[arg(long, value_name = "RUN")]
    mnist: Option<PathBuf>,
    /// Run on CIFAR-10
    #[arg(long, value_name = "RUN")]
    cifar10: Option<PathBuf>,
    /// Parent folder of the image sets [default: the runs']
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Attack the first N test images
    #[arg(long, value_name = "N", default_value_t = 1000)]
    images: usize,
    /// Maximum iterations of inference
    #[arg(long, value_name = "N", default_value_t = 100)]
    iterations: usize,
    /// Standard deviation of every pixel at the start
    #[arg(long, value_name = "X", default_value_t = 0.03)]
    prior_std: f64,
    /// A second standard deviation, for inference within budgets
    #[arg(long, value_name = "X", default_value_t = 0.1)]
    budget_prior_std: f64,
    /// Of those, the first N within budgets [default: all]
    #[arg(long, value_name = "N")]
    budget_images: Option<usize>,
    /// Only the paper's table
    #[arg(long)]
    no_budgets: bool,
    /// Also write everything to this JSON file
    #[arg(long = "output", alias = "out", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Exit 1 if the paper's success rates are not reached
    #[arg(long)]
    check: bool,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// Error rates of the paper's table: no attack, targeted, non-targeted.
#[derive(Serialize, Clone, Copy)]
struct Published {
    no_attack: f64,
    targeted: f64,
    non_targeted: f64,
}

struct Set {
    set: ImageSet,
    published: Published,
    budgets: [Budget; 2],
}

const SETS: [Set; 2] = [
    Set {
        set: ImageSet::Mnist,
        published: Published { no_attack: 0.0064, targeted: 0.998, non_targeted: 0.999 },
        budgets: [Budget::Linf(0.1), Budget::Linf(0.3)],
    },
    Set {
        set: ImageSet::Cifar10,
        published: Published { no_attack: 0.22, targeted: 0.996, non_targeted: 0.999 },
        budgets: [Budget::Linf(8.0 / 255.0), Budget::L2(0.5)],
    },
];

/// One kind of attack: all wrong classes, and any wrong class.
#[derive(Serialize)]
struct Row {
    attack: String,
    targeted: Summary,
    /// `None`: the paper's way of counting, `targeted.changed`.
    untargeted: Option<Summary>,
}

#[derive(Serialize)]
struct SetResult {
    set: ImageSet,
    model: PathBuf,
    images: usize,
    budget_images: usize,
    iterations: usize,
    prior_std: f64,
    /// Of all test images.
    error: f64,
    published: Published,
    /// As in the paper, and with pixels kept between 0 and 1.
    table: Vec<Row>,
    budgets: Vec<Row>,
}

pub(super) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    if args.images == 0 || args.budget_images == Some(0) {
        return Err(Exit::Error("--images and --budget-images: must be at least 1".into()));
    }
    let runs = [&args.mnist, &args.cifar10];
    let given: Vec<(&Set, &PathBuf)> =
        SETS.iter().zip(runs).filter_map(|(s, r)| Some((s, r.as_ref()?))).collect();
    if given.is_empty() {
        let how =
            "train one with `tractable train mnist -o RUN` and give it with --mnist RUN, or --cifar10 RUN";
        return Err(Exit::Error(format!("no run given; {how}")));
    }
    let mut loaded = Vec::new();
    for (set, model) in given {
        let net = load_trained(model, Device::cpu(console::threads()))?;
        let (_, images) = test_images(model, Some(set.set), args.data.as_deref(), usize::MAX)?;
        check_images(&net, &images, model)?;
        loaded.push((set, model, net, images));
    }
    let report = Report::new(args.json).ignoring_closed_pipe();
    let mut results = Vec::new();
    for (set, model, net, images) in &loaded {
        let result = attack_set(args, set, model, net, images)?;
        report.say("table-1", &result, || text(&result))?;
        results.push(result);
        // What is done is not lost when the next set is interrupted.
        args.out.as_deref().map_or(Ok(()), |path| files::write_json(path, &results))?;
    }
    let missed: Vec<String> = results.iter().flat_map(missed).collect();
    match args.check && !missed.is_empty() {
        true => Err(Exit::CheckFailed(missed.join("; "))),
        false => Ok(()),
    }
}

fn attack_set(args: &Args, set: &Set, model: &Path, net: &Network, images: &Images) -> Outcome<SetResult> {
    let error = scores::images::of(net, images)?.error_rate;
    let images = images.clone().take(args.images)?;
    let fewer = images.clone().take(args.budget_images.unwrap_or(args.images).min(args.images))?;
    let run = |name: &str, choice: Choice, method: Method, settings: Settings, budget: Option<Budget>| {
        note(&format!("{}: {name}", set.set.name()));
        let images = if budget.is_some() { &fewer } else { &images };
        let budget = budget.map(|b| b.to_string());
        let job =
            Job { net, images, choice, method, settings, seed: 0, random_start: false, budget, quiet: false };
        Ok::<_, Exit>(job.run(|_, _, _| {})?.0)
    };
    let papers = || Settings::new().iterations(args.iterations).prior_std(args.prior_std).unsure_weights();
    let mut table = Vec::new();
    for (name, settings) in [("not clipped, as in the paper", papers().unclipped()), ("clipped", papers())] {
        let targeted = run(name, Choice::All, Method::Infer, settings, None)?;
        table.push(Row { attack: name.into(), targeted, untargeted: None });
    }
    let mut budgets = Vec::new();
    for budget in set.budgets.into_iter().filter(|_| !args.no_budgets) {
        let wider = papers().prior_std(args.budget_prior_std);
        let ways = [
            ("inference, known weights".into(), Method::Infer, Settings::new().iterations(args.iterations)),
            (format!("inference, std {}", args.prior_std), Method::Infer, papers()),
            (format!("inference, std {}", args.budget_prior_std), Method::Infer, wider),
            ("PGD-40".into(), Method::Pgd, Settings::new().iterations(40)),
            ("PGD-100".into(), Method::Pgd, Settings::new().iterations(100)),
            ("FGSM".into(), Method::Fgsm, Settings::new()),
        ];
        for (name, method, settings) in ways {
            let attack = format!("{name}, {}", shown(budget));
            let settings = settings.budget(budget);
            let targeted = run(&attack, Choice::All, method, settings.clone(), Some(budget))?;
            let untargeted = run(&attack, Choice::Untargeted, method, settings, Some(budget))?;
            budgets.push(Row { attack, targeted, untargeted: Some(untargeted) });
        }
    }
    Ok(SetResult {
        set: set.set,
        model: model.into(),
        images: images.len(),
        budget_images: fewer.len(),
        iterations: args.iterations,
        prior_std: args.prior_std,
        error,
        published: set.published,
        table,
        budgets,
    })
}

/// Budgets of CIFAR-10 are multiples of 1/255.
fn shown(budget: Budget) -> String {
    match budget {
        Budget::Linf(size) if size < 0.1 => format!("L-inf {:.0}/255", size * 255.0),
        Budget::Linf(size) => format!("L-inf {size}"),
        Budget::L2(size) => format!("L2 {size}"),
    }
}

/// The rates of the paper that its own way of attacking did not reach here.
fn missed(result: &SetResult) -> Vec<String> {
    let (ours, paper) = (&result.table[0].targeted, result.published);
    let both =
        [("targeted", ours.success, paper.targeted), ("non-targeted", ours.changed, paper.non_targeted)];
    // NaN reaches nothing.
    let reached = |ours: f64, paper: f64| ours >= paper;
    let short = both.into_iter().filter(|&(_, ours, paper)| !reached(ours, paper));
    short
        .map(|(what, ours, paper)| {
            format!("{} {what}: {} is below {}", result.set.name(), percent(ours), percent(paper))
        })
        .collect()
}

fn text(result: &SetResult) -> String {
    let SetResult { published, .. } = result;
    let head = ["error rate", "no attack", "targeted", "non-targeted", "L-inf", "L2", "iterations", "ms"];
    let distance = |s: &Summary| {
        let mean = |v: Option<MeanMedian>| v.map_or("-".into(), |v| format!("{:.3}", v.mean));
        let iterations = s.iterations.map_or("-".into(), |v| format!("{:.1}", v.mean));
        [mean(s.l_inf), mean(s.l2), iterations, format!("{:.1}", s.ms_an_attack)]
    };
    let mut rows = vec![head.map(String::from).to_vec()];
    let paper = [published.no_attack, published.targeted, published.non_targeted].map(percent);
    rows.push([&["paper".to_string()][..], &paper].concat());
    for row in &result.table {
        let t = &row.targeted;
        let rates = [result.error, t.success, t.changed].map(percent);
        rows.push([&[row.attack.clone()][..], &rates, &distance(t)].concat());
    }
    let title =
        format!("{}: {} images, every wrong class, of the test images\n", result.set.name(), result.images);
    let mut said = title + &table(&rows, &[0]);
    if !result.budgets.is_empty() {
        let first = format!("within a budget, {} images", result.budget_images);
        let head = [&*first, "targeted", "untargeted", "L-inf", "L2", "iterations", "ms"];
        let mut rows = vec![head.map(String::from).to_vec()];
        for row in &result.budgets {
            let untargeted = row.untargeted.as_ref().map_or("-".into(), |u| percent(u.success));
            let rates = [row.attack.clone(), percent(row.targeted.success), untargeted];
            rows.push([&rates[..], &distance(&row.targeted)].concat());
        }
        said += &format!("\n{}", table(&rows, &[0]));
    }
    said + "\n"
}
