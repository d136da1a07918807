//! MuJoCo's shared library, opened at run time: thirteen functions, behind safe methods.
//!
//! No structure of MuJoCo is used here. Models and simulations are opaque pointers, and all numbers cross as
//! arrays of f64 by `mj_getState` and `mj_setState`, so that one build drives every version from 2.3.7 on.

use super::screen;
use libloading::Library as Handle;
use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tractable_core::error::{Error, Result};

type LoadXml = unsafe extern "C" fn(*const c_char, *const c_void, *mut c_char, c_int) -> *mut c_void;
type OnModel = unsafe extern "C" fn(*mut c_void);
type PrintModel = unsafe extern "C" fn(*const c_void, *const c_char);
type ToWorld = unsafe extern "C" fn(*mut c_void, *mut f64, *mut f64, *const f64, *const f64, c_int, c_uchar);
type OnBoth = unsafe extern "C" fn(*const c_void, *mut c_void);

/// The library and its functions. It is never closed: its threads and exit handlers
/// must still find its code.
pub(super) struct Library {
    path: PathBuf,
    version: String,
    load_xml: LoadXml,
    delete_model: OnModel,
    make_data: unsafe extern "C" fn(*const c_void) -> *mut c_void,
    delete_data: OnModel,
    reset: OnBoth,
    forward: OnBoth,
    step: OnBoth,
    state_size: unsafe extern "C" fn(*const c_void, c_uint) -> c_int,
    get_state: unsafe extern "C" fn(*const c_void, *const c_void, *mut f64, c_uint),
    set_state: unsafe extern "C" fn(*const c_void, *mut c_void, *const f64, c_uint),
    /// For pictures; a version without them has none.
    print_model: Option<PrintModel>,
    to_world: Option<ToWorld>,
}

/// Suppresses MuJoCo's warnings, which go to stdout and into a file of the working folder. Problems
/// are detected otherwise: errors of a model by their text, a diverged simulation by its clock.
unsafe extern "C" fn be_quiet(_: *const c_char) {}

/// One model is read at a time: MuJoCo does not guarantee that its parser is thread-safe.
static LOADING: Mutex<()> = Mutex::new(());

impl Library {
    pub(super) fn open(path: &Path) -> Result<Arc<Self>> {
        let refuse = |e: libloading::Error| Error::Model {
            path: path.into(),
            at: "MuJoCo".into(),
            why: format!("cannot be opened as MuJoCo's library: {e}"),
        };
        // SAFETY: opening a library runs its initialisers. The file is one that the user named or installed as
        // MuJoCo; its initialisers set up plugins and nothing of ours.
        let handle = unsafe { Handle::new(path) }.map_err(refuse)?;
        // SAFETY: every name is a function of MuJoCo's documented interface with these arguments, unchanged from
        // 2.3.7 to 4.0.0 (signatures of states are `unsigned int` or `int`, passed alike); `mju_user_warning` is
        // a pointer to a function of one text. Functions stay valid because the library is never closed.
        unsafe {
            let handle = std::mem::ManuallyDrop::new(handle);
            let version = handle.get::<unsafe extern "C" fn() -> *const c_char>(c"mj_versionString");
            let version = version.map_err(refuse)?();
            if let Ok(warning) =
                handle.get::<*mut Option<unsafe extern "C" fn(*const c_char)>>(c"mju_user_warning")
            {
                **warning = Some(be_quiet);
            }
            Ok(Arc::new(Library {
                path: path.into(),
                version: CStr::from_ptr(version).to_string_lossy().into_owned(),
                load_xml: *handle.get(c"mj_loadXML").map_err(refuse)?,
                delete_model: *handle.get(c"mj_deleteModel").map_err(refuse)?,
                make_data: *handle.get(c"mj_makeData").map_err(refuse)?,
                delete_data: *handle.get(c"mj_deleteData").map_err(refuse)?,
                reset: *handle.get(c"mj_resetData").map_err(refuse)?,
                forward: *handle.get(c"mj_forward").map_err(refuse)?,
                step: *handle.get(c"mj_step").map_err(refuse)?,
                state_size: *handle.get(c"mj_stateSize").map_err(refuse)?,
                get_state: *handle.get(c"mj_getState").map_err(refuse)?,
                set_state: *handle.get(c"mj_setState").map_err(refuse)?,
                print_model: handle.get(c"mj_printModel").ok().map(|f| *f),
                to_world: handle.get(c"mj_local2Global").ok().map(|f| *f),
            }))
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }
}

/// A model, never changed after it was loaded.
pub(super) struct Model {
    library: Arc<Library>,
    model: NonNull<c_void>,
}

// SAFETY: MuJoCo's functions take models as `const` and read them only; they may be shared between threads.
unsafe impl Send for Model {}
// SAFETY: as above.
unsafe impl Sync for Model {}

impl Model {
    pub(super) fn load(library: &Arc<Library>, file: &Path) -> Result<Arc<Self>> {
        let refuse = |why: String| Error::Model { path: file.into(), at: "MuJoCo model".into(), why };
        screen(file)?;
        let name = CString::new(file.as_os_str().as_encoded_bytes()).map_err(|e| refuse(e.to_string()))?;
        let mut said = [0u8; 1024];
        let _one = LOADING.lock().unwrap_or_else(|broken| broken.into_inner());
        // SAFETY: `name` ends with a NUL, no virtual file system is given, and `said` has the length stated.
        let model = unsafe {
            (library.load_xml)(name.as_ptr(), std::ptr::null(), said.as_mut_ptr().cast(), said.len() as c_int)
        };
        let Some(model) = NonNull::new(model) else {
            let text = CStr::from_bytes_until_nul(&said).map(CStr::to_string_lossy).unwrap_or_default();
            return Err(refuse(text.split_whitespace().collect::<Vec<_>>().join(" ")));
        };
        Ok(Arc::new(Model { library: library.clone(), model }))
    }

