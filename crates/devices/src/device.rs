//! [`Device`]: where a network computes; a handle that many networks share.

#[cfg(feature = "cuda")]
use super::cuda::{Cuda, Precision};
use super::{Cpu, Reference};
use std::sync::Arc;
#[cfg(feature = "cuda")]
use std::sync::{Mutex, Weak};
use tractable_core::error::{Error, Result};
use tractable_core::team::{MOST_THREADS, Team};

/// Where a network computes, and with which threads. It is a handle: clones, and all networks built on them, share one
/// [`Team`](tractable_core::team::Team), and so do other devices with as many threads. Models and searches share it too.
///
/// ```
/// use tractable::{Activation, Device, Matrix, Network};
/// let x = Matrix::new(vec![0.5, -1.0], 2)?;
/// let net = |device| Network::mlp([2, 8, 1], Activation::Tanh).seed(1).device(device).build();
/// let exact = net(Device::reference())?.predict(&x)?;
/// let fast = net(Device::cpu(1))?.predict(&x)?;
/// assert!((exact.mean()[0] - fast.mean()[0]).abs() < 1e-6);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device(pub Handle, Team);

/// The devices there are.
#[derive(Debug, Clone)]
pub enum Handle {
    /// The CPU in f32.
    Cpu(Arc<Cpu>),
    /// A GPU in f32.
    #[cfg(feature = "cuda")]
    Cuda(Arc<Cuda>),
    /// The CPU in f64.
    Reference(Arc<Reference>),
}

impl PartialEq for Handle {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Handle::Cpu(a), Handle::Cpu(b)) => a.width() == b.width(),
            #[cfg(feature = "cuda")]
            (Handle::Cuda(a), Handle::Cuda(b)) => Arc::ptr_eq(a, b),
            (Handle::Reference(_), Handle::Reference(_)) => true,
            _ => false,
        }
    }
}

impl Eq for Handle {}

/// GPUs in use.
#[cfg(feature = "cuda")]
static GPUS: Mutex<Vec<Weak<Cuda>>> = Mutex::new(Vec::new());

impl Device {
    /// The CPU in f32, with this many threads and its widest vectors; 0 means one thread per core, and more
    /// than 1024 are refused when a network is built. Results do not depend on the number of threads.
    ///
    /// ```
    /// use tractable::Device;
    /// assert_eq!(Device::cpu(2), Device::cpu(2));
    /// ```
    pub fn cpu(threads: usize) -> Self {
        Self::of(pulp::Arch::new(), Team::of(threads))
    }

    /// The CPU in f64 with plain loops on one thread: slow, the reference for the others.
    ///
    /// ```
    /// assert_eq!(tractable::Device::reference().to_string(), "reference");
    /// ```
    pub fn reference() -> Self {
        Device(Handle::Reference(Arc::new(Reference)), Team::of(1))
    }

    /// An NVIDIA GPU in f32, counted from 0. Needs a driver for CUDA 12.4 or later and a GPU of compute capability 8.0 (Ampere) or
    /// later, and nothing else. Networks work as on the CPU, and files can be exchanged between the two.
    ///
    /// ```
    /// use tractable::Device;
    /// let device = Device::cuda(0).unwrap_or_default();
    /// println!("computing on {device}");
    /// ```
    pub fn cuda(ordinal: usize) -> Result<Self> {
        Self::gpu(ordinal, false, Team::of(0))
    }

