//! Work that waits to be launched. Nothing goes to the driver until its result, its memory or its stream is needed; then
//! everything is launched at once. Work that is queued twice in the same way becomes a graph, which the driver launches as a whole.

use super::{Arguments, Code, Functions, Gpu, Pointer};
use std::any::Any;
use std::ffi::c_uint;

/// Arguments of a kernel: one structure.
pub(in crate::cuda) trait Args: Any + Send {
    fn place(&self) -> *const std::ffi::c_void;
    fn same(&self, other: &dyn Any) -> bool;
    fn any(&self) -> &dyn Any;
}

impl<A: Arguments> Args for A {
    fn place(&self) -> *const std::ffi::c_void {
        std::ptr::from_ref(self).cast()
    }

    fn same(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<A>() == Some(self)
    }

    fn any(&self) -> &dyn Any {
        self
    }
}

pub(super) struct Kernel {
    pub(super) name: &'static str,
    pub(super) function: usize,
    pub(super) grid: [c_uint; 3],
    pub(super) threads: c_uint,
    pub(super) shared: c_uint,
    pub(super) args: Box<dyn Args>,
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        let shape = |k: &Kernel| (k.function, k.grid, k.threads, k.shared);
        shape(self) == shape(other) && self.args.same(other.args.any())
    }
}

#[derive(PartialEq)]
pub(super) enum What {
    Kernel(Kernel),
    /// Sets this many words to zero.
    Clear(u64, usize),
    /// Events, by their handles.
    Record(usize),
    Wait(usize),
}

/// One operation on a stream, by its number.
#[derive(PartialEq)]
pub(super) struct Item {
    pub(super) stream: usize,
    pub(super) what: What,
}

#[derive(Default)]
pub(super) struct Queue {
    items: Vec<Item>,
    /// Work that was launched before, the latest last.
    known: Vec<Known>,
    /// How often everything was launched.
    pub(super) flushes: usize,
}

struct Known {
    items: Vec<Item>,
    graph: Graph,
}

#[derive(Clone, Copy, PartialEq)]
enum Graph {
    /// Queued once.
    Unknown,
    Made(usize),
    /// The driver cannot make a graph of it.
    Impossible,
}

/// Minimum number of operations for a graph, and how many lists are remembered.
const LEAST: usize = 6;
const KNOWN: usize = 16;
/// A capture that other threads do not disturb.
const RELAXED: c_uint = 2;

impl Queue {
    pub(super) fn push(&mut self, items: impl IntoIterator<Item = Item>) {
        self.items.extend(items);
    }

    /// Forgets all graphs.
    pub(super) fn forget(&mut self, f: &Functions) {
        self.known.drain(..).for_each(|known| known.graph.forget(f));
    }

    /// Launches all queued work; `alone` if no other stream has pending work. Returns what failed.
    pub(super) fn flush(&mut self, gpu: &Gpu, alone: bool) -> Option<(Code, &'static str)> {
        if self.items.is_empty() {
            return None;
        }
        self.flushes += 1;
        let items = std::mem::take(&mut self.items);
        let streams = gpu.streams.map(|s| s.stream);
        if items.len() < LEAST || !alone {
            return issue(gpu.f, &streams, &items);
        }
        let at = self.known.iter().position(|k| k.items == items).unwrap_or_else(|| {
            if self.known.len() == KNOWN {
                self.known.remove(0).graph.forget(gpu.f);
            }
            self.known.push(Known { items, graph: Graph::Unknown });
            usize::MAX
        });
        if at == usize::MAX {
            return issue(gpu.f, &streams, &self.known.last().expect("just added").items);
        }
        let mut known = self.known.remove(at);
        if known.graph == Graph::Unknown {
            known.graph = capture(gpu, &known.items).map_or(Graph::Impossible, Graph::Made);
        }
        let failed = match known.graph {
            Graph::Made(graph) => {
                // SAFETY: a graph that the driver made. Its arguments are those of the work that was queued just now, so the
                // addresses in them are of buffers that are freed later.
                let code = unsafe { (gpu.f.cuGraphLaunch)(graph as Pointer, gpu.main()) };
                (code != 0).then_some((code, "the work on the device"))
            }
            _ => issue(gpu.f, &streams, &known.items),
        };
        self.known.push(known);
        failed
    }
}

