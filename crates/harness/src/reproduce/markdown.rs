//! Result files as the tables of the documentation.

mod cuda;
mod numerics;
mod ordinary;
mod python;
mod streams;
mod workers;

use serde_json::Value;

/// Every table and the file, without its ending, that it is made of.
pub(super) const TABLES: [(&str, &str); 41] = [
    ("uci", "uci"),
    ("uci-paper", "uci"),
    ("gaps", "uci"),
    ("ordinary", "ordinary"),
    ("ordinary-classes", "ordinary"),
    ("ordinary-tables", "ordinary"),
    ("toys", "toys"),
    ("fit", "toys"),
    ("missing", "missing"),
    ("table-1", "table-1"),
    ("budgets", "table-1"),
    ("table-2", "table-2"),
    ("table-3", "table-3"),
    ("regret", "regret"),
    ("cost", "regret"),
    ("bench", "bench"),
    ("cuda", "cuda"),
    ("cuda-tasks", "cuda"),
    ("cuda-agreement", "cuda"),
    ("peers", "peers"),
    ("peers-rl", "peers"),
    ("python", "python"),
    ("python-updates", "python"),
    ("python-rl", "python"),
    ("head", "head"),
    ("streams", "streams"),
    ("streams-coverage", "streams"),
    ("streams-river", "streams-river"),
    ("latency", "latency"),
    ("sustained", "sustained"),
    ("workers", "workers"),
    ("merge-cost", "workers"),
    ("machines", "workers"),
    ("mpi-speed", "mpi"),
    ("mpi-errors", "mpi"),
    ("relu", "numerics"),
    ("spread", "numerics"),
    ("conditioning", "numerics"),
    ("cases", "numerics"),
    ("goals", "numerics"),
    ("precision", "numerics"),
];

/// Where a file has only some of its parts.
const NOT_YET: &str = "*Not measured yet.*\n";

type Table = Result<String, String>;

/// Processes that wanted a core before a command began, from which on its times are not shown.
const BUSY: f64 = 0.5;

pub(super) fn table(name: &str, file: &Value) -> Table {
    match name {
        "uci" => uci(file),
        "uci-paper" => uci_paper(file),
        "gaps" => gaps(file),
        "ordinary" => ordinary::ranks(file, "numbers"),
        "ordinary-classes" => ordinary::ranks(file, "classes"),
        "ordinary-tables" => ordinary::tables(file),
        "toys" => toys(file),
        "fit" => fit(file),
        "missing" => missing(file),
        "table-1" => table_1(file),
        "budgets" => budgets(file),
        "table-2" => table_2(file),
        "table-3" => table_3(file),
        "regret" => regret(file),
        "cost" => cost(file),
        "bench" => bench(file),
        "cuda" => cuda::training(file),
        "cuda-tasks" => cuda::tasks(file),
        "cuda-agreement" => cuda::agreement(file),
        "peers" => peers(file),
        "peers-rl" => peers_rl(file),
        "python" | "python-updates" | "python-rl" | "head" => python::table(name, file),
        name if streams::KNOWN.contains(&name) => streams::table(name, file),
        "workers" => workers::simulated(file),
        "merge-cost" => workers::costs(file),
        "machines" => workers::machines(file),
        "mpi-speed" => workers::speed(file),
        "mpi-errors" => workers::errors(file),
        "relu" => relu(file),
        "spread" => spread(file),
        "conditioning" => conditioning(file),
        "cases" => numerics::cases(file),
        "goals" => numerics::goals(file),
        "precision" => numerics::precision(file),
        _ => Err(format!("no table `{name}`")),
    }
}

/// A head and rows, the first column to the left; below it the time and the machine, where they are known.
fn markdown(file: &Value, head: &[&str], rows: Vec<Vec<String>>, about: &str) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        text += &format!("| {} |\n", row.join(" | "));
    }
    let mut notes: Vec<String> = Vec::new();
    if !about.is_empty() {
        notes.push(about.into());
    }
    if let Some(seconds) = file["seconds"].as_f64().filter(|_| alone(file)) {
        notes.push(duration(seconds));
    }
    if let Some(machine) = file["machine"].as_str() {
        notes.push(machine.into());
    }
    if let Some(load) = file["load_before"].as_f64().filter(|_| !alone(file)) {
        notes.push(format!("other jobs were running (load {load:.1})"));
    }
    if !notes.is_empty() {
        text += &format!("\n*{}.*\n", notes.join("; "));
    }
    text
}

