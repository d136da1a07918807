//! The CUDA driver's library, opened at run time: the functions used, a context per GPU, its streams of work.
//!
//! All `unsafe` code of this device is here, except one promise per file that launches kernels: its [`arguments!`]. Memory is freed on a
//! stream that has waited for all work launched before.

mod buffer;
mod queue;
#[cfg(test)]
mod tests;

use libloading::Library;
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use tractable_core::error::{Error, Result};

pub(super) use buffer::Buffer;
pub(super) use nccl::Team;
use queue::{Item, Kernel, Queue, What};

type Code = c_int;
type Pointer = *mut c_void;

macro_rules! functions {
    ($($name:ident($($arg:ty),*);)*) => {
        /// Functions of a library, by their names.
        #[allow(non_snake_case)]
        struct Functions {
            $($name: unsafe extern "C" fn($($arg),*) -> Code,)*
        }

        impl Functions {
            fn load(library: &Library) -> std::result::Result<Self, libloading::Error> {
                // SAFETY: every name is a function of the documented interface with these arguments.
                unsafe { Ok(Functions { $($name: *library.get(stringify!($name).as_bytes())?,)* }) }
            }
        }
    };
}

mod nccl;

functions! {
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut c_int, c_int);
    cuDeviceGetName(*mut c_char, c_int, c_int);
    cuDeviceGetAttribute(*mut c_int, c_int, c_int);
    cuDevicePrimaryCtxRetain(*mut Pointer, c_int);
    cuCtxSetCurrent(Pointer);
    cuStreamCreate(*mut Pointer, c_uint);
    cuStreamDestroy_v2(Pointer);
    cuStreamSynchronize(Pointer);
    cuStreamWaitEvent(Pointer, Pointer, c_uint);
    cuEventCreate(*mut Pointer, c_uint);
    cuEventDestroy_v2(Pointer);
    cuEventRecord(Pointer, Pointer);
    cuEventSynchronize(Pointer);
    cuDeviceGetDefaultMemPool(*mut Pointer, c_int);
    cuMemPoolSetAttribute(Pointer, c_int, Pointer);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAllocAsync(*mut u64, usize, Pointer);
    cuMemFreeAsync(u64, Pointer);
    cuMemAllocHost_v2(*mut Pointer, usize);
    cuMemFreeHost(Pointer);
    cuMemcpyHtoDAsync_v2(u64, *const c_void, usize, Pointer);
    cuMemcpyDtoHAsync_v2(Pointer, u64, usize, Pointer);
    cuMemsetD32Async(u64, c_uint, usize, Pointer);
    cuModuleLoadData(*mut Pointer, *const c_void);
    cuModuleUnload(Pointer);
    cuModuleGetFunction(*mut Pointer, Pointer, *const c_char);
    cuFuncSetAttribute(Pointer, c_int, c_int);
    cuFuncGetParamInfo(Pointer, usize, *mut usize, *mut usize);
    cuLaunchKernel(Pointer, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Pointer, *mut Pointer, *mut Pointer);
    cuStreamBeginCapture_v2(Pointer, c_uint);
    cuStreamEndCapture(Pointer, *mut Pointer);
    cuGraphInstantiateWithFlags(*mut Pointer, Pointer, u64);
    cuGraphLaunch(Pointer, Pointer);
    cuGraphDestroy(Pointer);
    cuGraphExecDestroy(Pointer);
    cuGetErrorName(Code, *mut *const c_char);
}

/// Environment variable with the path of the driver's library, if the system does not find it by name.
const LIBRARY: &str = "TRACTABLE_LIBCUDA";
/// CUDA 12.4, the first driver that reads the kernels' PTX.
const OLDEST: c_int = 12040;
const OUT_OF_MEMORY: Code = 2;
const COMPUTE_MAJOR: c_int = 75;
const COMPUTE_MINOR: c_int = 76;
const MULTIPROCESSORS: c_int = 16;
const MOST_SHARED: c_int = 8;
/// Flag of an event that only orders work.
const NO_TIMING: c_uint = 2;
const RELEASE_THRESHOLD: c_int = 4;

