//! Reading CSV files, datasets and scalers: what is right, every mistake a file can make, and hostile bytes.

use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;
use tractable::data::{self, As, CsvRows, Dataset, Preparation, Scaler, Target};
use tractable::{Error, Matrix, Result};

/// A file with these bytes; it is gone when the folder is dropped.
fn file(bytes: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, bytes).unwrap();
    (dir, path)
}

/// Reads `bytes` with the target `y`.
fn read(bytes: impl AsRef<[u8]>) -> Result<Dataset> {
    let (_dir, path) = file(bytes);
    data::csv(path)?.target("y")
}

/// Reads all of `bytes` as a stream of the columns `a` and `y`, three rows at a time.
fn read_rows(bytes: impl AsRef<[u8]>) -> Result<Vec<f64>> {
    let (_dir, path) = file(bytes);
    let mut rows = CsvRows::open(path, &numbers(&["a", "y"]))?;
    let mut out = Vec::new();
    while let Some(chunk) = rows.next_chunk(3)? {
        out.extend_from_slice(chunk.mean());
    }
    Ok(out)
}

/// Columns of numbers; a missing one becomes -9.
fn numbers(names: &[&str]) -> Preparation {
    let names: Vec<String> = names.iter().map(|n| n.to_string()).collect();
    Preparation::of_numbers(&names, vec![-9.0; names.len()], vec![1.0; names.len()])
}

fn values(data: &Dataset) -> (&[f64], Option<&[bool]>) {
    match data.target() {
        Target::Values { y, observed } => (y.data(), observed.as_deref()),
        Target::Labels { .. } => panic!("labels"),
    }
}

fn labels(data: &Dataset) -> (&[usize], Vec<&str>) {
    match data.target() {
        Target::Labels { labels, names } => (labels, names.iter().map(String::as_str).collect()),
        Target::Values { .. } => panic!("values"),
    }
}

#[test]
fn the_same_numbers_in_every_dialect() {
    let dialects: [&[u8]; 15] = [
        b"a,y\n1,2\n3,4\n",
        b"a,y\n1,2\n3,4",
        b"a,y\r\n1,2\r\n3,4\r\n",
        b"a,y\r1,2\r3,4\r",
        b"\xef\xbb\xbfa,y\n1,2\n3,4\n",
        b"\xef\xbb\xbf\"a\",\"y\"\n\"1\",\"2\"\n3,4\n",
        b" a , y \n 1 ,\t2\n3, 4 \n",
        b"\n\na,y\n\n1,2\n\n\n3,4\n\n",
        b"a,y\n+1,2e0\n0.3e1,4.\n",
        b"a,y\r\n\r\n1,2\n3,4\r",
        b"a;y\n1;2\n3;4\n",
        b"a\ty\n1\t2\n3\t4\n",
        b"a|y\n1|2\n3|4\n",
        b"a,y\n1,2,\n3,4,\n",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xffK\xd4\xa9\xe42\xd41\xe22\xd61\xe1\x02\x00\xfa\x93\x98\x11\x0c\x00\x00\x00",
    ];
    for bytes in dialects {
        let text = String::from_utf8_lossy(bytes);
        let data = read(bytes).unwrap_or_else(|e| panic!("{text:?}: {e}"));
        assert_eq!(data.x().data(), [1.0, 3.0], "{text:?}");
        assert_eq!(values(&data), (&[2.0, 4.0][..], None), "{text:?}");
        assert_eq!(data.input_names(), ["a"], "{text:?}");
        assert_eq!(read_rows(bytes).unwrap(), [1.0, 2.0, 3.0, 4.0], "{text:?}");
    }
}