/// Whether times mean anything: little else ran when the command began.
fn alone(file: &Value) -> bool {
    file["load_before"].as_f64().is_none_or(|load| load < BUSY)
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// The rows: of a file that is a list, the list.
fn rows<'a>(file: &'a Value, name: &str) -> Result<&'a [Value], String> {
    let list = if file.is_array() { file } else { &file[name] };
    list.as_array().map(Vec::as_slice).ok_or_else(|| format!("it has no list `{name}`"))
}

/// A number at a path of names.
fn number(row: &Value, path: &[&str]) -> Result<f64, String> {
    let found = path.iter().fold(row, |v, name| &v[*name]);
    found.as_f64().ok_or_else(|| format!("there is no number `{}`", path.join(".")))
}

fn word<'a>(row: &'a Value, name: &str) -> Result<&'a str, String> {
    row[name].as_str().ok_or_else(|| format!("there is no name `{name}`"))
}

/// What there is of a number that may be missing.
fn or_dash(row: &Value, path: &[&str], show: impl Fn(f64) -> String) -> String {
    number(row, path).map_or("-".into(), show)
}

/// Two significant digits where it is small or large, three decimals between.
fn plain(v: f64) -> String {
    if v == 0.0 || (0.01..1000.0).contains(&v.abs()) { format!("{v:.3}") } else { format!("{v:.0e}") }
}

/// Mean and standard error of one score.
fn with_error(row: &Value, of: &str) -> Table {
    let mean = number(row, &[of, "mean"])?;
    let digits = if mean.abs() < 0.1 { 5 } else { 3 };
    let error = or_dash(row, &[of, "standard_error"], |e| format!("{e:.digits$}"));
    Ok(format!("{mean:.digits$} ± {error}"))
}

/// Splits that were run, and how many there are.
fn splits(row: &Value) -> Table {
    Ok(match (number(row, &["splits"])?, number(row, &["of_splits"])?) {
        (n, of) if n == of => format!("{n:.0}"),
        (n, of) => format!("{n:.0} of {of:.0}"),
    })
}

/// The default model beside the authors' settings and what others published.
fn uci(file: &Value) -> Table {
    let default = &file["default"];
    if default.is_null() {
        return Ok(NOT_YET.into());
    }
    let paper = file["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let one = |row: &Value| {
        let set = word(row, "set")?;
        let paper = paper.iter().find(|p| p["set"] == set).unwrap_or(&Value::Null);
        let ll = |v: f64| format!("{v:.2}");
        Ok(vec![
            set.to_string(),
            with_error(row, "rmse")?,
            with_error(row, "log_likelihood")?,
            format!("{:.1} %", 100.0 * number(row, &["coverage_90", "mean"])?),
            or_dash(paper, &["rmse", "mean"], plain),
            or_dash(paper, &["log_likelihood", "mean"], ll),
            ll(number(row, &["published", "deep_ensembles"])?),
            ll(number(row, &["published", "best_neural"])?),
            splits(row)?,
        ])
    };
    let rows = rows(default, "rows")?.iter().map(one).collect::<Result<_, String>>()?;
    let head = [
        "set",
        "RMSE",
        "log-likelihood",
        "90 % coverage",
        "paper's settings: RMSE",
        "LL",
        "deep ensembles",
        "best neural",
        "splits",
    ];
    Ok(markdown(default, &head, rows, "mean ± standard error over the splits"))
}