pub(super) fn failed(why: impl Into<String>) -> Error {
    Error::Device { device: "cuda".into(), why: why.into() }
}

/// What went wrong, without the device's name.
pub(super) fn why(e: Error) -> String {
    match e {
        Error::Device { why, .. } => why,
        other => other.to_string(),
    }
}

/// The library, loaded once, or the reason why it cannot be.
fn functions() -> Result<&'static Functions> {
    static LOADED: OnceLock<std::result::Result<Functions, String>> = OnceLock::new();
    let load = || {
        let named = std::env::var_os(LIBRARY);
        let name = named.clone().unwrap_or(if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" }.into());
        // SAFETY: opening the driver's library runs its initialisers, which do not touch our data.
        let library = unsafe { Library::new(&name) }.map_err(|e| match named {
            Some(path) => format!("{} cannot be opened: {e}", path.to_string_lossy()),
            None => "this machine has no CUDA driver".to_string(),
        })?;
        // Never closed: its threads may outlive us.
        let f = Functions::load(&ManuallyDrop::new(library))
            .map_err(|e| format!("the CUDA driver is too old: {e}"))?;
        let mut version = 0;
        // SAFETY: plain calls that fill what they are given.
        let code = unsafe { (f.cuDriverGetVersion)(&mut version) };
        if code == 0 && version < OLDEST {
            let have = format!("{}.{}", version / 1000, version % 1000 / 10);
            return Err(format!("the driver is too old: it supports CUDA {have}, and 12.4 is needed"));
        }
        // SAFETY: as above.
        match unsafe { (f.cuInit)(0) } {
            0 => Ok(f),
            code => Err(format!("no CUDA device can be used ({})", name_of(&f, code))),
        }
    };
    LOADED.get_or_init(load).as_ref().map_err(|why| failed(why.clone()))
}

fn name_of(f: &Functions, code: Code) -> String {
    let mut text = std::ptr::null();
    // SAFETY: fills the pointer with a constant of the library, or leaves it.
    match unsafe { (f.cuGetErrorName)(code, &mut text) } {
        // SAFETY: a text of the library that ends with zero.
        0 if !text.is_null() => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        _ => format!("error {code}"),
    }
}

/// Names of the GPUs; none if there is no driver.
pub(crate) fn names() -> Vec<String> {
    let Ok(f) = functions() else { return Vec::new() };
    let mut count = 0;
    // SAFETY: fills the count.
    unsafe { (f.cuDeviceGetCount)(&mut count) };
    (0..count).map(|n| name(f, n)).collect()
}

fn name(f: &Functions, ordinal: c_int) -> String {
    let (mut device, mut text) = (0, [0 as c_char; 128]);
    // SAFETY: fills the handle, and at most this many bytes of text, which end with zero.
    unsafe {
        (f.cuDeviceGet)(&mut device, ordinal);
        (f.cuDeviceGetName)(text.as_mut_ptr(), text.len() as c_int - 1, device);
        CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned()
    }
}

/// The structure that some kernels take.
///
/// # Safety
/// A kernel reads and writes wherever its arguments point. Who implements this promises that the kernels named take exactly this structure,
/// and that every value made of it is launched while its addresses are those of buffers with room for all numbers that the kernel touches.
pub(super) unsafe trait Arguments: Copy + PartialEq + Send + 'static {
    /// Names of the kernels, without their precision.
    const KERNELS: &'static [&'static str];
}

/// Says which kernels take which structure: a promise, see [`Arguments`]. The file makes all values of its structures.
macro_rules! arguments {
    (unsafe { $($args:ty: $($kernel:literal),+;)+ }) => {$(
        // SAFETY: promised where the macro is used.
        #[allow(unsafe_code, reason = "a promise about kernels")]
        unsafe impl $crate::cuda::driver::Arguments for $args {
            const KERNELS: &'static [&'static str] = &[$($kernel),+];
        }
    )+};
}
pub(super) use arguments;

