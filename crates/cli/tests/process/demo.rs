//! `tractable demo`: three acts, their numbers, pictures and page, and what stops it.

use crate::run::Place;

#[test]
fn three_acts_make_a_page() {
    let place = Place::new();
    let lines = place.json(&["demo", "--quick", "-q"]);
    let kinds: Vec<&str> = lines.iter().map(|l| l["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["curve", "digits", "pole", "page"]);
    let number = |line: usize, path: &[&str]| path.iter().fold(&lines[line], |v, k| &v[*k]).as_f64().unwrap();
    // The extremes of x^3 - 3x are at -1 and 1; what is said of them is not surer than true.
    for (which, truth) in [("maximum", -1.0), ("minimum", 1.0)] {
        let (x, std) = (number(0, &[which, "x"]), number(0, &[which, "x_std"]));
        assert!((x - truth).abs() < 4.0 * std && std < 0.3, "{}", lines[0]);
    }
    assert!(number(0, &["inside_90"]) > 0.8 && number(0, &["rmse"]) < 0.4, "{}", lines[0]);
    assert!(number(1, &["error_rate"]) < 0.25, "{}", lines[1]);
    assert!(number(1, &["fooled"]) > 0.5 * number(1, &["attacked"]), "{}", lines[1]);
    assert!(number(1, &["shown_after"]) > number(1, &["shown_before"]), "{}", lines[1]);
    assert!(number(2, &["after"]) > number(2, &["before"]), "{}", lines[2]);
    for name in ["curve", "derivative", "reliability", "three-to-eight", "pole-curve"] {
        assert!(place.text(&format!("demo/{name}.svg")).starts_with("<svg"), "{name}");
        assert!(place.read(&format!("demo/{name}.png")).starts_with(b"\x89PNG"), "{name}");
    }
    for name in ["pole-before", "pole-after"] {
        let svg = place.text(&format!("demo/{name}.svg"));
        assert!(svg.contains("<animate ") && !svg.contains("NaN"), "{name}");
    }
    let page = place.text("demo/index.html");
    assert_eq!(page.matches("<figure").count(), 7);
    assert!(!page.contains("<script") && !page.contains("src=\"http") && !page.contains("href=\"http"));
    // The same again: its own page is replaced, and the numbers are the same, but for the time.
    let again = place.json(&["demo", "--quick", "-q"]);
    assert_eq!((&lines[0]["maximum"], &lines[1]["fooled"]), (&again[0]["maximum"], &again[1]["fooled"]));
    assert_eq!(lines[2]["after"], again[2]["after"]);
}

#[test]
fn a_folder_that_cannot_be_used_is_named() {
    let place = Place::new();
    place.refused(&["demo", "--out", "data.csv"], &["data.csv: cannot create this folder"]);
    place.refused(&["demo", "--out", "data.csv/below"], &["data.csv/below: cannot create this folder"]);
    std::fs::create_dir(place.path("site")).unwrap();
    place.write("site/index.html", "<html>somebody's own page</html>");
    place.refused(
        &["demo", "--out", "site"],
        &["site/index.html: already exists and was not written by this program"],
    );
    place.ok(&["train", "data.csv", "--target", "y", "--epochs", "1", "-q", "-o", "run"]);
    place.refused(&["demo", "--out", "run"], &["run: contains a run"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_it() {
    use std::io::BufRead;
    let place = Place::new();
    let mut command = place.command(&["demo"]);
    let mut child =
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut err = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    err.read_line(&mut said).unwrap();
    assert!(said.starts_with("1/3"), "{said}");
    crate::interrupt::signal(&child, "-INT");
    std::io::Read::read_to_string(&mut err, &mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert!(said.lines().last().unwrap().starts_with("interrupted: the page was not written"), "{said}");
    assert!(!place.path("demo/index.html").exists());
}
