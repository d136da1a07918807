//! A view as a page.

use super::View;
use crate::page::{Page, Picture, Section};
use crate::report::{Exit, Outcome};

impl View {
    /// How good it is, before anything else.
    fn scores_section(&self) -> Section {
        let section = Section::new("score", "How good it is");
        if self.scores.is_empty() {
            return section.text("There is no score yet.");
        }
        let large: Vec<(&str, &str)> = self.scores.iter().map(|s| (&s.name[..], &s.value[..])).collect();
        self.scores.iter().fold(section.facts(&large), |section, s| section.text(&s.meaning))
    }

    /// The page, which `follows` a run in progress or is the last.
    pub(crate) fn page(&self, follows: bool) -> Outcome<Page> {
        let mut sections = vec![self.scores_section()];
        let mut numbers = Section::new("numbers", "Numbers");
        if follows {
            numbers = numbers.text("This page follows the run.");
        }
        numbers = numbers.facts(&self.facts);
        sections.push(self.notes.iter().fold(numbers, |s, note| s.note(note)));
        if !self.charts.is_empty() {
            let (mut drawn, mut section) = (Vec::new(), Section::new("curves", "Curves"));
            for chart in &self.charts {
                match Picture::of(&chart.title, chart.figure()) {
                    Ok(picture) => drawn.push(picture),
                    // Numbers that are too far apart for an axis, in a run that has lost its way.
                    Err(Exit::Error(why)) => section = section.note(&format!("{}: {why}", chart.title)),
                    Err(other) => return Err(other),
                }
            }
            sections.push(section.pictures(&drawn));
        }
        for (i, table) in self.tables.iter().enumerate() {
            let one = Section::new(&format!("table-{}", i + 1), &table.title);
            sections.push(one.table(&table.head, &table.rows));
        }
        if !self.pictures.is_empty() {
            let all: Vec<Picture> = (self.pictures.iter())
                .map(|shot| Picture::new(&shot.caption, shot.svg.clone()).wide())
                .collect();
            sections.push(Section::new("pictures", "Pictures").pictures(&all));
        }
        let mut again = Section::new("again", "Run it again");
        match self.commands.as_slice() {
            [] => again = again.text("The folder does not record the command that made it."),
            commands => again = again.code(&commands.join("\n")),
        }
        if !self.next.is_empty() {
            again = again.text("Next:").code(&self.next.join("\n"));
        }
        sections.push(again);
        if !self.settings.is_empty() {
            sections.push(Section::new("settings", "Settings").folded("All of them", &self.settings));
        }
        Ok(Page { title: self.title.clone(), lead: self.lead.clone(), sections, follows })
    }
}
