//! `tractable attack`: changes test images until a network misclassifies them.

use crate::attack::pictures::{Shown, curves, picture};
use crate::attack::{Choice, Job, Live, Method, Record, Summary, check_images, npy, percent, test_images};
use crate::console::note;
use crate::files::{self, NewFile};
use crate::image_sets::ImageSet;
use crate::report::{Exit, Outcome, Report, file_error, json_line, json_text, table};
use crate::run::load_for;
use crate::settings::{DeviceName, whole};
use crate::{interrupt, out, team};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use tractable::attack::{Budget, Settings, Stop};
use tractable::data::Images;
use tractable::{Matrix, Network, Shape, fnv, metrics};

const AFTER_HELP: &str = "\
Examples:
  tractable attack run/ --images 100 --target all -o attacked/
  tractable attack run/ --untargeted --budget linf:0.1
  tractable attack run/ --method pgd --iterations 40 --budget linf:8/255 --target random
  tractable attack run/ --target all --transfer other-run/ --curve linf:0.3

Distances are those of successful attacks, with pixels from 0 to 1. An attack succeeds if the network
classifies the image as the target or, with --untargeted, not as its label; `any change` counts the latter
for every target. DIR gets attacks.jsonl, attack.json (the settings), adversarial.npy (f32,
one attack after another), png/ with the first images, a grid (rows: labels, columns: targets), a strip of image, change x10, result
and standard deviation of every pixel and, with --curve, the curves; pictures are SVG and PNG.";

/// Change images until a network misclassifies them
#[derive(clap::Args, Serialize, Clone)]
#[command(after_help = AFTER_HELP, allow_negative_numbers = true)]
pub struct Args {
    /// Folder of a run on images, or a model file
    #[arg(value_name = "RUN|MODEL")]
    model: PathBuf,
    /// Image set [default: the run's]
    #[arg(long, value_name = "SET", value_parser = ImageSet::parse)]
    set: Option<ImageSet>,
    /// Folder with the image set's files, or its parent folder [default: the run's]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Attack the first N test images
    #[arg(long, value_name = "N", default_value = "1000", value_parser = whole)]
    images: usize,
    /// all (wrong classes), random, least-likely, or a class
    #[arg(long, value_name = "TARGET", default_value = "all", conflicts_with = "untargeted")]
    target: String,
    /// Accept any wrong class
    #[arg(long)]
    untargeted: bool,
    #[arg(long, value_enum, default_value_t = Method::Infer)]
    method: Method,
    /// Maximum number of iterations [default: 100, for pgd 40]
    #[arg(long, value_name = "N")]
    iterations: Option<usize>,
    /// Standard deviation of every pixel; limits how far one iteration moves (infer)
    #[arg(long, value_name = "X", default_value_t = 0.03)]
    prior_std: f64,
    /// Include the uncertainty of the weights, as in the paper; attacks on barely trained networks then fail (infer)
    #[arg(long)]
    unsure_weights: bool,
    /// Maximum distance from the image: linf:0.1, linf:8/255 or l2:0.5
    #[arg(long, value_name = "BUDGET")]
    budget: Option<Budget>,
    /// Continue until this probability is reached, not only until the class changes
    #[arg(long, value_name = "P")]
    stop_at: Option<f64>,
    /// Pixels to keep fixed: an array of the image's size, zero for pixels that may change
    #[arg(long, value_name = "FILE.npy")]
    frozen: Option<PathBuf>,
    /// Let pixels leave the range 0 to 1
    #[arg(long)]
    no_clip: bool,
    /// Start at a random point inside the budget (pgd)
    #[arg(long)]
    random_start: bool,
    /// Try the changed images on a second network
    #[arg(long, value_name = "RUN|MODEL")]
    transfer: Option<PathBuf>,
    /// Plot success against budget up to this one, for inference and PGD, on the first 100 images
    #[arg(long, value_name = "BUDGET")]
    curve: Option<Budget>,
    /// Seed for random targets and starts
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Folder for the changed images and the pictures
    #[serde(skip)]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write into a folder even if it is not empty
    #[serde(skip)]
    #[arg(long, requires = "out")]
    force: bool,
    /// Where to compute; cuda-fast is less precise
    #[arg(long, value_enum, default_value_t)]
    device: DeviceName,
    /// Results as JSON Lines
    #[serde(skip)]
    #[arg(long)]
    json: bool,
}

