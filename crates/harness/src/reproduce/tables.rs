//! `cargo xtask reproduce tables`: the documentation's tables, made of the result files; or whether they still are.
//!
//! A document marks the place of a table with a pair of comments, `<!-- table: table-2 -->` and `<!-- /table: table-2 -->`.
//! What stands between them is never written by hand.

use super::markdown::{self, TABLES};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use tractable_cli::files;
use tractable_cli::report::{Exit, Outcome, file_error};

const AFTER_HELP: &str = "\
Examples:
  cargo xtask reproduce tables
  cargo xtask reproduce tables --write README.md docs/book/src/numerics.md
  cargo xtask reproduce tables --check README.md

A Markdown file marks a table with <!-- table: NAME --> and <!-- /table: NAME -->. Without files, all tables
are printed. Names: uci, uci-paper, gaps, ordinary, ordinary-classes,
ordinary-tables, toys, fit, missing, table-1, budgets, table-2, table-3, regret, cost, bench, peers, peers-rl, python, python-updates,
python-rl, head, relu, spread, conditioning, cases, goals, precision.";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Folder of the result files
    #[arg(long, value_name = "DIR", default_value = "docs/results")]
    results: PathBuf,
    /// Write the tables into these files
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "check")]
    write: Vec<PathBuf>,
    /// Exit 1 unless these files contain the current tables
    #[arg(long, value_name = "FILE", num_args = 1..)]
    check: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    for path in &args.write {
        let text = read(path)?;
        let new = filled(&text, &args.results).map_err(|why| at(path, &why))?;
        if new != text {
            files::write(path, new.as_bytes())?;
        }
    }
    let mut stale = Vec::new();
    for path in &args.check {
        let text = read(path)?;
        if filled(&text, &args.results).map_err(|why| at(path, &why))? != text {
            stale.push(path.display().to_string());
        }
    }
    if !stale.is_empty() {
        let (files, results) = (stale.join(" "), args.results.display());
        let why =
            format!("{files}: differs from {results}; run `cargo xtask reproduce tables --write {files}`");
        return Err(Exit::CheckFailed(why));
    }
    if args.write.is_empty() && args.check.is_empty() {
        std::io::stdout().lock().write_all(all(&args.results)?.as_bytes())?;
    }
    Ok(())
}

/// Every table there is a file for.
pub(super) fn all(results: &Path) -> Outcome<String> {
    let mut text = String::new();
    for (name, file) in TABLES {
        if results.join(format!("{file}.json")).exists() {
            let table = table(name, results).map_err(Exit::Error)?;
            text += &format!("## {name}\n\n{table}\n");
        }
    }
    Ok(text)
}

fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(file_error(path, "read it"))
}

fn at(path: &Path, why: &str) -> Exit {
    Exit::Error(format!("{}: {why}", path.display()))
}

/// The text with every marked table made anew.
fn filled(text: &str, results: &Path) -> Result<String, String> {
    let mut new = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        new += line;
        new.push('\n');
        let Some(name) = line.strip_prefix("<!-- table: ").and_then(|l| l.strip_suffix(" -->")) else {
            continue;
        };
        let end = format!("<!-- /table: {name} -->");
        let closed = lines.by_ref().any(|(_, l)| l == end);
        if !closed {
            return Err(format!("line {}: `{line}` has no `{end}`", number + 1));
        }
        new += &table(name, results).map_err(|why| format!("line {}: {why}", number + 1))?;
        new += &end;
        new.push('\n');
    }
    Ok(new)
}

fn table(name: &str, results: &Path) -> Result<String, String> {
    let Some((_, file)) = TABLES.iter().find(|(n, _)| *n == name) else {
        let known: Vec<&str> = TABLES.iter().map(|(n, _)| *n).collect();
        return Err(format!("there is no table `{name}`; there are {}", known.join(", ")));
    };
    let path = results.join(format!("{file}.json"));
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Ok(format!("*Not measured yet: there is no `docs/results/{file}.json`.*\n"));
        }
        Err(e) => return Err(format!("{}: {e}", path.display())),
    };
    let value: Value = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    markdown::table(name, &value).map_err(|why| format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_the_marks_is_replaced_and_nothing_else() {
        let nowhere = Path::new("/nowhere");
        let text = "a\n<!-- table: uci -->\nold\n<!-- /table: uci -->\nb\n";
        let new = filled(text, nowhere).unwrap();
        assert!(
            new.starts_with("a\n<!-- table: uci -->\n*Not measured yet")
                && new.ends_with("<!-- /table: uci -->\nb\n")
        );
        assert_eq!(filled(&new, nowhere).unwrap(), new);
        assert!(filled("<!-- table: uci -->\n", nowhere).unwrap_err().contains("has no"));
        assert!(
            filled("<!-- table: x -->\n<!-- /table: x -->\n", nowhere).unwrap_err().contains("there are uci")
        );
    }
}