fn gaps(file: &Value) -> Table {
    if file["gaps"].is_null() {
        return Ok(NOT_YET.into());
    }
    let one = |row: &Value| {
        let worst = rows(row, "each")?.iter().filter_map(|s| s["log_likelihood"].as_f64());
        Ok(vec![
            word(row, "set")?.to_string(),
            with_error(row, "rmse")?,
            with_error(row, "log_likelihood")?,
            format!("{:.2}", worst.fold(f64::INFINITY, f64::min)),
            format!("{:.1} %", 100.0 * number(row, &["coverage_90", "mean"])?),
            number(row, &["published", "best"]).map(|v| format!("{v:.2}"))?,
            splits(row)?,
        ])
    };
    let rows = rows(&file["gaps"], "rows")?.iter().map(one).collect::<Result<_, String>>()?;
    let head = ["set", "RMSE", "log-likelihood", "worst input", "90 % coverage", "best published", "inputs"];
    Ok(markdown(&file["gaps"], &head, rows, "mean ± standard error over the inputs"))
}

fn toys(file: &Value) -> Table {
    let one = |row: &Value| {
        let n = |path: &[&str]| number(row, path).map(|v| format!("{v:.2}"));
        let off = |who| Ok::<_, String>(format!("{} / {}", n(&[who, "off"])?, n(&[who, "off_worst"])?));
        Ok(vec![
            format!("{}, x = {}", word(row, "toy")?, number(row, &["x"])?),
            word(row, "place")?.to_string(),
            n(&["ours", "std"])?,
            n(&["gaussian_process", "std"])?,
            n(&["ratio"])?,
            off("ours")?,
            off("gaussian_process")?,
        ])
    };
    let rows = rows(file, "rows")?.iter().map(one).collect::<Result<_, String>>()?;
    let head = ["", "where", "std", "GP std", "ratio", "error: mean / worst", "GP error: mean / worst"];
    Ok(markdown(
        file,
        &head,
        rows,
        "ratio: geometric mean over the seeds; error: |mean - truth| in units of own std",
    ))
}

fn missing(file: &Value) -> Table {
    let one = |row: &Value| {
        let n = |name: &str, digits: usize| number(row, &[name]).map(|v| format!("{v:.digits$}"));
        let percent = |name: &str| number(row, &[name]).map(|v| format!("{:.0} %", 100.0 * v));
        Ok(vec![
            word(row, "set")?.to_string(),
            percent("share")?,
            word(row, "repair")?.to_string(),
            n("rmse", 3)?,
            n("log_likelihood", 3)?,
            percent("coverage_90")?,
        ])
    };
    let rows = rows(file, "rows")?.iter().map(one).collect::<Result<_, String>>()?;
    let head = ["", "removed", "missing inputs are", "RMSE", "log-likelihood", "in the 90 % interval"];
    Ok(markdown(
        file,
        &head,
        rows,
        "means over the first splits of each set; cells removed from training and test rows alike",
    ))
}

fn fit(file: &Value) -> Table {
    let one = |row: &Value| {
        Ok(vec![
            format!("{:.0}", number(row, &["rows"])?),
            format!("{:.0}", number(row, &["inputs"])?),
            format!("{:.0}", number(row, &["threads"])?),
            format!("{:.1}", number(row, &["seconds"])?),
            or_dash(row, &["core_seconds"], |s| format!("{s:.1}")),
        ])
    };
    let rows = rows(file, "times")?.iter().map(one).collect::<Result<_, String>>()?;
    Ok(markdown(file, &["rows", "inputs", "threads", "seconds", "core seconds"], rows, ""))
}

fn uci_paper(file: &Value) -> Table {
    if file["rows"].is_null() {
        return Ok(NOT_YET.into());
    }
    let one = |row: &Value| {
        let others = |who: &str| {
            let (rmse, ll) = (number(row, &["rmse", who])?, number(row, &["log_likelihood", who])?);
            Ok::<_, String>(format!("{rmse:.2} / {ll:.2}"))
        };
        Ok(vec![
            word(row, "set")?.to_string(),
            with_error(row, "rmse")?,
            with_error(row, "log_likelihood")?,
            others("mc_dropout")?,
            others("deep_ensembles")?,
        ])
    };
    let rows = rows(file, "rows")?.iter().map(one).collect::<Result<_, String>>()?;
    let head = ["set", "RMSE", "log-likelihood", "MC dropout", "deep ensembles"];
    Ok(markdown(file, &head, rows, "mean ± standard error over the splits"))
}

