//! Pages: self-contained HTML files that need no network and no script, in light and dark mode.
//!
//! All content is text: every string is escaped here, in one place, whatever file it came from.

mod picture;

pub(crate) use picture::Picture;

use crate::report::{Exit, Outcome};
use std::fmt::Write;
use std::path::Path;

/// How a page looks.
const STYLE: &str = include_str!("page/style.css");
/// Identifies our own pages before overwriting them.
const GENERATOR: &str = "<meta name=\"generator\" content=\"tractable";

/// Loads a page again after so many seconds.
const AGAIN: &str = "<meta http-equiv=\"refresh\" content=\"2\">\n";

/// A page: a title, what it is about, and sections.
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) lead: String,
    pub(crate) sections: Vec<Section>,
    /// A run in progress: the browser loads the page again and again.
    pub(crate) follows: bool,
}

/// A part of a page under its heading.
pub(crate) struct Section {
    id: String,
    body: String,
}

/// The text as HTML shows it, in an element or in a quoted attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(c),
            // Marks that turn the direction of text can make it read as something else.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => safe.push('\u{fffd}'),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

impl Section {
    /// `id` is what a link to the section ends in, a plain word.
    pub(crate) fn new(id: &str, title: &str) -> Self {
        Section { id: id.into(), body: format!("<h2>{}</h2>\n", escaped(title)) }
    }

    fn with(mut self, html: &str) -> Self {
        self.body += html;
        self
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.with(&format!("<p>{}</p>\n", escaped(text)))
    }

    /// What a reader should not overlook.
    pub(crate) fn note(self, text: &str) -> Self {
        self.with(&format!("<p class=\"note\">{}</p>\n", escaped(text)))
    }

    /// Key numbers, large: names and values.
    pub(crate) fn facts<A: AsRef<str>, B: AsRef<str>>(self, facts: &[(A, B)]) -> Self {
        let mut html = String::from("<dl class=\"facts\">\n");
        for (name, value) in facts {
            let (name, value) = (escaped(name.as_ref()), escaped(value.as_ref()));
            // Writing to a string does not fail.
            let _ = writeln!(html, "<div><dt>{name}</dt><dd>{value}</dd></div>");
        }
        self.with(&(html + "</dl>\n"))
    }

    /// Rows under a head; scrolls by itself where it is wider than the page.
    pub(crate) fn table(self, head: &[&str], rows: &[Vec<String>]) -> Self {
        let cell = |tag: &str, text: &str| format!("<{tag}>{}</{tag}>", escaped(text));
        let row = |row: &Vec<String>| {
            format!("<tr>{}</tr>\n", row.iter().map(|c| cell("td", c)).collect::<String>())
        };
        let rows: String = rows.iter().map(row).collect();
        let head = format!("<tr>{}</tr>\n", head.iter().map(|c| cell("th", c)).collect::<String>());
        self.with(&format!(
            "<div class=\"scroll\"><table>\n<thead>{head}</thead>\n<tbody>{rows}</tbody></table></div>\n"
        ))
    }

    /// Names and values behind a line that opens them.
    pub(crate) fn folded(self, summary: &str, pairs: &[(String, String)]) -> Self {
        let rows: String = pairs
            .iter()
            .map(|(name, value)| format!("<tr><td>{}</td><td>{}</td></tr>\n", escaped(name), escaped(value)))
            .collect();
        self.with(&format!(
            "<details><summary>{}</summary><table class=\"pairs\">\n{rows}</table></details>\n",
            escaped(summary)
        ))
    }

    /// Something to type.
    pub(crate) fn code(self, code: &str) -> Self {
        self.with(&format!("<pre><code>{}</code></pre>\n", escaped(code)))
    }

    /// Pictures side by side, where there is room.
    pub(crate) fn pictures(self, pictures: &[Picture]) -> Self {
        let all: String = pictures.iter().map(Picture::html).collect();
        self.with(&format!("<div class=\"figures\">\n{all}</div>\n"))
    }
}

impl Page {
    /// The whole page in one file.
    pub(crate) fn html(&self) -> String {
        let mut main = format!(
            "<header id=\"head\">\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n</header>\n",
            escaped(&self.title),
            escaped(&self.lead)
        );
        for section in &self.sections {
            let _ = write!(main, "<section id=\"{}\">\n{}</section>\n", escaped(&section.id), section.body);
        }
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             {GENERATOR} {version}\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <link rel=\"icon\" href=\"data:,\">\n{again}<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n<main id=\"main\">\n{main}</main>\n\
             <footer>Made by tractable {version}: Bayesian neural networks with closed-form inference.</footer>\n\
             </body>\n</html>\n",
            version = env!("CARGO_PKG_VERSION"),
            again = if self.follows { AGAIN } else { "" },
            title = escaped(&self.title),
        )
    }
}

/// Refuses to write over a file that somebody else made.
pub(crate) fn check_overwrite(path: &Path) -> Outcome {
    use std::io::Read;
    let mut start = Vec::new();
    match std::fs::File::open(path).and_then(|f| f.take(4096).read_to_end(&mut start)) {
        Ok(0) | Err(_) => Ok(()),
        Ok(_) if String::from_utf8_lossy(&start).contains(GENERATOR) => Ok(()),
        Ok(_) => Err(Exit::Error(format!(
            "{}: already exists and was not written by this program; choose another file with -o",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKUP: &str = "<script>alert(\"1\")</script> & 'q' \u{0}\u{202e} </style></title> -->";

    #[test]
    fn text_is_never_markup() {
        let picture = Picture::new(MARKUP, "<svg xmlns=\"http://www.w3.org/2000/svg\"/>".into());
        let section = Section::new("all", MARKUP)
            .text(MARKUP)
            .note(MARKUP)
            .facts(&[(MARKUP, MARKUP)])
            .table(&[MARKUP], &[vec![MARKUP.into()]])
            .folded(MARKUP, &[(MARKUP.into(), MARKUP.into())])
            .code(MARKUP)
            .pictures(&[picture]);
        let page = Page { title: MARKUP.into(), lead: MARKUP.into(), sections: vec![section], follows: true };
        let html = page.html();
        assert!(!html.contains("<script") && !html.contains("-->") && !html.contains(['\0', '\u{202e}']));
        assert_eq!(html.matches("</style>").count(), 1);
        assert_eq!(html.matches("</title>").count(), 1);
        assert_eq!(html.matches("&lt;script&gt;alert(&quot;1&quot;)").count(), 16);
        // Elements that are opened are closed, and nothing comes from outside.
        for tag in ["section", "table", "dl", "figure", "details", "pre", "main", "td", "th"] {
            let open = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
            assert_eq!(open, html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert!(!html.contains("src=\"http") && !html.contains("href=\"http") && !html.contains("url("));
    }
}
