//! Runs on images: trained, resumed to the same bits, evaluated, and refused with the reason.

use crate::run::{Place, json_lines};

const SMALL: [&str; 6] = ["--net", "mlp", "--hidden", "12", "--limit", "600"];

/// An IDX file of unsigned bytes.
fn idx(sizes: &[u32], byte: u8) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, sizes.len() as u8];
    sizes.iter().for_each(|s| bytes.extend(s.to_be_bytes()));
    bytes.resize(bytes.len() + sizes.iter().product::<u32>() as usize, byte);
    bytes
}

/// A folder with the form of MNIST: images of a given side, all of one class.
pub(crate) fn fake_mnist(place: &Place, folder: &str, side: u32, label: u8) {
    std::fs::create_dir_all(place.path(folder)).unwrap();
    for part in ["train", "t10k"] {
        let write = |name: &str, bytes| std::fs::write(place.path(folder).join(name), bytes).unwrap();
        write(&format!("{part}-images-idx3-ubyte"), idx(&[20, side, side], 7));
        write(&format!("{part}-labels-idx1-ubyte"), idx(&[20], label));
    }
}

#[test]
fn a_resumed_run_on_images_ends_with_the_same_bits() {
    for extra in [&["--seed", "3"][..], &["--augment", "--scaling", "standardize"], &["--noise-std", "0.4"]] {
        let place = Place::new();
        let train = |out: &str, epochs: &str| {
            let args = ["train", "digits", "-o", out, "--epochs", epochs];
            place.ok(&[&args[..], &SMALL, extra].concat());
        };
        train("whole", "3");
        train("parts", "1");
        place.ok(&["train", "--resume", "-o", "parts", "--epochs", "3"]);
        assert!(place.read("whole/model.safetensors") == place.read("parts/model.safetensors"), "{extra:?}");
        assert_eq!(place.text("whole/config.json"), place.text("parts/config.json"));
        let scores = |run: &str| -> Vec<_> {
            let lines = json_lines(&place.text(&format!("{run}/metrics.jsonl")));
            let epochs = lines.into_iter().filter(|l| l["type"] == "epoch");
            epochs.map(|l| (l["epoch"].clone(), l["test_error"].clone(), l["test_nll"].clone())).collect()
        };
        assert_eq!(scores("whole").len(), 3);
        assert_eq!(scores("whole"), scores("parts"));
        assert_eq!(place.text("parts/curves.csv").lines().count(), 4);
    }
}

/// A softmax has no noise, and residual networks have a softmax.
#[test]
fn images_with_a_softmax() {
    let place = Place::new();
    let flags = "--net mlp --hidden 40 --limit 2000 --epochs 2 --calibration 0.02 --head softmax -o soft";
    let lines = place.json(&[&["train", "digits"], &flags.split(' ').collect::<Vec<_>>()[..]].concat());
    let last = lines.last().unwrap();
    assert!(last["error_rate"].as_f64().unwrap() < 0.3, "{last}");
    let config: serde_json::Value = serde_json::from_str(&place.text("soft/config.json")).unwrap();
    let settings = &config["settings"];
    assert!(settings["head"] == "softmax" && settings["noise_start"].is_null(), "{settings}");
    assert_eq!(lines[1]["noise_std"], 0.0);
    assert!(!place.ok(&["inspect", "soft"]).contains("noise"));
    let again = place.json(&["train", "digits", "--resume", "--epochs", "3", "-o", "soft"]);
    assert!(again.iter().any(|l| l["type"] == "epoch" && l["epoch"] == 3), "{again:?}");

    let flags = "--net resnet20 --limit 32 --epochs 1 -o small";
    let lines = place.json(&[&["train", "digits"], &flags.split(' ').collect::<Vec<_>>()[..]].concat());
    assert_eq!(lines[0]["parameters"], 272_474 - 2 * 9 * 16, "one channel instead of three");
    let settings = &lines[0]["settings"];
    assert!(settings["head"] == "softmax" && settings["update_rule"]["paced"]["pace"] == 1000, "{settings}");
    place.json(&["attack", "small", "--images", "1", "--iterations", "1", "-o", "attacked"]);
}

