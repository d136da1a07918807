//! [`CsvStream`]: rows of files that are larger than memory, pass by pass, shuffled within a window.

use super::dataset::{Dataset, Target};
use super::preparation::Preparation;
use super::records::Records;
use super::table::{Column, Table};
use super::text::{is_missing, number};
use std::path::PathBuf;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Matrix;
use tractable_core::rng;
use tractable_core::team::Team;

/// Rows that are looked at and kept: the first half stands for the rows that are learned from, the second half is not
/// learned from.
const SAMPLE: usize = 40_000;
/// Rows that are shuffled together.
const WINDOW: usize = 1 << 16;
/// Numbers in a window, at most.
const WINDOW_NUMBERS: usize = 1 << 22;

/// CSV files that are read once for every pass over the rows. A sample of the rows is kept in memory: it determines the
/// column types, and half of it is held out for evaluation.
///
/// Memory: the sample, and two windows of 65,536 rows or four million numbers, whichever is less; at most about 250 MB for
/// any number of rows.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("long.csv");
/// # let rows: String = (0..1000).map(|i| format!("{i},{}\n", 2 * i)).collect();
/// # std::fs::write(&path, format!("x,y\n{rows}"))?;
/// use tractable::{data::CsvStream, workers::Team};
/// let stream = CsvStream::open(&[&path], 0, |table| table.target("y"))?;
/// assert_eq!((stream.rows(), stream.held_out().rows()), (1000, 500));
/// let mut seen = 0;
/// stream.pass(0, &Team::of(2), |rows| { seen += rows.rows(); Ok(std::ops::ControlFlow::Continue(())) })?;
/// assert_eq!(seen, 500);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CsvStream {
    paths: Vec<PathBuf>,
    rows: usize,
    seed: u64,
    learned: Dataset,
    held_out: Dataset,
    /// Rows of the file that are held out, in order.
    left_out: Vec<usize>,
    targets: Targets,
}

/// A row of the sample: where in the files it is, its line, and its cells.
type Sampled = (usize, usize, Vec<Box<str>>);

/// How the target's cells are read.
#[derive(Debug, Clone)]
enum Targets {
    Values { names: Vec<String>, decimal_comma: Vec<bool> },
    Labels { name: String, classes: Vec<String> },
}

impl CsvStream {
    /// Reads the files once, and a sample of their rows with `prepare`, which names the target.
    ///
    /// # Errors
    /// As for [`csv`](super::csv), what `prepare` says, and when there are fewer than 20 rows.
    pub fn open(
        paths: &[impl AsRef<std::path::Path>],
        seed: u64,
        prepare: impl FnOnce(Table) -> Result<Dataset>,
    ) -> Result<Self> {
        let mut records = Records::open_all(paths)?;
        let (mut rows, mut sample): (usize, Vec<Sampled>) = (0, Vec::new());
        let mut rng = rng::stream(seed, "sample", 0);
        // Every row is in the sample with the same probability.
        while records.advance()? {
            let place = if rows < SAMPLE { rows } else { rng::below(rows as u64 + 1, &mut rng) as usize };
            if place < SAMPLE {
                let cells: Vec<Box<str>> =
                    (0..records.header().len()).map(|i| records.cell(i).into_owned().into()).collect();
                let kept = (rows, records.line(), cells);
                match sample.get_mut(place) {
                    Some(old) => *old = kept,
                    None => sample.push(kept),
                }
            }
            rows += 1;
        }
        if rows < 20 {
            return Err(records.error(0, None, format!("{rows} rows are too few to leave some out")));
        }
        let mut order: Vec<usize> = (0..sample.len()).collect();
        rng::shuffle(&mut order, &mut rng::stream(seed, "sample", 1));
        let sample: Vec<Sampled> = order.iter().map(|&i| std::mem::take(&mut sample[i])).collect();
        let mut columns = vec![Column::default(); records.header().len()];
        for (_, line, cells) in &sample {
            for (column, cell) in columns.iter_mut().zip(cells) {
                column.push(cell, *line);
            }
        }
        let (path, header, commas) = (paths[0].as_ref(), records.header().to_vec(), records.has_semicolons());
        let all = prepare(Table::new(path.into(), header, columns, sample.len(), commas))?;
        // Rows without a class are not in it.
        if all.rows() != sample.len() {
            return Err(Error::invalid(
                "target",
                "a class is missing; a file this large must have all of them",
            ));
        }
        let half = sample.len() / 2;
        let (first, second): (Vec<usize>, Vec<usize>) = ((0..half).collect(), (half..sample.len()).collect());
        let mut left_out: Vec<usize> = sample[half..].iter().map(|(row, ..)| *row).collect();
        left_out.sort_unstable();
        Ok(CsvStream {
            paths: paths.iter().map(|p| p.as_ref().into()).collect(),
            rows,
            seed,
            targets: Targets::of(&all, &sample, records.header()),
            learned: all.select(&first)?,
            held_out: all.select(&second)?,
            left_out,
        })
    }

    /// Rows of the files.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows that are learned from, some of them.
    pub fn learned(&self) -> &Dataset {
        &self.learned
    }

    /// Rows that no pass has.
    pub fn held_out(&self) -> &Dataset {
        &self.held_out
    }

    /// Rows of a pass.
    pub fn rows_learned(&self) -> usize {
        self.rows - self.left_out.len()
    }

