//! The documents: tables that agree with the result files, links that lead somewhere, shell commands that work.

use crate::run::Place;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// README, book and other pages, by their path from the root.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap() {
            let path = folder.join(entry.unwrap().file_name());
            if root().join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                pages.push(path);
            }
        }
    }
    pages.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(PathBuf::from));
    pages.sort();
    pages
}

/// A fenced block: its page, language, the line before it, its text.
struct Block {
    page: PathBuf,
    language: String,
    before: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    let mut found = Vec::new();
    for page in pages() {
        let (text, mut before) = (read(&root().join(&page)), String::new());
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(language) = line.strip_prefix("```") {
                let text: Vec<&str> = lines.by_ref().take_while(|l| *l != "```").collect();
                let text = text.join("\n") + "\n";
                found.push(Block { page: page.clone(), language: language.into(), before, text });
                before = String::new();
            } else if !line.trim().is_empty() {
                before = line.into();
            }
        }
    }
    found
}

#[test]
fn the_readme_is_short() {
    assert!(read(&root().join("README.md")).lines().count() <= 125);
}

/// A page without its fenced blocks and without what stands between backticks.
fn without_code(text: &str) -> String {
    let (mut kept, mut fenced) = (String::new(), false);
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            kept.extend(line.split('`').step_by(2));
            kept.push('\n');
        }
    }
    kept
}

#[test]
fn links_lead_somewhere() {
    for page in pages() {
        let text = without_code(&read(&root().join(&page)));
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap();
            let target = target.split_whitespace().next().unwrap_or("");
            if target.starts_with("http") || target.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => root().join(&page),
                file => root().join(&page).parent().unwrap().join(file),
            };
            assert!(path.exists(), "{}: {target}", page.display());
            if !heading.is_empty() {
                let anchor = |l: &str| {
                    let kept = l.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
                    kept.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect::<String>()
                };
                let found = read(&path).lines().filter(|l| l.starts_with('#')).any(|l| anchor(l) == heading);
                assert!(found, "{}: no heading for {target}", page.display());
            }
        }
    }
}

/// What stands between backticks, outside fenced blocks.
fn code(text: &str) -> String {
    let mut fenced = false;
    let prose = text.lines().filter(|line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    });
    prose.flat_map(|line| line.split('`').skip(1).step_by(2)).map(|code| format!("{code}\n")).collect()
}

/// Paths of source files, from the root, from `crates`, or from a package.
#[test]
fn paths_lead_somewhere() {
    let mut bases = vec![root(), root().join("crates")];
    for package in std::fs::read_dir(root().join("crates")).unwrap() {
        let package = package.unwrap().path();
        bases.extend([package.join("src"), package]);
    }
    let mut wrong = Vec::new();
    for page in pages().into_iter().chain(["TESTING.md", "SECURITY.md", "fuzz/README.md"].map(PathBuf::from))
    {
        let text = code(&read(&root().join(&page)));
        for word in text.split_whitespace() {
            let path = word.trim_matches(|c: char| !c.is_alphanumeric()).split("::").next().unwrap();
            let names_a_file =
                path.contains('/') && [".rs", ".cu", ".py"].iter().any(|end| path.ends_with(end));
            if names_a_file && !path.contains("NAME") && !bases.iter().any(|base| base.join(path).exists()) {
                wrong.push(format!("{}: {word}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "no such files:\n{}", wrong.join("\n"));
}

#[test]
fn the_book_is_whole() {
    let source = root().join("docs/book/src");
    let summary = read(&source.join("SUMMARY.md"));
    let library = read(&root().join("crates/tractable/src/lib.rs"));
    for entry in std::fs::read_dir(&source).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name == "SUMMARY.md" {
            continue;
        }
        assert!(summary.contains(&format!("({name})")), "{name} is not in SUMMARY.md");
        // Rust in a page is only compiled where the page is among the documentation's tests.
        let tested = library.contains(&format!("docs/book/src/{name}"));
        assert!(tested || !read(&source.join(&name)).contains("```rust"), "{name}: its Rust is not tested");
    }
}

/// Blocks of `sh` are run, page by page, in a folder with `data.csv`; those of `console` say why they are not.
#[test]
#[cfg(unix)]
fn shell_blocks_work() {
    let blocks = blocks();
    for b in blocks.iter().filter(|b| b.language == "console") {
        let says_why = b.before.starts_with("<!-- not run: ") && b.before.len() > 20;
        assert!(
            says_why,
            "{}: a console block without `<!-- not run: reason -->`:\n{}",
            b.page.display(),
            b.text
        );
    }
    for b in &blocks {
        let known = ["sh", "console", "text", "rust", "rust,no_run", "toml", "json", "python", "csv"];
        assert!(known.contains(&&b.language[..]), "{}: a block of `{}`", b.page.display(), b.language);
    }
    let program = Path::new(env!("CARGO_BIN_EXE_tractable")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut pages: Vec<&PathBuf> = blocks.iter().filter(|b| b.language == "sh").map(|b| &b.page).collect();
    pages.dedup();
    assert!(pages.len() >= 5, "{pages:?}");
    // Side by side: they wait for nothing of each other.
    std::thread::scope(|scope| {
        for page in pages {
            let script: Vec<&str> = blocks
                .iter()
                .filter(|b| b.page == *page && b.language == "sh")
                .map(|b| &b.text[..])
                .collect();
            let (script, path) = (script.concat(), &path);
            scope.spawn(move || {
                let place = Place::new();
                let mut command = Command::new("sh");
                let ran = command
                    .args(["-eu", "-c", &script])
                    .env("PATH", path)
                    .current_dir(place.path("."))
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&ran.stderr);
                assert!(ran.status.success(), "{}: {script}\n{said}", page.display());
            });
        }
    });
}