/// One GPU: its context, stream and kernels.
pub(crate) struct Gpu {
    f: &'static Functions,
    context: usize,
    /// The main stream and the side streams, each with an event that marks its progress.
    streams: [Stream; 1 + BESIDE],
    /// Streams on which nothing runs: graphs are recorded there, while other threads use those above.
    recording: [usize; 1 + BESIDE],
    queue: Mutex<Queue>,
    /// Bits of the streams that the main one has not waited for yet.
    busy: AtomicUsize,
    /// The side stream to use next.
    next: AtomicUsize,
    module: usize,
    /// Kernels by name, each with the shared memory it was allowed.
    kernels: Mutex<HashMap<&'static str, (usize, u32)>>,
    staging: Mutex<Staging>,
    /// Why the device cannot be used any more.
    lost: OnceLock<String>,
    pub(super) name: String,
    pub(super) multiprocessors: usize,
    /// Whether it can run the code for Hopper, with products of four warps.
    pub(super) has_wgmma: bool,
}

#[derive(Clone, Copy, Default)]
struct Stream {
    stream: usize,
    end: usize,
}

/// Number of side streams.
const BESIDE: usize = 4;

/// Maximum number of blocks of a grid in its second and third direction.
pub(super) const MOST_DOWN: usize = 65_535;

