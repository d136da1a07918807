//! How the model stands among other methods: ranks, the worst table, what its intervals cover.

use super::{Row, Scores};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use tractable_cli::report::{Exit, Outcome, file_error, table};

/// What a file of peers may have of this product.
const OURS: [&str; 3] = ["tractable", "tr_single", "this model"];
const THIS: &str = "this model";
/// Of fewer rows, a table's coverage and R2 are mostly luck.
const MANY_ROWS: usize = 300;

impl Scores {
    /// Smaller is better.
    fn losses(&self) -> [f64; 3] {
        match *self {
            Scores::Numbers { r2, crps, nll, .. } => [-r2, crps, nll],
            Scores::Classes { error, logloss, ece } => [error, ece, logloss],
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Scores::Numbers { .. } => Kind::Numbers,
            Scores::Classes { .. } => Kind::Classes,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Numbers,
    Classes,
}

impl Kind {
    fn measures(self) -> [&'static str; 3] {
        match self {
            Kind::Numbers => ["R2", "CRPS", "NLL"],
            Kind::Classes => ["error", "ECE", "log-loss"],
        }
    }
}

#[derive(Deserialize)]
struct Peer {
    table: String,
    #[serde(alias = "round")]
    split: u64,
    model: String,
    #[serde(flatten)]
    scores: Scores,
}

/// The figures of the other methods by table and split.
pub(super) struct Peers(BTreeMap<(String, u64), BTreeMap<String, Scores>>);

impl Peers {
    /// Where two files have the same line, the first counts.
    pub(super) fn read(files: impl Iterator<Item = PathBuf>) -> Outcome<Self> {
        let mut found: BTreeMap<_, BTreeMap<String, Scores>> = BTreeMap::new();
        for path in files {
            let text = std::fs::read_to_string(&path).map_err(file_error(&path, "read this file"))?;
            for (number, line) in text.lines().enumerate() {
                let bad = |e| Exit::Error(format!("{}, line {}: {e}", path.display(), number + 1));
                let peer: Peer = serde_json::from_str(line).map_err(bad)?;
                if !OURS.contains(&&peer.model[..]) {
                    found
                        .entry((peer.table, peer.split))
                        .or_default()
                        .entry(peer.model)
                        .or_insert(peer.scores);
                }
            }
        }
        Ok(Peers(found))
    }

    fn of(&self, row: &Row) -> Option<&BTreeMap<String, Scores>> {
        self.0.get(&(row.table.clone(), row.split))
    }

    /// All methods of a kind.
    fn names(&self, kind: Kind) -> BTreeSet<&str> {
        let known = self.0.values().flatten().filter(|(_, scores)| scores.kind() == kind);
        known.map(|(name, _)| &name[..]).collect()
    }
}

/// A folder of tables.
#[derive(Serialize)]
pub(super) struct Collection {
    folder: String,
    ranks: Vec<Ranks>,
    /// R2 less that of the better of ridge and forest.
    worst: Option<Worst>,
    worst_of_many_rows: Option<Worst>,
    /// Of all test rows of all tables of numbers, the share inside their 90 % interval.
    coverage_90: Option<f64>,
    /// The lowest and the highest of a table of many rows.
    coverage_90_of_many_rows: Option<[f64; 2]>,
    /// Of a fit, on average.
    seconds: f64,
    tables: Vec<Summary>,
}

/// Mean ranks by the three measures of a kind.
#[derive(Serialize)]
struct Ranks {
    kind: Kind,
    /// How many splits were ranked.
    splits: usize,
    /// Those for which a method's figures are missing.
    left_out: usize,
    /// The best first.
    models: Vec<(String, [f64; 3])>,
}

#[derive(Clone, Serialize)]
struct Worst {
    table: String,
    difference: f64,
}

/// A table: means over its splits.
#[derive(Clone, Serialize)]
struct Summary {
    table: String,
    kind: Kind,
    rows: usize,
    splits: usize,
    /// By the three measures of its kind.
    scores: [f64; 3],
    coverage_90: Option<f64>,
    /// R2 of ridge and of the forest on the splits where both are known.
    ridge: Option<f64>,
    forest: Option<f64>,
    /// R2 on these splits less the better of the two.
    difference: Option<f64>,
    seconds: f64,
}

/// In the order of the rows.
pub(super) fn collections(rows: &[Row], peers: &Peers) -> Vec<Collection> {
    distinct(rows.iter().map(|row| &row.folder))
        .into_iter()
        .map(|folder| {
            let own: Vec<&Row> = rows.iter().filter(|row| row.folder == *folder).collect();
            Collection::of(folder, &own, peers)
        })
        .collect()
}

fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (n, sum) = values.fold((0.0, 0.0), |(n, sum), v| (n + 1.0, sum + v));
    sum / n
}

impl Collection {
    fn of(folder: &str, rows: &[&Row], peers: &Peers) -> Self {
        let tables: Vec<Summary> = distinct(rows.iter().map(|row| &row.table))
            .into_iter()
            .map(|name| {
                Summary::of(&rows.iter().copied().filter(|row| row.table == *name).collect::<Vec<_>>(), peers)
            })
            .collect();
        let many: Vec<Summary> = tables.iter().filter(|table| table.rows >= MANY_ROWS).cloned().collect();
        let covered = many.iter().filter_map(|table| table.coverage_90);
        let covered: Vec<f64> = covered.collect();
        let extreme = |pick: fn(f64, f64) -> f64| covered.iter().copied().reduce(pick);
        Collection {
            folder: folder.into(),
            ranks: [Kind::Numbers, Kind::Classes]
                .into_iter()
                .filter_map(|kind| Ranks::of(kind, rows, peers))
                .collect(),
            worst: Worst::of(&tables),
            worst_of_many_rows: Worst::of(&many),
            coverage_90: coverage(rows),
            coverage_90_of_many_rows: extreme(f64::min).zip(extreme(f64::max)).map(|(low, high)| [low, high]),
            seconds: mean(rows.iter().map(|row| row.seconds)),
            tables,
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("\n{}\n", self.folder);
        for kind in [Kind::Numbers, Kind::Classes] {
            let tables: Vec<&Summary> = self.tables.iter().filter(|table| table.kind == kind).collect();
            if tables.is_empty() {
                continue;
            }
            let mut head = vec!["mean of the splits", "rows", "splits"];
            head.extend(kind.measures());
            head.extend(["90 % covers", "ridge R2", "forest R2", "difference", "s a fit"]);
            let mut lines = vec![head.into_iter().map(String::from).collect::<Vec<_>>()];
            lines.extend(tables.iter().map(|table| table.line()));
            text += &format!("\n{}", table(&lines, &[0]));
        }
        for ranks in &self.ranks {
            let about = format!("mean rank, {} splits, {} left out", ranks.splits, ranks.left_out);
            let mut lines =
                vec![std::iter::once(about).chain(ranks.kind.measures().map(String::from)).collect()];
            for (model, ranks) in &ranks.models {
                lines.push(
                    std::iter::once(model.clone())
                        .chain(ranks.map(|r| format!("{r:.2}")))
                        .collect::<Vec<_>>(),
                );
            }
            text += &format!("\n{}", table(&lines, &[0]));
        }
        let worst = |worst: &Option<Worst>| {
            worst.as_ref().map_or("-".into(), |w| format!("{:+.3} ({})", w.difference, w.table))
        };
        text += &format!("\nR2 less the better of ridge and forest, worst table: {}\n", worst(&self.worst));
        text += &format!("of {MANY_ROWS} rows or more: {}\n", worst(&self.worst_of_many_rows));
        if let (Some(all), Some([low, high])) = (self.coverage_90, self.coverage_90_of_many_rows) {
            let [all, low, high] = [all, low, high].map(|share| 100.0 * share);
            text += &format!(
                "90 % intervals hold {all:.1} % of all test rows, of tables of {MANY_ROWS} rows or more {low:.1} to {high:.1} %\n"
            );
        }
        text + &format!("{:.1} s a fit\n", self.seconds)
    }
}

fn coverage(rows: &[&Row]) -> Option<f64> {
    let share = |row: &&Row| match row.scores {
        Scores::Numbers { coverage_90, .. } => Some((row.tested as f64, coverage_90)),
        Scores::Classes { .. } => None,
    };
    let of: Vec<(f64, f64)> = rows.iter().filter_map(share).collect();
    let all: f64 = of.iter().map(|(n, _)| n).sum();
    (all > 0.0).then(|| of.iter().map(|(n, share)| n * share).sum::<f64>() / all)
}

impl Worst {
    fn of(tables: &[Summary]) -> Option<Self> {
        let known =
            tables.iter().filter_map(|t| Some(Worst { table: t.table.clone(), difference: t.difference? }));
        known.min_by(|a, b| a.difference.total_cmp(&b.difference))
    }
}

impl Ranks {
    fn of(kind: Kind, rows: &[&Row], peers: &Peers) -> Option<Self> {
        let wanted = peers.names(kind);
        let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.scores.kind() == kind).collect();
        let complete = |row| {
            let found = peers.of(row)?;
            wanted.iter().all(|name| found.contains_key(*name)).then_some((row, found))
        };
        let ranked: Vec<(&Row, _)> = rows.iter().copied().filter_map(complete).collect();
        let mut places: BTreeMap<&str, Vec<[f64; 3]>> = BTreeMap::new();
        for (row, found) in &ranked {
            let mut all: Vec<(&str, [f64; 3])> = vec![(THIS, row.scores.losses())];
            all.extend(found.iter().map(|(name, scores)| (&name[..], scores.losses())));
            for (model, losses) in &all {
                // Equal ones share their places.
                let place = |k: usize| {
                    let better = all.iter().filter(|(_, other)| other[k] < losses[k]).count() as f64;
                    let equal = all.iter().filter(|(_, other)| other[k] == losses[k]).count() as f64;
                    better + (1.0 + equal) / 2.0
                };
                places.entry(model).or_default().push([0, 1, 2].map(place));
            }
        }
        let mean = |places: Vec<[f64; 3]>| [0, 1, 2].map(|k| mean(places.iter().map(|p| p[k])));
        let mut models: Vec<_> =
            places.into_iter().map(|(model, places)| (model.to_string(), mean(places))).collect();
        models.sort_by(|a, b| a.1.iter().sum::<f64>().total_cmp(&b.1.iter().sum()));
        let left_out = rows.len() - ranked.len();
        (!rows.is_empty()).then_some(Ranks { kind, splits: ranked.len(), left_out, models })
    }
}

impl Summary {
    /// Of the rows of one table.
    fn of(rows: &[&Row], peers: &Peers) -> Self {
        let r2 = |scores: &Scores| match *scores {
            Scores::Numbers { r2, .. } => Some(r2),
            Scores::Classes { .. } => None,
        };
        let both = |row: &&Row| {
            let found = peers.of(row)?;
            Some([r2(&row.scores)?, r2(found.get("ridge")?)?, r2(found.get("forest")?)?])
        };
        let beside: Vec<[f64; 3]> = rows.iter().filter_map(both).collect();
        let beside = (!beside.is_empty()).then(|| [0, 1, 2].map(|k| mean(beside.iter().map(|r| r[k]))));
        let kind = rows[0].scores.kind();
        let scores = [0, 1, 2].map(|k| mean(rows.iter().map(|row| row.scores.losses()[k])));
        Summary {
            table: rows[0].table.clone(),
            kind,
            rows: rows[0].rows,
            splits: rows.len(),
            scores: if kind == Kind::Numbers { [-scores[0], scores[1], scores[2]] } else { scores },
            coverage_90: coverage(rows),
            ridge: beside.map(|[_, ridge, _]| ridge),
            forest: beside.map(|[.., forest]| forest),
            difference: beside.map(|[own, ridge, forest]| own - ridge.max(forest)),
            seconds: mean(rows.iter().map(|row| row.seconds)),
        }
    }