/// Changed images to write as PNG.
const PNGS: usize = 100;
/// Budgets and images of a curve.
const CURVE: (usize, usize) = (8, 100);

/// Transfer of successful attacks to a second network.
///
/// Line `transfer` of `attack`.
#[derive(Serialize)]
struct Transfer {
    /// The second network.
    model: PathBuf,
    /// Those that fooled the first network, on images that the second classified correctly.
    attacks: usize,
    /// Share classified as the target or, without one, not as the label.
    success: f64,
    /// Share not classified as the label, whatever the target.
    changed: f64,
}

/// Line `curve` of `attack`.
#[derive(Serialize)]
struct CurvePoint {
    /// Maximum distance from the image.
    budget: Budget,
    /// Success rate of inference.
    inference: f64,
    /// Success rate of projected gradient descent.
    pgd: f64,
}

pub fn run(args: &Args) -> Outcome {
    // Only the first process writes.
    match team::place().0 {
        0 => attack(args),
        _ => attack(&Args { out: None, ..args.clone() }),
    }
}

fn attack(args: &Args) -> Outcome {
    interrupt::leave_at_once("nothing was written")?;
    if args.images == 0 {
        return Err(Exit::Error("--images: must be at least 1".into()));
    }
    let net = load_for(&args.model, args.device, args.images)?;
    let (set, images) = test_images(&args.model, args.set, args.data.as_deref(), args.images)?;
    check_images(&net, &images, &args.model)?;
    let other = match &args.transfer {
        None => None,
        Some(path) => {
            let other = load_for(path, args.device, args.images)?;
            check_images(&other, &images, path)?;
            Some((path, other))
        }
    };
    let choice = choice(args, images.class_names())?;
    if team::workers().is_some() {
        let hash = |net: &Network| Ok::<_, Exit>(fnv::fnv1a_64(fnv::EMPTY, net.to_bytes()?));
        let other = other.as_ref().map(|(_, other)| hash(other)).transpose()?;
        let pixels = (0..images.len()).map(|i| images.pixels(i));
        let pixels = pixels.fold(fnv::EMPTY, |hash, pixels| fnv::fnv1a_64(hash, pixels.iter().copied()));
        let own = Args { model: PathBuf::new(), transfer: None, data: None, ..args.clone() };
        team::agree(&format!("{:x} {other:x?} {pixels:x} {}", hash(&net)?, json_text(&own)))?;
    }
    let frozen = args.frozen.as_deref().map(|path| frozen(path, images.shape())).transpose()?;
    interrupt::listen()?;
    // Created before hours of work, and removed if nothing is written.
    let made = args.out.as_deref().map_or(Ok(false), |out| make_folder(out, args.force))?;
    let _held = args.out.as_deref().map(files::folder).transpose()?;
    let job = Job {
        net: &net,
        images: &images,
        choice,
        method: args.method,
        settings: settings(args, args.method, args.budget, frozen.as_deref()),
        seed: args.seed,
        random_start: args.random_start,
        budget: args.budget.map(|b| b.to_string()),
        quiet: false,
    };
    let (mut shown, mut changed) = (Shown::default(), Vec::<f32>::new());
    let keep_images = args.out.is_some() || other.is_some();
    let mut live = args.out.as_deref().map(|out| Live::new(out, args.method, images.len()));
    let ran = job.run(|pixels, attacked, record| {
        shown.look(record.image, pixels, attacked);
        live.iter_mut().for_each(|live| live.add(record));
        if keep_images {
            changed.extend(attacked.result(pixels).iter().map(|&p| p as f32));
        }
    });
    let (summary, records) = ran.inspect_err(|_| {
        live = None;
        if let (true, Some(out)) = (made, &args.out) {
            let _ = std::fs::remove_dir(out);
        }
    })?;
    let report = Report::new(args.json).ignoring_closed_pipe();
    report.say("attack", &summary, || {
        format!("{}: {} images\n\n{}", set.name(), images.len(), summary.text())
    })?;
    if let Some((path, other)) = &other {
        let transfer = transfer(other, path, &images, &records, &changed)?;
        report.say("transfer", &transfer, || {
            format!(
                "\ntransfer to {}: {} attacks that fooled the first network: {} reach their target, {} change the class",
                path.display(),
                transfer.attacks,
                percent(transfer.success),
                percent(transfer.changed)
            )
        })?;
    }
    if let Some(out) = &args.out {
        save(out, &summary, &records, &changed, &images)?;
        files::write_json(&out.join("attack.json"), args)?;
        crate::run::commands::note(out, made)?;
        drop(live);
        if shown.is_empty() {
            note("no picture: the network classified none of the attacked images correctly");
        } else {
            let title = format!(
                "{} by {}: true class (rows) and predicted class (columns)",
                set.name(),
                args.method.name()
            );
            shown.grid(&title, images.shape(), images.class_names(), &out.join("grid"))?;
            shown.strip(images.shape(), images.class_names(), &out.join("strip"))?;
        }
    }
    if let Some(most) = args.curve {
        curve(args, &job, most, frozen.as_deref(), report)?;
    }
    if let Some(out) = &args.out {
        note(&format!("written to {}", out.display()));
    }
    Ok(())
}

