//! `cargo xtask lines`: lines of code by package, without blank lines, comments, docstrings, tests, benchmarks and conformance.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tractable_cli::report::{Outcome, file_error};

/// Folders and files that are no part of what users get.
const LEFT_OUT: [&str; 7] =
    ["tests", "tests.rs", "benches", "examples", "conformance", "conformance.rs", "emulator"];

pub(crate) fn run() -> Outcome {
    let mut files = Vec::new();
    for folder in ["crates", "python"] {
        sources(Path::new(folder), &mut files)?;
    }
    let mut packages: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(file_error(&file, "read it"))?;
        let package: PathBuf = file.iter().take(2).collect();
        let (package, lines) = match file.extension().and_then(|e| e.to_str()) {
            Some("py") => (package.display().to_string(), python(&text)),
            Some("cu") => ("CUDA".to_string(), rust(&text)),
            _ => (package.display().to_string(), rust(&text)),
        };
        *packages.entry(package).or_default() += lines;
    }
    let aside = |package: &str| package == "crates/harness" || package == "CUDA";
    packages.iter().for_each(|(package, lines)| println!("{lines:6} {package}"));
    let product: usize = packages.iter().filter(|(p, _)| !aside(p)).map(|(_, lines)| lines).sum();
    println!("{product:6} without the harness and CUDA");
    Ok(())
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> Outcome {
    for entry in std::fs::read_dir(folder).map_err(file_error(folder, "read this folder"))? {
        let path = entry.map_err(file_error(folder, "read this folder"))?.path();
        if LEFT_OUT.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        if path.is_dir() {
            sources(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs" || e == "py" || e == "cu") {
            files.push(path);
        }
    }
    Ok(())
}

/// Lines of Rust or CUDA that are code; a module below `#[cfg(test)]` ends at a brace that is indented as much.
fn rust(text: &str) -> usize {
    let (mut count, mut comment, mut test) = (0, false, None::<usize>);
    for line in text.lines() {
        let code = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let Some(at) = test {
            if indent == at && (code.starts_with('}') || code.ends_with(';')) {
                test = None;
            }
        } else if comment || code.starts_with("/*") {
            comment = !code.contains("*/");
        } else if code == "#[cfg(test)]" {
            test = Some(indent);
        } else if !code.is_empty() && !code.starts_with("//") {
            count += 1;
        }
    }
    count
}

fn python(text: &str) -> usize {
    let (mut count, mut docstring) = (0, false);
    for code in text.lines().map(str::trim) {
        let quotes = code.matches("\"\"\"").count();
        if docstring {
            docstring = quotes == 0;
        } else if code.starts_with("\"\"\"") || code.starts_with("r\"\"\"") {
            docstring = quotes == 1;
        } else if !code.is_empty() && !code.starts_with('#') {
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_counts() {
        let text = "//! Title.\n\nuse a;\n/* two\nlines */\nfn f() {\n    // why\n    g();\n}\n#[cfg(test)]\nmod tests {\n    fn h() {\n    }\n}\nfn i() {}\n";
        assert_eq!(rust(text), 5);
        assert_eq!(
            python(
                "\"\"\"Title.\n\nMore.\"\"\"\nimport a\n# why\n\ndef f():\n    \"\"\"One line.\"\"\"\n    return 1\n"
            ),
            3
        );
    }
}