#[test]
fn images_are_learned_and_evaluated() {
    let place = Place::new();
    let flags = "--net mlp --hidden 40 --limit 2000 --epochs 3 --noise-std 0.5 --calibration 0.02";
    let flags: Vec<&str> = flags.split(' ').collect();
    let lines = place.json(&[&["train", "digits", "-o", "run"], &flags[..]].concat());
    let kinds: Vec<_> = lines.iter().map(|l| l["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["start", "epoch", "epoch", "epoch", "end", "uncalibrated", "test"]);
    let error = |l: &serde_json::Value, name: &str| l[name].as_f64().unwrap();
    assert!(error(&lines[3], "test_error") < error(&lines[1], "test_error"));
    assert!(error(&lines[5], "error_rate") < 0.25, "{}", lines[5]);
    assert!(lines[1]["images_per_second"].as_f64().unwrap() > 0.0);

    // Blank images are not digits: the variance of the classes knows.
    fake_mnist(&place, "blank", 28, 1);
    let said = place.json(&["evaluate", "run", "--ood", "mnist", "--ood-data", "blank"]);
    assert_eq!(said[0]["images"], 2000);
    assert_eq!(said[0]["error_rate"], lines[5]["error_rate"]);
    assert!(said[0]["variance_model"].as_f64().unwrap() > 0.0);
    assert!(said[1]["auroc"].as_f64().unwrap() > 0.8, "{}", said[1]);
    // Another set's test images, and limits that do not hold.
    let other = place.json(&["evaluate", "run", "mnist", "--data", "blank"]);
    assert_eq!(other[0]["images"], 20);
    let ran = place.run(&["evaluate", "run", "--max-error", "0.0001"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(place.json(&["inspect", "run"])[0]["epochs"] == 3);
}

#[test]
fn what_cannot_be_trained_on_is_named() {
    let place = Place::new();
    fake_mnist(&place, "small", 14, 1);
    fake_mnist(&place, "labels", 28, 10);
    fake_mnist(&place, "cut", 28, 1);
    let images = place.read("cut/train-images-idx3-ubyte");
    std::fs::write(place.path("cut/train-images-idx3-ubyte"), &images[..5000]).unwrap();
    std::fs::create_dir(place.path("empty")).unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["mnits"], &["mnits: no such file", "did you mean `mnist`?"]),
        (&["cifar-10"], &["did you mean `cifar10`?"]),
        (&["imagenet"], &["is not an image set (mnist, fashion-mnist, cifar10, digits)"]),
        (
            &["mnist", "--data", "nowhere"],
            &["mnist: no such folder: ", "nowhere", "tractable data fetch mnist"],
        ),
        (&["mnist", "--data", "empty"], &["empty: neither train-images-idx3-ubyte nor"]),
        (&["mnist", "--data", "small"], &["expected images of 1x28x28, got 1x14x14"]),
        (&["mnist", "--data", "labels"], &["label 10 of image 0 is not one of 10 classes"]),
        (&["mnist", "--data", "cut"], &["train-images-idx3-ubyte: truncated", "download it again"]),
        (&["digits", "--limit", "0"], &["--limit: must be at least 1"]),
        (&["digits", "--epochs", "0"], &["--epochs: must be at least 1"]),
        (&["digits", "--noise-std", "-1"], &["-1 is not a positive number"]),
        (&["digits", "--gain", "inf"], &["--gain: not a finite number"]),
        (&["digits", "--hidden", "5"], &["--hidden: applies only to --net mlp"]),
        (&["digits", "--net", "resnet"], &["--net"]),
        (&["digits", "--net", "resnet20", "--noise-start", "1"], &["--noise-start: a softmax has no noise"]),
        (
            &["digits", "--head", "softmax", "--settle-after", "1"],
            &["--settle-after: a softmax has no noise"],
        ),
        (&["digits", "--head", "most"], &["--head"]),
        (&["digits", "--target", "y"], &["--target: applies to CSV files"]),
        (&["digits", "--no-standardize"], &["--no-standardize: applies to CSV files"]),
        (&["data.csv", "--target", "y", "--augment"], &["--augment: applies to image sets"]),
        (&["data.csv", "--target", "y", "--data", "x"], &["--data: applies to image sets"]),
    ];
    for (args, says) in cases {
        place.refused(&[&["train"], *args, &["-o", "run"]].concat(), says);
    }
}

#[test]
fn a_run_on_images_keeps_its_settings_and_images() {
    let place = Place::new();
    fake_mnist(&place, "blank", 28, 1);
    let train = ["train", "mnist", "--data", "blank", "-o", "run", "--epochs", "1", "--net", "mlp"];
    place.ok(&train);
    place.refused(&train, &["run: already exists"]);
    let resume = ["train", "--resume", "-o", "run", "--epochs", "2"];
    let with = |more: &[&'static str]| [&resume[..], more].concat();
    place.refused(&with(&["--batch", "4"]), &["the run has batch 16, not 4"]);
    place.refused(&with(&["--augment"]), &["the run has augment [], not [\"usual\"]"]);
    place.refused(&["train", "digits", "--resume", "-o", "run"], &["the run is on mnist"]);
    place.refused(&["train", "--resume", "-o", "run", "--epochs", "0"], &["--epochs"]);
    let path = place.path("blank/train-images-idx3-ubyte");
    let good = std::fs::read(&path).unwrap();
    let mut other = good.clone();
    *other.last_mut().unwrap() ^= 1;
    std::fs::write(&path, other).unwrap();
    place.refused(&resume, &["have changed since the run started"]);
    std::fs::write(&path, good).unwrap();
    place.ok(&resume);
    // Other images than the model's, and nothing said.
    fake_mnist(&place, "small", 14, 1);
    place.refused(&["evaluate", "run", "mnist", "--data", "small"], &["expected images of 784, got 1x14x14"]);
    place.refused(&["evaluate", "run", "--ood", "cifar11"], &["cifar11", "did you mean `cifar10`?"]);
    place.refused(&["evaluate", "run", "mnits"], &["did you mean `mnist`?"]);
    place.refused(&["evaluate", "run/model.safetensors"], &["specify a CSV file"]);
    place.refused(&["evaluate", "run", "data.csv", "--ood", "digits"], &["--ood: applies to images"]);
}

#[test]
fn a_fetch_that_cannot_work_leaves_nothing() {
    let place = Place::new();
    place.refused(&["data", "fetch", "digits", "--to", "d"], &["digits needs no files"]);
    place.refused(&["data", "fetch", "mnits", "--to", "d"], &["did you mean `mnist`?"]);
    for (set, file) in [("mnist", "train-images-idx3-ubyte.gz"), ("cifar10", "cifar-10-binary.tar.gz")] {
        let args = ["data", "fetch", set, "--to", "d", "--mirror", "http://127.0.0.1:9/sets", "-q"];
        let ran = place.run(&args);
        assert_eq!((ran.code, &ran.out[..]), (2, ""), "{ran:?}");
        for part in [&format!("(1) http://127.0.0.1:9/sets/{file}: ")[..], "By hand: ", " into d/"] {
            assert!(ran.err.contains(part), "{part}: {ran:?}");
        }
        assert!(!place.path("d").join(set).exists());
    }
    place.refused(&["train", "mnist", "--data", "d", "-o", "run"], &["tractable data fetch mnist"]);
}

#[test]
fn other_classes_are_not_scored() {
    let place = Place::new();
    place.ok(&[&["train", "digits", "--epochs", "1", "-o", "run"], &SMALL[..]].concat());
    fake_mnist(&place, "clothes", 28, 1);
    let evaluate = ["evaluate", "run", "fashion-mnist", "--data", "clothes"];
    place.refused(&evaluate, &["its classes differ from the model's", "--ood fashion-mnist"]);
    // A folder of the set's name is no reason to read it as a table.
    std::fs::create_dir(place.path("digits")).unwrap();
    place.ok(&[&["train", "digits", "--epochs", "1", "-o", "again"], &SMALL[..]].concat());
    assert!(place.read("run/model.safetensors") == place.read("again/model.safetensors"));
}