/// Bytes, line, column and a part of the message, for whole tables and for streams of rows alike.
#[test]
fn mistakes_are_named_with_their_place() {
    let wide = format!("{}\n", (0..100_001).map(|i| format!("c{i}")).collect::<Vec<_>>().join(","));
    let long = format!("a,y\n1,2\n1,\"{}\"\n", "x".repeat(1 << 20));
    let unclosed = format!("a,y\n1,2\n1,\"2\n{}", "3,4\n".repeat(500_000));
    let cases: Vec<(&[u8], usize, Option<&str>, &str)> = vec![
        (b"", 0, None, "empty"),
        (b"\n\r\n\n", 0, None, "empty"),
        (b"\xef\xbb\xbf", 0, None, "empty"),
        (b"a,y\n", 1, None, "no rows"),
        (b"a,y", 1, None, "no rows"),
        (b"a,y\n1,2\n3\n", 3, None, "expected 2 cells, as in the header, got 1"),
        (b"a,y\n1,2\n3,4,5\n", 3, None, "expected 2 cells, as in the header, got 3"),
        (b"a,y\r\n1,2\r\n\r\n3,4,5\r\n", 4, None, "got 3"),
        (b"0.5,1\n0.7,2\n", 1, None, "header row with column names is needed"),
        (b"1,2,1\n3,4,5\n", 1, None, "header row with column names is needed"),
        (b"a,z\n1,2\n", 1, Some("y"), "no such column; the columns are a, z"),
        (b"age,price\n1,2\n", 1, None, "no such column"),
        (b"\xff\xfea\0,\0y\0\n\0", 1, None, "UTF-16"),
        (b"a,y\n1,\0\n", 1, None, "not a text file"),
        (b"\x1f\x8b\x08\x00broken", 0, None, "damaged gzip"),
        (wide.as_bytes(), 1, None, "100001 columns; at most 100000"),
        (long.as_bytes(), 3, None, "more than 1 MiB"),
        (unclosed.as_bytes(), 3, None, "never closed"),
    ];
    for (bytes, line, column, why) in cases {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        let whole = read(bytes).map(|_| ()).expect_err(&shown);
        let stream = read_rows(bytes).map(|_| ()).expect_err(&shown);
        for error in [whole, stream] {
            let Error::Data { line: l, column: c, why: w, .. } = &error else {
                panic!("{shown:?}: {error:?}")
            };
            assert_eq!(*l, line, "{shown:?}: {error}");
            if column.is_some() {
                assert_eq!(c.as_deref(), column, "{shown:?}: {error}");
            }
            assert!(w.contains(why), "{shown:?}: {error}");
        }
    }
}

#[test]
fn targets_are_numbers_or_missing() {
    let refused = |bytes: &[u8], line: usize, why: &str| {
        let error = read(bytes).unwrap_err();
        let Error::Data { line: l, column, why: w, .. } = &error else { panic!("{error:?}") };
        assert_eq!((*l, column.as_deref()), (line, Some("y")), "{error}");
        assert!(w.contains(why), "{error}");
    };
    refused(b"a,y\n1,x\n", 2, "\"x\" is not a number");
    refused(b"a,y\n1,2\n\n3,-inf\n", 4, "\"-inf\" is not a number");
    refused(b"a,y\n1,2\n3,1e999\n", 3, "\"1e999\" is not a number");
    refused(b"a,y\n1,2\n3,\x1b[2J\n", 3, "\"\\u{1b}[2J\" is not a number");
    assert_eq!(values(&read("a,y\n1,2\n3,NaN\n").unwrap()).1, Some(&[true, false][..]));
    assert_eq!(values(&read("a,y\n1,\"$1,200\"\n3,50 %\n").unwrap()).0, [1200.0, 50.0]);
}

#[test]
fn long_cells_and_names_are_cut() {
    let long = "x".repeat(1000);
    let error = read(format!("a,y\n1,{long}\n")).unwrap_err().to_string();
    assert!(error.contains(&"x".repeat(40)) && error.len() < 400, "{error}");
    let error = read(format!("{long},y\nq,1\n")).unwrap_err().to_string();
    assert!(error.len() < 400, "{error}");
    let many = (0..1000).map(|i| format!("c{i}")).collect::<Vec<_>>().join(",");
    let error = read(format!("{many}\n{many}\n")).unwrap_err().to_string();
    assert!(error.contains("c19 and 980 more") && !error.contains("c20"), "{error}");
}

#[test]
fn names_that_are_missing_or_shared_are_made_up() {
    let (_dir, path) = file("a,,a,y,\n1,2,3,4,\n5,7,7,8,\n");
    let table = data::csv(&path).unwrap();
    assert_eq!(table.names(), ["a", "column 2", "a (2)", "y", "column 5"]);
    assert_eq!(table.target("y").unwrap().input_names(), ["a", "column 2", "a (2)"]);
}

