//! The judge of ordinary tables, on a table of its own.

use crate::run::Place;
use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use std::io::Write;

/// A folder with one table of 60 rows, of which the first split has every sixth for testing.
fn a_table(place: &Place) {
    std::fs::create_dir(place.path("few")).unwrap();
    let mut text = "split,a,b,target\n".to_string();
    for i in 0..60 {
        let (a, b) = (f64::from(i % 7), f64::from(i % 11));
        let split = if i % 6 == 0 { "test" } else { "train" };
        text += &format!("{split},{a:.1},{b:.1},{:.1}\n", a - 2.0 * b);
    }
    let mut file =
        GzEncoder::new(std::fs::File::create(place.path("few/line.csv.gz")).unwrap(), Compression::fast());
    file.write_all(text.as_bytes()).unwrap();
    file.finish().unwrap();
}

/// What a peer said of a split, as a line of its file.
fn peer(model: &str, split: u64, r2: f64) -> String {
    let line = serde_json::json!({"table": "line", "model": model, "split": split, "r2": r2, "crps": 9, "nll": 9, "cov": 0.9});
    format!("{line}\n")
}

#[test]
fn splits_are_written_and_ranked_where_all_peers_are_known() {
    let place = Place::new();
    a_table(&place);
    let ordinary = |more: &str| {
        let args = format!("reproduce ordinary {more}");
        place.json(&args.split(' ').collect::<Vec<_>>())
    };

    ordinary("--data few --splits 2 --export splits.jsonl");
    let splits: Vec<Value> =
        place.text("splits.jsonl").lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let test: Vec<Vec<u64>> =
        splits.iter().map(|s| serde_json::from_value(s["test"].clone()).unwrap()).collect();
    assert_eq!(test[0], (0..60).step_by(6).collect::<Vec<u64>>());
    assert_eq!((test.len(), test[1].len()), (2, 12));

    place.write("some.jsonl", &(peer("ridge", 0, 0.0) + &peer("forest", 0, 0.5) + &peer("ridge", 1, 0.0)));
    let lines = ordinary("--data few --splits 2 --peers some.jsonl --single -o results");
    let ranks = &lines[2]["ranks"][0];
    assert_eq!((&ranks["splits"], &ranks["left_out"]), (&1.into(), &1.into()), "{lines:?}");
    assert_eq!(ranks["models"][0], serde_json::json!(["this model", [1.0, 1.0, 1.0]]));

    let kept = || serde_json::from_str::<Value>(&place.text("results/ordinary-single.json")).unwrap();
    let before = kept();
    place.write("more.jsonl", &peer("forest", 1, 0.5));
    ordinary("--again results/ordinary-single.json --peers some.jsonl more.jsonl");
    let after = kept();
    assert_eq!((&after["rows"], &after["seconds"]), (&before["rows"], &before["seconds"]));
    assert_eq!(after["collections"][0]["ranks"][0]["splits"], 2);
}