    fn line(&self) -> Vec<String> {
        let or_dash = |v: Option<String>| v.unwrap_or("-".into());
        let three = |v: Option<f64>| or_dash(v.map(|v| format!("{v:.3}")));
        let mut line = vec![self.table.clone(), self.rows.to_string(), self.splits.to_string()];
        line.extend(self.scores.map(|v| format!("{v:.3}")));
        line.push(or_dash(self.coverage_90.map(|share| format!("{:.1} %", 100.0 * share))));
        line.extend([self.ridge, self.forest].map(three));
        line.push(or_dash(self.difference.map(|v| format!("{v:+.3}"))));
        line.push(format!("{:.1}", self.seconds));
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(table: &str, split: u64, scores: Scores) -> Row {
        let (folder, rows) = ("some".to_string(), if table == "small" { 100 } else { 1000 });
        let (tested, seconds, candidates) = (rows / 5, 1.0, Vec::new());
        Row { folder, table: table.into(), split, rows, tested, seconds, scores, candidates }
    }

    fn numbers(r2: f64) -> Scores {
        Scores::Numbers { r2, crps: 1.0 - r2, nll: -r2, coverage_90: 0.9 }
    }

    fn peers(lines: &[(&str, u64, &str, Scores)]) -> Peers {
        let mut found: BTreeMap<_, BTreeMap<String, Scores>> = BTreeMap::new();
        for &(table, split, model, scores) in lines {
            found.entry((table.to_string(), split)).or_default().insert(model.into(), scores);
        }
        Peers(found)
    }

    #[test]
    fn only_splits_for_which_every_method_has_figures_are_ranked() {
        let peers = peers(&[
            ("large", 0, "ridge", numbers(0.5)),
            ("large", 0, "forest", numbers(0.7)),
            ("large", 1, "ridge", numbers(0.9)),
            ("classes", 0, "logistic", Scores::Classes { error: 0.1, logloss: 0.2, ece: 0.3 }),
        ]);
        let rows = [row("large", 0, numbers(0.6)), row("large", 1, numbers(0.6))];
        let found = &collections(&rows, &peers)[0];
        let ranks = &found.ranks[0];
        assert_eq!((found.ranks.len(), ranks.splits, ranks.left_out), (1, 1, 1));
        let expected = [("forest", 1.0), (THIS, 2.0), ("ridge", 3.0)];
        assert_eq!(ranks.models, expected.map(|(name, rank)| (name.to_string(), [rank; 3])));
    }

    #[test]
    fn equal_methods_share_their_places() {
        let score = |error| Scores::Classes { error, logloss: error, ece: 0.0 };
        let peers = peers(&[("large", 0, "a", score(0.25)), ("large", 0, "b", score(0.5))]);
        let ranks = &collections(&[row("large", 0, score(0.25))], &peers)[0].ranks[0];
        let of = |name: &str| ranks.models.iter().find(|m| m.0 == name).unwrap().1;
        assert_eq!((of("a"), of(THIS), of("b")), ([1.5, 2.0, 1.5], [1.5, 2.0, 1.5], [3.0, 2.0, 3.0]));
    }

    #[test]
    fn the_worst_table_is_the_one_furthest_below_the_better_of_ridge_and_forest() {
        let both = |table, ridge, forest| {
            [(table, 0, "ridge", numbers(ridge)), (table, 0, "forest", numbers(forest))]
        };
        let peers = peers(&[both("small", 0.75, 0.5), both("large", 0.25, 0.5)].concat());
        // Split 1 is beside nothing.
        let rows =
            [row("small", 0, numbers(0.5)), row("large", 0, numbers(0.375)), row("large", 1, numbers(-9.0))];
        let found = &collections(&rows, &peers)[0];
        let worst = |worst: &Option<Worst>| worst.clone().map(|w| (w.table, w.difference));
        assert_eq!(worst(&found.worst), Some(("small".into(), -0.25)));
        assert_eq!(worst(&found.worst_of_many_rows), Some(("large".into(), -0.125)));
    }

    #[test]
    fn every_test_row_counts_once_in_the_coverage() {
        let covered = |coverage_90| Scores::Numbers { r2: 0.0, crps: 0.0, nll: 0.0, coverage_90 };
        let rows = [row("small", 0, covered(0.0)), row("large", 0, covered(0.55))];
        let found = &collections(&rows, &peers(&[]))[0];
        assert!((found.coverage_90.unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(found.coverage_90_of_many_rows, Some([0.55, 0.55]));
    }

    #[test]
    fn a_line_that_is_none_is_named_and_the_first_of_two_counts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let line = |r2| {
            format!(
                r#"{{"table": "t", "round": 0, "model": "ridge", "r2": {r2}, "crps": 1, "nll": 1, "cov": 1}}"#
            )
        };
        let (first, second) = (write("first", &line(0.5)), write("second", &line(0.25)));
        let peers = Peers::read([first.clone(), second].into_iter()).ok().unwrap();
        assert_eq!(peers.of(&row("t", 0, numbers(0.0))).unwrap()["ridge"].losses()[0], -0.5);
        let bad = write("bad", &format!("{}\n{{}}\n", line(0.5)));
        let Some(Exit::Error(why)) = Peers::read([first, bad].into_iter()).err() else { panic!("no error") };
        assert!(why.contains("bad, line 2"), "{why}");
    }
}
