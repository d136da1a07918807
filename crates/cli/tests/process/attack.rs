//! Attacks on a run on images: numbers, files, pictures, a second network, and what is refused.

use crate::run::{Place, json_lines};

/// With runs of small networks that know digits.
fn trained(runs: &[&str]) -> Place {
    let place = Place::new();
    for (name, seed) in runs.iter().zip(["0", "1"]) {
        let net =
            ["--net", "mlp", "--hidden", "30", "--limit", "1500", "--epochs", "3", "--noise-std", "0.3"];
        place.ok(&[&["train", "digits", "-q", "-o", name, "--seed", seed], &net[..]].concat());
    }
    place
}

#[test]
fn digits_are_attacked() {
    let place = trained(&["run", "other"]);
    let all = ["attack", "run", "--images", "20", "--target", "all", "--prior-std", "0.06"];
    let more = ["--transfer", "other", "--curve", "linf:0.3", "-o", "out"];
    let lines = place.json(&[&all[..], &more].concat());
    let kinds: Vec<&str> = lines.iter().map(|l| l["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..2], ["attack", "transfer"]);
    assert_eq!(kinds[2..], ["curve"; 8]);
    let number = |line: usize, name: &str| lines[line][name].as_f64().unwrap();
    assert_eq!(lines[0]["attacks"], 180);
    assert!(number(0, "success") > 0.9, "{}", lines[0]);
    assert!(number(0, "changed") >= number(0, "success") && number(1, "changed") >= number(1, "success"));
    assert!(lines[0]["l2"]["mean"].as_f64().unwrap() > 0.0);
    assert!(number(9, "pgd") > number(2, "pgd") && number(9, "inference") > number(2, "inference"));
    for name in ["grid", "strip", "curves"].iter().flat_map(|n| [format!("{n}.svg"), format!("{n}.png")]) {
        assert!(place.read(&format!("out/{name}")).len() > 1000, "{name}");
    }
    let records = json_lines(&place.text("out/attacks.jsonl"));
    assert_eq!((records.len(), &records[0]["type"]), (181, &"summary".into()));
    let won = records[1..].iter().filter(|r| r["success"] == true).count();
    assert!((won as f64 / 180.0 - number(0, "success")).abs() < 1e-12);
    assert!(records[1..].iter().all(|r| (r["success"] == true) == (r["class_after"] == r["target"])));
    assert_eq!(place.read("out/adversarial.npy").len(), 128 + 4 * 180 * 784);
    assert_eq!(std::fs::read_dir(place.path("out/png")).unwrap().count(), 100);

    // The same bits again, in text; other ways to attack.
    let said = place.ok(&[&all[..], &["-q", "-o", "again"]].concat());
    assert!(said.starts_with("digits: 20 images\n") && said.contains("median"), "{said}");
    assert_eq!(place.read("again/adversarial.npy"), place.read("out/adversarial.npy"));
    let run = |more: &[&str]| place.json(&[&["attack", "run", "--images", "20"], more].concat()).remove(0);
    let untargeted = run(&["--untargeted", "--budget", "linf:0.2", "--prior-std", "0.06"]);
    assert_eq!((&untargeted["attacks"], &untargeted["success"]), (&20.into(), &untargeted["changed"]));
    let by = |method| run(&["--method", method, "--budget", "linf:0.2"])["success"].as_f64().unwrap();
    assert!(by("pgd") > by("fgsm"));
    let one = run(&["--target", "3"])["attacks"].as_u64().unwrap();
    assert!((10..20).contains(&one), "{one}");
    assert_eq!(run(&["--target", "random"])["attacks"], 20);
    assert!(run(&["--target", "least-likely", "--stop-at", "0.9"])["success"].as_f64().is_some());
}

/// An array file of bytes.
fn npy(shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

#[test]
fn frozen_pixels_stay() {
    let place = trained(&["run"]);
    let upper: Vec<u8> = (0..784).map(|i| u8::from(i < 392)).collect();
    let write = |name: &str, file: Vec<u8>| std::fs::write(place.path(name), file).unwrap();
    write("upper.npy", npy("(28, 28)", &upper));
    write("all.npy", npy("(1, 28, 28)", &[1; 784]));
    write("small.npy", npy("(2, 2)", &[0; 4]));
    let attack = ["attack", "run", "--images", "3", "--target", "random", "-q"];
    place.ok(&[&attack[..], &["--prior-std", "0.06", "--frozen", "upper.npy", "-o", "half"]].concat());
    place.ok(&[&attack[..], &["--prior-std", "0.06", "-o", "whole"]].concat());
    place.ok(&[&attack[..], &["--iterations", "1", "--prior-std", "1e-9", "-o", "still"]].concat());
    let pixels = |name: &str| {
        let file = place.read(&format!("{name}/adversarial.npy"));
        let data = file[128..].chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
        data.collect::<Vec<f32>>()
    };
    let (half, whole, still) = (pixels("half"), pixels("whole"), pixels("still"));
    let moved = |a: &[f32], rows: std::ops::Range<usize>| {
        let image =
            |i: usize| (784 * i + rows.start..784 * i + rows.end).any(|p| (a[p] - still[p]).abs() > 1e-4);
        (0..3).any(image)
    };
    assert!(!moved(&half, 0..392) && moved(&half, 392..784) && moved(&whole, 0..392));
    for (file, why) in [("all.npy", "frozen"), ("small.npy", "[28, 28]"), ("none.npy", "none.npy")] {
        place.refused(&[&attack[..], &["--frozen", file]].concat(), &[why]);
    }
}

#[test]
fn what_cannot_be_attacked_is_named() {
    let place = trained(&["run"]);
    place.ok(&["train", "data.csv", "--target", "y", "-o", "numbers", "--epochs", "1", "-q"]);
    place.ok(&[
        "train",
        "classes.csv",
        "--target",
        "kind",
        "--classes",
        "-o",
        "kinds",
        "--epochs",
        "1",
        "-q",
    ]);
    let cases: &[(&[&str], &[&str])] = &[
        (&["run", "--iterations", "0"], &["iterations: at least one is needed"]),
        (&["run", "--prior-std", "-0.03"], &["prior standard deviation: -0.03 is not a positive number"]),
        (&["run", "--images", "0"], &["--images: must be at least 1"]),
        (&["run", "--target", "12"], &["--target: `12` is not all, random, least-likely or a class (0, 1, "]),
        (&["run", "--target", "3", "--untargeted"], &["cannot be used with"]),
        (&["run", "--budget", "0.3"], &["`0.3` is not a budget; write linf:0.1"]),
        (&["run", "--budget", "linf:-1"], &["a budget of -1 is not a positive number"]),
        (&["run", "--method", "pgd"], &["budget: gradient attacks need a budget"]),
        (&["run", "--stop-at", "1.5"], &["a probability of 1.5 is not between 0 and 1"]),
        (&["run/model.safetensors"], &["not a run on images", "--set"]),
        (&["numbers"], &["not a run on images", "--set"]),
        (&["numbers", "--set", "digits"], &["numbers: the network is a regression model"]),
        (&["kinds", "--set", "digits"], &["kinds: the network has 3 classes, but the images have 10"]),
        (&["run", "--transfer", "nowhere"], &["nowhere: cannot"]),
        (&["run", "--data", "nowhere", "--set", "mnist"], &["mnist: no such folder"]),
        (&["run", "-o", "numbers"], &["numbers: contains a run of `tractable train`"]),
        (&["run", "-o", "new", "--iterations", "0"], &["iterations"]),
    ];
    for (args, says) in cases {
        place.refused(&[&["attack"], *args].concat(), says);
    }
}
