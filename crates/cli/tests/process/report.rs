//! `tractable report`: a page for every kind of run, whatever the run's files hold.

use crate::run::Place;
use std::fmt::Write;

/// The page of a run, which shows nothing from outside and runs nothing.
fn page(place: &Place, run: &str) -> String {
    assert_eq!(place.ok(&["report", run]), format!("{run}/report.html\n"));
    let html = place.text(&format!("{run}/report.html"));
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    let outside = ["<script", "src=\"http", "href=\"http", "url(", "@import", "NaN", "onerror=\""];
    // What a picture is encoded as may spell anything.
    let mut parts = html.split("base64,");
    let mut shown = parts.next().unwrap_or_default().to_string();
    parts.for_each(|part| shown += part.split_once('"').map_or("", |(_, after)| after));
    outside.iter().for_each(|bad| assert!(!shown.contains(bad), "{run}: {bad}"));
    html
}

pub(crate) fn has(html: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(html.contains(part), "no {part:?}"));
}

#[test]
fn every_kind_of_run_has_a_page() {
    let place = Place::new();
    let train =
        ["train", "data.csv", "--target", "y", "--epochs", "4", "--validation", "0.2", "--test", "0.2"];
    place.ok(&[&train[..], &["-o", "run", "-q"]].concat());
    let html = page(&place, "run");
    has(&html, &["Training on data.csv", "<dd>4 of 4</dd>", "Test: y", "inside 90 %", "inferred"]);
    has(&html, &["tractable train data.csv --target y --epochs 4 --validation 0.2 --test 0.2 -o run -q"]);
    // A run that went on says both commands.
    place.ok(&["train", "--resume", "-o", "run", "--epochs", "6", "-q"]);
    let html = page(&place, "run");
    has(&html, &["<dd>6 of 6</dd>", "-o run -q\ntractable train --resume -o run --epochs 6 -q"]);

    let small = ["--net", "mlp", "--hidden", "12", "--limit", "600", "--epochs", "2", "-q"];
    place.ok(&[&["train", "digits", "-o", "images"], &small[..]].concat());
    has(
        &page(&place, "images"),
        &["Training on digits", "Error on the test images", "Calibration of images"],
    );

    place.ok(&["attack", "images", "--images", "5", "-q", "-o", "attacked"]);
    let html = page(&place, "attacked");
    has(
        &html,
        &[
            "Attack by inference",
            "<dd>45</dd>",
            "By class",
            "prior_std",
            "tractable attack images --images 5",
        ],
    );
    assert_eq!(html.matches("class=\"wide\"").count(), 2);

    let optimize =
        ["optimize", "--objective", "x^2", "--bounds", "-1:2", "--evaluations", "12", "-q", "-o", "found"];
    place.ok(&optimize);
    let html = page(&place, "found");
    has(&html, &["The minimum of x^2", "<dd>12 of 12</dd>", "Best values", "Optima by inference"]);
    has(&html, &["tractable optimize --objective &#39;x^2&#39; --bounds -1:2"]);
    place.ok(&["optimize", "--data", "data.csv", "--target", "y", "-q", "-o", "learned"]);
    has(&page(&place, "learned"), &["The minimum of the model learned from data.csv", "Optima by inference"]);

    place.ok(&["rl", "pendulum", "--steps", "3e3", "--seeds", "2", "-q", "-o", "agents"]);
    has(
        &page(&place, "agents"),
        &["Agents on pendulum", "<dd>2 of 2</dd>", "<td>3072</td>", "tractable rl play agents"],
    );
}

