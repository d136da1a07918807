//! The CUDA driver's library, opened at run time: the functions used, a context per GPU, one stream of work.
//!
//! All `unsafe` code of this device is here. Kernels are launched with structures that hold addresses of device memory; whoever
//! builds such a structure borrows the buffers it points into until the launch, and freeing happens on the same stream, after
//! all work launched before.

use crate::error::{Error, Result};
use libloading::Library;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, OnceLock};

type Code = c_int;
type Pointer = *mut c_void;

macro_rules! functions {
    ($($name:ident($($arg:ty),*);)*) => {
        /// The functions of the driver, by their names.
        #[allow(non_snake_case)]
        struct Functions {
            $($name: unsafe extern "C" fn($($arg),*) -> Code,)*
        }

        impl Functions {
            fn load(library: &Library) -> std::result::Result<Self, libloading::Error> {
                // SAFETY: every name is a function of the documented driver interface with these arguments.
                unsafe { Ok(Functions { $($name: *library.get(stringify!($name).as_bytes())?,)* }) }
            }
        }
    };
}

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
    cuStreamSynchronize(Pointer);
    cuEventCreate(*mut Pointer, c_uint);
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
    cuModuleGetFunction(*mut Pointer, Pointer, *const c_char);
    cuFuncSetAttribute(Pointer, c_int, c_int);
    cuLaunchKernel(Pointer, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Pointer, *mut Pointer, *mut Pointer);
    cuGetErrorName(Code, *mut *const c_char);
}

/// Environment variable with the path of the driver's library, where the system does not find it by its name.
const LIBRARY: &str = "TRACTABLE_LIBCUDA";
/// CUDA 12.4, the first driver that reads the kernels' PTX.
const OLDEST: c_int = 12040;
const OUT_OF_MEMORY: Code = 2;
const COMPUTE_MAJOR: c_int = 75;
const COMPUTE_MINOR: c_int = 76;
const MULTIPROCESSORS: c_int = 16;
const MOST_SHARED: c_int = 8;
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

