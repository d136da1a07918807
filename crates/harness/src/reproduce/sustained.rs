//! `cargo xtask reproduce sustained`: how long one update takes, and the memory of `tractable learn` over millions of rows.

use serde::Serialize;
use serde_json::json;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use tractable::{
    Activation, Device, Input, Network,
    network::{Drift, Observation},
    rng,
};
use tractable_cli::interrupt;
use tractable_cli::report::{Exit, Outcome, Report, file_error};
use tractable_cli::results::Clock;

const AFTER_HELP: &str = "\
Example:
  cargo xtask reproduce sustained -o docs/results

Latency: single updates of a 10-64-64-1 network on one core, `learn_one` with drift, on a stream that changes. Memory: this
program runs `tractable learn RUN -` with similar rows on standard input, and samples its resident memory throughout
(Linux). Do not use the machine for anything else meanwhile.";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Single updates to time; 0: none
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    updates: usize,
    /// Rows of the sustained run; 0: none
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    rows: u64,
    /// Folder for latency.json and sustained.json
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

const WIDTH: usize = 10;

#[derive(Serialize)]
struct Latency {
    network: &'static str,
    updates: usize,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    forgot: usize,
}

/// Memory of the process in kB: after a tenth of the rows, at the end, and the maximum after the first tenth.
#[derive(Serialize)]
struct Sustained {
    rows: u64,
    seconds: f64,
    rows_per_second: f64,
    early_kb: Option<u64>,
    end_kb: Option<u64>,
    most_kb: Option<u64>,
    samples_kb: Vec<u64>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    let clock = Clock::start();
    let report = Report::new(args.json);
    let keep = |name: &str, command: String, body: serde_json::Value| {
        args.out.as_ref().map_or(Ok(()), |out| clock.write(out, name, &command, body))
    };
    if args.updates > 0 {
        let latency = time(args.updates.max(1000))?;
        report.say("latency", &latency, || {
            let Latency { network, updates, p50_us, p99_us, p999_us, forgot } = &latency;
            let said = format!("p50 {p50_us:.1} us, p99 {p99_us:.1} us, p999 {p999_us:.1} us");
            format!("{network}, {updates} updates: {said}; forgot {forgot} times")
        })?;
        let command = format!("cargo xtask reproduce sustained --updates {} --rows 0", args.updates);
        keep("latency", command, json!({ "latency": latency }))?;
    }
    if args.rows > 0 {
        let sustained = sustain(args.rows)?;
        report.say("sustained", &sustained, || {
            let Sustained { rows, seconds, rows_per_second, early_kb, end_kb, most_kb, .. } = &sustained;
            let kb = |v: &Option<u64>| v.map_or("?".into(), |v| v.to_string());
            let [early, end, most] = [early_kb, end_kb, most_kb].map(kb);
            let pace = format!("{rows} rows in {seconds:.0} s, {rows_per_second:.0} rows/s");
            format!("{pace}; memory {early} kB early, {end} kB at the end, {most} kB at most")
        })?;
        let command = format!("cargo xtask reproduce sustained --updates 0 --rows {}", args.rows);
        keep("sustained", command, json!({ "sustained": sustained }))?;
    }
    Ok(())
}

/// A row of the stream: a wave whose direction changes every 100,000 rows.
fn row(t: u64, random: &mut rng::ChaCha8Rng) -> ([f64; WIDTH], f64) {
    let x = [(); WIDTH].map(|()| rng::uniform(-1.0, 1.0, random));
    let turn = (t / 100_000) as usize;
    let y = (2.0 * x[turn % WIDTH] + x[(turn + 3) % WIDTH]).sin() + 0.1 * rng::standard_normal(random);
    (x, y)
}

