//! The commands of a run folder: recorded when a run starts or resumes, for reports.

use crate::console;
use crate::report::Outcome;
use serde_json::{Value, json};
use std::path::Path;

/// A line a command, oldest first: `{"args": [...], "folder": where it was typed}`.
pub(crate) const FILE: &str = "commands.jsonl";

/// Notes the command that runs now; `anew` forgets those before.
pub(crate) fn note(run: &Path, anew: bool) -> Outcome {
    let args = console::args();
    let folder = std::env::current_dir().ok().map(|d| d.to_string_lossy().into_owned());
    let line = format!("{}\n", json!({ "args": args, "folder": folder }));
    let path = run.join(FILE);
    if anew {
        return crate::files::write(&path, line.as_bytes());
    }
    crate::files::append(&path, line.as_bytes()).map(drop)
}

/// A line of the file as it would be typed.
pub(crate) fn as_typed(line: &Value) -> Option<String> {
    let args = line.get("args")?.as_array()?.iter().filter_map(Value::as_str);
    Some(std::iter::once("tractable".to_string()).chain(args.map(quoted)).collect::<Vec<_>>().join(" "))
}

/// A word as a shell takes it for one.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_typed_again() {
        let line =
            json!({ "args": ["train", "my data.csv", "--target", "it's", "", "$(rm)", "--hidden=5,5"] });
        let typed = r"tractable train 'my data.csv' --target 'it'\''s' '' '$(rm)' --hidden=5,5";
        assert_eq!(as_typed(&line).unwrap(), typed);
        assert_eq!(as_typed(&json!({ "args": 3 })), None);
    }
}