/// The library, loaded once, or why not.
fn functions() -> Result<&'static Functions> {
    static LOADED: OnceLock<std::result::Result<Functions, String>> = OnceLock::new();
    let load = || {
        let named = std::env::var_os(LIBRARY);
        let name = named.clone().unwrap_or(if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" }.into());
        // SAFETY: opening the driver's library runs its initialisers, which set up nothing of ours.
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

/// Names of the GPUs, none where there is no driver.
pub(crate) fn names() -> Vec<String> {
    let Ok(f) = functions() else { return Vec::new() };
    let mut count = 0;
    // SAFETY: fills the count.
    unsafe { (f.cuDeviceGetCount)(&mut count) };
    (0..count).map(|n| name(f, n)).collect()
}

fn name(f: &Functions, ordinal: c_int) -> String {
    let (mut device, mut text) = (0, [0 as c_char; 128]);
    // SAFETY: fills the handle, and at most so many bytes of text, the last of them zero.
    unsafe {
        (f.cuDeviceGet)(&mut device, ordinal);
        (f.cuDeviceGetName)(text.as_mut_ptr(), text.len() as c_int - 1, device);
        CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned()
    }
}

/// One GPU: its context, stream and kernels.
pub(crate) struct Gpu {
    f: &'static Functions,
    context: usize,
    stream: usize,
    module: usize,
    /// Kernels by name, each with the shared memory it was allowed.
    kernels: Mutex<HashMap<&'static str, (usize, u32)>>,
    staging: Mutex<Staging>,
    /// Why the device cannot be used any more.
    lost: OnceLock<String>,
    pub(super) name: String,
    pub(super) multiprocessors: usize,
    /// Whether the code for Hopper runs on it, with products of four warps.
    pub(super) has_wgmma: bool,
}

/// Pinned memory for copies to the device that nobody waits for.
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

/// Copies under way at once.
const SLOTS: usize = 16;

impl Gpu {
    /// Opens a GPU with these kernels: code for Hopper, PTX for all others.
    pub(super) fn open(ordinal: usize, code: &[u8], ptx: &[u8]) -> Result<Self> {
        let f = functions()?;
        let (mut count, mut device) = (0, 0);
        let [mut context, mut stream, mut module, mut pool] = [std::ptr::null_mut(); 4];
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
            // Freed memory stays ours: otherwise it would be given back whenever we wait, and asked for again.
            check((f.cuDeviceGetDefaultMemPool)(&mut pool, device), "opening the device")?;
            let mut kept = u64::MAX;
            let kept = (&raw mut kept).cast();
            check((f.cuMemPoolSetAttribute)(pool, RELEASE_THRESHOLD, kept), "opening the device")?;
            // Does not wait for work of other libraries in this process.
            check((f.cuStreamCreate)(&mut stream, 1), "opening the device")?;
            let has_wgmma = (major, minor) == (9, 0);
            let image = if has_wgmma { code } else { ptx };
            check((f.cuModuleLoadData)(&mut module, image.as_ptr().cast()), "loading the kernels")?;
            Ok(Gpu {
                f,
                context: context as usize,
                stream: stream as usize,
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

    fn stream(&self) -> Pointer {
        self.stream as Pointer
    }

    /// Remembers the first failure: after it, nothing runs on this device.
    fn note(&self, code: Code, doing: &str) {
        if code != 0 {
            let _ = self.lost.set(format!("{doing} failed ({})", name_of(self.f, code)));
        }
    }

    /// Gives the device up.
    pub(super) fn lose(&self, why: String) {
        let _ = self.lost.set(why);
    }

    /// An error where the device was lost.
    pub(super) fn alive(&self) -> Result<()> {
        match self.lost.get() {
            None => Ok(()),
            Some(why) => Err(failed(format!("the device was lost: {why}"))),
        }
    }

    /// Waits for all work.
    pub(super) fn wait(&self) -> Result<()> {
        self.enter();
        // SAFETY: our own stream.
        self.note(unsafe { (self.f.cuStreamSynchronize)(self.stream()) }, "the work on the device");
        self.alive()
    }

    /// Launches a kernel over a grid of blocks. Does nothing on a lost device.
    pub(super) fn launch<A: Copy>(
        &self,
        kernel: &'static str,
        grid: [usize; 3],
        threads: usize,
        shared: usize,
        args: &A,
    ) {
        if self.lost.get().is_some() || grid.contains(&0) {
            return;
        }
        self.enter();
        let Some(function) = self.kernel(kernel, shared as u32) else { return };
        let mut parameters = [args as *const A as Pointer];
        let [x, y, z] = grid.map(|n| n as c_uint);
        // SAFETY: the function takes one structure of this layout, which the driver copies before it returns; the
        // addresses in it are of buffers that are freed on this stream, after the kernel.
        let code = unsafe {
            (self.f.cuLaunchKernel)(
                function,
                x,
                y,
                z,
                threads as c_uint,
                1,
                1,
                shared as c_uint,
                self.stream(),
                parameters.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        self.note(code, kernel);
    }

    fn kernel(&self, name: &'static str, shared: u32) -> Option<Pointer> {
        let mut kernels = self.kernels.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(&(function, allowed)) = kernels.get(name)
            && allowed >= shared
        {
            return Some(function as Pointer);
        }
        let mut function = std::ptr::null_mut();
        let text = CString::new(name).expect("names of kernels have no zero byte");
        // SAFETY: the module is loaded; the name ends with zero.
        let mut code =
            unsafe { (self.f.cuModuleGetFunction)(&mut function, self.module as Pointer, text.as_ptr()) };
        if code == 0 && shared > 48 << 10 {
            // SAFETY: a function of the module.
            code = unsafe { (self.f.cuFuncSetAttribute)(function, MOST_SHARED, shared as c_int) };
        }
        self.note(code, name);
        kernels.insert(name, (function as usize, shared));
        (code == 0).then_some(function)
    }

    /// Copies numbers to the device without waiting for it.
    fn upload<T: Copy>(&self, to: u64, from: &[T]) {
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
        // SAFETY: the event, once made, says when the last copy out of this memory was done; the memory holds `bytes`.
        let code = unsafe {
            let mut code = 0;
            if slot.event == 0 {
                let mut event = std::ptr::null_mut();
                code = (self.f.cuEventCreate)(&mut event, 2);
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

/// Numbers in the device's memory. It grows and never shrinks; what is new in it is not set.
pub(crate) struct Buffer<T> {
    gpu: Arc<Gpu>,
    at: u64,
    room: usize,
    kind: std::marker::PhantomData<fn() -> T>,
}

impl<T: Copy> Buffer<T> {
    /// No memory yet.
    pub(super) fn none(gpu: &Arc<Gpu>) -> Self {
        Buffer { gpu: gpu.clone(), at: 0, room: 0, kind: std::marker::PhantomData }
    }

    /// Room for `n` numbers, all bytes zero.
    pub(super) fn zeros(gpu: &Arc<Gpu>, n: usize) -> Result<Self> {
        let mut buffer = Self::none(gpu);
        buffer.grow(n)?;
        buffer.clear(n);
        Ok(buffer)
    }

    /// Makes room for at least `n` numbers; what was there is lost if there was less.
    pub(super) fn grow(&mut self, n: usize) -> Result<()> {
        if self.room >= n && self.at != 0 {
            return Ok(());
        }
        self.gpu.alive()?;
        self.gpu.enter();
        self.free();
        let bytes = (n * size_of::<T>()).max(16);
        // SAFETY: fills the address.
        match unsafe { (self.gpu.f.cuMemAllocAsync)(&mut self.at, bytes, self.gpu.stream()) } {
            0 => {
                self.room = n;
                Ok(())
            }
            OUT_OF_MEMORY => {
                self.at = 0;
                let (mut free, mut all) = (0, 0);
                // SAFETY: fills both.
                unsafe { (self.gpu.f.cuMemGetInfo_v2)(&mut free, &mut all) };
                Err(failed(format!(
                    "{} more are needed, and {} of {} are free",
                    size(bytes),
                    size(free),
                    size(all)
                )))
            }
            code => {
                self.at = 0;
                self.gpu.note(code, "allocating memory");
                self.gpu.alive()
            }
        }
    }

    /// Numbers there is room for.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Its address.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Sets the first `n` numbers to zero.
    pub(super) fn clear(&self, n: usize) {
        if self.at == 0 || self.gpu.lost.get().is_some() {
            return;
        }
        self.gpu.enter();
        let words = (n * size_of::<T>()).div_ceil(4);
        // SAFETY: within the buffer, whose size is a multiple of four bytes.
        let code = unsafe { (self.gpu.f.cuMemsetD32Async)(self.at, 0, words, self.gpu.stream()) };
        self.gpu.note(code, "clearing memory");
    }

    /// Copies numbers to the device, from number `first` on.
    pub(super) fn write(&self, first: usize, from: &[T]) {
        debug_assert!(first + from.len() <= self.room);
        if self.at != 0 {
            self.gpu.upload(self.at + (first * size_of::<T>()) as u64, from);
        }
    }

    /// Waits, and copies the first `n` numbers back.
    pub(super) fn read(&self, n: usize) -> Result<Vec<T>>
    where
        T: Default,
    {
        self.gpu.alive()?;
        let mut to = vec![T::default(); n];
        if n == 0 {
            return Ok(to);
        }
        self.gpu.enter();
        // SAFETY: `to` has room for `n` numbers and is not touched until the copy is done.
        let code = unsafe {
            (self.gpu.f.cuMemcpyDtoHAsync_v2)(
                to.as_mut_ptr().cast(),
                self.at,
                n * size_of::<T>(),
                self.gpu.stream(),
            )
        };
        self.gpu.note(code, "copying from the device");
        self.gpu.wait()?;
        Ok(to)
    }

    fn free(&mut self) {
        if self.at != 0 {
            // SAFETY: an address of ours, freed after all work launched so far.
            unsafe { (self.gpu.f.cuMemFreeAsync)(self.at, self.gpu.stream()) };
            (self.at, self.room) = (0, 0);
        }
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if self.at != 0 {
            self.gpu.enter();
            // SAFETY: as in `free`.
            unsafe { (self.gpu.f.cuMemFreeAsync)(self.at, self.gpu.stream()) };
        }
    }
}

/// Bytes in words.
fn size(bytes: usize) -> String {
    match bytes {
        0..1_000_000 => format!("{bytes} bytes"),
        1_000_000..1_000_000_000 => format!("{:.0} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
