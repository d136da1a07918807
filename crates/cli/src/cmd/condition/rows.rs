//! Many questions: a CSV file of them in, a CSV file of answers out, row by row.

use super::answer::{Answer, Predicted, Reached};
use super::question::{Asked, Belief, Question, number, std};
use crate::console::note;
use crate::csv::{self, Fail};
use crate::jobs;
use crate::out::Target;
use crate::progress::ProgressDisplay;
use crate::report::{Exit, Outcome, count, json_line};
use crate::run::DataFiles;
use std::io::Write;
use std::path::Path;
use tractable::Error;
use tractable::data::CsvCells;

/// Where in the file the numbers of a name are.
struct Columns {
    value: Option<usize>,
    std: Option<usize>,
}

impl Columns {
    /// A column that is itself an input or output is not the standard deviation of another.
    fn of(file: &CsvCells, name: &str, own: &dyn Fn(&str) -> bool) -> Self {
        let at = |name: &str| file.names().iter().position(|n| n == name);
        let spread = format!("{name}_std");
        Columns { value: at(name), std: if own(&spread) { None } else { at(&spread) } }
    }
}

/// The file and its columns.
struct Wishes<'a> {
    file: CsvCells,
    asked: &'a Asked<'a>,
    inputs: Vec<Columns>,
    targets: Vec<Columns>,
    /// Columns of the table that are no single number: where they are, and their names.
    others: Vec<(usize, String)>,
}

/// Answers all rows of a file.
pub(super) fn run(asked: &Asked<'_>, path: &Path, out: Option<Target<'_>>, json: bool) -> Outcome {
    let file = DataFiles::once(path)?;
    let mut wishes = Wishes::open(asked, &file.paths()[0])?;
    csv::write_to(out, path, |out, fail| answer(&mut wishes, json, out, fail))
}

fn answer(wishes: &mut Wishes<'_>, json: bool, out: &mut dyn Write, fail: Fail<'_>) -> Outcome {
    let (mut progress, mut text, mut rows) = (ProgressDisplay::new(None), String::new(), 0u64);
    if !json {
        csv::texts(&mut text, &header(wishes.asked));
    }
    loop {
        let (asked, batch) = wishes.batch(rows);
        // Answers come in any order and are written in that of the rows.
        let mut answers: Vec<Option<Outcome<String>>> = batch.rows.iter().map(|_| None).collect();
        let mut next = 0;
        jobs::each(
            &batch.rows,
            |row| row.answer(asked, json),
            |i, answer| {
                answers[i] = Some(answer);
                while let Some(answer) = answers.get_mut(next).and_then(Option::take) {
                    text += &answer?;
                    out.write_all(text.as_bytes()).map_err(fail)?;
                    text.clear();
                    (next, rows) = (next + 1, rows + 1);
                    progress.at(rows, || count(rows, "row"));
                }
                Ok(())
            },
        )?;
        if batch.ended? {
            break;
        }
    }
    progress.done(&count(rows, "row"));
    Ok(())
}

/// Rows that are read before they are answered in parallel.
const TOGETHER: usize = 256;

/// Some rows of the file, and whether it ended after them; or why the next row cannot be read.
struct Batch {
    rows: Vec<Row>,
    ended: Outcome<bool>,
}

/// The question of a row, its number, and an error that names its line.
struct Row {
    question: Question,
    number: u64,
    at: Error,
}

impl Row {
    /// A line of the output.
    fn answer(&self, asked: &Asked<'_>, json: bool) -> Outcome<String> {
        let answer = Answer::find(asked, &self.question).map_err(|e| self.named(e))?;
        let mut text = String::new();
        if json {
            text += &json_line("answer", &answer.json(self.number));
            text.push('\n');
        } else {
            csv::texts(&mut text, &cells(&answer));
        }
        Ok(text)
    }

