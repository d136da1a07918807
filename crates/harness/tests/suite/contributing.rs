//! CONTRIBUTING lists every file that an addition touches: the lists are compared with what the code says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Code and the pages that list things one by one.
fn places(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        if path.is_dir() {
            if !["target", "results", "golden", "notebooks", "benchmarks", "emulator", "harness"]
                .contains(&name.as_str())
            {
                places(&path, found);
            }
        } else if ["rs", "cu", "pyi"].iter().any(|e| name.ends_with(&format!(".{e}")))
            || ["moments_reference.py", "moments.txt", "equations.md", "commands.md"].contains(&name.as_str())
        {
            found.push(path);
        }
    }
}

/// The text in backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Whether a line of code has this word.
fn names(text: &str, word: &str) -> bool {
    let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.flat_map(|l| l.split(|c: char| !is_part(c))).any(|w| w == word)
}

#[test]
fn lists_of_files_are_whole() {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let mut files = Vec::new();
    ["crates", "python", "docs"].iter().for_each(|folder| places(&root().join(folder), &mut files));
    let shown = |path: &Path| path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
    let files: Vec<(String, String)> = files
        .iter()
        .map(|path| (shown(path), std::fs::read_to_string(path).unwrap()))
        .filter(|(path, _)| !path.contains("/tests/") || path.contains("/tests/data/moments"))
        .collect();
    let mut followed = 0;
    for section in text.split("\n## ").filter(|s| s.contains("\nFollow `")) {
        let (title, rest) = section.split_once('\n').unwrap();
        let (line, rest) = rest.split_once("Follow ").unwrap().1.split_once('\n').unwrap();
        let list = rest.split("\n\n").find(|p| p.trim_start().starts_with("- ")).unwrap();
        let listed: BTreeSet<&str> = quoted(list).into_iter().filter(|q| root().join(q).is_file()).collect();
        let words = quoted(line);
        let has = |(path, text): &&(String, String)| {
            let is_named = |word: &&str| path.ends_with(&format!("/{word}.rs")) || names(text, word);
            words.iter().any(is_named)
        };
        let found: BTreeSet<&str> = files.iter().filter(has).map(|(path, _)| path.as_str()).collect();
        assert_eq!(listed, found, "{title}: left is listed, right is found");
        followed += 1;
    }
    assert_eq!(followed, 4, "activation, layer, device, verb");
}