#[test]
fn names_from_files_are_only_text() {
    let place = Place::new();
    let name = "<img src=x onerror=alert(1)>";
    let mut rows = format!("a,{name}\n");
    (0..40).for_each(|i| writeln!(rows, "{i},{}", 2 * i).unwrap());
    place.write("bad.csv", &rows);
    place.ok(&["train", "bad.csv", "--target", name, "--test", "0.2", "--epochs", "2", "-o", "run", "-q"]);
    let html = page(&place, "run");
    assert!(!html.contains("<img src=x") && html.contains("&lt;img src=x onerror=alert(1)&gt;"));

    // Files that somebody else wrote: other types, absurd numbers, markup as names, a torn line.
    place.write(
        "run/config.json",
        r#"{"settings":{"</td><script>":[["<b>"]],"epochs":"<i>"},"images":{"set":"<u>"}}"#,
    );
    let lines = "{\"type\":\"epoch\",\"epoch\":1e308,\"noise_std\":-1e308,\"learned\":7}\n[]\nnot json\n\
                 {\"type\":\"epoch\",\"epoch\":-1e308,\"noise_std\":1e308}\n\
                 {\"type\":\"test\",\"target\":\"<s>\",\"reliability\":{\"bins\":[{\"confidence\":5,\"accuracy\":-9}]}}\n\
                 {\"type\":\"epoch\",\"epoch\":2,\"noi";
    place.write("run/metrics.jsonl", lines);
    place.write("run/commands.jsonl", "{\"args\":[\"<a>\",7]}\n{\"args\":{}}\n");
    let html = page(&place, "run");
    for bad in ["<script", "<b>", "<i>", "<u>", "<s>", "<a>"] {
        assert!(!html.contains(bad), "{bad}");
    }
    has(
        &html,
        &[
            "do not fit on an axis",
            "metrics.jsonl: skipped 1 lines that are not JSON",
            "tractable &#39;&lt;a&gt;&#39;",
        ],
    );
    place.write("run/config.json", "{");
    has(&page(&place, "run"), &["config.json is not JSON"]);
}

#[test]
fn what_is_no_run_is_refused() {
    let place = Place::trained();
    std::fs::create_dir(place.path("empty")).unwrap();
    place.refused(&["report", "empty"], &["empty: no run in this folder"]);
    place.refused(&["report", "nowhere"], &["nowhere: cannot open it"]);
    place.refused(&["report", "data.csv"], &["data.csv: not a folder"]);
    place.refused(&["report", "run", "-o", "data.csv"], &["data.csv: already exists", "--force"]);
    place.refused(&["report", "run", "-o", "no/such/page.html"], &["no/such/page.html: cannot write it"]);
    place.ok(&["report", "run", "-o", "data.csv", "--force"]);
    let line = &place.json(&["report", "run", "-o", "page.html"])[0];
    assert_eq!((&line["type"], &line["page"]), (&"page".into(), &"page.html".into()));
}

/// Before all other numbers: how good it is, in plain words, and an error curve.
#[test]
fn pages_lead_with_the_score() {
    let place = Place::new();
    place.ok(&["train", "data.csv", "--target", "y", "--single", "-q", "-o", "usual"]);
    place
        .ok(&["train", "data.csv", "--target", "y", "--epochs", "1", "--test", "0.2", "-q", "-o", "network"]);
    place.ok(&[
        "train",
        "classes.csv",
        "--target",
        "kind",
        "--classes",
        "--epochs",
        "2",
        "-q",
        "-o",
        "kinds",
    ]);
    let small = ["--net", "mlp", "--hidden", "12", "--limit", "100", "--epochs", "1", "-q"];
    place.ok(&[&["train", "digits", "-o", "images"], &small[..]].concat());
    place.ok(&["rl", "pendulum", "--steps", "2e3", "--seeds", "1", "-q", "-o", "agents"]);
    let found =
        ["optimize", "--objective", "x^2", "--bounds", "-1:2", "--evaluations", "12", "-q", "-o", "found"];
    place.ok(&found);
    for (run, score, curve) in [
        ("usual", "typical error of y", "Error of y on rows left out"),
        ("network", "typical error of y", "Error of y on test rows"),
        ("kinds", "of its answers are wrong", "Error of kind on rows left out"),
        ("images", "of its answers are wrong", "Error on the test images"),
        ("agents", "One seed proves little", "Average return"),
        ("found", "among 12 points that were evaluated", "The best value so far"),
    ] {
        let html = page(&place, run);
        has(&html, &[score, curve]);
        let at = |part: &str| html.find(part).unwrap_or_else(|| panic!("{run}: no {part}"));
        assert!(at("How good it is") < at(score) && at(score) < at("<h2>Numbers</h2>"), "{run}");
    }
}
