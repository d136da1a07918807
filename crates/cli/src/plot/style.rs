//! How every picture looks: colours, sizes, and text that is only ever text.

/// The colours of Okabe and Ito, which people with any common colour vision can tell apart, and grey for
/// what is only there to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    Blue,
    Vermillion,
    Green,
    Purple,
    Orange,
    Sky,
    /// Almost black; almost white on a dark page.
    Ink,
    Grey,
}

impl Color {
    /// How many curves have a colour of their own.
    pub(crate) const CYCLE: usize = 7;

    /// The colour of the `i`-th of several curves.
    pub fn nth(i: usize) -> Self {
        use Color::{Blue, Green, Ink, Orange, Purple, Sky, Vermillion};
        [Blue, Vermillion, Green, Purple, Orange, Sky, Ink][i % Self::CYCLE]
    }

    pub(super) fn css(self) -> &'static str {
        match self {
            Color::Blue => "#0072b2",
            Color::Vermillion => "#d55e00",
            Color::Green => "#009e73",
            Color::Purple => "#cc79a7",
            Color::Orange => "#e69f00",
            Color::Sky => "#56b4e9",
            Color::Ink => "#222222",
            Color::Grey => "#777777",
        }
    }

    /// So much of it, from 0 to 1, on the ground.
    pub(super) fn mixed(self, share: f64) -> String {
        let level = |i: usize| f64::from(u8::from_str_radix(&self.css()[i..i + 2], 16).unwrap_or(0));
        let [r, g, b] = [1, 3, 5].map(|i| (share * level(i) + (1.0 - share) * 255.0).round() as u8);
        format!("#{r:02x}{g:02x}{b:02x}")
    }
}

/// What a picture is drawn on, and the lines behind the curves.
pub(super) const GROUND: &str = "#ffffff";
pub(super) const GRID: &str = "#e4e4e4";
/// In an SVG on a dark page: the same picture on a dark ground. Blue is lighter than the original, which is hard to see
/// there.
pub(crate) const ON_DARK: &str = "<style>@media(prefers-color-scheme:dark){\
[fill=\"#ffffff\"]{fill:#1b1b1d}[fill=\"#222222\"]{fill:#e6e6e6}[stroke=\"#222222\"]{stroke:#e6e6e6}\
[stroke=\"#e4e4e4\"]{stroke:#37373a}[fill=\"#777777\"]{fill:#9a9a9a}[stroke=\"#777777\"]{stroke:#9a9a9a}\
[fill=\"#0072b2\"]{fill:#4aa3df}[stroke=\"#0072b2\"]{stroke:#4aa3df}}</style>";

/// What an SVG asks the viewer for; the PNG has the first of them inside.
pub(super) const FONT: &str = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";

// Font sizes in pixels of the SVG; the PNG has twice as many.
pub(super) const TITLE: u32 = 18;
pub(super) const PANEL_TITLE: u32 = 14;
pub(super) const LABEL: u32 = 13;
pub(super) const SMALL: u32 = 12;

/// Pixels of the PNG for one of the SVG.
pub(super) const PNG_SCALE: f32 = 2.0;

pub(super) const LINE_WIDTH: f64 = 2.0;
pub(super) const MARKER_WIDTH: f64 = 1.3;
pub(super) const POINT_RADIUS: f64 = 3.2;
pub(super) const BAND_OPACITY: f64 = 0.22;
/// A dash and its gap, and the length of both.
pub(super) const DASHES: &str = "6 7";
pub(super) const DASH: f64 = 13.0;

/// Distance from one line of text to the next.
pub(super) fn line_height(size: u32) -> f64 {
    f64::from(size) * 1.4
}

/// Width of a text, good to some percent: enough to keep texts apart.
pub(super) fn text_width(text: &str, size: u32) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.32,
        '(' | ')' | 'f' | 't' | 'r' | '-' | '/' => 0.41,
        'm' | 'M' | 'w' | 'W' | '@' | '%' => 0.95,
        // Scripts of wide characters are about square.
        c if c >= '\u{1100}' => 1.05,
        _ => 0.66,
    };
    text.chars().map(em).sum::<f64>() * f64::from(size)
}

/// The text, or as much of its beginning as is no wider than `width`, with an ellipsis.
pub(super) fn fitted(text: &str, size: u32, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.into();
    }
    let room = width - text_width("…", size);
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if text_width(&kept, size) > room {
            kept.pop();
            break;
        }
    }
    kept.trim_end().to_string() + "…"
}

/// Lines no wider than `width`, broken at spaces.
pub(super) fn wrapped(text: &str, size: u32, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(word, size) + 4.0 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(fitted(word, size, width)),
        }
    }
    lines
}

/// The text as the drawing library takes it for itself: `$...$` would be a formula, and characters that no
/// XML file may hold would spoil the SVG. It escapes `<`, `&` and quotes.
pub(super) fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '$' => safe.push_str("\\$"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_or_broken_to_their_width() {
        let long = "the quick brown fox jumps over the lazy dog";
        let cut = fitted(long, 12, 100.0);
        assert!(cut.ends_with('…') && text_width(&cut, 12) <= 100.0, "{cut}");
        assert_eq!(fitted("short", 12, 100.0), "short");
        let lines = wrapped(long, 12, 120.0);
        assert!(lines.len() > 2 && lines.iter().all(|l| text_width(l, 12) <= 120.0), "{lines:?}");
        assert_eq!(lines.join(" "), long);
        assert!(wrapped("", 12, 100.0).is_empty());
    }

    #[test]
    fn curves_take_different_colours() {
        let mut paints: Vec<_> = (0..Color::CYCLE).map(|i| Color::nth(i).css()).collect();
        paints.sort_unstable();
        paints.dedup();
        assert_eq!(paints.len(), Color::CYCLE);
    }

    /// What a page replaces is what pictures are drawn with.
    #[test]
    fn the_dark_style_names_our_colours() {
        for color in [GROUND, GRID, Color::Ink.css(), Color::Grey.css(), Color::Blue.css()] {
            assert!(ON_DARK.contains(&format!("\"{color}\"]")), "{color}");
        }
    }
}
