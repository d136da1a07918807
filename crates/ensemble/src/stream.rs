//! Fits a model to rows that do not fit into memory: one network, a few passes.

use super::fit::Stage;
use super::kind::CLOSE;
use super::{Ensemble, Settings};
use std::ops::ControlFlow;
use tractable_core::error::Result;
use tractable_data::{CsvStream, Scaler, Target};
use tractable_network::train::Samples;

/// Times that all rows are gone over.
const PASSES: usize = 2;
/// Rows between two looks at what became of them.
const LOOK_EVERY: usize = 512;

impl Ensemble {
    /// Fits one network to the rows of a stream, pass by pass, and calibrates it on the held-out rows. `None` if
    /// `progress` stops it.
    ///
    /// # Errors
    /// When the rows cannot be read, or break the network.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("long.csv");
    /// # let rows: String = (0..1000).map(|i| format!("{i},{}\n", (2 * i) % 77)).collect();
    /// # std::fs::write(&path, format!("x,y\n{rows}"))?;
    /// use std::ops::ControlFlow;
    /// use tractable::{Ensemble, data::CsvStream, ensemble::Settings};
    /// let stream = CsvStream::open(&[&path], 0, |table| table.target("y"))?;
    /// let model = Ensemble::fit_stream(&stream, &Settings::default(), |_| ControlFlow::Continue(()))?.unwrap();
    /// assert_eq!(model.rows(), 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fit_stream(
        stream: &CsvStream,
        settings: &Settings,
        mut progress: impl FnMut(Stage) -> ControlFlow<()>,
    ) -> Result<Option<Self>> {
        settings.check()?;
        let device = settings.device();
        let (learned, rows) = (stream.learned(), stream.rows_learned());
        learned.check_spread()?;
        let output = match learned.target() {
            Target::Values { y, observed } => Some(Scaler::fit_observed(y, observed.as_deref())?),
            Target::Labels { .. } => None,
        };
        let mut net = CLOSE.network(learned, rows, settings.seed, device.clone())?;
        net.adopt(&Samples::from(learned), Some((Some(learned.input_scaler()), output)))?;
        let (mut done, of) = (0, (PASSES * rows) as u64);
        let mut stopped = progress(Stage { what: "learning", done, of }).is_break();
        for pass in 0..PASSES {
            if stopped {
                return Ok(None);
            }
            stream.pass(pass, device.team(), |window| {
                let mut resident = net.resident_table(&window)?;
                let order: Vec<usize> = (0..window.rows()).collect();
                for some in order.chunks(LOOK_EVERY) {
                    some.chunks(CLOSE.batch).try_for_each(|rows| net.learn_rows(&mut resident, rows))?;
                    net.learned(some.len())?;
                }
                done += window.rows() as u64;
                stopped = progress(Stage { what: "learning", done: done.min(of), of }).is_break();
                Ok(if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
            net.set_epochs(pass + 1);
        }
        if stopped {
            return Ok(None);
        }
        let mut model = Self::calibrated(net, learned, stream.held_out())?;
        model.spec.rows = stream.rows();
        Ok(Some(model))
    }
}
