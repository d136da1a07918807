//! Optimises a function that can be called: an expression or a test function.

use super::{Args, Found, check_folder, figure, keep, names, parse_error};
use crate::console::note;
use crate::objective::{Direction, Known, Objective};
use crate::progress::ProgressDisplay;
use crate::report::{Exit, Outcome, Report, count, short};
use crate::run::RunFolder;
use crate::run::commands;
use crate::{files, interrupt, out};
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};
use tractable::optimize::{Bounds, Goal, Optimizer, Trial};

/// Line `best` of `optimize`.
#[derive(Serialize)]
struct Best<'a> {
    /// Location of the best value.
    x: &'a [f64],
    /// The best value.
    y: f64,
    /// How many.
    evaluations: usize,
    /// Points without a value.
    set_aside: usize,
    /// Distance from the known optimum of a test function.
    regret: Option<f64>,
}

pub(super) fn run(args: &Args, text: &str) -> Outcome {
    interrupt::listen()?;
    let objective = Objective::from_text(text).map_err(|e| parse_error(&e))?;
    let pairs = objective
        .bounds(args.given_bounds()?.as_deref())
        .map_err(|why| Exit::Error(format!("--bounds: {why}")))?;
    if let Some(f) = objective.test_function() {
        note(f.about);
    }
    let own = objective.test_function().map(|f| match f.direction {
        Direction::Minimize => Goal::Minimum,
        Direction::Maximize => Goal::Maximum,
    });
    let goal = args.goal().or(own).unwrap_or(Goal::Minimum);
    if args.evaluations == 0 {
        return Err(Exit::Error("--evaluations: must be at least 1".into()));
    }
    let bounds = Bounds::new(pairs.clone())?;
    // Before anything of the search is read: another process may be about to change it.
    let _held = match &args.out {
        Some(dir) if args.resume => RunFolder::hold(dir)?,
        Some(dir) => {
            out::check_folder(dir, "optimize")?;
            Some(files::folder(dir)?)
        }
        None => None,
    };
    check_folder(args)?;
    let fresh = || Optimizer::new(bounds.clone(), goal).seed(args.seed).noise_std(args.noise_std);
    let mut search: Optimizer = match &args.out {
        Some(dir) if args.resume => resumed(dir, &pairs, goal, &objective)?,
        _ => fresh()?,
    };
    if let Some(dir) = &args.out {
        if !args.resume {
            // Of this search from here on: the state first, so that it can be resumed.
            save(&search, dir)?;
        }
        keep(dir, args, goal, &[])?;
        commands::note(dir, !args.resume)?;
    }
    // Points that were asked for when an earlier run ended are looked at first.
    for x in search.pending().to_vec() {
        search.tell(&x, objective.value(&x))?;
    }
    let mut progress = ProgressDisplay::new(Some(args.evaluations as u64));
    let mut saved = Instant::now();
    while search.history().len() < args.evaluations && !interrupt::requested() {
        let x = search.ask()?;
        search.tell(&x, objective.value(&x))?;
        progress.at(search.history().len() as u64, || said(&search));
        // A crash loses little, and `report` sees the progress.
        if let Some(dir) = args.out.as_deref().filter(|_| saved.elapsed() >= SAVE_EVERY) {
            save(&search, dir)?;
            saved = Instant::now();
        }
    }
    progress.done(&said(&search));
    if let Some(dir) = &args.out {
        save(&search, dir)?;
    }
    if interrupt::requested() {
        let saved = match &args.out {
            Some(dir) => format!("saved in {}; continue with --resume", dir.display()),
            None => "nothing was saved; use -o DIR to save the search".into(),
        };
        return Err(Exit::Interrupted(format!(
            "after {}: {saved}",
            count(search.history().len() as u64, "evaluation")
        )));
    }
    let Some(best) = search.best() else {
        let why = format!(
            "none of the {} values was a number; is the function defined within the bounds?",
            search.set_aside()
        );
        return Err(Exit::Error(why));
    };
    let direction = if goal == Goal::Minimum { Direction::Minimize } else { Direction::Maximize };
    // In another box the optimum may be another.
    let own_box = objective.test_function().filter(|f| f.bounds == pairs);
    let known = own_box.and_then(|f| f.known(direction));
    let y = best.y.unwrap_or(f64::NAN);
    let best = Best {
        x: &best.x,
        y,
        evaluations: search.history().len(),
        set_aside: search.set_aside(),
        regret: known.map(|k| (y - k.value).abs()),
    };
    let report = Report::new(args.json);
    report.say("best", &best, || {
        let place: Vec<String> = best.x.iter().map(|x| short(*x)).collect();
        let regret = best.regret.map_or(String::new(), |r| format!(", {r:.1e} from the known optimum"));
        format!("best of {}: {} at ({}){regret}", best.evaluations, short(best.y), place.join(", "))
    })?;
    let optimum = search.optimum()?;
    Found::new(&optimum).say(report, &names(pairs.len()))?;
    match &args.out {
        Some(dir) => {
            keep(dir, args, goal, &[optimum])?;
            picture(&search, &objective, text, known, dir)
        }
        None => Ok(()),
    }
}

