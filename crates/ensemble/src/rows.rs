//! What the rows are like before anything is learned from them: outliers, copies, how they are related.

use super::copies::{copies, nearly_copied};
use super::outliers::{self, Outliers};
use std::borrow::Cow;
use tractable_core::error::Result;
use tractable_data::{Dataset, Related};

/// Values that a note lists.
const LISTED: usize = 5;

/// The rows of a fit.
pub(super) struct Rows<'a> {
    /// Without outliers.
    pub(super) data: Cow<'a, Dataset>,
    /// How they are related, said or found.
    pub(super) related: Option<Cow<'a, Related>>,
    /// What was noticed, in sentences.
    pub(super) notes: Vec<String>,
}

impl<'a> Rows<'a> {
    pub(super) fn look(data: &'a Dataset) -> Result<Self> {
        let mut notes = Vec::new();
        let related = match data.related() {
            Some(related) => Some(Cow::Borrowed(related)),
            None => {
                let groups = copies(data);
                notes.extend(groups.as_ref().map(|groups| of_copies(groups)));
                if groups.is_none() {
                    notes.extend(nearly_copied(data).map(of_near_copies));
                }
                groups.map(|groups| Cow::Owned(Related::Groups(groups)))
            }
        };
        let data = match outliers::set_aside(data)? {
            None => Cow::Borrowed(data),
            Some((clean, all)) => {
                notes.extend(all.iter().map(|own| of_outliers(data, own)));
                Cow::Owned(clean)
            }
        };
        Ok(Rows { data, related, notes })
    }
}

fn of_copies(groups: &[usize]) -> String {
    let (rows, different) = (groups.len(), groups.iter().max().map_or(0, |most| most + 1));
    format!(
        "the {rows} rows are copies of {different}: copies of a row are left out together, and say nothing about each other"
    )
}

fn of_near_copies(share: f64) -> String {
    format!(
        "{:.0} % of the rows have almost the same inputs as another row: if rows belong together, name the column that says so \
         as their group, or intervals are too narrow for new ones",
        100.0 * share
    )
}

fn of_outliers(data: &Dataset, Outliers { output, rows }: &Outliers) -> String {
    let y = data.y().expect("the target is numbers");
    let some: Vec<String> = rows.iter().take(LISTED).map(|&row| y.row(row)[*output].to_string()).collect();
    let more = if rows.len() > LISTED { ", ..." } else { "" };
    let (count, are) = (rows.len(), if rows.len() == 1 { "value is" } else { "values are" });
    format!(
        "{count} {are} so far from those of similar rows that no model explains it, and {} set aside: `{}` {}{more}",
        if count == 1 { "was" } else { "were" },
        data.output_names()[*output],
        some.join(", ")
    )
}