    /// An error with the row it came from.
    fn named(&self, e: Exit) -> Exit {
        match (e, &self.at) {
            (Exit::Error(why), Error::Data { path, line, column, .. }) => {
                Error::Data { path: path.clone(), line: *line, column: column.clone(), why }.into()
            }
            (e, _) => e,
        }
    }
}

fn header(asked: &Asked<'_>) -> Vec<String> {
    let mut names: Vec<String> =
        asked.inputs.iter().flat_map(|i| [format!("{i}_mean"), format!("{i}_std")]).collect();
    names.extend(["modes", "mode_weight"].map(String::from));
    names.extend(asked.inputs.iter().map(|i| format!("{i}_mode")));
    match asked.is_classes() {
        true => {
            names.push(asked.targets[0].clone());
            names.extend(asked.classes.iter().map(|c| format!("p_{c}")));
        }
        false => names.extend(
            asked.targets.iter().flat_map(|t| ["mean", "std", "std_model"].map(|end| format!("{t}_{end}"))),
        ),
    }
    names.extend(["reached", "found", "effective", "converged"].map(String::from));
    names
}

fn cells(answer: &Answer<'_>) -> Vec<String> {
    // The shortest digits that read back as the same number.
    let digits = |v: f64| format!("{v:?}");
    let (mean, std, mode) = (answer.posterior.mean(), answer.posterior.std(), &answer.modes()[0]);
    let mut cells: Vec<String> = mean.iter().zip(&std).flat_map(|(m, s)| [digits(*m), digits(*s)]).collect();
    cells.extend([answer.modes().len().to_string(), digits(mode.weight)]);
    cells.extend(mode.mean.iter().map(|v| digits(*v)));
    match &answer.predicted[0] {
        Predicted::Values { mean, std, std_model } => {
            let of = |o: usize| [mean[o], std[o], std_model[o]].map(digits);
            cells.extend((0..mean.len()).flat_map(of));
        }
        Predicted::Class { class, probabilities } => {
            cells.push(class.clone());
            cells.extend(probabilities.iter().map(|p| digits(*p)));
        }
    }
    let how = answer.how();
    cells.push(match answer.reached {
        None => String::new(),
        Some(Reached::Yes) => "yes".into(),
        Some(Reached::No) => "no".into(),
        Some(Reached::Around(_)) => "around".into(),
    });
    cells.push(how.found.into());
    cells.push(how.effective.map_or(String::new(), |e| format!("{e:.0}")));
    cells.push(how.converged.map_or(String::new(), |c| c.to_string()));
    cells
}

