//! Rows of a file or of standard input as they arrive, read on another thread, so that waiting for a row can be interrupted.

use super::DataFiles;
use crate::console::note;
use crate::interrupt;
use crate::report::{Outcome, count};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;
use tractable::data::{CsvLabelled, LabelledRow};
use tractable::{Ensemble, network::Output};

/// Rows that are read ahead.
const AHEAD: usize = 256;
/// How often an idle stream checks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// The next event of a stream.
pub(crate) enum Next {
    Row(LabelledRow),
    /// A row that cannot be learned from, or a file that cannot be read.
    Bad(tractable::Error),
    /// No row for a while.
    Idle,
    End,
}

/// Rows that are being read.
pub(crate) struct Incoming {
    rows: Receiver<Next>,
    _files: DataFiles,
}

impl Incoming {
    /// Starts to read rows with the columns and targets of a model.
    pub(crate) fn open(file: &Path, model: &Ensemble) -> Outcome<Self> {
        let files = DataFiles::once(file)?;
        let preparation = model.preparation().expect("a trained model has names").into_owned();
        let targets = model.output_names().to_vec();
        let classes = if let Output::Classes { .. } = model.output() { model.class_names() } else { &[] };
        let (path, classes) = (files.paths()[0].clone(), classes.to_vec());
        let (send, rows) = sync_channel(AHEAD);
        // The thread is never joined: it may be blocked in a read that never returns.
        std::thread::spawn(move || {
            let mut reader = match CsvLabelled::open(path, &preparation, &targets, &classes) {
                Ok(reader) => reader,
                Err(e) => return drop(send.send(Next::Bad(e))),
            };
            loop {
                let next = match reader.next_row() {
                    Ok(Some(row)) => Next::Row(row),
                    Ok(None) => Next::End,
                    Err(e) => Next::Bad(e),
                };
                if !matches!(next, Next::Row(_)) {
                    say_unreadable(&reader);
                    return drop(send.send(next));
                }
                if send.send(next).is_err() {
                    return;
                }
            }
        });
        Ok(Incoming { rows, _files: files })
    }

    /// The next row, or `Idle` if there is none yet.
    pub(crate) fn next(&self) -> Next {
        if interrupt::requested() {
            return Next::Idle;
        }
        match self.rows.recv_timeout(LOOK) {
            Ok(next) => next,
            Err(RecvTimeoutError::Timeout) => Next::Idle,
            Err(RecvTimeoutError::Disconnected) => Next::End,
        }
    }
}

fn say_unreadable(reader: &CsvLabelled) {
    for (name, n, line, cell) in reader.unreadable() {
        let cell: String = cell.chars().take(40).collect();
        let cells = count(n as u64, "cell");
        note(&format!(
            "`{name}`: {cells} unlike those in training, counted as missing: \"{cell}\" in line {line}"
        ));
    }
}
