//! Rows that belong together or have a time, copies of rows, and targets that nothing explains.

use crate::run::{Place, json_lines};
use std::fmt::Write;
use tractable::rng;

/// Rows of twelve people on sixty days.
fn visits(place: &Place, target: impl Fn(usize, f64) -> f64) {
    let mut random = rng::stream(0, "visits", 0);
    let mut text = String::from("who,day,a,y\n");
    for row in 0..120 {
        let a = rng::uniform(-1.0, 1.0, &mut random);
        let y = target(row, 3.0 * a + 0.1 * rng::standard_normal(&mut random));
        writeln!(text, "p{},2024-{:02}-{:02},{a},{y}", row * 7 % 12, 1 + row / 2 / 28, 1 + row / 2 % 28)
            .unwrap();
    }
    place.write("visits.csv", &text);
}

#[test]
fn groups_and_time_are_part_of_a_run() {
    let place = Place::new();
    visits(&place, |_, y| y);
    let common = ["train", "visits.csv", "--target", "y", "--single"];
    let with = |more: &[&'static str]| [&common[..], more].concat();
    let lines = place.json(&with(&["--group", "who", "--drop", "day", "--test", "0.2", "-o", "who"]));
    assert_eq!((&lines[0]["inputs"], &lines[0]["test_rows"]), (&serde_json::json!(["a"]), &20.into()));
    assert!(
        place.text("who/config.json").contains("\"group\": \"who\""),
        "{}",
        place.text("who/config.json")
    );
    let own = &place.json(&["evaluate", "who", "visits.csv"])[0];
    assert_eq!(own["rows"].as_u64(), lines[2]["rows"].as_u64().map(|rows| rows + 20), "{own}");
    let used = place.json(&with(&["--group", "who", "--as", "who=category", "-o", "used"]));
    assert!(used[0]["inputs"].as_array().unwrap().iter().any(|i| i == "who=p3"), "{}", used[0]);

    // The last tenth is tested; of the others, the last sixth was left out.
    let lines = place.json(&with(&["--time", "day", "--drop", "who", "--test", "0.1", "-o", "day"]));
    assert_eq!((&lines[0]["test_rows"], &lines[2]["rows"]), (&12.into(), &18.into()), "{lines:?}");
    assert_eq!(lines[0]["inputs"][0], "day (days)");
    let own = &place.json(&["evaluate", "day", "visits.csv"])[0];
    assert_eq!(own["rows"].as_u64(), Some(30), "{own}");
    place.json(&with(&["--time", "day", "--drop", "day,who", "-o", "alone"]));
    place.refused(
        &["train", "--resume", "-o", "day", "--time", "a"],
        &["the run has time \"day\", not \"a\""],
    );

    let refused: [(&[&str], &[&str]); 4] = [
        (&["--group", "whom"], &["`whom`", "no such column", "did you mean `who`"]),
        (&["--time", "who"], &["`who`", "\"p0\" is no number and no date"]),
        (&["--group", "who", "--time", "day"], &["--group", "--time"]),
        (&["--group", "who", "--stream"], &["--group", "--stream"]),
    ];
    for (flags, says) in refused {
        place.refused(&[&common[..], flags, &["-o", "refused"]].concat(), says);
    }
    place.refused(&["train", "visits.csv", "--target", "y", "--time", "day", "--hidden", "9"], &["--time"]);
    place.write("gap.csv", &place.text("visits.csv").replacen("p7,", ",", 1));
    place.refused(&["train", "gap.csv", "--target", "y", "--group", "who"], &["`who`", "row 2 has none"]);
    let few = ["p0,", "p3,", "p6,", "p9,"];
    let few = |line: &&str| line.starts_with("who") || few.iter().any(|who| line.starts_with(who));
    place.write("few.csv", &place.text("visits.csv").lines().filter(few).collect::<Vec<_>>().join("\n"));
    place.refused(&["train", "few.csv", "--target", "y", "--group", "who"], &["groups", "at least 5"]);
}

#[test]
fn what_is_noticed_about_rows_is_said_and_kept() {
    let place = Place::new();
    visits(&place, |row, y| if row == 50 { 1000.0 } else { y });
    let train = ["train", "visits.csv", "--target", "y", "--drop", "who,day", "--single"];
    let lines = place.json(&[&train[..], &["-o", "run"]].concat());
    let types: Vec<&str> = lines.iter().map(|l| l["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["start", "end", "note", "left_out"]);
    let note = lines[2]["text"].as_str().unwrap();
    assert!(note.contains("1 value is") && note.contains("set aside: `y` 1000"), "{note}");
    assert_eq!(json_lines(&place.text("run/metrics.jsonl"))[..], lines[2..]);
    place.ok(&["report", "run"]);
    assert!(place.text("run/report.html").contains("set aside"));

    let text = place.text("visits.csv");
    let (head, rows) = text.split_once('\n').unwrap();
    place.write("visits.csv", &format!("{head}\n{}", rows.replace(",1000\n", ",1\n").repeat(4)));
    let said = place.ok(&[&train[..], &["-o", "copies"]].concat());
    assert!(said.contains("the 480 rows are copies of 120"), "{said}");
}