    /// Goes over all rows that are not held out, once, shuffled within windows; `each` hears of every window, until it says
    /// to stop. The next one is read meanwhile, on another thread of the team if it has one.
    ///
    /// # Errors
    /// As for [`csv`](super::csv), and whatever `each` returns.
    pub fn pass(
        &self,
        pass: usize,
        team: &Team,
        mut each: impl FnMut(Dataset) -> Result<std::ops::ControlFlow<()>>,
    ) -> Result<()> {
        let mut windows = Windows::open(self, pass)?;
        let mut next = windows.next()?;
        while let Some(window) = next {
            let (done, read) = team.beside(|| windows.next(), || each(window));
            if done?.is_break() {
                break;
            }
            next = read?;
        }
        Ok(())
    }
}

impl Targets {
    fn of(data: &Dataset, sample: &[Sampled], header: &[String]) -> Self {
        let names = data.output_names().to_vec();
        match data.target() {
            Target::Labels { names: classes, .. } => {
                Targets::Labels { name: names[0].clone(), classes: classes.clone() }
            }
            Target::Values { y, .. } => {
                // The style under which the sample gives the numbers that were read.
                let comma = |(c, name): (usize, &String)| {
                    let at = header.iter().position(|h| h == name).expect("the target is a column");
                    let read = |row: &Sampled| number(&row.2[at], false).unwrap_or(0.0);
                    sample.iter().zip(0..).any(|(row, r)| read(row) != y.row(r)[c])
                };
                let decimal_comma = names.iter().enumerate().map(comma).collect();
                Targets::Values { names, decimal_comma }
            }
        }
    }
}

/// One pass: windows of rows in random order.
struct Windows<'a> {
    stream: &'a CsvStream,
    preparation: &'a Preparation,
    records: Records,
    places: Vec<usize>,
    targets: Vec<usize>,
    row: usize,
    window: usize,
    pass: usize,
}

impl<'a> Windows<'a> {
    fn open(stream: &'a CsvStream, pass: usize) -> Result<Self> {
        let records = Records::open_all(&stream.paths)?;
        let preparation = stream.learned.preparation().expect("it was read from a file");
        let places = preparation.columns().map(|n| records.position(n)).collect::<Result<_>>()?;
        let names = match &stream.targets {
            Targets::Values { names, .. } => names.clone(),
            Targets::Labels { name, .. } => vec![name.clone()],
        };
        let targets = names.iter().map(|n| records.position(n)).collect::<Result<_>>()?;
        Ok(Windows { stream, preparation, records, places, targets, row: 0, window: 0, pass })
    }

    fn next(&mut self) -> Result<Option<Dataset>> {
        let width = self.preparation.width();
        let most = WINDOW.min(WINDOW_NUMBERS / width).max(1);
        let (mut mean, mut var, mut y, mut labels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut rows = 0;
        while rows < most && self.records.advance()? {
            self.row += 1;
            if self.stream.left_out.binary_search(&(self.row - 1)).is_ok()
                || !self.target(&mut y, &mut labels)?
            {
                continue;
            }
            let (records, places) = (&self.records, &self.places);
            self.preparation.push_row(|i| records.cell(places[i]), &mut mean, &mut var, |_, _| {});
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let mut order: Vec<usize> = (0..rows).collect();
        let seed = self.stream.seed.wrapping_add(self.pass as u64);
        rng::shuffle(&mut order, &mut rng::stream(seed, "window", self.window as u64));
        self.window += 1;
        let pick = |all: &[f64], width: usize| -> Vec<f64> {
            order.iter().flat_map(|r| &all[r * width..(r + 1) * width]).copied().collect()
        };
        let x = Matrix::new(pick(&mean, width), width)?;
        let target = match &self.stream.targets {
            Targets::Labels { classes, .. } => {
                Target::Labels { labels: order.iter().map(|&r| labels[r]).collect(), names: classes.clone() }
            }
            Targets::Values { names, .. } => {
                Target::Values { y: Matrix::new(pick(&y, names.len()), names.len())?, observed: None }
            }
        };
        let (learned, var) = (&self.stream.learned, pick(&var, width));
        Ok(Some(learned.with_rows(x, var, target)))
    }

    /// Reads what is to be predicted; false where a row has none of it, or not all.
    fn target(&self, y: &mut Vec<f64>, labels: &mut Vec<usize>) -> Result<bool> {
        let cell = |i: usize| self.records.cell(self.targets[i]);
        let odd = |i: usize, what: &str| {
            let name = self.records.header()[self.targets[i]].clone();
            let why = format!("{} is not {what}", super::cell::quoted(&cell(i)));
            self.records.error(self.records.line(), Some(&name), why)
        };
        match &self.stream.targets {
            Targets::Labels { classes, .. } => {
                let text = cell(0);
                if is_missing(&text) {
                    return Ok(false);
                }
                let label = classes.iter().position(|c| **c == *text);
                labels.push(label.ok_or_else(|| odd(0, "a class of the rows that were looked at"))?);
            }
            Targets::Values { decimal_comma, .. } => {
                if (0..decimal_comma.len()).any(|i| is_missing(&cell(i))) {
                    return Ok(false);
                }
                for (i, comma) in decimal_comma.iter().enumerate() {
                    y.push(number(&cell(i), *comma).ok_or_else(|| odd(i, "a number"))?);
                }
            }
        }
        Ok(true)
    }
}
