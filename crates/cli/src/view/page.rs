//! A view as a page.

use super::View;
use crate::page::{Page, Picture, Section};
use crate::plot::Figure;
use crate::report::{Exit, Outcome};

/// Width and height of axes: a page on a phone shows the picture at three quarters of its size.
const SIZE: (f64, f64) = (330.0, 210.0);

impl View {
    /// The page, which `follows` a run in progress or is the last: how good it is before anything else.
    pub(crate) fn page(self, follows: bool) -> Outcome<Page> {
        let mut score = Section::new("score", "How good it is");
        if self.scores.is_empty() {
            score = score.text("There is no score yet.");
        } else {
            let large: Vec<(&str, &str)> = self.scores.iter().map(|s| (&s.name[..], &s.value[..])).collect();
            score = self.scores.iter().fold(score.facts(&large), |section, s| section.text(&s.meaning));
        }
        let mut numbers = Section::new("numbers", "Numbers");
        if follows {
            numbers = numbers.text("This page follows the run.");
        }
        numbers = self.notes.iter().fold(numbers.facts(&self.facts), |s, note| s.note(note));
        let mut sections = vec![score, numbers];
        if !self.charts.is_empty() {
            let (mut drawn, mut section) = (Vec::new(), Section::new("curves", "Curves"));
            for (title, panel) in self.charts {
                let figure = Figure::new("").panel_size(SIZE.0, SIZE.1).panel(panel);
                match Picture::of(&title, &figure) {
                    Ok(picture) => drawn.push(picture),
                    // Numbers that are too far apart for an axis, in a run that has lost its way.
                    Err(Exit::Error(why)) => section = section.note(&format!("{title}: {why}")),
                    Err(other) => return Err(other),
                }
            }
            sections.push(section.pictures(&drawn));
        }
        sections.extend(self.tables);
        if !self.pictures.is_empty() {
            sections.push(Section::new("pictures", "Pictures").pictures(&self.pictures));
        }
        let mut again = Section::new("again", "Run it again");
        again = match self.commands.is_empty() {
            true => again.text("The folder does not record the command that made it."),
            false => again.code(&self.commands.join("\n")),
        };
        if !self.next.is_empty() {
            again = again.text("Next:").code(&self.next.join("\n"));
        }
        sections.push(again);
        if !self.settings.is_empty() {
            sections.push(Section::new("settings", "Settings").folded("All of them", &self.settings));
        }
        Ok(Page { title: self.title, lead: self.lead, sections, follows })
    }
}
