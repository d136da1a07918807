//! Pages in a real browser: nothing missing, nothing from outside, readable on a phone; and one that follows a run changes.
//!
//! `cargo test -p tractable-cli --test process browser:: -- --include-ignored` where there is a Chromium. With
//! `TRACTABLE_SCREENS=DIR` it leaves pictures of the pages there.

use crate::chromium::Browser;
use crate::follow::{Following, epoch};
use crate::run::Place;

/// A page on a phone and on a desk, in light and in dark: all pictures are there, and it does not scroll sideways.
fn looked_at(browser: &mut Browser, url: &str, name: &str, pictures: usize) {
    for (width, phone, scheme) in [
        (1200, false, "light"),
        (1200, false, "dark"),
        (400, true, "light"),
        (360, true, "light"),
        (360, true, "dark"),
    ] {
        browser.screen(width, phone, scheme);
        browser.open(url);
        browser.until("[...document.images].every(i => i.complete)");
        browser.value("document.querySelectorAll('details').forEach(d => { d.open = true; })");
        let state = browser.value(
            "({ images: document.images.length,
                missing: [...document.images].filter(i => i.naturalWidth == 0).length,
                wide: document.documentElement.scrollWidth > document.documentElement.clientWidth, screen: innerWidth,
                out: [...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll')
                    && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + ' ' + e.className),
                inner: [...document.querySelectorAll('.scroll')].filter(e => innerWidth <= 400
                    && e.scrollWidth > e.clientWidth + 1).map(e => e.innerText.slice(0, 40)),
                small: [...document.querySelectorAll('p, dd, dt, td, th, pre, figcaption')]
                    .filter(e => parseFloat(getComputedStyle(e).fontSize) < 12).length,
                text: document.body.innerText.length,
                ground: getComputedStyle(document.documentElement).backgroundColor })",
        );
        assert_eq!((&state["images"], &state["missing"]), (&pictures.into(), &0.into()), "{name}: {state}");
        assert_eq!((&state["wide"], &state["screen"]), (&false.into(), &width.into()), "{name}: {state}");
        assert_eq!((&state["out"], &state["small"]), (&serde_json::json!([]), &0.into()), "{name}: {state}");
        assert_eq!(state["inner"], serde_json::json!([]), "{name} scrolls sideways inside: {state}");
        assert!(state["text"].as_u64().unwrap() > 200, "{name}: {state}");
        let ground = if scheme == "dark" { "rgb(27, 27, 29)" } else { "rgb(255, 255, 255)" };
        assert_eq!(state["ground"], ground, "{name}");
        browser.picture(&format!("{name}-{width}-{scheme}.png"));
    }
}

#[test]
#[ignore = "needs chromium"]
fn the_demo_and_reports_are_whole() {
    let place = Place::new();
    place.ok(&["demo", "--quick", "-q"]);
    place.ok(&[
        "train",
        "data.csv",
        "--target",
        "y",
        "--epochs",
        "4",
        "--validation",
        "0.2",
        "-o",
        "run",
        "-q",
    ]);
    place.ok(&[
        "train", "digits", "--net", "mlp", "--hidden", "12", "--limit", "600", "--epochs", "2", "-q", "-o",
        "images",
    ]);
    place.ok(&["attack", "images", "--images", "20", "-q", "-o", "attacked"]);
    place.ok(&[
        "optimize",
        "--objective",
        "x^2",
        "--bounds",
        "-1:2",
        "--evaluations",
        "12",
        "-q",
        "-o",
        "found",
    ]);
    place.ok(&["rl", "pendulum", "--steps", "3e3", "--seeds", "2", "-q", "-o", "agents"]);
    let mut browser = Browser::new();
    let url = |name: &str| format!("file://{}", place.path(name).canonicalize().unwrap().display());
    looked_at(&mut browser, &url("demo/index.html"), "demo", 7);
    for (run, pictures) in [("run", 7), ("images", 5), ("attacked", 4), ("found", 2), ("agents", 4)] {
        place.ok(&["report", run]);
        looked_at(&mut browser, &url(&format!("{run}/report.html")), run, pictures);
    }
    assert_eq!(browser.complaints(&["file://"]), [""; 0]);
}

#[test]
#[ignore = "needs chromium"]
fn a_page_that_follows_a_run_changes_by_itself() {
    let place = Place::trained();
    let following = Following::new(&place, &["run"]);
    let url = format!("file://{}", place.path("run/report.html").canonicalize().unwrap().display());
    let mut browser = Browser::new();
    // What the model shows of itself comes once it stays the same.
    browser.open(&url);
    browser.until("document.images.length == 6");
    looked_at(&mut browser, &url, "follow", 6);
    for n in 6..8 {
        epoch(&place, n);
        browser.until(&format!("document.querySelector('#numbers dd')?.textContent == '{n} of 5'"));
    }
    following.end();
    // The last page stays as it is.
    browser.until("!document.querySelector('meta[http-equiv]')");
    assert_eq!(browser.complaints(&["file://"]), [""; 0]);
}