impl<'a> Wishes<'a> {
    fn open(asked: &'a Asked<'a>, path: &Path) -> Outcome<Self> {
        let file = CsvCells::open(path)?;
        let own = |name: &str| asked.inputs.iter().chain(&asked.targets).any(|n| n == name);
        let columns =
            |names: &[String]| names.iter().map(|n| Columns::of(&file, n, &own)).collect::<Vec<_>>();
        let (inputs, targets) = (columns(asked.inputs), columns(&asked.targets));
        let others: Vec<(usize, String)> = asked
            .preparation
            .columns()
            .filter(|c| !asked.preparation.is_number(c))
            .filter_map(|c| Some((file.names().iter().position(|n| n == c)?, c.to_string())))
            .collect();
        // A column of yes and no is an input by the same name.
        let inputs = inputs.into_iter().zip(asked.inputs).map(|(columns, name)| {
            if others.iter().any(|(_, other)| other == name) {
                Columns { value: None, std: None }
            } else {
                columns
            }
        });
        let inputs: Vec<Columns> = inputs.collect();
        let name = path.display();
        if targets.iter().all(|t| t.value.is_none()) {
            let names = asked.targets.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", ");
            return Err(Exit::Error(format!("{name}: no wanted output: there is no column {names}")));
        }
        for columns in inputs.iter().chain(&targets) {
            if let (None, Some(std)) = (columns.value, columns.std) {
                let std = &file.names()[std];
                return Err(Exit::Error(format!("{name}: column `{std}` belongs to no other column")));
            }
        }
        let used = inputs.iter().chain(&targets).flat_map(|c| [c.value, c.std]).flatten();
        let used: Vec<usize> = used.chain(others.iter().map(|(at, _)| *at)).collect();
        let ignored = (0..file.names().len()).filter(|c| !used.contains(c));
        let ignored: Vec<&str> = ignored.map(|c| file.names()[c].as_str()).collect();
        if !ignored.is_empty() {
            note(&format!("{name}: not columns of the model, ignored: {}", super::listed(&ignored)));
        }
        let inputs_of = |(_, other): &(usize, String)| asked.preparation.column(other).map_or(0..0, |c| c.0);
        let covered: Vec<usize> = others.iter().flat_map(inputs_of).collect();
        let missing = (0..inputs.len()).filter(|i| inputs[*i].value.is_none() && !covered.contains(i));
        super::note_missing(&missing.map(|i| asked.inputs[i].as_str()).collect::<Vec<_>>());
        Ok(Wishes { file, asked, inputs, targets, others })
    }

    /// The next rows, numbered from here.
    fn batch(&mut self, from: u64) -> (&'a Asked<'a>, Batch) {
        let mut rows = Vec::new();
        let ended = loop {
            if rows.len() == TOGETHER {
                break Ok(false);
            }
            match self.next() {
                Ok(None) => break Ok(true),
                Err(e) => break Err(e),
                Ok(Some(question)) => {
                    let number = from + rows.len() as u64;
                    rows.push(Row { question, number, at: self.file.error(None, "") });
                }
            }
        };
        (self.asked, Batch { rows, ended })
    }

    /// The question of the next row.
    fn next(&mut self) -> Outcome<Option<Question>> {
        if !self.file.advance()? {
            return Ok(None);
        }
        let mut prior = self.inputs.iter().map(|c| self.belief(c)).collect::<Outcome<Vec<_>>>()?;
        for (at, name) in &self.others {
            let said = self.asked.said(name, &self.file.cell(*at));
            for (i, belief) in said.map_err(|why| self.file.error(Some(*at), why))? {
                prior[i] = Some(belief);
            }
        }
        let mut entries = Vec::new();
        for (name, columns) in self.asked.targets.iter().zip(&self.targets) {
            let Some(column) = columns.value else { continue };
            let text = &*self.file.cell(column);
            if text.is_empty() {
                self.belief(columns)?;
                continue;
            }
            let plain = self.asked.is_classes() || ["max", "min"].contains(&text);
            let value = match plain {
                true => text.to_string(),
                false => self.belief(columns)?.map_or(String::new(), |b| format!("{:?}±{:?}", b.mean, b.std)),
            };
            let wish = (name.clone(), value);
            self.asked.wish(std::slice::from_ref(&wish)).map_err(|why| self.file.error(Some(column), why))?;
            entries.push(wish);
        }
        let at_row = |why: String| Exit::from(self.file.error(None, why));
        if entries.is_empty() {
            return Err(at_row("no output is wanted".into()));
        }
        let wish = self.asked.wish(&entries).map_err(at_row)?;
        self.asked.ask(prior, wish).map(Some).map_err(at_row)
    }

    /// The number of a row with its spread; none where its cell is empty.
    fn belief(&self, columns: &Columns) -> Outcome<Option<Belief>> {
        let Some(value) = columns.value else { return Ok(None) };
        let text = &*self.file.cell(value);
        let spread = columns.std.map_or("".into(), |c| self.file.cell(c));
        let error = |column: Option<usize>, why: String| Exit::from(self.file.error(column, why));
        if text.is_empty() {
            return match spread.is_empty() {
                true => Ok(None),
                false => Err(error(columns.std, "a standard deviation without a value".into())),
            };
        }
        let mean = number(text).map_err(|why| error(Some(value), why))?;
        let std = match &*spread {
            "" => 0.0,
            text => std(text).map_err(|why| error(columns.std, why))?,
        };
        Ok(Some(Belief { mean, std }))
    }
}