impl Graph {
    fn forget(self, f: &Functions) {
        if let Graph::Made(graph) = self {
            // SAFETY: a graph that the driver made; it lives on until its last launch is done.
            unsafe { (f.cuGraphExecDestroy)(graph as Pointer) };
        }
    }
}

/// Passes operations to the driver, on these streams. Returns the first failure.
fn issue(f: &Functions, streams: &[usize], items: &[Item]) -> Option<(Code, &'static str)> {
    for Item { stream, what } in items {
        let stream = streams[*stream] as Pointer;
        // SAFETY: our own streams and events; kernels take one structure of this layout, which the driver copies before it
        // returns, with addresses of buffers that are freed after the kernel; what is cleared lies within a buffer.
        let (code, doing) = unsafe {
            match what {
                What::Kernel(k) => {
                    let ([x, y, z], mut args) = (k.grid, [k.args.place().cast_mut()]);
                    let function = k.function as Pointer;
                    let (args, none) = (args.as_mut_ptr(), std::ptr::null_mut());
                    let launch = f.cuLaunchKernel;
                    (launch(function, x, y, z, k.threads, 1, 1, k.shared, stream, args, none), k.name)
                }
                What::Clear(at, words) => ((f.cuMemsetD32Async)(*at, 0, *words, stream), "clearing memory"),
                What::Record(event) => ((f.cuEventRecord)(*event as Pointer, stream), "ordering the work"),
                What::Wait(event) => {
                    ((f.cuStreamWaitEvent)(stream, *event as Pointer, 0), "ordering the work")
                }
            }
        };
        if code != 0 {
            return Some((code, doing));
        }
    }
    None
}

/// Makes a graph of operations that begin and end on the main stream. They are recorded on streams of their own: another thread may use
/// the main stream at the same time.
fn capture(gpu: &Gpu, items: &[Item]) -> Option<usize> {
    if !stands_alone(items) {
        return None;
    }
    let (f, recording) = (gpu.f, &gpu.recording);
    let [mut graph, mut made] = [std::ptr::null_mut(); 2];
    // SAFETY: what is launched between begin and end is recorded and not run; handles are used only after their call succeeded.
    unsafe {
        if (f.cuStreamBeginCapture_v2)(recording[0] as Pointer, RELAXED) != 0 {
            return None;
        }
        let failed = issue(f, recording, items);
        if (f.cuStreamEndCapture)(recording[0] as Pointer, &mut graph) != 0 || failed.is_some() {
            return None;
        }
        let code = (f.cuGraphInstantiateWithFlags)(&mut made, graph, 0);
        (f.cuGraphDestroy)(graph);
        (code == 0).then_some(made as usize)
    }
}

/// Whether every side stream starts with an event of this work, and the main stream waits for its end.
fn stands_alone(items: &[Item]) -> bool {
    // For every event, the stream that recorded it; for every stream, whether it has work that the main stream does not wait for.
    let mut recorded: Vec<(usize, usize)> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut begun: Vec<usize> = vec![0];
    for Item { stream, what } in items {
        if let What::Wait(event) = what {
            let Some(&(_, from)) = recorded.iter().rev().find(|(e, _)| e == event) else { return false };
            begun.push(*stream);
            if *stream == 0 {
                open.retain(|s| *s != from);
            }
        } else if !begun.contains(stream) {
            return false;
        }
        match what {
            What::Record(event) => recorded.push((*event, *stream)),
            _ if *stream != 0 && !open.contains(stream) => open.push(*stream),
            _ => {}
        }
    }
    open.is_empty()
}