fn save(search: &Optimizer, dir: &Path) -> Outcome {
    search.save(dir.join(STATE))?;
    files::write(&dir.join("history.csv"), history(search).as_bytes())
}

/// Time between two saves.
const SAVE_EVERY: Duration = Duration::from_secs(1);
/// The file that a search is kept in.
const STATE: &str = "search.json";

fn resumed(dir: &Path, pairs: &[(f64, f64)], goal: Goal, objective: &Objective) -> Outcome<Optimizer> {
    let search = Optimizer::load(dir.join(STATE))?;
    if search.bounds().pairs() != pairs || search.goal() != goal {
        let why = format!("{}: the saved search has different bounds or a different goal", dir.display());
        return Err(Exit::Error(why));
    }
    let differs = |t: &&Trial| Some(objective.value(&t.x)).filter(|y| y.is_finite()) != t.y;
    if let Some(t) = search.history().iter().find(differs) {
        let why = format!(
            "{}: the saved search is for another function: its value at {:?} differs",
            dir.display(),
            t.x
        );
        return Err(Exit::Error(why));
    }
    Ok(search)
}

fn said(search: &Optimizer) -> String {
    let best = search.best().and_then(|t| t.y).map_or("none yet".into(), short);
    let aside = match search.set_aside() {
        0 => String::new(),
        n => format!(", {n} set aside"),
    };
    format!("{}, best {best}{aside}", count(search.history().len() as u64, "evaluation"))
}

fn history(search: &Optimizer) -> String {
    let mut text = format!("{},y\n", names(search.bounds().len()).join(","));
    for trial in search.history() {
        let x: Vec<String> = trial.x.iter().map(f64::to_string).collect();
        text += &format!("{},{}\n", x.join(","), trial.y.map_or("nan".into(), |y| y.to_string()));
    }
    text
}

fn picture(
    search: &Optimizer,
    objective: &Objective,
    text: &str,
    known: Option<Known>,
    dir: &Path,
) -> Outcome {
    let what = if search.goal() == Goal::Maximum { "maximum" } else { "minimum" };
    let title = match text.chars().count() {
        0..=40 => format!("The {what} of {text}"),
        _ => format!("The {what} by inference"),
    };
    let figure = match search.bounds().len() {
        1 => {
            let found = search.best().map_or(0.0, |t| t.x[0]);
            let places = known.map_or(&[][..], |k| k.places).iter().map(|p| p[0]);
            let place = places.min_by(|a, b| (a - found).abs().total_cmp(&(b - found).abs()));
            figure::of_one(&title, search, &|x| objective.value(&[x]), place)?
        }
        _ => figure::of_many(&title, search, known.map(|k| k.value)),
    };
    figure.save(&dir.join("optimum"))
}
