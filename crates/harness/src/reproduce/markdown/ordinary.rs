//! The default model on ordinary tables, beside other methods.

use super::{NOT_YET, Table, markdown, number, or_dash, rows, word};
use serde_json::Value;

/// Without the duration: a run that goes on where another stopped knows only its own.
fn timeless(file: &Value, head: &[&str], lines: Vec<Vec<String>>, about: &str) -> String {
    let mut file = file.clone();
    file["seconds"].take();
    markdown(&file, head, lines, about)
}

/// Mean ranks of all methods, the best of the first collection first; `kind` is numbers or classes.
pub(super) fn ranks(file: &Value, kind: &str) -> Table {
    if file["collections"].is_null() {
        return Ok(NOT_YET.into());
    }
    let mut collections = Vec::new();
    for collection in rows(file, "collections")? {
        let own = rows(collection, "ranks")?.iter().find(|ranks| ranks["kind"] == kind);
        if let Some(ranks) = own {
            collections.push((word(collection, "folder")?, ranks));
        }
    }
    let (_, first) = collections.first().ok_or_else(|| format!("it has no ranks of {kind}"))?;
    let measures = if kind == "numbers" { ["R2", "CRPS", "NLL"] } else { ["error", "ECE", "log-loss"] };
    let mut head = vec![String::new()];
    let mut about = Vec::new();
    for (folder, ranks) in &collections {
        head.extend(measures.map(|measure| format!("{folder}: {measure}")));
        let [ranked, left_out] = ["splits", "left_out"].map(|name| number(ranks, &[name]));
        let (ranked, left_out) = (ranked?, left_out?);
        let missing = if left_out == 0.0 { String::new() } else { format!(" of {}", ranked + left_out) };
        about.push(format!("{folder}: {ranked}{missing} splits"));
    }
    let mut lines = Vec::new();
    for model in rows(first, "models")? {
        let name = model[0].as_str().ok_or("a rank has no model")?;
        let mut line = vec![name.to_string()];
        for (_, ranks) in &collections {
            let own = rows(ranks, "models")?.iter().find(|m| m[0] == name).unwrap_or(&Value::Null);
            line.extend((0..3).map(|k| own[1][k].as_f64().map_or("-".into(), |rank| format!("{rank:.1}"))));
        }
        lines.push(line);
    }
    let head: Vec<&str> = head.iter().map(|name| &name[..]).collect();
    Ok(timeless(file, &head, lines, &format!("mean ranks, 1 is best; {}", about.join(", "))))
}

/// Every table: means over its splits.
pub(super) fn tables(file: &Value) -> Table {
    if file["collections"].is_null() {
        return Ok(NOT_YET.into());
    }
    let mut lines = Vec::new();
    let mut about = vec!["means over the splits; of classes error, ECE and log-loss".to_string()];
    for collection in rows(file, "collections")? {
        let folder = word(collection, "folder")?;
        for row in rows(collection, "tables")? {
            let three = |path: &[&str]| or_dash(row, path, |v| format!("{v:.3}"));
            let scores = row["scores"].as_array().ok_or("there is no list `scores`")?;
            let mut line = vec![word(row, "table")?.to_string(), format!("{:.0}", number(row, &["rows"])?)];
            line.push(three(&["ridge"]));
            line.push(three(&["forest"]));
            line.extend((0..3).map(|k| scores[k].as_f64().map_or("-".into(), |v| format!("{v:.3}"))));
            line.push(or_dash(row, &["coverage_90"], |share| format!("{:.1} %", 100.0 * share)));
            line.push(format!("{:.1}", number(row, &["seconds"])?));
            lines.push(line);
        }
        let worst = &collection["worst"];
        if let (Ok(table), Ok(less)) = (word(worst, "table"), number(worst, &["difference"])) {
            about.push(format!(
                "{folder}: R2 at worst {less:+.3} beside the better of ridge and forest ({table})"
            ));
        }
        if let Ok(share) = number(collection, &["coverage_90"]) {
            about.push(format!("{:.1} % of all test rows inside their 90 % interval", 100.0 * share));
        }
    }
    let head = [
        "",
        "rows",
        "ridge R2",
        "forest R2",
        "R2 or error",
        "CRPS or ECE",
        "NLL or log-loss",
        "90 % coverage",
        "s a fit",
    ];
    Ok(timeless(file, &head, lines, &about.join("; ")))
}
