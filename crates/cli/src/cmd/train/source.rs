//! Training rows of the default model: in memory, or streamed for every pass.

use super::{Args, columns, judge_left_out, new_table, note_classes};
use crate::report::Outcome;
use crate::run::{DataFiles, Rows};
use crate::scores::Judged;
use crate::settings::EnsembleSettings;
use crate::team;
use std::ops::ControlFlow;
use tractable::Ensemble;
use tractable::data::{ColumnAbout, CsvStream, Dataset, Table};
use tractable::ensemble::{Settings, Stage};

/// Files above this are not kept in memory.
const MOST_IN_MEMORY: u64 = 512 << 20;

pub(super) struct Source {
    rows: Kept,
    pub(super) columns: Vec<ColumnAbout>,
}

enum Kept {
    Memory(Box<Rows>),
    Stream(Box<CsvStream>),
}

impl Source {
    /// The rows of a new run, and its settings.
    pub(super) fn new(args: &Args, files: &DataFiles) -> Outcome<(Self, EnsembleSettings)> {
        if !(args.flags.stream() || files.bytes() > MOST_IN_MEMORY) {
            let (table, flags) = new_table(args, files)?;
            let settings = flags.ensemble()?;
            return Ok((Self::in_memory(table, &settings)?, settings));
        }
        let said = args.flags.columns();
        said.check()?;
        let (mut classes, mut about) = (false, Vec::new());
        let seed = args.flags.ensemble()?.seed;
        let stream = CsvStream::open(files.paths(), seed, |table| {
            let table = said.applied(table)?;
            classes = said.has_classes(&table)?;
            about = columns::about(&table, said.target);
            args.flags.decided(classes, true).columns().dataset(table)
        })?;
        note_classes(classes, said.target);
        let settings = args.flags.decided(classes, true).ensemble()?;
        Ok((Source { rows: Kept::Stream(Box::new(stream)), columns: about }, settings))
    }

    /// The rows of a run that is started again.
    pub(super) fn again(settings: &EnsembleSettings, files: &DataFiles) -> Outcome<Self> {
        let said = settings.columns();
        if !settings.stream {
            return Self::in_memory(said.table(files.paths())?, settings);
        }
        let mut about = Vec::new();
        let stream = CsvStream::open(files.paths(), settings.seed, |table| {
            let table = said.applied(table)?;
            about = columns::about(&table, said.target);
            said.dataset(table)
        })?;
        Ok(Source { rows: Kept::Stream(Box::new(stream)), columns: about })
    }

    fn in_memory(table: Table, settings: &EnsembleSettings) -> Outcome<Self> {
        let columns = columns::about(&table, &settings.target);
        Ok(Source { rows: Kept::Memory(Box::new(Rows::of_ensemble(table, settings)?)), columns })
    }

    /// Rows that are learned from.
    pub(super) fn rows(&self) -> usize {
        match &self.rows {
            Kept::Memory(rows) => rows.train.rows(),
            Kept::Stream(stream) => stream.rows_learned(),
        }
    }

    /// These rows, or some of them.
    pub(super) fn train(&self) -> &Dataset {
        match &self.rows {
            Kept::Memory(rows) => &rows.train,
            Kept::Stream(stream) => stream.learned(),
        }
    }

    pub(super) fn test(&self) -> Option<&Dataset> {
        match &self.rows {
            Kept::Memory(rows) => rows.test.as_ref(),
            Kept::Stream(_) => None,
        }
    }

    /// What the model says of rows that were left out.
    pub(super) fn judge(&self, model: &Ensemble) -> Outcome<Judged> {
        match &self.rows {
            Kept::Memory(rows) => judge_left_out(model, &rows.train),
            Kept::Stream(stream) => {
                let mut judged = Judged::default();
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
            Kept::Memory(rows) => match team::workers() {
                None => Ensemble::fit_with(&rows.train, settings, progress),
                Some(workers) => Ensemble::fit_together(&rows.train, settings, &*workers, progress),
            },
            Kept::Stream(stream) => Ensemble::fit_stream(stream, settings, progress),
        }
    }
}