#[test]
fn missing_cells_are_uncertain_inputs() {
    let rows: String = (0..60)
        .map(|i| format!("{i},{},{}\n", if i % 4 == 0 { "NA".into() } else { (2 * i).to_string() }, i % 7))
        .collect();
    let data = read(format!("a,b,y\n{rows}")).unwrap();
    let (x, var) = (data.x(), data.input().var().unwrap());
    for row in 0..60 {
        // b is twice a, and the other rows say so.
        assert!((x.row(row)[1] - 2.0 * row as f64).abs() < 3.0, "{row}: {:?}", x.row(row));
        assert_eq!(var[2 * row + 1] > 0.0, row % 4 == 0);
        assert_eq!(var[2 * row], 0.0);
    }
    assert!((data.missing() - 0.125).abs() < 1e-12);
    // The rows to train on alone say what the others miss.
    let preparation = data.preparation().unwrap().clone();
    let (train, test) = data.split(0.5, 1).unwrap();
    assert_ne!(train.preparation().unwrap(), &preparation);
    assert_eq!(train.preparation(), test.preparation());
}

#[test]
fn what_a_column_is_can_be_said() {
    let (_dir, path) = file("when,code,y\n01/02/2024,7,1\n03/02/2024,8,2\n05/02/2024,7,3\n");
    let table = || data::csv(&path).unwrap();
    assert_eq!(
        table().target("y").unwrap().input_names(),
        ["when (days)", "when (sine of week)", "when (cosine of week)", "code"]
    );
    let data = table().treat("when", As::DayFirst).unwrap().treat("code", As::Category).unwrap();
    let about = data.columns(&["y"]);
    assert_eq!(about[0].what, "date (day first): days");
    let data = data.target("y").unwrap();
    assert_eq!(data.x().data()[2] - data.x().data()[0], 2.0);
    assert_eq!(data.input_names(), ["when (days)", "code=8"]);
    let error = table().treat("code", As::Date).unwrap().treat("when", As::Number).unwrap().target("y");
    let error = error.unwrap_err().to_string();
    assert!(error.contains("`when`: no cell is a number; `code`: no cell is a date"), "{error}");
    assert!(table().treat("x", As::Date).is_err());
}

#[test]
fn a_file_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let missing = data::csv(dir.path().join("none.csv")).unwrap_err();
    assert!(matches!(missing, Error::File { doing: "open", .. }), "{missing}");
    assert!(data::csv(dir.path()).unwrap_err().to_string().contains("a folder"));
    #[cfg(unix)]
    assert!(data::csv("/dev/zero").unwrap_err().to_string().contains("a device"));
}

#[test]
fn the_nearest_name_is_suggested() {
    let (_dir, path) = file("id,Price,rooms\n1,2,3\n");
    let error = |name: &str| data::csv(&path).unwrap().target(name).unwrap_err().to_string();
    assert!(error("price").contains("did you mean `Price`?"), "{}", error("price"));
    assert!(error("room").contains("did you mean `rooms`?"));
    assert!(!error("compressive_strength").contains("did you mean"));
    assert!(error("compressive_strength").contains("the columns are id, Price, rooms"));
}

#[test]
fn an_empty_target_is_a_missing_observation() {
    let (_dir, path) = file("u,a,v\n1,2,\n,5,6\n7,8,9\n");
    let data = data::csv(&path).unwrap().targets(&["v", "u"]).unwrap();
    assert_eq!(data.output_names(), ["v", "u"]);
    assert_eq!(data.x().data(), [2.0, 5.0, 8.0]);
    let (y, observed) = values(&data);
    assert_eq!(y, [0.0, 1.0, 6.0, 0.0, 9.0, 7.0]);
    assert_eq!(observed, Some(&[false, true, true, false, true, true][..]));
    let part = data.select(&[2, 0]).unwrap();
    assert_eq!(values(&part), (&[9.0, 7.0, 0.0, 1.0][..], Some(&[true, true, false, true][..])));
    assert!(read("a,y\n1,\n2,\n").unwrap_err().to_string().contains("every cell of the target is empty"));
}