thread_local! {
    /// The stream this thread launches on; zero is the main one.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// A point in the main stream that work on a side stream can wait for.
pub(super) struct Mark {
    gpu: Arc<Gpu>,
    event: usize,
    /// How often the queue had been flushed by then.
    set_at: AtomicUsize,
}

/// Pinned memory for asynchronous copies to the device.
#[derive(Default)]
struct Staging {
    slots: Vec<Slot>,
    next: usize,
}

struct Slot {
    memory: usize,
    bytes: usize,
    event: usize,
}

/// Copies in progress at the same time, and the most bytes of one.
const SLOTS: usize = 16;
const MOST_STAGED: usize = 4 << 20;

impl Gpu {
    /// Opens a GPU with one of these kernels: code for Hopper, PTX for all others.
    pub(super) fn open(
        ordinal: usize,
        code: fn() -> &'static [u8],
        ptx: fn() -> &'static [u8],
    ) -> Result<Self> {
        let f = functions()?;
        let (mut count, mut device) = (0, 0);
        let [mut context, mut module, mut pool] = [std::ptr::null_mut(); 3];
        let check = |code: Code, doing: &str| match code {
            0 => Ok(()),
            code => Err(failed(format!("{doing} failed ({})", name_of(f, code)))),
        };
        // SAFETY: every call fills what it is given; handles are used only after their call succeeded.
        unsafe {
            check((f.cuDeviceGetCount)(&mut count), "counting devices")?;
            if ordinal >= count as usize {
                let have = if count == 1 { "1 device".into() } else { format!("{count} devices") };
                return Err(failed(format!("there is no device {ordinal}; this machine has {have}")));
            }
            check((f.cuDeviceGet)(&mut device, ordinal as c_int), "opening the device")?;
            let attribute = |which: c_int| {
                let mut value = 0;
                (f.cuDeviceGetAttribute)(&mut value, which, device);
                value
            };
            let (major, minor) = (attribute(COMPUTE_MAJOR), attribute(COMPUTE_MINOR));
            let name = name(f, ordinal as c_int);
            if major < 8 {
                let why = format!("{name} has compute capability {major}.{minor}, and 8.0 is needed");
                return Err(failed(why));
            }
            check((f.cuDevicePrimaryCtxRetain)(&mut context, device), "opening the device")?;
            check((f.cuCtxSetCurrent)(context), "opening the device")?;
            // Keep freed memory in the pool: otherwise it would be returned to the system at every synchronisation and allocated again.
            check((f.cuDeviceGetDefaultMemPool)(&mut pool, device), "opening the device")?;
            let mut kept = u64::MAX;
            let kept = (&raw mut kept).cast();
            check((f.cuMemPoolSetAttribute)(pool, RELEASE_THRESHOLD, kept), "opening the device")?;
            let mut streams = [Stream::default(); 1 + BESIDE];
            for one in &mut streams {
                let [mut stream, mut end] = [std::ptr::null_mut(); 2];
                // Does not wait for work of other libraries in this process.
                check((f.cuStreamCreate)(&mut stream, 1), "opening the device")?;
                check((f.cuEventCreate)(&mut end, NO_TIMING), "opening the device")?;
                *one = Stream { stream: stream as usize, end: end as usize };
            }
            let mut recording = [0; 1 + BESIDE];
            for one in &mut recording {
                let mut stream = std::ptr::null_mut();
                check((f.cuStreamCreate)(&mut stream, 1), "opening the device")?;
                *one = stream as usize;
            }
            let has_wgmma = (major, minor) == (9, 0);
            let image = if has_wgmma { code() } else { ptx() };
            check((f.cuModuleLoadData)(&mut module, image.as_ptr().cast()), "loading the kernels")?;
            Ok(Gpu {
                f,
                context: context as usize,
                streams,
                recording,
                queue: Mutex::default(),
                busy: AtomicUsize::new(0),
                next: AtomicUsize::new(0),
                module: module as usize,
                kernels: Mutex::default(),
                staging: Mutex::default(),
                lost: OnceLock::new(),
                name,
                multiprocessors: attribute(MULTIPROCESSORS).max(1) as usize,
                has_wgmma,
            })
        }
    }

    /// Makes the context this thread's own.
    fn enter(&self) {
        // SAFETY: the context stays open as long as the process.
        unsafe { (self.f.cuCtxSetCurrent)(self.context as Pointer) };
    }

    /// The stream of this thread, for calls that bypass the queue: queued work is launched first.
    fn stream(&self) -> Pointer {
        let current = CURRENT.get();
        self.join_if_main();
        let failed = self.queued().flush(self, current == 0);
        if let Some((code, doing)) = failed {
            self.note(code, doing);
        }
        self.streams[current].stream as Pointer
    }

    fn main(&self) -> Pointer {
        self.streams[0].stream as Pointer
    }

    fn queued(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn push(&self, stream: usize, what: What) {
        self.queued().push([Item { stream, what }]);
    }

    /// Makes the main stream wait for all work on side streams.
    fn join(&self) {
        // Under one lock: otherwise another thread could queue work between the two steps.
        let mut queued = self.queued();
        let busy = self.busy.swap(0, Relaxed);
        for other in (1..=BESIDE).filter(|n| busy >> n & 1 != 0) {
            queued.push(self.after(0, other));
        }
    }

    /// Makes a stream wait for everything launched on another one.
    fn follow(&self, stream: usize, other: usize) {
        self.queued().push(self.after(stream, other));
    }

    fn after(&self, stream: usize, other: usize) -> [Item; 2] {
        let end = self.streams[other].end;
        [Item { stream: other, what: What::Record(end) }, Item { stream, what: What::Wait(end) }]
    }

    /// Runs the launches of `f` on a side stream: after the mark, if it was set since the last flush, otherwise after all earlier
    /// work. The next launch on the main stream waits for them.
    pub(super) fn beside(&self, mark: &Mark, f: impl FnOnce()) {
        let number = 1 + self.next.fetch_add(1, Relaxed) % BESIDE;
        let mut queued = self.queued();
        let is_set = mark.set_at.load(Relaxed) == queued.flushes;
        if is_set {
            queued.push([Item { stream: number, what: What::Wait(mark.event) }]);
        }
        drop(queued);
        if !is_set {
            self.follow(number, 0);
        }
        let _aside = Aside { gpu: self, number };
        CURRENT.set(number);
        f();
    }

    /// On a side stream: waits for everything launched on the main stream.
    pub(super) fn catch_up(&self) {
        self.follow(CURRENT.get(), 0);
    }

    /// Sets words of memory to zero.
    fn clear(&self, at: u64, words: usize) {
        if self.lost.get().is_none() {
            self.join_if_main();
            self.push(CURRENT.get(), What::Clear(at, words));
        }
    }

    fn join_if_main(&self) {
        if CURRENT.get() == 0 {
            self.join();
        }
    }

    /// Remembers the first failure: after it, nothing runs on this device.
    fn note(&self, code: Code, doing: &str) {
        if code != 0 {
            let _ = self.lost.set(format!("{doing} failed ({})", name_of(self.f, code)));
        }
    }

    /// An error if the device was lost.
    pub(super) fn alive(&self) -> Result<()> {
        match self.lost.get() {
            None => Ok(()),
            Some(why) => Err(failed(format!("the device was lost: {why}"))),
        }
    }

    /// Launches all queued work; an error if the device was lost.
    pub(super) fn launch_all(&self) -> Result<()> {
        self.enter();
        self.stream();
        self.alive()
    }

    /// Waits for all work.
    pub(super) fn wait(&self) -> Result<()> {
        self.enter();
        let stream = self.stream();
        // SAFETY: our own stream.
        self.note(unsafe { (self.f.cuStreamSynchronize)(stream) }, "the work on the device");
        self.alive()
    }

    /// Queues a kernel over a grid of blocks. Does nothing on a lost device.
    pub(super) fn launch<A: Arguments>(
        &self,
        name: &'static str,
        grid: [usize; 3],
        threads: usize,
        shared: usize,
        args: &A,
    ) {
        if self.lost.get().is_some() || grid.contains(&0) {
            return;
        }
        let Some(function) = self.kernel::<A>(name, shared as u32) else { return };
        self.join_if_main();
        let kernel = Kernel {
            name,
            function: function as usize,
            grid: grid.map(|n| n as c_uint),
            threads: threads as c_uint,
            shared: shared as c_uint,
            args: Box::new(*args),
        };
        self.push(CURRENT.get(), What::Kernel(kernel));
    }

    /// A kernel that takes these arguments.
    fn kernel<A: Arguments>(&self, name: &'static str, shared: u32) -> Option<Pointer> {
        let plain = ["_precise", "_fast"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(A::KERNELS.contains(&plain), "{name} takes other arguments");
        let mut kernels = self.kernels.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(&(function, allowed)) = kernels.get(name)
            && allowed >= shared
        {
            return Some(function as Pointer);
        }
        self.enter();
        let mut function = std::ptr::null_mut();
        let text = CString::new(name).expect("names of kernels have no zero byte");
        // SAFETY: the module is loaded; the name ends with zero.
        let mut code =
            unsafe { (self.f.cuModuleGetFunction)(&mut function, self.module as Pointer, text.as_ptr()) };
        let (mut at, mut bytes) = (0, 0);
        if code == 0 {
            // SAFETY: a function of the module; fills both numbers.
            code = unsafe { (self.f.cuFuncGetParamInfo)(function, 0, &mut at, &mut bytes) };
        }
        if code == 0 && bytes != size_of::<A>() {
            let _ = self.lost.set(format!("{name} takes {bytes} bytes of arguments, not {}", size_of::<A>()));
            return None;
        }
        // A kernel may also have a little static shared memory.
        if code == 0 && shared > 40 << 10 {
            // SAFETY: a function of the module.
            code = unsafe { (self.f.cuFuncSetAttribute)(function, MOST_SHARED, shared as c_int) };
        }
        self.note(code, name);
        kernels.insert(name, (function as usize, shared));
        (code == 0).then_some(function)
    }

    /// Copies numbers to the device without waiting for it.
    fn upload<T: Copy>(&self, to: u64, from: &[T]) {
        let per = (MOST_STAGED / size_of::<T>()).max(1);
        for (i, some) in from.chunks(per).enumerate() {
            self.upload_some(to + (i * per * size_of::<T>()) as u64, some);
        }
    }

    /// The same for numbers that fit into one slot.
    fn upload_some<T: Copy>(&self, to: u64, from: &[T]) {
        let bytes = size_of_val(from);
        if self.lost.get().is_some() || bytes == 0 {
            return;
        }
        self.enter();
        let mut staging = self.staging.lock().unwrap_or_else(|e| e.into_inner());
        let at = staging.next;
        staging.next = (at + 1) % SLOTS;
        if staging.slots.len() <= at {
            staging.slots.push(Slot { memory: 0, bytes: 0, event: 0 });
        }
        let slot = &mut staging.slots[at];
        // SAFETY: the event, once made, marks the end of the last copy from this memory; the memory holds `bytes`.
        let code = unsafe {
            let mut code = 0;
            if slot.event == 0 {
                let mut event = std::ptr::null_mut();
                code = (self.f.cuEventCreate)(&mut event, NO_TIMING);
                slot.event = event as usize;
            } else {
                code |= (self.f.cuEventSynchronize)(slot.event as Pointer);
            }
            if slot.bytes < bytes {
                let mut memory = std::ptr::null_mut();
                (self.f.cuMemFreeHost)(slot.memory as Pointer);
                let room = bytes.next_power_of_two();
                code |= (self.f.cuMemAllocHost_v2)(&mut memory, room);
                (slot.memory, slot.bytes) = (memory as usize, if code == 0 { room } else { 0 });
            }
            if code == 0 {
                std::ptr::copy_nonoverlapping(from.as_ptr().cast::<u8>(), slot.memory as *mut u8, bytes);
                code = (self.f.cuMemcpyHtoDAsync_v2)(to, slot.memory as *const c_void, bytes, self.stream());
                code |= (self.f.cuEventRecord)(slot.event as Pointer, self.stream());
            }
            code
        };
        self.note(code, "copying to the device");
    }
}

/// Until this is dropped, the thread launches on a side stream.
struct Aside<'a> {
    gpu: &'a Gpu,
    number: usize,
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        CURRENT.set(0);
        self.gpu.busy.fetch_or(1 << self.number, Relaxed);
    }
}

impl Drop for Gpu {
    /// Gives everything back when the last network, buffer and handle are gone.
    fn drop(&mut self) {
        self.enter();
        let queue = self.queue.get_mut().unwrap_or_else(|e| e.into_inner());
        queue.forget(self.f);
        let staging = self.staging.get_mut().unwrap_or_else(|e| e.into_inner());
        // SAFETY: handles of ours that nobody else has; the driver ends work on a stream before it closes the stream.
        unsafe {
            for one in &self.streams {
                (self.f.cuStreamSynchronize)(one.stream as Pointer);
                (self.f.cuEventDestroy_v2)(one.end as Pointer);
                (self.f.cuStreamDestroy_v2)(one.stream as Pointer);
            }
            for &stream in &self.recording {
                (self.f.cuStreamDestroy_v2)(stream as Pointer);
            }
            for slot in &staging.slots {
                (self.f.cuEventDestroy_v2)(slot.event as Pointer);
                (self.f.cuMemFreeHost)(slot.memory as Pointer);
            }
            (self.f.cuModuleUnload)(self.module as Pointer);
        }
    }
}

impl Mark {
    pub(super) fn new(gpu: &Arc<Gpu>) -> Self {
        gpu.enter();
        let mut event = std::ptr::null_mut();
        // SAFETY: fills the handle.
        gpu.note(unsafe { (gpu.f.cuEventCreate)(&mut event, NO_TIMING) }, "ordering the work");
        Mark { gpu: gpu.clone(), event: event as usize, set_at: AtomicUsize::new(usize::MAX) }
    }

    /// Marks the work launched so far.
    pub(super) fn set(&self) {
        self.gpu.join();
        let mut queued = self.gpu.queued();
        queued.push([Item { stream: 0, what: What::Record(self.event) }]);
        self.set_at.store(queued.flushes, Relaxed);
    }

    pub(super) fn unset(&self) {
        self.set_at.store(usize::MAX, Relaxed);
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.gpu.enter();
        // Queued work may use it.
        self.gpu.stream();
        // SAFETY: an event of ours; the driver keeps it until work that waits for it is done.
        unsafe { (self.gpu.f.cuEventDestroy_v2)(self.event as Pointer) };
    }
}