    /// The model as MuJoCo prints it; none where that is not to be had.
    pub(super) fn printed(&self) -> Option<String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let print = self.library.print_model?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tractable-model-{}-{number}.txt", std::process::id()));
        // Made by us, and new: nobody's link is followed.
        std::fs::File::create_new(&path).ok()?;
        let name = CString::new(path.as_os_str().as_encoded_bytes()).ok();
        if let Some(name) = &name {
            // SAFETY: the model is valid, and `name` ends with a NUL.
            unsafe { print(self.model.as_ptr(), name.as_ptr()) }
        }
        let text = std::fs::read(&path).ok();
        let _ = std::fs::remove_file(&path);
        Some(String::from_utf8_lossy(&text?).into_owned())
    }

    /// Numbers in these parts of the state.
    pub(super) fn size(&self, parts: u32) -> usize {
        // SAFETY: the model is valid until dropped; callers name parts that every version has.
        let size = unsafe { (self.library.state_size)(self.model.as_ptr(), parts) };
        usize::try_from(size).unwrap_or(0)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: made by `mj_loadXML`, dropped once, and every `Data` keeps its model alive.
        unsafe { (self.library.delete_model)(self.model.as_ptr()) }
    }
}

/// A simulation of a model.
pub(super) struct Data {
    model: Arc<Model>,
    data: NonNull<c_void>,
}

// SAFETY: MuJoCo keeps nothing of a simulation in the thread that made it, and it is used by one at a time.
unsafe impl Send for Data {}
// SAFETY: `&self` methods only read: `mj_getState` takes the simulation as `const`.
unsafe impl Sync for Data {}

impl Data {
    pub(super) fn new(model: &Arc<Model>) -> Result<Self> {
        // SAFETY: the model is valid.
        let data = unsafe { (model.library.make_data)(model.model.as_ptr()) };
        let data = NonNull::new(data)
            .ok_or_else(|| Error::invalid("MuJoCo", "not enough memory to simulate this model"))?;
        Ok(Data { model: model.clone(), data })
    }

    pub(super) fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Back to the model's own start.
    pub(super) fn reset(&mut self) {
        // SAFETY: both pointers are valid and belong together.
        unsafe { (self.model.library.reset)(self.model.model.as_ptr(), self.data.as_ptr()) }
    }

    /// Everything that follows from the state, without a step.
    pub(super) fn forward(&mut self) {
        // SAFETY: both pointers are valid and belong together.
        unsafe { (self.model.library.forward)(self.model.model.as_ptr(), self.data.as_ptr()) }
    }

    pub(super) fn step(&mut self) {
        // SAFETY: both pointers are valid and belong together.
        unsafe { (self.model.library.step)(self.model.model.as_ptr(), self.data.as_ptr()) }
    }

    /// Where a place of a body is in the world, and how it is turned, row after row. The body must be one of the model's.
    pub(super) fn place(
        &self,
        body: i32,
        position: &[f64; 3],
        quaternion: &[f64; 4],
    ) -> Option<([f64; 3], [f64; 9])> {
        let (mut place, mut turned) = ([0.0; 3], [0.0; 9]);
        let to_world = self.model.library.to_world?;
        // SAFETY: the simulation is valid and only read; arrays have the sizes that are written and read; bodies come from
        // what MuJoCo printed of this very model.
        unsafe {
            to_world(
                self.data.as_ptr(),
                place.as_mut_ptr(),
                turned.as_mut_ptr(),
                position.as_ptr(),
                quaternion.as_ptr(),
                body,
                0,
            )
        }
        Some((place, turned))
    }

    /// Copies parts of the state out. The slice must have their size.
    pub(super) fn get(&self, parts: u32, to: &mut [f64]) {
        assert_eq!(to.len(), self.model.size(parts), "parts {parts:#b} of a state");
        // SAFETY: both pointers are valid, and the slice holds as many numbers as are written.
        unsafe {
            (self.model.library.get_state)(
                self.model.model.as_ptr(),
                self.data.as_ptr(),
                to.as_mut_ptr(),
                parts,
            )
        }
    }

    /// Copies parts of the state in. The slice must have their size.
    pub(super) fn set(&mut self, parts: u32, from: &[f64]) {
        assert_eq!(from.len(), self.model.size(parts), "parts {parts:#b} of a state");
        // SAFETY: both pointers are valid, and the slice holds as many numbers as are read.
        unsafe {
            (self.model.library.set_state)(
                self.model.model.as_ptr(),
                self.data.as_ptr(),
                from.as_ptr(),
                parts,
            )
        }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // SAFETY: made by `mj_makeData` and dropped once.
        unsafe { (self.model.library.delete_data)(self.data.as_ptr()) }
    }
}
