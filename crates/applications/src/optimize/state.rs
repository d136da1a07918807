//! The file of an [`Optimizer`] between asking and telling: JSON, validated when read.

use super::Optimizer;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;
use tractable_core::error::{Error, Result};
use tractable_core::files;
use tractable_network::checkpoint::json;

const VERSION: u32 = 1;
/// Files larger than this are not read: a hundred thousand points in twenty coordinates are a third of it.
const MOST_BYTES: u64 = 128 << 20;

/// Maximum memory beyond the size of the file.
const MOST_MEMORY: u64 = 60 << 20;

/// Maximum number of coordinates.
const MOST_COORDINATES: usize = 10_000;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File<O> {
    /// Format and version of the file.
    tractable_optimizer: u32,
    optimizer: O,
}

impl Optimizer {
    /// Saves everything, so that [`load`](Optimizer::load) continues identically. After a crash there
    /// is the old file or the new one, never a mixture.
    ///
    /// ```
    /// use tractable::optimize::Optimizer;
    /// let path = std::env::temp_dir().join(format!("tractable-doc-{}.json", std::process::id()));
    /// let mut search = Optimizer::minimize([(0.0, 1.0)])?;
    /// let x = search.ask()?;
    /// search.save(&path)?;
    /// let mut later = Optimizer::load(&path)?;
    /// later.tell(&x, 0.3)?;
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let file = File { tractable_optimizer: VERSION, optimizer: self };
        let mut text = serde_json::to_string_pretty(&file).expect("numbers and names");
        text.push('\n');
        let length = text.len() as u64;
        let affordable = affordable(text.as_bytes(), length).expect("it is in memory");
        let readable = match length > MOST_BYTES {
            true => Err(format!("would be larger than {} MiB", MOST_BYTES >> 20)),
            false => affordable,
        };
        // A file that could not be read again must not replace one that can.
        readable.map_err(|why| Error::Model { path: path.as_ref().into(), at: "JSON".into(), why })?;
        files::write(path.as_ref(), text.as_bytes())
    }

    /// Loads what [`save`](Optimizer::save) wrote; anything else is refused with the reason.
    ///
    /// ```
    /// assert!(tractable::optimize::Optimizer::load("no-such-file.json").is_err());
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let refuse = |at: &str, why: String| Error::Model { path: path.into(), at: at.into(), why };
        let fail = |source| Error::File { path: path.into(), doing: "read it", source };
        let (mut file, length) = files::open(path, MOST_BYTES)?;
        affordable(BufReader::new((&file).take(length)), length)
            .map_err(fail)?
            .map_err(|w| refuse("JSON", w))?;
        file.rewind().map_err(fail)?;
        let file: File<Optimizer> = serde_json::from_reader(BufReader::new(file.take(length)))
            .map_err(|e| refuse("JSON", e.to_string()))?;
        if file.tractable_optimizer != VERSION {
            let why = format!("is {}; this build knows {VERSION}", file.tractable_optimizer);
            return Err(refuse("tractable_optimizer", why));
        }
        let search = file.optimizer;
        search.sound().map_err(|(at, why)| refuse(&at, why.into()))?;
        Ok(search)
    }

    /// The first invalid entry, and where it is.
    fn sound(&self) -> std::result::Result<(), (String, &'static str)> {
        let wrong = |at: &str, why| Err((at.to_string(), why));
        if self.bounds.len() > MOST_COORDINATES {
            return wrong("bounds", "has more than 10000 coordinates");
        }
        let inside = |x: &[f64]| self.bounds.contains(x);
        if let Some(i) = self.trials.iter().position(|t| !inside(&t.x)) {
            return wrong(&format!("trials[{i}]"), "is not a point of the box");
        }
        if let Some(i) = self.pending.iter().position(|x| !inside(x)) {
            return wrong(&format!("pending[{i}]"), "is not a point of the box");
        }
        // JSON has no NaN.
        if self.noise_std < 0.0 {
            return wrong("noise_std", "is negative");
        }
        let later = |region: &usize| *region > self.region.number;
        if self.pending_regions.len() != self.pending.len()
            || self.pending_regions.iter().any(later)
            || self.trials.iter().any(|t| later(&t.region))
            || self.region.number > self.trials.len()
            || !self.region.is_sound(self.bounds.len())
        {
            return wrong("region", "contains invalid values");
        }
        // Every point that was asked for is pending or was told.
        let points = (self.trials.len() + self.pending.len()) as u64;
        if self.asked > points || self.region.asked as u64 > self.asked {
            return wrong("asked", "is larger than the number of points");
        }
        Ok(())
    }
}

/// Whether the lists of a search of this length may be read.
fn affordable(text: impl BufRead, length: u64) -> io::Result<std::result::Result<(), String>> {
    let cost = json::cost(text, size_of::<f64>() as u64)?;
    Ok(match cost > length + MOST_MEMORY {
        true => Err(format!("its lists would take {} MiB of memory", cost >> 20)),
        false => Ok(()),
    })
}
