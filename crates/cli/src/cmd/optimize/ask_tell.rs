//! An external experiment: one call prints the next point, a later one records its value.

use super::{Args, Found, names};
use crate::report::{Exit, Outcome, Report, short};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;
use tractable::files::FolderLock;
use tractable::optimize::{Bounds, Goal, Optimizer};

/// Line `ask` of `optimize`.
#[derive(Serialize)]
struct Asked<'a> {
    /// Where to evaluate next.
    x: &'a [f64],
    /// Points asked for, without a value yet.
    pending: usize,
    /// Points with a value.
    told: usize,
}

/// Line `tell` of `optimize`.
#[derive(Serialize)]
struct TellLine<'a> {
    /// Location of the best value.
    best_x: Option<&'a [f64]>,
    /// The best value.
    best_y: Option<f64>,
    /// Points with a value.
    told: usize,
    /// Points asked for, without a value yet.
    pending: usize,
    /// Points whose experiment failed.
    set_aside: usize,
}

/// Asking and telling read and rewrite the file: one at a time, others wait.
fn held(path: &Path) -> Outcome<FolderLock> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(FolderLock::wait(folder, Duration::from_secs(30))?)
}

pub(super) fn ask(args: &Args, path: &Path) -> Outcome {
    let _held = held(path)?;
    let mut search = match (path.exists(), args.given_bounds()?) {
        (true, given) => {
            let search = Optimizer::load(path)?;
            let other_goal = args.goal().is_some_and(|g| g != search.goal());
            if given.is_some_and(|b| b != search.bounds().pairs()) || other_goal {
                let why =
                    format!("{}: the saved search has different bounds or a different goal", path.display());
                return Err(Exit::Error(why));
            }
            search
        }
        (false, Some(pairs)) => Optimizer::new(Bounds::new(pairs)?, args.goal().unwrap_or(Goal::Minimum))
            .seed(args.seed)
            .noise_std(args.noise_std)?,
        (false, None) => {
            let why = format!("{}: does not exist; use --bounds to start a new search", path.display());
            return Err(Exit::Error(why));
        }
    };
    let x = search.ask()?;
    // Kept before it is said: a point that was said is always known.
    search.save(path)?;
    let asked = Asked { x: &x, pending: search.pending().len(), told: search.history().len() };
    Report::new(args.json).say("ask", &asked, || said(&x))
}

pub(super) fn tell(args: &Args, path: &Path, value: f64) -> Outcome {
    let _held = held(path)?;
    let mut search = Optimizer::load(path)?;
    let x = match (&args.point[..], search.pending()) {
        ([], [one]) => one.clone(),
        ([], []) => {
            return Err(Exit::Error(format!("{}: no point is pending; get one with --ask", path.display())));
        }
        ([], many) => {
            let points: Vec<String> = many.iter().map(|x| said(x)).collect();
            let why = format!("--point: {} points are pending: {}", many.len(), points.join("; "));
            return Err(Exit::Error(why));
        }
        (given, _) => given.to_vec(),
    };
    // A point of one's own needs no asking.
    let known = search.pending().contains(&x) || search.history().iter().any(|t| t.x == x);
    match known {
        true => search.tell(&x, value)?,
        false => search.add(&x, value)?,
    }
    search.save(path)?;
    let best = search.best();
    let told = TellLine {
        best_x: best.map(|t| &t.x[..]),
        best_y: best.and_then(|t| t.y),
        told: search.history().len(),
        pending: search.pending().len(),
        set_aside: search.set_aside(),
    };
    let report = Report::new(args.json);
    report.say("tell", &told, || match best {
        Some(best) => {
            let y = best.y.map_or("none".into(), short);
            format!("best of {}: {y} at {}", told.told, said(&best.x))
        }
        None => format!("no value yet; {} without a value", told.set_aside),
    })?;
    // With a handful of points a network has nothing to say.
    if told.told - told.set_aside > 2 * search.bounds().len() {
        Found::new(&search.optimum()?).say(report, &names(search.bounds().len()))?;
    }
    Ok(())
}

/// A point so that it can be given back as it stands.
fn said(x: &[f64]) -> String {
    x.iter().map(f64::to_string).collect::<Vec<_>>().join(",")
}