/// Fixed pixels of every image.
fn frozen(path: &Path, image: Shape) -> Outcome<Vec<bool>> {
    let bad = |why: String| Exit::Error(format!("--frozen {}: {why}", path.display()));
    let (shape, data) = npy::read(path).map_err(bad)?;
    let (plane, whole) = ([image.height, image.width], [image.channels, image.height, image.width]);
    if shape != plane && shape != whole {
        return Err(bad(format!("the array is {shape:?}; {plane:?} or {whole:?} is needed")));
    }
    let frozen = data.iter().map(|&v| v != 0.0).cycle();
    Ok(frozen.take(image.len()).collect())
}

fn settings(args: &Args, method: Method, budget: Option<Budget>, frozen: Option<&[bool]>) -> Settings {
    let iterations = args.iterations.unwrap_or(if method == Method::Pgd { 40 } else { 100 });
    let settings = Settings::new().iterations(iterations).prior_std(args.prior_std);
    let settings = if args.no_clip { settings.unclipped() } else { settings };
    let settings = if args.unsure_weights { settings.unsure_weights() } else { settings };
    let settings = budget.into_iter().fold(settings, Settings::budget);
    let settings = frozen.into_iter().fold(settings, Settings::frozen);
    args.stop_at.into_iter().fold(settings, |s, p| s.stop(Stop::Probability(p)))
}

fn choice(args: &Args, names: &[String]) -> Outcome<Choice> {
    if args.untargeted {
        return Ok(Choice::Untargeted);
    }
    Ok(match args.target.as_str() {
        "all" => Choice::All,
        "random" => Choice::Random,
        "least-likely" => Choice::LeastLikely,
        class => {
            let by_name = names.iter().position(|n| n == class);
            let by_number = class.parse().ok().filter(|&n: &usize| n < names.len());
            Choice::One(by_name.or(by_number).ok_or_else(|| {
                let classes = names.join(", ");
                Exit::Error(format!(
                    "--target: `{class}` is not all, random, least-likely or a class ({classes})"
                ))
            })?)
        }
    })
}

/// Whether the folder is new.
fn make_folder(out: &Path, force: bool) -> Outcome<bool> {
    out::check_folder(out, "attack")?;
    let new = !out.exists();
    let used = std::fs::read_dir(out).map_or(out.exists(), |mut entries| entries.next().is_some());
    if used && !(force && out.is_dir()) {
        let why = "already exists; choose another folder with -o, or write into it with --force";
        return Err(Exit::Error(format!("{}: {why}", out.display())));
    }
    std::fs::create_dir_all(out).map_err(file_error(out, "create this folder"))?;
    Ok(new)
}

