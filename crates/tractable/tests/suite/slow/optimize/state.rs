//! The file of a search: it goes on as if nothing had happened, and nothing else is taken for one.

use super::{bits, bowl, refuses, searched};
use std::path::Path;
use tractable::optimize::Optimizer;

fn some() -> Optimizer {
    let mut search =
        searched(Optimizer::minimize([(-1.0, 1.0), (0.0, 2.0)]).unwrap().seed(u64::MAX), 9, bowl);
    for _ in 0..2 {
        search.ask().unwrap();
    }
    search
}

#[test]
fn goes_on_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.json");
    let start = || Optimizer::maximize([(-1.0, 1.0), (0.1, 0.7)]).unwrap().seed(11).noise_std(0.25).unwrap();
    let f = |x: &[f64]| if x[1] > 0.6 { f64::NAN } else { -bowl(x) / 3.0 };
    let step = |search: &mut Optimizer| {
        let (a, b) = (search.ask().unwrap(), search.ask().unwrap());
        search.tell(&b, f(&b)).unwrap();
        search.tell(&a, f(&a)).unwrap();
        search.ask().unwrap(); // stays pending
    };
    let (mut whole, mut parts) = (start(), start());
    for _ in 0..7 {
        step(&mut whole);
        step(&mut parts);
        parts.save(&path).unwrap();
        let loaded = Optimizer::load(&path).unwrap();
        assert_eq!(loaded, parts);
        parts = loaded;
    }
    assert_eq!(bits(&whole), bits(&parts));
    assert_eq!((parts.pending().len(), parts.history().len()), (7, 14));
    assert_eq!(whole.optimum().unwrap(), parts.optimum().unwrap());
    // A point that waited through all the files can still be told.
    let first = parts.pending()[0].clone();
    parts.tell(&first, 1.0).unwrap();
    assert_eq!(parts.best().unwrap().x, first);
}

#[test]
fn a_file_that_cannot_be_written_leaves_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    refuses(some().save(folder.path().join("no/such/search.json")), &["no/such/search.json", "cannot"]);
    // A folder stands in the way of the name.
    let taken = folder.path().join("taken");
    std::fs::create_dir(&taken).unwrap();
    std::fs::write(taken.join("inside"), "kept").unwrap();
    refuses(some().save(&taken), &["taken", "cannot"]);
    assert_eq!(std::fs::read_to_string(taken.join("inside")).unwrap(), "kept");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
}

/// Loads a file of this text.
fn load(folder: &Path, text: &[u8]) -> tractable::Result<Optimizer> {
    let path = folder.join("edited.json");
    std::fs::write(&path, text).unwrap();
    Optimizer::load(path)
}

#[test]
fn every_truncation_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.json");
    some().save(&path).unwrap();
    let text = std::fs::read(&path).unwrap();
    let end = text.trim_ascii_end().len();
    for cut in 0..end {
        let e = load(folder.path(), &text[..cut]).expect_err("half a file").to_string();
        assert!(e.contains("edited.json"), "{e}");
    }
    assert_eq!(load(folder.path(), &text[..end]).unwrap(), some());
}

#[test]
fn edited_files_are_refused_with_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.json");
    some().save(&path).unwrap();
    let saved: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let big = "99999999999999999999999";
    for (at, value, says) in [
        ("/tractable_optimizer", "2", "tractable_optimizer: is 2; this build knows 1"),
        ("/tractable_optimizer", "\"1\"", "JSON"),
        ("/optimizer/more", "1", "unknown field `more`"),
        ("/optimizer/trials/0/more", "1", "unknown field `more`"),
        ("/optimizer/region/more", "1", "unknown field `more`"),
        ("/optimizer/goal", "\"sideways\"", "unknown variant `sideways`"),
        ("/optimizer/bounds/0", "[1, -1]", "reversed"),
        ("/optimizer/bounds/0", "[-1, 1e999]", "out of range"),
        ("/optimizer/bounds", "[[-1, 1]]", "trials[0]: is not a point of the box"),
        ("/optimizer/bounds", "[]", "at least one coordinate"),
        ("/optimizer/trials/3/x", "[0.5, 2.5]", "trials[3]: is not a point of the box"),
        ("/optimizer/trials/3/x", "[0.5]", "trials[3]: is not a point of the box"),
        ("/optimizer/trials/3/x", "[0.5, 1, 1]", "trials[3]: is not a point of the box"),
        ("/optimizer/trials/3/x/0", "\"NaN\"", "JSON"),
        ("/optimizer/trials/3/x/0", "null", "JSON"),
        ("/optimizer/trials/3/y", "\"NaN\"", "JSON"),
        ("/optimizer/trials/3/y", "-", "missing field `y`"),
        ("/optimizer/trials/3/region", "1", "region: contains invalid"),
        ("/optimizer/pending/1", "[-3, 1]", "pending[1]: is not a point of the box"),
        ("/optimizer/pending_regions", "[0]", "region: contains invalid"),
        ("/optimizer/pending_regions", "[0, 1]", "region: contains invalid"),
        ("/optimizer/noise_std", "-1", "noise_std"),
        ("/optimizer/region/radius", "0", "region: contains invalid"),
        ("/optimizer/region/radius", "2", "region: contains invalid"),
        ("/optimizer/region/wins", "4294967295", "region: contains invalid"),
        ("/optimizer/region/fails", "4294967295", "region: contains invalid"),
        ("/optimizer/region/number", "18446744073709551615", "region: contains invalid"),
        ("/optimizer/region/asked", "18446744073709551615", "asked: is larger"),
        ("/optimizer/asked", "18446744073709551615", "asked: is larger"),
        ("/optimizer/seed", big, "JSON"),
        ("/optimizer/seed", "-1", "JSON"),
        ("/optimizer/seed", "-", "missing field `seed`"),
    ] {
        let (parent, name) = at.rsplit_once('/').unwrap();
        let mut file = saved.clone();
        match (file.pointer_mut(parent).unwrap(), name.parse::<usize>()) {
            (serde_json::Value::Array(list), Ok(i)) => list[i] = "HERE".into(),
            (serde_json::Value::Object(fields), _) if value == "-" => drop(fields.remove(name).unwrap()),
            (serde_json::Value::Object(fields), _) => drop(fields.insert(name.into(), "HERE".into())),
            _ => panic!("{at}"),
        }
        let text = file.to_string().replace("\"HERE\"", value);
        let e = load(folder.path(), text.as_bytes()).expect_err(at).to_string();
        assert!(e.contains(says) && e.contains("edited.json"), "{at} = {value}: {e}");
    }
}

#[test]
fn foreign_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for text in
        [&b""[..], b"[]", b"{}", b"null", b"x,y\n1,2\n", b"\xff\xfe\x00", b"{\"tractable_optimizer\": 1}"]
    {
        refuses(load(folder.path(), text), &["edited.json"]);
    }
    let deep = "[".repeat(100_000);
    refuses(load(folder.path(), deep.as_bytes()), &["edited.json"]);
    refuses(Optimizer::load(folder.path()), &["is not a file"]);
    refuses(Optimizer::load(folder.path().join("none.json")), &["none.json", "cannot open it"]);
}