fn time(updates: usize) -> Outcome<Latency> {
    let net = Network::mlp([WIDTH, 64, 64, 1], Activation::MixtureRelu).noise_std([0.1]);
    let mut net = net.device(Device::cpu(1)).build()?;
    let (mut drift, mut forgot, mut random) = (Drift::default(), 0, rng::stream(0, "latency", 0));
    let mut took = Vec::with_capacity(updates);
    for t in 0..updates as u64 {
        let (x, y) = row(t, &mut random);
        let began = Instant::now();
        let surprise = net.learn_one(Input::exact(&x, WIDTH)?, Observation::values(&[y], 1)?)?;
        forgot += usize::from(drift.follow(&mut net, surprise)? > 1.0);
        took.push(began.elapsed().as_nanos() as u32);
    }
    // The first calls allocate the memory that later calls reuse.
    took.drain(..100);
    took.sort_unstable();
    let at = |share: f64| f64::from(took[((took.len() - 1) as f64 * share) as usize]) / 1e3;
    let [p50_us, p99_us, p999_us] = [0.5, 0.99, 0.999].map(at);
    Ok(Latency { network: "10-64-64-1", updates, p50_us, p99_us, p999_us, forgot })
}

/// A folder that is removed when dropped.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn sustain(rows: u64) -> Outcome<Sustained> {
    let place = Place(std::env::temp_dir().join(format!("tractable-sustained-{}", std::process::id())));
    let fail = file_error(&place.0, "use this folder");
    std::fs::create_dir_all(&place.0).map_err(&fail)?;
    let (file, run) = (place.0.join("start.csv"), place.0.join("run"));
    let mut random = rng::stream(0, "sustained", 0);
    let mut text = header();
    (0..2000).for_each(|t| line(&mut text, t, &mut random));
    std::fs::write(&file, text).map_err(&fail)?;
    let train = ["--target", "y", "--hidden", "64,64", "--epochs", "2", "--calibration", "0"];
    let mut child = program(&["train"], &[&file], Stdio::null())
        .args(train)
        .arg("-o")
        .arg(&run)
        .spawn()
        .map_err(&fail)?;
    finish(&mut child, "train")?;
    let mut learn = program(&["learn"], &[&run], Stdio::piped());
    let mut child = learn.args(["-", "--every", "100000"]).spawn().map_err(&fail)?;
    let mut input = std::io::BufWriter::new(child.stdin.take().expect("it is a pipe"));
    let mut samples_kb = Vec::new();
    let began = Instant::now();
    let broken = |e| Exit::Error(format!("`tractable learn` ended early: {e}"));
    input.write_all(header().as_bytes()).map_err(broken)?;
    let mut text = String::new();
    for t in 0..rows {
        line(&mut text, t, &mut random);
        if text.len() > 1 << 16 || t + 1 == rows {
            input.write_all(text.as_bytes()).map_err(broken)?;
            text.clear();
        }
        if t.is_multiple_of((rows / 100).max(1)) {
            samples_kb.extend(resident(child.id()));
        }
        if interrupt::requested() {
            return Err(Exit::Interrupted("nothing was written".into()));
        }
    }
    input.flush().map_err(broken)?;
    samples_kb.extend(resident(child.id()));
    drop(input);
    finish(&mut child, "learn")?;
    let seconds = began.elapsed().as_secs_f64();
    let settled = samples_kb.get(samples_kb.len() / 10..).unwrap_or_default();
    Ok(Sustained {
        rows,
        seconds,
        rows_per_second: rows as f64 / seconds,
        early_kb: settled.first().copied(),
        end_kb: settled.last().copied(),
        most_kb: settled.iter().max().copied(),
        samples_kb,
    })
}

fn header() -> String {
    (0..WIDTH).map(|i| format!("x{i},")).collect::<String>() + "y\n"
}

fn line(text: &mut String, t: u64, random: &mut rng::ChaCha8Rng) {
    use std::fmt::Write as _;
    let (x, y) = row(t, random);
    x.iter().for_each(|v| write!(text, "{v:.6},").expect("a string takes everything"));
    writeln!(text, "{y:.6}").expect("a string takes everything");
}

/// The program `tractable`, as a process of its own.
fn program(words: &[&str], paths: &[&Path], input: Stdio) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap_or_else(|_| "xtask".into()));
    command
        .arg("program")
        .args(words)
        .args(paths)
        .arg("-q")
        .stdin(input)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit());
    command
}

fn finish(child: &mut Child, verb: &str) -> Outcome {
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Exit::Error(format!("`tractable {verb}` failed: {status}"))),
        Err(e) => Err(Exit::Error(format!("`tractable {verb}`: {e}"))),
    }
}

/// Resident memory of a process in kB.
fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    line.trim().split(' ').next()?.parse().ok()
}
