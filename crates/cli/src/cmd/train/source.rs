//! Training rows of the default model: in memory, or streamed for every pass.

use super::{Args, columns, judge_left_out, new_table, note_classes};
use crate::report::Outcome;
use crate::run::{DataFiles, Rows};
use crate::scores::Judged;
use crate::settings::{Kind, RunSettings};
use crate::team;
use std::ops::ControlFlow;
use tractable::Ensemble;
use tractable::data::{ColumnAbout, CsvStream, Dataset, Table};
use tractable::ensemble::{Settings, Stage};

/// Files above this are not kept in memory.
const MOST_IN_MEMORY: u64 = 512 << 20;

pub(super) struct Source {
    rows: Storage,
    pub(super) columns: Vec<ColumnAbout>,
}

enum Storage {
    Memory(Box<Rows>),
    Stream(Box<CsvStream>),
}

impl Source {
    /// The rows of a new run, and its settings.
    pub(super) fn new(args: &Args, files: &DataFiles) -> Outcome<(Self, RunSettings)> {
        let said = &args.flags.values;
        let related = said.group.is_some() || said.time.is_some();
        if !(said.stream || (files.bytes() > MOST_IN_MEMORY && !related)) {
            let (table, settings) = new_table(args, Kind::Ensemble, files)?;
            return Ok((Self::in_memory(table, &settings)?, settings));
        }
        args.flags.values.check_target()?;
        let mut settings = args.flags.settings(Kind::Ensemble, false)?;
        settings.stream = true;
        let (mut classes, mut about) = (false, Vec::new());
        let stream = CsvStream::open(files.paths(), settings.seed, |table| {
            let table = settings.applied(table)?;
            classes = settings.has_classes(&table)?;
            about = columns::about(&table, &settings.target);
            settings.classes |= classes;
            settings.dataset(table)
        })?;
        note_classes(classes, &settings.target);
        settings.check()?;
        Ok((Source { rows: Storage::Stream(Box::new(stream)), columns: about }, settings))
    }

    /// The rows of a run that is started again.
    pub(super) fn again(settings: &RunSettings, files: &DataFiles) -> Outcome<Self> {
        if !settings.stream {
            return Self::in_memory(settings.table(files.paths())?, settings);
        }
        let mut about = Vec::new();
        let stream = CsvStream::open(files.paths(), settings.seed, |table| {
            let table = settings.applied(table)?;
            about = columns::about(&table, &settings.target);
            settings.dataset(table)
        })?;
        Ok(Source { rows: Storage::Stream(Box::new(stream)), columns: about })
    }

    fn in_memory(table: Table, settings: &RunSettings) -> Outcome<Self> {
        let columns = columns::about(&table, &settings.target);
        Ok(Source { rows: Storage::Memory(Box::new(Rows::new(table, settings)?)), columns })
    }

    /// Rows that are learned from.
    pub(super) fn rows(&self) -> usize {
        match &self.rows {
            Storage::Memory(rows) => rows.train.rows(),
            Storage::Stream(stream) => stream.rows_learned(),
        }
    }

    /// These rows, or some of them.
    pub(super) fn train(&self) -> &Dataset {
        match &self.rows {
            Storage::Memory(rows) => &rows.train,
            Storage::Stream(stream) => stream.learned(),
        }
    }

    pub(super) fn test(&self) -> Option<&Dataset> {
        match &self.rows {
            Storage::Memory(rows) => rows.test.as_ref(),
            Storage::Stream(_) => None,
        }
    }

    /// What the model says of rows that were left out.
    pub(super) fn judge(&self, model: &Ensemble) -> Outcome<Judged> {
        match &self.rows {
            Storage::Memory(rows) => judge_left_out(model, &rows.train),
            Storage::Stream(stream) => {
                let mut judged = Judged::of_errors();
                judged.predict(model, stream.held_out().input(), stream.held_out().target())?;
                Ok(judged)
            }
        }
    }

    pub(super) fn fit(
        &self,
        settings: &Settings,
        progress: impl FnMut(Stage) -> ControlFlow<()>,
    ) -> tractable::Result<Option<Ensemble>> {
        match &self.rows {
            Storage::Memory(rows) => match team::workers() {
                None => Ensemble::fit_with(&rows.train, settings, progress),
                Some(workers) => Ensemble::fit_together(&rows.train, settings, &*workers, progress),
            },
            Storage::Stream(stream) => Ensemble::fit_stream(stream, settings, progress),
        }
    }
}
