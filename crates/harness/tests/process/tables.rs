//! The paper's tables, and the tables of the documents.

use crate::run::{Place, json_lines};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every page of the repository that has tables made from result files.
fn marked(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            marked(&path, found);
        } else if path.extension().is_some_and(|e| e == "md")
            && std::fs::read_to_string(&path).unwrap().contains("\n<!-- table: ")
        {
            found.push(path);
        }
    }
}

#[test]
fn the_papers_second_table() {
    let place = Place::new();
    let args = ["reproduce", "table-2", "--seeds", "2", "--check", "-q", "-o", "table"];
    let rows = place.json(&args);
    assert_eq!(rows.len(), 12);
    for row in &rows[..6] {
        assert_eq!((&row["right"], &row["outside"]), (&2.into(), &0.into()), "{row}");
        assert!(
            row["places"].as_array().unwrap().iter().all(|p| (p.as_f64().unwrap().abs() - 1.0).abs() < 0.1)
        );
    }
    // From 1.9 on: lost without the guard, kept with it.
    assert!(rows[6]["outside"] == 2 && rows[9]["outside"] == 0, "{rows:?}");
    assert_eq!(
        json_lines(&place.text("table/table-2.json").replace('\n', ""))[0]["rows"].as_array().unwrap().len(),
        12
    );
    assert!(place.read("table/table-2.png").starts_with(b"\x89PNG\r\n\x1a\n"));
    assert!(place.text("table/table-2.svg").trim_end().ends_with("</svg>"));
    place.refused(&["reproduce", "table-2", "--seeds", "0"], &["--seeds: must be at least 1"]);
    place.refused(&["reproduce", "regret", "--seeds", "0"], &["--seeds: must be at least 1"]);
}

/// The third table in miniature: it falls short and says so, its runs can be played, and it goes on from where it was.
#[test]
fn the_third_table_says_where_it_falls_short() {
    let place = Place::new();
    let table = ["reproduce", "table-3", "--steps", "2048", "--seeds", "1", "-q", "-o", "out"];
    let said = place.ok(&table);
    assert!(said.contains("falls short of 2500") && said.contains("PPO, tuned"), "{said}");
    let file: Value = serde_json::from_str(&place.text("out/table-3.json")).unwrap();
    assert_eq!(file["rows"].as_array().unwrap().len(), 4);
    assert_eq!(file["rows"][2]["settings"]["policy_gain"], 0.25); // a pole is learned gently
    assert!(place.text("out/table-3-InvertedPendulum.svg").contains("InvertedPendulum"));
    assert!(place.path("out/HalfCheetah-as-the-authors-code").is_dir());
    assert_eq!(place.run(&[&table[..], &["--resume", "--check"]].concat()).code, 1);
}

#[test]
fn tables_are_what_the_result_files_say() {
    let mut pages = vec![root().join("README.md")];
    marked(&root().join("docs"), &mut pages);
    assert!(pages.len() >= 3, "{pages:?}");
    let ran = Command::new(crate::PROGRAM)
        .args(["reproduce", "tables", "--check"])
        .args(&pages)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));

    // And a number that was changed by hand is found, and put right.
    let place = Place::new();
    let results = root().join("docs/results");
    let results = results.to_str().unwrap();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let wrong = readme.replacen("93.7 %", "99.9 %", 1);
    assert_ne!(readme, wrong);
    place.write("README.md", &wrong);
    let ran = place.run(&["reproduce", "tables", "--results", results, "--check", "README.md"]);
    assert!(ran.code == 1 && ran.err.contains("--write README.md"), "{ran:?}");
    place.ok(&["reproduce", "tables", "--results", results, "--write", "README.md"]);
    assert_eq!(place.text("README.md"), readme);
    place.write("page.md", "<!-- table: tabel-2 -->\n<!-- /table: tabel-2 -->\n");
    place.refused(
        &["reproduce", "tables", "--results", results, "--check", "page.md"],
        &["tabel-2", "table-2"],
    );
    let all = place.ok(&["reproduce", "tables", "--results", results]);
    assert!(all.contains("## table-2\n\n| start, alpha"), "{all}");
}

#[test]
fn the_first_table_needs_runs() {
    let place = Place::new();
    place.refused(&["reproduce", "table-1"], &["no run given", "--mnist RUN"]);
}
