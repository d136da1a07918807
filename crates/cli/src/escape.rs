//! Text from files as a terminal may show it: nothing in it moves the cursor, changes colours or turns the direction of reading.

use std::borrow::Cow;
use std::io::{self, Write};

/// Characters that a terminal obeys instead of showing, and marks that make text read as something else.
fn obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&bad) {
        return text.into();
    }
    let show = |c: char| if bad(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(show).collect::<String>().into()
}

/// A name, a label or whatever else is one word or line: `\u{1b}`, `\n` in place of what is obeyed.
pub(crate) fn name(text: &str) -> Cow<'_, str> {
    escaped(text, obeyed)
}

/// Several lines, whose ends stay.
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| obeyed(c) && c != '\n')
}

/// JSON, in which strings hold some of these as they are: `\u009b` in their place, which reads back as the same.
pub(crate) fn json(text: String) -> String {
    if !text.contains(obeyed) {
        return text;
    }
    let show = |c: char| if obeyed(c) { format!("\\u{:04x}", c as u32) } else { c.to_string() };
    text.chars().map(show).collect()
}

/// Shows whole texts on a terminal as [`lines`].
pub(crate) struct Shown<W>(pub(crate) W);

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(lines(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}]0;title\u{7}\u{9b}2Jb\nc\u{202e}\r é";

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        assert_eq!(name(HOSTILE), r"a\u{1b}]0;title\u{7}\u{9b}2Jb\nc\u{202e}\r é");
        assert_eq!(lines(HOSTILE), "a\\u{1b}]0;title\\u{7}\\u{9b}2Jb\nc\\u{202e}\\r é");
        assert!(matches!(name("plain é ±"), Cow::Borrowed(_)));
        let mut shown = Shown(Vec::new());
        shown.write_all(b"\x1b[2J,1\n").unwrap();
        assert_eq!(shown.0, b"\\u{1b}[2J,1\n");
    }

    #[test]
    fn json_reads_back_as_the_same() {
        let text = json(serde_json::to_string(HOSTILE).unwrap());
        assert!(!text.contains(obeyed), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), HOSTILE);
    }
}