fn table_1(file: &Value) -> Table {
    let percent = |v: f64| format!("{:.2} %", 100.0 * v);
    let mut lines = Vec::new();
    for set in rows(file, "rows")? {
        let name = set_name(set)?;
        let attacks = set["table"].as_array().ok_or("there is no list `table`")?;
        let paper = |what: &str| or_dash(set, &["published", what], percent);
        let ours = |path: &[&str], show: &dyn Fn(f64) -> String| -> Vec<String> {
            (0..2).map(|i| attacks.get(i).map_or("-".into(), |a| or_dash(a, path, show))).collect()
        };
        let error = or_dash(set, &["error"], percent);
        lines.push(vec![format!("{name}: error"), paper("no_attack"), error.clone(), error]);
        let mut line = |what: &str, paper: String, path: &[&str], show: &dyn Fn(f64) -> String| {
            lines.push([vec![format!("{name}: {what}"), paper], ours(path, show)].concat());
        };
        line("targeted", paper("targeted"), &["targeted", "success"], &percent);
        line("label changed", paper("non_targeted"), &["targeted", "changed"], &percent);
        let l2 = ours(&["targeted", "l2", "mean"], &|v| format!("{v:.2}"));
        let iterations = ours(&["targeted", "iterations", "mean"], &|v| format!("{v:.1}"));
        let both = l2.iter().zip(&iterations).map(|(l2, n)| format!("{l2} / {n}"));
        lines.push([vec![format!("{name}: L2 / iterations, mean"), "-".into()], both.collect()].concat());
    }
    Ok(markdown(file, &["", "paper", "ours, unclipped", "ours, clipped to 0..1"], lines, ""))
}

fn set_name(set: &Value) -> Result<&str, String> {
    Ok(match word(set, "set")? {
        "mnist" => "MNIST",
        "cifar10" => "CIFAR-10",
        other => other,
    })
}

/// Attacks of table 1 that may not go further than a budget.
fn budgets(file: &Value) -> Table {
    let percent = |v: f64| format!("{:.1} %", 100.0 * v);
    let (mut lines, mut images) = (Vec::new(), Vec::new());
    for set in rows(file, "rows")? {
        let name = set_name(set)?;
        images.push(format!("{name}: {:.0} images", number(set, &["budget_images"])?));
        for row in set["budgets"].as_array().ok_or("there is no list `budgets`")? {
            lines.push(vec![
                format!("{name}: {}", word(row, "attack")?),
                or_dash(row, &["targeted", "success"], percent),
                or_dash(row, &["untargeted", "success"], percent),
                or_dash(row, &["targeted", "l_inf", "mean"], |v| format!("{v:.3}")),
                or_dash(row, &["targeted", "l2", "mean"], |v| format!("{v:.2}")),
            ]);
        }
    }
    let head = ["attack, budget", "targeted", "untargeted", "L-inf", "L2"];
    let about =
        format!("{}, every wrong class; distances of the targeted attacks that succeed", images.join(", "));
    Ok(markdown(file, &head, lines, &about))
}

fn table_2(file: &Value) -> Table {
    let one = |row: &Value| {
        let alpha = row["alpha"].as_i64().map_or("none".into(), |a| format!("{a:+}"));
        let seeds = row["places"].as_array().map_or(0, Vec::len);
        Ok(vec![
            format!("{}, {alpha}", number(row, &["start"])?),
            or_dash(row, &["paper"], |v| format!("{v:.3}")),
            format!("{:.3} ± {:.3}", number(row, &["mean"])?, number(row, &["std"])?),
            or_dash(row, &["right"], |r| format!("{r:.0} of {seeds}")),
        ])
    };
    // The paper's own rows; those after start where it was lost.
    let papers = rows(file, "rows")?.iter().filter(|r| !r["paper"].is_null());
    let rows = papers.map(one).collect::<Result<_, String>>()?;
    Ok(markdown(
        file,
        &["start, alpha", "paper", "ours ± std over seeds", "within 0.1 of the optimum"],
        rows,
        "",
    ))
}

