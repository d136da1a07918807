//! A real MuJoCo, opened at run time: any model, any version from 2.3.7 on, no build dependency.
//!
//! ```no_run
//! use tractable::rl::env::{Environment, HalfCheetah, mujoco::Mujoco};
//! let mujoco = Mujoco::open(None)?; // MUJOCO_PATH, Python's packages, or fetched
//! let mut cheetah = HalfCheetah::on(&mujoco)?;
//! cheetah.step(&[0.0; 6], &mut [0.0; 17])?;
//! let own = mujoco.load("arm.xml".as_ref())?;
//! println!("{} coordinates, {} motors", own.positions(), own.controls());
//! # Ok::<(), tractable::Error>(())
//! ```

mod find;
mod geoms;
#[allow(unsafe_code, reason = "calls of a foreign library")]
mod library;
mod screen;
mod task;

pub use find::{fetched, locate};
pub use screen::screen;
pub use task::{ModelTask, Moment};

use geoms::Geom;
use library::{Data, Library, Model};
use std::path::Path;
use std::sync::Arc;
use tractable_applications::rl::env::Segment;
use tractable_core::error::{Error, Result};

// Parts of a state, the same in every version.
const TIME: u32 = 1;
const POSITIONS: u32 = 1 << 1;
const VELOCITIES: u32 = 1 << 2;
const ACTIVATIONS: u32 = 1 << 3;

/// MuJoCo's library, opened.
///
/// ```no_run
/// use tractable::rl::env::mujoco::Mujoco;
/// println!("MuJoCo {}", Mujoco::open(None)?.version());
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Clone)]
pub struct Mujoco {
    library: Arc<Library>,
}

impl std::fmt::Debug for Mujoco {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mujoco {} at {}", self.version(), self.path().display())
    }
}

impl Mujoco {
    /// Opens the library at a path (a file, or a folder that holds it); without one, looks at `MUJOCO_PATH`, in
    /// the packages of the active Python, and at [`fetched`].
    ///
    /// ```
    /// use tractable::rl::env::mujoco::Mujoco;
    /// let err = Mujoco::open(Some("no/such/folder".as_ref())).unwrap_err();
    /// assert!(err.to_string().contains("no MuJoCo library at no/such/folder"));
    /// ```
    pub fn open(path: Option<&Path>) -> Result<Self> {
        Ok(Mujoco { library: Library::open(&find::locate(path)?)? })
    }

    /// The version it reports.
    ///
    /// ```no_run
    /// # use tractable::rl::env::mujoco::Mujoco;
    /// assert_eq!(Mujoco::open(None)?.version(), "3.3.7");
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn version(&self) -> &str {
        self.library.version()
    }

    /// The file it was opened from.
    ///
    /// ```no_run
    /// # use tractable::rl::env::mujoco::Mujoco;
    /// assert!(Mujoco::open(None)?.path().is_file());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn path(&self) -> &Path {
        self.library.path()
    }

    /// Reads a model (MJCF or URDF) after [screening](screen()) it, in its initial state.
    ///
    /// ```no_run
    /// # use tractable::rl::env::mujoco::Mujoco;
    /// let arm = Mujoco::open(None)?.load("arm.xml".as_ref())?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn load(&self, file: &Path) -> Result<Simulator> {
        Simulator::new(&Model::load(&self.library, file)?)
    }

    /// A model given as text.
    pub(super) fn load_text(&self, name: &str, xml: &str) -> Result<Simulator> {
        // MuJoCo reads files only; its in-memory ones have a layout that changes between versions.
        let dir = std::env::temp_dir();
        let unique = format!("tractable-{name}-{}-{:p}.xml", std::process::id(), xml);
        let file = dir.join(unique);
        let fail = |source| Error::File { path: file.clone(), doing: "write the model", source };
        std::fs::write(&file, xml).map_err(fail)?;
        let loaded = self.load(&file);
        // A leftover file in the temporary folder is harmless.
        let _ = std::fs::remove_file(&file);
        loaded
    }
}

/// A simulation of one model by MuJoCo.
///
/// ```no_run
/// use tractable::rl::env::mujoco::Mujoco;
/// let mut arm = Mujoco::open(None)?.load("arm.xml".as_ref())?;
/// let controls = vec![0.1; arm.controls()];
/// arm.step(&controls, 5)?;
/// # Ok::<(), tractable::Error>(())
/// ```
pub struct Simulator {
    data: Data,
    /// Bits of the parts that have moved between versions: the solver's start, and the controls.
    warm: u32,
    controls: u32,
    /// Seconds per step.
    timestep: f64,
}

impl std::fmt::Debug for Simulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Simulator {:?}", self.state())
    }
}

impl Clone for Simulator {
    /// An independent copy with the same model and state.
    fn clone(&self) -> Self {
        let mut data = Data::new(self.data.model()).expect("there was memory for the first");
        let mut state = vec![0.0; self.data.model().size(self.all())];
        self.data.get(self.all(), &mut state);
        data.set(self.all(), &state);
        Simulator { data, ..*self }
    }
}

impl Simulator {
    fn new(model: &Arc<Model>) -> Result<Self> {
        let joints = model.size(VELOCITIES);
        if joints == 0 {
            return Err(Error::invalid("MuJoCo model", "it has no joints; add one"));
        }
        // Bit 4 up to 3.3, bit 5 later: the first part that has the size of the velocities.
        let Some(warm) = (4..6).map(|bit| 1 << bit).find(|part| model.size(*part) == joints) else {
            return Err(Error::invalid("MuJoCo", "the state layout of this version is unknown"));
        };
        let mut data = Data::new(model)?;
        data.step();
        let mut time = [0.0];
        data.get(TIME, &mut time);
        data.reset();
        data.forward();
        Ok(Simulator { data, warm, controls: warm << 1, timestep: time[0] })
    }