#[test]
fn which_columns_are_features() {
    let (_dir, path) = file("id,a,name,y\n1,2,x,3\n4,5,y,6\n");
    let table = || data::csv(&path).unwrap();
    assert_eq!(table().target("y").unwrap().input_names(), ["id", "a", "name=y"]);
    let data = table().drop("name").unwrap().id("id").unwrap().target("y").unwrap();
    assert_eq!(
        (data.input_names(), data.preparation().unwrap().ids()),
        (&["a".to_string()][..], &["id".to_string()][..])
    );
    assert!(table().drop("nothing").is_err());
    assert!(table().targets(&[]).is_err());
    assert!(table().targets(&["a", "a"]).is_err());
    assert!(read("y\n1\n2\n").unwrap_err().to_string().contains("no column is left"));
}

#[test]
fn classes_are_sorted_and_keep_their_names() {
    let classes = |cells: &[&str]| {
        let rows: String = cells.iter().enumerate().map(|(i, c)| format!("{i},{c}\n")).collect();
        let (_dir, path) = file(format!("a,c\n{rows}"));
        data::csv(path)?.classes("c")
    };
    assert_eq!(labels(&classes(&["b", "a", "b"]).unwrap()), (&[1, 0, 1][..], vec!["a", "b"]));
    assert_eq!(labels(&classes(&["10", "9", "-1"]).unwrap()), (&[2, 1, 0][..], vec!["-1", "9", "10"]));
    assert_eq!(labels(&classes(&["10.0", "9.0"]).unwrap()), (&[1, 0][..], vec!["9.0", "10.0"]));
    assert_eq!(labels(&classes(&["10", "9", "x"]).unwrap()), (&[0, 1, 2][..], vec!["10", "9", "x"]));
    assert_eq!(labels(&classes(&["10", "9.5"]).unwrap()), (&[0, 1][..], vec!["10", "9.5"]));
    // Texts that happen to be numbers, or no numbers, are names like any other.
    assert_eq!(labels(&classes(&["-inf", "inf", "-inf"]).unwrap()).1, ["-inf", "inf"]);
    // A row without a class is left out.
    let some = classes(&["a", "", "b", "NA"]).unwrap();
    assert_eq!((labels(&some), some.rows()), ((&[0, 1][..], vec!["a", "b"]), 2));
    assert_eq!(labels(&classes(&["01", "x", "1"]).unwrap()), (&[0, 2, 1][..], vec!["01", "1", "x"]));

    let refused = |cells: &[&str], why: &str| {
        let error = classes(cells).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refused(&["a", "a"], "only one class");
    refused(&["1", "2", "1.0"], "`1` and `1.0` are the same number");
    let many: Vec<String> = (0..1025).map(|i| i.to_string()).collect();
    let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
    refused(&many, "more than 1024 distinct values");
    many.pop();
    assert_eq!(labels(&classes(&many).unwrap()).1.len(), 1024);
}

#[test]
fn rows_in_chunks_pick_columns_by_name() {
    // A column that is not wanted may hold anything.
    let (_dir, path) = file(b"b,note,a\n1,x,2\n3,y,4\n5,\"z\n\",6\n7,,8\n9,\xff,x\n");
    let mut rows = CsvRows::open(&path, &numbers(&["a", "b", "a"])).unwrap();
    let first = rows.next_chunk(3).unwrap().unwrap();
    assert_eq!(first.mean(), [2.0, 1.0, 2.0, 4.0, 3.0, 4.0, 6.0, 5.0, 6.0]);
    let rest = rows.next_chunk(3).unwrap().unwrap();
    assert_eq!(rest.mean(), [8.0, 7.0, 8.0, -9.0, 9.0, -9.0]);
    assert_eq!(rest.var(), [0.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
    assert_eq!(rows.unreadable(), [("a", 1, 7, "x"), ("a", 1, 7, "x")]);
    assert!(rows.next_chunk(3).unwrap().is_none());
    assert!(CsvRows::open(&path, &numbers(&["c"])).is_err());
    assert!(CsvRows::open(&path, &numbers(&["a"])).unwrap().next_chunk(0).is_err());
}

#[test]
fn lines_up_to_the_limit_are_read() {
    let note = "x".repeat((1 << 20) - 4);
    let data = format!("a,y,n\n1,2,{note}\n3,4,{note}\n5,6,{note}\n7,8,-\n");
    assert_eq!(read_rows(&data).unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    assert!(read_rows(data.replace("3,4,", "3,4,x")).is_err());
}

#[test]
fn split_is_a_partition_that_the_seed_decides() {
    let n = 100;
    let x = Matrix::column((0..n).map(f64::from).collect()).unwrap();
    let data = || Dataset::new(x.clone(), x.clone()).unwrap().standardize();
    let (train, test) = data().split(0.75, 3).unwrap();
    assert_eq!((train.rows(), test.rows()), (75, 25));
    assert!(train.wants_standardize() && test.wants_standardize());
    for part in [&train, &test] {
        assert_eq!(part.x().data(), values(part).0, "rows of x and y stay together");
    }
    let mut all = [train.x().data(), test.x().data()].concat();
    all.sort_by(f64::total_cmp);
    assert_eq!(all, x.data());
    assert_eq!(data().split(0.75, 3).unwrap().0, train);
    assert_ne!(data().split(0.75, 4).unwrap().0, train);
    for fraction in [0.0, 1.0, -0.5, 1.5, 0.001, 0.999, f64::NAN] {
        assert!(data().split(fraction, 0).is_err(), "{fraction}");
    }
}

#[test]
fn datasets_from_memory_are_checked() {
    let column = |n: usize| Matrix::column(vec![1.0; n]).unwrap();
    let names = || vec!["a".to_string(), "b".to_string()];
    assert!(Dataset::new(column(2), column(3)).is_err());
    assert!(Dataset::new(column(0), column(0)).is_err());
    assert!(Dataset::with_labels(column(2), vec![0], names()).is_err());
    assert!(Dataset::with_labels(column(2), vec![0, 2], names()).is_err());
    assert!(Dataset::with_labels(column(2), vec![0, 0], vec!["a".into()]).is_err());
    let data = Dataset::with_labels(column(3), vec![1, 0, 1], names()).unwrap();
    assert_eq!(labels(&data.select(&[0, 0, 2]).unwrap()), (&[1, 1, 1][..], vec!["a", "b"]));
    assert!(data.select(&[]).is_err());
    assert!(data.select(&[3]).is_err());
}

#[test]
fn scalers_by_hand() {
    let x = Matrix::new(vec![2.0, 0.998, 5.0, 4.0, 0.998, 5.0, 9.0, 0.998, 5.0], 3).unwrap();
    let scaler = Scaler::fit(&x);
    assert_eq!(scaler.mean()[0], 5.0);
    assert_eq!(scaler.std(), [(26.0f64 / 3.0).sqrt(), 1.0, 1.0]);
    scaler.check().unwrap();
    // A constant whose mean rounds: the computed standard deviation is not quite 0.
    for constant in [0.998, 1e-3, 288.15, -1e9, 1e100, 0.1] {
        let scaler = Scaler::fit(&Matrix::column(vec![constant; 11_934]).unwrap());
        assert_eq!(scaler.std(), [1.0], "{constant}");
    }
    // A large offset does not hide the spread.
    let scaler = Scaler::fit(&Matrix::column(vec![1e9 - 1.0, 1e9 + 1.0]).unwrap());
    assert_eq!((scaler.mean(), scaler.std()), (&[1e9][..], &[1.0][..]));

    let y = Matrix::new(vec![1.0, 0.0, 3.0, 0.0], 2).unwrap();
    let seen = Scaler::fit_observed(&y, Some(&[true, false, true, false])).unwrap();
    assert_eq!((seen.mean(), seen.std()), (&[2.0, 0.0][..], &[1.0, 1.0][..]));
    assert_eq!(Scaler::fit_observed(&y, None).unwrap(), Scaler::fit(&y));
    assert!(Scaler::fit_observed(&y, Some(&[true])).is_err());
    assert_eq!(Scaler::identity(2).apply(&[1.0, 2.0]), [1.0, 2.0]);
}

#[test]
fn scalers_from_files_are_checked() {
    let scaler = Scaler::new(vec![0.1, -3.0], vec![1e-3, 7.5]).unwrap();
    let text = serde_json::to_string(&scaler).unwrap();
    assert_eq!(text, r#"{"mean":[0.1,-3.0],"std":[0.001,7.5]}"#);
    assert_eq!(serde_json::from_str::<Scaler>(&text).unwrap(), scaler);
    for bad in [
        r#"{"mean":[0.0],"std":[0.0]}"#,
        r#"{"mean":[0.0],"std":[-1.0]}"#,
        r#"{"mean":[0.0],"std":[1.0,1.0]}"#,
        r#"{"mean":[],"std":[]}"#,
        r#"{"mean":[null],"std":[1.0]}"#,
        r#"{"mean":[0.0],"std":[1.0],"extra":1}"#,
    ] {
        assert!(serde_json::from_str::<Scaler>(bad).is_err(), "{bad}");
    }
    assert!(Scaler::new(vec![f64::NAN], vec![1.0]).is_err());
    assert!(Scaler::new(vec![0.0], vec![f64::INFINITY]).is_err());
}

/// Any finite number, by its bits: also denormals and the largest.
fn finite() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |v| v.is_finite())
}

proptest! {
    #[test]
    fn numbers_survive_a_file(rows in prop::collection::vec((finite(), finite(), any::<bool>()), 1..40)) {
        let mut text = String::from("a,y\r\n");
        for (a, y, quoted) in &rows {
            text += &if *quoted { format!("\"{a:?}\",{y}\r\n") } else { format!("{a:e},{y:?}\n") };
        }
        let expected: Vec<u64> = rows.iter().flat_map(|r| [r.0.to_bits(), r.1.to_bits()]).collect();
        let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
        prop_assert_eq!(bits(&read_rows(&text)?), &expected[..]);
        let data = read(&text)?;
        let both: Vec<f64> = data.x().data().iter().zip(values(&data).0).flat_map(|(a, y)| [*a, *y]).collect();
        prop_assert_eq!(bits(&both), &expected[..]);
    }

    #[test]
    fn class_names_survive_a_file(names in prop::collection::vec("[a-z ,\"\n]{0,6}[a-z]", 2..30)) {
        let row = |(i, n): (usize, &String)| format!("{i},\"{}\"\n", n.replace('"', "\"\""));
        let text: String = names.iter().enumerate().map(row).collect();
        let (_dir, path) = file(format!("a,c\n{text}"));
        let trimmed: Vec<&str> = names.iter().map(|n| n.trim()).collect();
        match data::csv(path)?.classes("c") {
            Ok(data) => {
                let (labels, known) = labels(&data);
                prop_assert!(known.is_sorted());
                prop_assert_eq!(labels.iter().map(|&l| known[l]).collect::<Vec<_>>(), trimmed);
            }
            Err(error) => prop_assert!(trimmed.iter().all(|n| *n == trimmed[0]), "{}", error),
        }
    }

    /// Whatever is in a file, reading it ends with data or with an error.
    #[test]
    fn hostile_bytes_never_panic(
        bytes in prop::collection::vec(
            prop_oneof![any::<u8>(), prop::sample::select(b"a,y\"\r\n\n0123456789.-e \xef\xbb\xbf\0".to_vec())],
            0..400,
        ),
        header in any::<bool>(),
    ) {
        let bytes = if header { [b"a,y\n", &bytes[..]].concat() } else { bytes };
        let _ = read(&bytes);
        let _ = read_rows(&bytes);
        let (_dir, path) = file(&bytes);
        if let Ok(table) = data::csv(path) {
            for name in table.names().to_vec() {
                let _ = table.clone().classes(&name);
                let _ = table.clone().drop(&name);
            }
        }
    }

    #[test]
    fn scaling_and_back(
        width in 1..5usize,
        numbers in prop::collection::vec(-1e6..1e6f64, 5..60),
    ) {
        let whole = numbers.len() / width * width;
        let x = Matrix::new(numbers[..whole].to_vec(), width)?;
        let scaler = Scaler::fit(&x);
        scaler.check()?;
        let scaled = scaler.apply(x.data());
        for (back, x) in scaler.undo_mean(&scaled).iter().zip(x.data()) {
            prop_assert!((back - x).abs() <= 1e-9, "{} {}", back, x);
        }
        let mut in_place = x.data().to_vec();
        scaler.apply_in_place(&mut in_place);
        prop_assert_eq!(&in_place, &scaled);
        let again = Scaler::fit(&Matrix::new(scaled, width)?);
        for (mean, std) in again.mean().iter().zip(again.std()) {
            prop_assert!(mean.abs() < 1e-9 && (std - 1.0).abs() < 1e-9);
        }
        let var = vec![2.0; width];
        for (back, v) in scaler.undo_var(&scaler.apply_var(&var)).iter().zip(&var) {
            prop_assert!((back - v).abs() < 1e-12);
        }
    }
}