fn table_3(file: &Value) -> Table {
    let one = |row: &Value| {
        let whole = |v: f64| format!("{v:.0}");
        let seeds = row["seeds"].as_array().map_or(&[][..], Vec::as_slice);
        let steps = seeds.iter().filter_map(|s| s["steps"].as_f64()).fold(0.0, f64::max);
        // Others' returns, each the mean of what was published of it.
        let others = row["others"].as_array().map_or(&[][..], Vec::as_slice);
        let mean = |all: &Vec<Value>| all.iter().filter_map(Value::as_f64).sum::<f64>() / all.len() as f64;
        let others: Vec<String> =
            others.iter().filter_map(|o| o["returns"].as_array().map(mean)).map(whole).collect();
        let ours = match (number(row, &["mean"]), number(row, &["std"])) {
            (Ok(mean), Ok(std)) => format!("{mean:.0} ± {std:.0}"),
            _ => "-".into(),
        };
        Ok(vec![
            format!("{}, {}", word(row, "task")?, word(row, "agent")?),
            or_dash(row, &["paper"], whole),
            ours,
            or_dash(row, &["lowest"], whole),
            format!("{} x {:.1} M", seeds.len(), steps / 1e6),
            others.join(" / "),
        ])
    };
    let rows = rows(file, "rows")?.iter().map(one).collect::<Result<_, String>>()?;
    let ppo = "PPO: from the paper / with its settings / tuned";
    let head = ["task, agent", "paper", "ours ± std over seeds", "lowest seed", "seeds x steps", ppo];
    let about = "average return of the last 100 episodes; PPO with the paper's settings and tuned PPO: after 1 M steps, not run here";
    Ok(markdown(file, &head, rows, about))
}

fn regret(file: &Value) -> Table {
    let one = |row: &Value| {
        let names = ["median", "best", "worst", "egobox", "tpe", "pycma"];
        let numbers = names.iter().map(|n| number(row, &[n]).map(plain));
        let mut cells =
            vec![word(row, "function")?.to_string(), format!("{:.0}", number(row, &["evaluations"])?)];
        cells.extend(numbers.collect::<Result<Vec<_>, _>>()?);
        cells.push(ms(file, row)?);
        Ok(cells)
    };
    let rows = rows(file, "rows")?.iter().map(one).collect::<Result<_, String>>()?;
    Ok(markdown(file, &super::regret::HEAD, rows, ""))
}

fn cost(file: &Value) -> Table {
    let one = |row: &Value| {
        let (n, regret) = (number(row, &["evaluations"])?, number(row, &["regret"])?);
        Ok(vec![format!("{n:.0}"), ms(file, row)?, format!("{regret:.0e}")])
    };
    let rows = rows(file, "costs")?.iter().map(one).collect::<Result<_, String>>()?;
    Ok(markdown(&Value::Null, &["evaluations", "ms each, since the row above", "regret"], rows, ""))
}

fn ms(file: &Value, row: &Value) -> Table {
    let ms = number(row, &["ms"])?;
    Ok(if alone(file) { format!("{ms:.1}") } else { "-".into() })
}

fn micro(us: f64) -> String {
    if us < 1000.0 { format!("{us:.1} us") } else { format!("{:.2} ms", us / 1e3) }
}

fn bench(file: &Value) -> Table {
    let one = |row: &Value| {
        Ok(vec![
            format!("{}, {}", word(row, "verb")?, word(row, "network")?),
            format!("{:.0}", number(row, &["batch"])?),
            format!("{:.0}", number(row, &["threads"])?),
            micro(number(row, &["best_us"])?),
            micro(number(row, &["median_us"])?),
            format!("{:.0}", number(row, &["samples_per_second"])?),
            percent(row, "share_of_peak"),
        ])
    };
    let rows = rows(file, "rows")?.iter().map(one).collect::<Result<_, String>>()?;
    Ok(markdown(
        file,
        &["verb, network", "batch", "threads", "best", "median", "samples/s", "of peak"],
        rows,
        "",
    ))
}