    /// The shapes of the model, as they can be drawn.
    fn geoms(&self) -> Vec<Geom> {
        self.data.model().printed().map_or(Vec::new(), |text| geoms::parse(&text))
    }

    /// Where shapes are now, seen from the side.
    fn seen(&self, geoms: &[Geom]) -> Vec<Segment> {
        geoms.iter().filter_map(|geom| geom.seen(&self.data)).collect()
    }

    fn all(&self) -> u32 {
        TIME | POSITIONS | VELOCITIES | ACTIVATIONS | self.warm
    }

    /// Number of coordinates.
    ///
    /// ```no_run
    /// # use tractable::rl::env::mujoco::Mujoco;
    /// println!("{}", Mujoco::open(None)?.load("arm.xml".as_ref())?.positions());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn positions(&self) -> usize {
        self.data.model().size(POSITIONS)
    }

    /// Number of velocities: fewer than coordinates if a joint is a quaternion.
    ///
    /// ```no_run
    /// # use tractable::rl::env::mujoco::Mujoco;
    /// println!("{}", Mujoco::open(None)?.load("arm.xml".as_ref())?.velocities());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn velocities(&self) -> usize {
        self.data.model().size(VELOCITIES)
    }

    /// Number of controls.
    ///
    /// ```no_run
    /// # use tractable::rl::env::mujoco::Mujoco;
    /// println!("{}", Mujoco::open(None)?.load("arm.xml".as_ref())?.controls());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn controls(&self) -> usize {
        self.data.model().size(self.controls)
    }

    /// Seconds per step of the physics.
    ///
    /// ```no_run
    /// # use tractable::rl::env::mujoco::Mujoco;
    /// println!("{} s", Mujoco::open(None)?.load("arm.xml".as_ref())?.timestep());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn timestep(&self) -> f64 {
        self.timestep
    }

    /// Copies coordinates, then velocities, into a slice of their size.
    pub(super) fn observe(&self, to: &mut [f64]) {
        self.data.get(POSITIONS | VELOCITIES, to);
    }

    /// Both, of a model with as many of one as of the other.
    pub(super) fn positions_and_velocities<const N: usize>(&self) -> ([f64; N], [f64; N]) {
        let (mut q, mut v) = ([0.0; N], [0.0; N]);
        self.data.get(POSITIONS, &mut q);
        self.data.get(VELOCITIES, &mut v);
        (q, v)
    }

    /// The complete state: coordinates, velocities, activations of motors, the solver's start.
    ///
    /// ```no_run
    /// # use tractable::rl::env::mujoco::Mujoco;
    /// let arm = Mujoco::open(None)?.load("arm.xml".as_ref())?;
    /// assert!(arm.state().len() >= arm.positions() + 2 * arm.velocities());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn state(&self) -> Vec<f64> {
        let parts = self.all() & !TIME;
        let mut state = vec![0.0; self.data.model().size(parts)];
        self.data.get(parts, &mut state);
        state
    }

    /// Returns to a [`state`](Self::state), or to coordinates and velocities alone.
    ///
    /// ```no_run
    /// # use tractable::rl::env::mujoco::Mujoco;
    /// let mut arm = Mujoco::open(None)?.load("arm.xml".as_ref())?;
    /// let before = arm.state();
    /// arm.step(&vec![0.0; arm.controls()], 10)?;
    /// arm.restore(&before)?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn restore(&mut self, state: &[f64]) -> Result<()> {
        let known = [POSITIONS | VELOCITIES, self.all() & !TIME];
        let sizes = known.map(|parts| self.data.model().size(parts));
        let Some(which) = sizes.iter().position(|size| *size == state.len()) else {
            return Err(Error::shape("state", format!("{} or {}", sizes[0], sizes[1]), state.len()));
        };
        crate::state::check_state("MuJoCo", state, &[])?;
        self.data.reset();
        self.data.set(known[which], state);
        self.data.forward();
        if which == 1 {
            // Versions before 3.3.6 move the solver's start even without a step.
            self.data.set(known[1], state);
        }
        Ok(())
    }

    /// Sets the controls and steps the physics this many times.
    ///
    /// ```no_run
    /// # use tractable::rl::env::mujoco::Mujoco;
    /// let mut arm = Mujoco::open(None)?.load("arm.xml".as_ref())?;
    /// arm.step(&vec![0.0; arm.controls()], 5)?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn step(&mut self, controls: &[f64], steps: usize) -> Result<()> {
        if controls.len() != self.controls() {
            return Err(Error::shape("controls", self.controls(), controls.len()));
        }
        let (mut before, mut after) = ([0.0], [0.0]);
        self.data.get(TIME, &mut before);
        self.data.set(self.controls, controls);
        for _ in 0..steps {
            self.data.step();
        }
        self.data.get(TIME, &mut after);
        // MuJoCo starts over, clock and all, when a number is no longer finite.
        let expected = before[0] + steps as f64 * self.timestep;
        if after[0].is_nan() || after[0] < expected - 0.5 * self.timestep {
            let why = "the simulation diverged; use smaller controls, a smaller timestep or softer parts";
            return Err(Error::invalid("MuJoCo", why));
        }
        Ok(())
    }
}