    /// The same device with so many threads, 0 for one per core; those of a GPU do the work that stays on the CPU.
    ///
    /// ```
    /// use tractable::Device;
    /// assert_eq!(Device::cpu(4).with_threads(2), Device::cpu(2));
    /// ```
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        let team = Team::of(threads);
        match self.0 {
            Handle::Cpu(cpu) => Self::of(cpu.arch(), team),
            handle => Device(handle, team),
        }
    }

    /// Its threads.
    ///
    /// ```
    /// assert_eq!(tractable::Device::cpu(2).team().size(), 2);
    /// ```
    pub fn team(&self) -> &Team {
        &self.1
    }

    /// Names of this machine's GPUs that a CUDA driver knows; none without a driver.
    ///
    /// ```
    /// for (i, name) in tractable::Device::gpus().iter().enumerate() {
    ///     println!("cuda:{i} is an {name}");
    /// }
    /// ```
    pub fn gpus() -> Vec<String> {
        #[cfg(feature = "cuda")]
        return super::cuda::names();
        #[cfg(not(feature = "cuda"))]
        Vec::new()
    }

    /// Whether this is a GPU, for which batches should be large.
    ///
    /// ```
    /// assert!(!tractable::Device::cpu(1).is_gpu());
    /// ```
    pub fn is_gpu(&self) -> bool {
        !matches!(self.0, Handle::Cpu(_) | Handle::Reference(_))
    }

    /// The same GPU, with large products rounded to TF32: about three digits instead of five, and up to twice as fast. Errors
    /// after training differ no more than between seeds; keep the default for small noise.
    ///
    /// ```
    /// use tractable::Device;
    /// if let Ok(device) = Device::cuda(0) {
    ///     println!("computing on {}", device.fast()?);
    /// }
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn fast(&self) -> Result<Self> {
        match &self.0 {
            #[cfg(feature = "cuda")]
            Handle::Cuda(gpu) => Self::gpu(gpu.ordinal(), true, self.1.clone()),
            _ => Err(Error::invalid("device", "only a GPU has a faster, less precise mode")),
        }
    }

    #[cfg(not(feature = "cuda"))]
    fn gpu(ordinal: usize, _: bool, _: Team) -> Result<Self> {
        Err(Error::Device {
            device: format!("cuda:{ordinal}"),
            why: "this build has no CUDA; enable the feature `cuda`".into(),
        })
    }

    /// The GPU, opened now unless it is already in use.
    #[cfg(feature = "cuda")]
    fn gpu(ordinal: usize, fast: bool, team: Team) -> Result<Self> {
        let precision = if fast { Precision::Fast } else { Precision::Precise };
        let mut in_use = GPUS.lock().unwrap_or_else(|e| e.into_inner());
        in_use.retain(|gpu| gpu.strong_count() > 0);
        let same = |gpu: &Arc<Cuda>| gpu.ordinal() == ordinal && gpu.precision() == precision;
        if let Some(gpu) = in_use.iter().filter_map(Weak::upgrade).find(same) {
            return Ok(Device(Handle::Cuda(gpu), team));
        }
        let gpu = Arc::new(Cuda::open(ordinal, precision)?);
        in_use.push(Arc::downgrade(&gpu));
        Ok(Device(Handle::Cuda(gpu), team))
    }

    /// Vector widths of this CPU, in f32 numbers, from 1 (none) to the widest.
    ///
    /// ```
    /// assert_eq!(tractable::Device::vector_widths()[0], 1);
    /// ```
    pub fn vector_widths() -> Vec<usize> {
        archs().into_iter().map(|(width, _)| width).collect()
    }

    /// The same CPU with vectors of this [width](Device::vector_widths): for comparisons, or to reproduce the results of a
    /// machine with narrower vectors.
    ///
    /// ```
    /// use tractable::Device;
    /// assert_eq!(Device::cpu(1).vectors(1)?.to_string(), "cpu, 1 thread, vectors of 1");
    /// assert!(Device::cpu(1).vectors(3).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn vectors(&self, width: usize) -> Result<Self> {
        let known =
            || format!("{width} is not a vector width of this CPU; it has {:?}", Self::vector_widths());
        match (&self.0, archs().into_iter().find(|(w, _)| *w == width)) {
            (Handle::Cpu(_), Some((_, arch))) => Ok(Self::of(arch, self.1.clone())),
            (Handle::Cpu(_), None) => Err(Error::invalid("vectors", known())),
            _ => Err(Error::invalid("vectors", "only the CPU has vectors")),
        }
    }

    fn of(arch: pulp::Arch, team: Team) -> Self {
        Device(Handle::Cpu(Arc::new(Cpu::new(arch, team.clone()))), team)
    }

    /// Refuses unavailable devices.
    pub fn check(&self) -> Result<()> {
        match self.1.size() {
            ..=MOST_THREADS => Ok(()),
            n => Err(Error::invalid("threads", format!("{n} is more than {MOST_THREADS}"))),
        }
    }
}

/// The instruction sets of this processor by the width of their vectors.
pub(super) fn archs() -> Vec<(usize, pulp::Arch)> {
    let mut archs = vec![pulp::Arch::Scalar];
    #[cfg(target_arch = "x86_64")]
    {
        archs.extend(pulp::x86::V3::try_new().map(pulp::Arch::V3));
        archs.extend(pulp::x86::V4::try_new().map(pulp::Arch::V4));
    }
    #[cfg(target_arch = "aarch64")]
    archs.extend(pulp::aarch64::Neon::try_new().map(pulp::Arch::Neon));
    archs.into_iter().map(|arch| (width(arch), arch)).collect()
}

/// Numbers in a vector.
pub(super) fn width(arch: pulp::Arch) -> usize {
    struct Lanes;
    impl pulp::WithSimd for Lanes {
        type Output = usize;
        fn with_simd<S: pulp::Simd>(self, _: S) -> usize {
            S::F32_LANES
        }
    }
    arch.dispatch(Lanes)
}

/// A handle to the same device, so that `&device` is accepted wherever a device is.
impl From<&Device> for Device {
    fn from(device: &Device) -> Self {
        device.clone()
    }
}

impl Default for Device {
    /// The CPU with one thread per core.
    fn default() -> Self {
        Device::cpu(0)
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Handle::Cpu(cpu) => {
                let (n, width) = (self.1.size(), cpu.width());
                write!(f, "cpu, {n} thread{}, vectors of {width}", if n == 1 { "" } else { "s" })
            }
            #[cfg(feature = "cuda")]
            Handle::Cuda(gpu) => {
                let fast = if gpu.precision() == Precision::Fast { "-fast" } else { "" };
                write!(f, "cuda{fast}:{}, {}", gpu.ordinal(), gpu.name())
            }
            Handle::Reference(_) => f.write_str("reference"),
        }
    }
}

/// `cpu`, `cpu:4` with four threads, `cuda`, `cuda:1` for the second GPU, `cuda-fast`, or `reference`.
impl std::str::FromStr for Device {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let unknown = || {
            Error::invalid(
                "device",
                format!("`{name}` is not known; use cpu, cpu:4, cuda, cuda:1, cuda-fast or reference"),
            )
        };
        let (kind, number) = match name.split_once(':') {
            None => (name, None),
            Some((kind, number)) => (kind, Some(number.parse().map_err(|_| unknown())?)),
        };
        match (kind, number) {
            ("cpu", threads) => Ok(Device::cpu(threads.unwrap_or(0))),
            ("cuda", ordinal) => Device::cuda(ordinal.unwrap_or(0)),
            ("cuda-fast", ordinal) => Self::gpu(ordinal.unwrap_or(0), true, Team::of(0)),
            ("reference", None) => Ok(Device::reference()),
            _ => Err(unknown()),
        }
    }
}
