//! Help, manual pages, completions, mistyped words, colours, and how much is said.

use crate::run::Place;

#[test]
fn help_of_a_verb_teaches_by_example() {
    let place = Place::new();
    for verb in [&["train"][..], &["optimize"], &["rl", "play"], &["man"]] {
        let said = place.ok(&[&["help"], verb].concat());
        assert!(
            said.contains("\nExample") && said.contains(&format!("  tractable {}", verb.join(" "))),
            "{said}"
        );
        assert!(
            said.contains("--quiet") && said.contains("--verbose") && said.contains("--threads"),
            "{said}"
        );
        // Two blank-separated columns: nothing is cut off, and no line is beyond belief.
        assert!(said.lines().all(|l| l.chars().count() <= 160), "{said}");
    }
    assert_eq!(place.ok(&["help", "train"]), place.ok(&["train", "--help"]));
}

#[test]
fn mistyped_words_are_put_right() {
    let place = Place::new();
    place.refused(&["trian", "data.csv"], &["trian", "'train'"]);
    place.refused(&["train", "data.csv", "--tagret", "y"], &["--tagret", "--target"]);
    place.refused(&["rl", "pendulm"], &["pendulum"]);
    place.refused(&["--quite", "demo"], &["--quiet"]);
    place.refused(&["--quiet", "--verbose", "inspect", "x"], &["--quiet", "--verbose"]);
}

#[test]
fn every_verb_has_a_manual_page() {
    let place = Place::new();
    place.ok(&["man", "pages/man1"]);
    let mut pages: Vec<String> = std::fs::read_dir(place.path("pages/man1"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    for verb in ["tractable.1", "tractable-train.1", "tractable-rl-play.1", "tractable-data-fetch.1"] {
        assert!(pages.iter().any(|p| p == verb), "{verb}: {pages:?}");
    }
    for page in &pages {
        let text = place.text(&format!("pages/man1/{page}"));
        assert!(
            text.contains(".TH ") && text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"),
            "{page}"
        );
    }
    let train = place.text("pages/man1/tractable-train.1");
    // As roff writes it, with its hyphens escaped.
    assert!(train.contains("tractable train housing.csv \\-\\-target price"), "{train}");
    place.refused(&["man", "data.csv"], &["data.csv"]);
}

#[test]
fn completions_know_verbs_and_flags() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.ok(&["completions", shell]);
        for word in ["evaluate", "half-cheetah", "verbose", "as-published"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
}

#[test]
fn no_color_is_obeyed() {
    let place = Place::new();
    let said = |no_color: bool| {
        let mut command = place.command(&["--help"]);
        command.env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR");
        if no_color {
            command.env("NO_COLOR", "1");
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(
        said(false).contains('\u{1b}'),
        "colours that are asked for are there, so the next line can fail"
    );
    assert!(!said(true).contains('\u{1b}'));
}

#[test]
fn how_much_is_said() {
    let place = Place::new();
    let train = |more: &[&str], out: &str| {
        let args = ["train", "data.csv", "--target", "y", "--epochs", "6", "--hidden", "8", "-o", out];
        let ran = place.run(&[more, &args].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        (ran.out.replace(out, "RUN"), ran.err)
    };
    let (usual, notes) = train(&[], "run-a");
    let (quiet, silence) = train(&["--quiet"], "run-b");
    let (verbose, details) = train(&["-v"], "run-c");
    // Results are the same; stderr is not.
    assert!(usual == quiet && usual == verbose, "{usual}");
    assert!(silence.is_empty() && notes.contains("54 rows"), "{notes}");
    for part in ["tractable 0", "threads", "epoch 1/6", "epoch 2/6", "epoch 6/6", "wrote run-c/", " s\n"] {
        assert!(details.contains(part), "{part}: {details}");
    }
    // Before the verb or after it, on verbs that have nothing to hide too.
    assert_eq!(place.run(&["inspect", "run-a", "-q"]).err, "");
    assert_eq!(place.run(&["-q", "inspect", "run-a"]).err, "");
    // An error is said however quiet we are.
    assert!(place.run(&["-q", "optimize", "--objective", "x +"]).err.contains("error: "));
    // Threads before the verb: the same bits.
    train(&["--threads", "1"], "run-d");
    assert_eq!(place.read("run-a/model.safetensors"), place.read("run-d/model.safetensors"));
}