fn transfer(
    other: &Network,
    path: &Path,
    images: &Images,
    records: &[Record],
    changed: &[f32],
) -> Outcome<Transfer> {
    let width = images.shape().len();
    let classes = |x: &Matrix| -> Outcome<Vec<usize>> {
        let p = other.predict_classes(x)?;
        Ok((0..p.rows()).map(|r| metrics::argmax(p.row(r))).collect())
    };
    let mut before = Vec::new();
    for x in images.batches(256) {
        before.extend(classes(&x)?);
    }
    let won: Vec<usize> = (0..records.len())
        .filter(|&i| records[i].success && before[records[i].image] == records[i].label)
        .collect();
    let (mut hit, mut off) = (0, 0);
    for part in won.chunks(256) {
        let x =
            part.iter().flat_map(|&i| &changed[i * width..(i + 1) * width]).map(|&p| f64::from(p)).collect();
        for (&i, class) in part.iter().zip(classes(&Matrix::new(x, width)?)?) {
            let Record { label, target, .. } = records[i];
            off += usize::from(class != label);
            hit += usize::from(target.map_or(class != label, |t| class == t));
        }
    }
    let share = |n: usize| n as f64 / won.len().max(1) as f64;
    Ok(Transfer { model: path.into(), attacks: won.len(), success: share(hit), changed: share(off) })
}

/// Writes numbers, changed images and some pictures.
fn save(out: &Path, summary: &Summary, records: &[Record], changed: &[f32], images: &Images) -> Outcome {
    let whole = |name: &str, write: &mut dyn FnMut(&mut NewFile) -> std::io::Result<()>| {
        let path = out.join(name);
        let mut made = || {
            let mut file = NewFile::beside(&path)?;
            write(&mut file)?;
            files::keep(file, &path)
        };
        made().map_err(file_error(&path, "write it"))
    };
    whole("attacks.jsonl", &mut |file| {
        let mut text = json_line("summary", summary) + "\n";
        records.iter().for_each(|r| text += &(json_line("attack", r) + "\n"));
        file.write_all(text.as_bytes())
    })?;
    let shape = images.shape();
    let sizes = [records.len(), shape.channels, shape.height, shape.width];
    whole("adversarial.npy", &mut |file| npy::write(file, &sizes, changed))?;
    let folder = out.join("png");
    std::fs::create_dir_all(&folder).map_err(file_error(&folder, "create this folder"))?;
    for (r, pixels) in records.iter().zip(changed.chunks_exact(shape.len())).take(PNGS) {
        let target = r.target.map_or(String::new(), |t| format!("-to-{t}"));
        let pixels: Vec<f64> = pixels.iter().map(|&p| f64::from(p)).collect();
        let png = picture(shape, &pixels, (0.0, 1.0))?.png().map_err(Exit::Error)?;
        whole(&format!("png/{:05}-{}{target}.png", r.image, r.label), &mut |file| file.write_all(&png))?;
    }
    Ok(())
}

/// Success at several budgets up to `most`, by inference and by PGD.
fn curve(args: &Args, job: &Job<'_>, most: Budget, frozen: Option<&[bool]>, report: Report) -> Outcome {
    let images = job.images.clone().take(CURVE.1)?;
    let mut points = Vec::new();
    for i in 1..=CURVE.0 {
        // Without digits from rounding.
        let size = (most.size() * i as f64 / CURVE.0 as f64 * 1e6).round() / 1e6;
        let budget = if let Budget::L2(_) = most { Budget::L2(size) } else { Budget::Linf(size) };
        let share = |method: Method| -> Outcome<f64> {
            // One target per image is enough for a curve.
            let choice = if job.choice == Choice::All { Choice::Random } else { job.choice };
            let settings = settings(args, method, Some(budget), frozen);
            let job = Job { method, settings, choice, images: &images, quiet: true, budget: None, ..*job };
            Ok(job.run(|_, _, _| {})?.0.success)
        };
        points.push(CurvePoint { budget, inference: share(Method::Infer)?, pgd: share(Method::Pgd)? });
    }
    let mut rows = vec![["budget", "inference", "PGD"].map(String::from).to_vec()];
    rows.extend(points.iter().map(|p| vec![p.budget.to_string(), percent(p.inference), percent(p.pgd)]));
    report.say_all("curve", &points, || {
        format!("\nsuccess against budget, {} images\n{}", images.len(), table(&rows, &[0]))
    })?;
    let Some(out) = &args.out else { return Ok(()) };
    let of = |f: fn(&CurvePoint) -> f64| points.iter().map(f).collect::<Vec<f64>>();
    let norm = if let Budget::L2(_) = most { "L2" } else { "L-inf" };
    let lines = [("inference", of(|p| p.inference)), ("PGD", of(|p| p.pgd))];
    curves("Success against budget", norm, &of(|p| p.budget.size()), &lines, &out.join("curves"))
}