fn peers(file: &Value) -> Table {
    let one = |row: &Value| {
        let peer = |who: &str| {
            let us = or_dash(row, &[who, "us"], micro);
            or_dash(row, &[who, "ratio"], |r| format!("{us}, x {r:.1}"))
        };
        Ok(vec![
            word(row, "network")?.to_string(),
            format!("{:.0}", number(row, &["batch"])?),
            format!("{:.0}", number(row, &["threads"])?),
            or_dash(row, &["ours", "us"], micro),
            peer("torch"),
            peer("pytagi"),
        ])
    };
    let rows = rows(file, "learn")?.iter().map(one).collect::<Result<_, String>>()?;
    let head = ["learn", "batch", "threads", "ours", "PyTorch with Adam", "pytagi"];
    Ok(markdown(file, &head, rows, "median of one update; x: time relative to ours"))
}

fn peers_rl(file: &Value) -> Table {
    let one = |row: &Value| {
        let speed = |who: &str| or_dash(row, &[who, "steps_per_second"], |v| format!("{v:.0}"));
        let ratio = or_dash(row, &["sb3", "ratio"], |r| format!(", x {r:.1}"));
        Ok(vec![word(row, "task")?.to_string(), speed("ours"), format!("{}{ratio}", speed("sb3"))])
    };
    let rows = rows(file, "rl")?.iter().map(one).collect::<Result<_, String>>()?;
    Ok(markdown(&Value::Null, &["steps/s, training", "ours", "Stable-Baselines3 PPO"], rows, ""))
}

fn relu(file: &Value) -> Table {
    let one = |row: &Value| {
        let n = |name| number(row, &[name]).map(|v| format!("{v:.3}"));
        Ok(vec![
            format!("{}", number(row, &["at"])?),
            n("exact_mean")?,
            n("linear_mean")?,
            n("exact_std")?,
            n("linear_std")?,
        ])
    };
    let rows = rows(file, "relu")?.iter().map(one).collect::<Result<_, String>>()?;
    let head = ["mean of z, in its std", "exact mean", "linearised", "exact std", "linearised"];
    Ok(markdown(&Value::Null, &head, rows, ""))
}

/// The median, and from 10 to 90 %.
fn quantiles(row: &Value, of: &str) -> String {
    let n = |name| or_dash(row, &[of, name], |v| format!("{v:.2}"));
    format!("{}, {} to {}", n("median"), n("low"), n("high"))
}

/// One line for every way of one network, the standard deviations of the input side by side.
fn spread(file: &Value) -> Table {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for row in rows(file, "spread")? {
        let depth = format!("{:.0}", number(row, &["hidden_layers"])?);
        let first = [word(row, "activation")?.to_string(), depth];
        for (way, of) in [("independent units", "independent"), ("rows", "rows")] {
            let is_own = |line: &&mut Vec<String>| line[..2] == first && line[2] == way;
            match lines.iter_mut().find(is_own) {
                Some(line) => line.push(quantiles(row, of)),
                None => lines.push([&first[..], &[way.into(), quantiles(row, of)]].concat()),
            }
        }
    }
    let head = [
        "activation",
        "hidden layers",
        "std / sampled std; std of every input:",
        "0",
        "0.03",
        "0.1",
        "0.3",
        "1",
    ];
    Ok(markdown(file, &head, lines, "median, 10 to 90 %"))
}

fn percent(row: &Value, of: &str) -> String {
    or_dash(row, &[of], |v| format!("{:.0} %", 100.0 * v))
}

fn conditioning(file: &Value) -> Table {
    let one = |row: &Value| {
        let n = |path: &[&str]| or_dash(row, path, |v| format!("{v:.2}"));
        let count = |name| number(row, &[name]).map(|v| format!("{v:.0}"));
        Ok(vec![
            format!("{}; {}", word(row, "way")?, word(row, "activation")?),
            format!("{} / {}", n(&["error", "median"]), n(&["error", "high"])),
            format!("{} to {}", n(&["std_ratio", "low"]), n(&["std_ratio", "high"])),
            percent(row, "right"),
            format!("{}, {}", count("cases")?, count("left_out")?),
        ])
    };
    let rows = rows(file, "conditioned")?.iter().map(one).collect::<Result<_, String>>()?;
    let head = [
        "",
        "error of the mean: median / 90 %",
        "std ratio: 10 to 90 %",
        "both within 10 %",
        "cases, excluded",
    ];
    Ok(markdown(&Value::Null, &head, rows, "for the worst input; errors in true standard deviations"))
}
