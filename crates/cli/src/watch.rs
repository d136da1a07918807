//! The live page: one thread follows a run folder, another serves the page to
//! browsers on this machine.
//!
//! The attack surface is small: four paths, no file names, no bodies, one request per connection. Memory, time and the number of
//! clients are bounded, and no client has its own thread.

mod connection;
mod request;
mod server;

pub(crate) use server::serve;

use crate::page::{Page, Section};
use crate::report::{Exit, Outcome};
use crate::view;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How the page changes itself.
const SCRIPT: &str = include_str!("watch/live.js");
/// Between two looks at the folder.
const LOOK: Duration = Duration::from_millis(300);
/// Writing the page may take this share of one core: the run has the rest.
const SHARE: u32 = 10;

/// The page as it is now, in both forms that are sent.
pub(crate) struct Pages {
    now: Mutex<Arc<PageVersion>>,
}

/// A page and its number.
pub(crate) struct PageVersion {
    number: u64,
    /// The whole page.
    html: Arc<[u8]>,
    /// What a page that is open is told.
    event: Arc<[u8]>,
}

impl Pages {
    pub(crate) fn new() -> Self {
        let page = waiting("The first look at the run is not done yet.");
        Pages { now: Mutex::new(Arc::new(PageVersion::of(0, &page))) }
    }

    fn now(&self) -> Arc<PageVersion> {
        self.now.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    fn put(&self, page: &Page) {
        let mut now = self.now.lock().unwrap_or_else(|e| e.into_inner());
        let version = PageVersion::of(now.number + 1, page);
        if version.html != now.html {
            *now = Arc::new(version);
        }
    }
}

impl PageVersion {
    fn of(number: u64, page: &Page) -> Self {
        // One line of data a line of text: a field of an event ends with its line.
        let mut event = format!("id: {number}\n");
        for line in page.main().lines() {
            event += &format!("data: {line}\n");
        }
        event.push('\n');
        PageVersion { number, html: page.live_html().into_bytes().into(), event: event.into_bytes().into() }
    }
}

fn waiting(why: &str) -> Page {
    let section = Section::new("waiting", "Nothing to show yet").text(why);
    Page { title: "Waiting for the run".into(), lead: String::new(), sections: vec![section] }
}

/// Writes the page anew whenever the folder has changed, until it is time to `end`.
pub(crate) fn follow(run: &Path, pages: &Pages, end: impl Fn() -> bool) {
    let (mut seen, mut rest) = (None, Duration::ZERO);
    while !end() {
        let print = view::fingerprint(run);
        if seen != Some(print) {
            seen = Some(print);
            let began = Instant::now();
            let page = view::read(run).and_then(|v| v.page(Some("This page follows the run.")));
            pages.put(&said(page));
            rest = began.elapsed() * SHARE;
        }
        let until = Instant::now() + rest.max(LOOK);
        rest = Duration::ZERO;
        while Instant::now() < until && !end() {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn said(page: Outcome<Page>) -> Page {
    match page {
        Ok(page) => page,
        Err(Exit::Error(why) | Exit::CheckFailed(why) | Exit::Interrupted(why)) => waiting(&why),
        Err(Exit::PipeClosed) => waiting(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_the_page_line_by_line() {
        let page = waiting("a <b>\nsecond line\r\nthird");
        let version = PageVersion::of(7, &page);
        let event = String::from_utf8(version.event.to_vec()).unwrap();
        assert!(event.starts_with("id: 7\ndata: <header") && event.ends_with("\n\n"));
        assert!(event.lines().filter(|l| !l.is_empty()).all(|l| l.starts_with("data: ") || l == "id: 7"));
        assert_eq!(event.matches("\n\n").count(), 1);
        assert!(!event.contains('\r') && event.contains("a &lt;b&gt;"));
    }

    #[test]
    fn only_what_differs_is_a_new_version() {
        let pages = Pages::new();
        pages.put(&waiting("x"));
        assert_eq!(pages.now().number, 1);
        pages.put(&waiting("x"));
        assert_eq!(pages.now().number, 1);
        pages.put(&waiting("y"));
        assert_eq!(pages.now().number, 2);
    }
}
