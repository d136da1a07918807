//! Every call to the disk fails, is cut short, garbles its data or is the last before the power goes: what is there
//! afterwards is the old file or the new one.

use super::{Disk, Draft};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What goes wrong at one call.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// Refused, nothing done.
    Fails,
    /// A signal came; to be tried again.
    Interrupted,
    /// Half of the bytes are taken, and that is said.
    Short,
    /// The bytes that arrive are others, and an error is said; a rename is done and an error is said.
    Garbled,
    /// Nothing works from here on.
    PowerCut,
}

const FAULTS: [Fault; 5] = [Fault::Fails, Fault::Interrupted, Fault::Short, Fault::Garbled, Fault::PowerCut];

/// A file's bytes as they are, and as they were when they were last flushed.
#[derive(Debug, Clone, Default)]
struct Bytes {
    now: Vec<u8>,
    safe: Vec<u8>,
}

type Names = BTreeMap<PathBuf, usize>;

/// A change of names that is not flushed yet.
#[derive(Debug, Clone)]
enum Change {
    Put(PathBuf, usize),
    Moved(PathBuf, PathBuf),
    Gone(PathBuf),
}

impl Change {
    fn apply(&self, names: &mut Names) {
        match self {
            Change::Put(path, file) => drop(names.insert(path.clone(), *file)),
            Change::Moved(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Change::Gone(path) => drop(names.remove(path)),
        }
    }
}

#[derive(Debug, Default)]
struct State {
    files: Vec<Bytes>,
    names: Names,
    safe_names: Names,
    changes: Vec<Change>,
    calls: usize,
    fault: Option<(usize, Fault)>,
    /// The calls, by name.
    log: Vec<&'static str>,
}

/// A disk in memory that knows what a power cut could leave.
#[derive(Debug, Clone, Default)]
struct Memory(Rc<RefCell<State>>);

impl Memory {
    /// With one file, flushed.
    fn holding(path: &Path, content: &[u8]) -> Self {
        let disk = Memory::default();
        let mut s = disk.0.borrow_mut();
        s.files.push(Bytes { now: content.into(), safe: content.into() });
        s.names.insert(path.into(), 0);
        s.safe_names = s.names.clone();
        drop(s);
        disk
    }

    /// Counts a call; what goes wrong at it.
    fn call(&self, what: &'static str) -> io::Result<Option<Fault>> {
        let mut s = self.0.borrow_mut();
        s.calls += 1;
        s.log.push(what);
        match s.fault {
            Some((k, Fault::PowerCut)) if s.calls >= k => Err(io::Error::other("the power is off")),
            Some((k, fault)) if s.calls == k => match fault {
                Fault::Fails => Err(io::Error::from_raw_os_error(28)), // no space left
                Fault::Interrupted if what == "write" => Err(io::ErrorKind::Interrupted.into()),
                other => Ok(Some(other)),
            },
            _ => Ok(None),
        }
    }

    fn rename_now(&self, change: Change) {
        let mut s = self.0.borrow_mut();
        change.apply(&mut s.names);
        s.changes.push(change);
    }

    fn content(&self, path: &Path) -> Option<Vec<u8>> {
        let s = self.0.borrow();
        s.names.get(path).map(|&file| s.files[file].now.clone())
    }

    /// Every content that `path` may have if the power goes now: any of the changes of names that were not flushed may
    /// be lost, and bytes that were not flushed may be lost, there in part, or others.
    fn after_power_cut(&self, path: &Path) -> Vec<Option<Vec<u8>>> {
        let s = self.0.borrow();
        let mut found = Vec::new();
        for kept in 0..1u32 << s.changes.len() {
            let mut names = s.safe_names.clone();
            let changes = s.changes.iter().enumerate().filter(|(i, _)| kept & (1 << i) != 0);
            changes.for_each(|(_, change)| change.apply(&mut names));
            let Some(&file) = names.get(path) else {
                found.push(None);
                continue;
            };
            let Bytes { now, safe } = &s.files[file];
            found.push(Some(safe.clone()));
            if now != safe {
                let other: Vec<u8> = now.iter().map(|b| !b).collect();
                found.extend([now.clone(), now[..now.len() / 2].to_vec(), other].map(Some));
            }
        }
        found
    }
}

impl Disk for Memory {
    type File = usize;

    fn create(&self, path: &Path) -> io::Result<usize> {
        if let Some(Fault::Garbled) = self.call("create")? {
            return Err(io::Error::other("the disk is broken"));
        }
        if self.0.borrow().names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let mut s = self.0.borrow_mut();
        s.files.push(Bytes::default());
        let file = s.files.len() - 1;
        drop(s);
        self.rename_now(Change::Put(path.into(), file));
        Ok(file)
    }

    fn write(&self, file: &mut usize, bytes: &[u8]) -> io::Result<usize> {
        let fault = self.call("write")?;
        let mut s = self.0.borrow_mut();
        let now = &mut s.files[*file].now;
        match fault {
            Some(Fault::Garbled) => {
                now.extend(bytes.iter().map(|b| !b));
                Err(io::Error::other("the disk is broken"))
            }
            Some(Fault::Short) => {
                now.extend(&bytes[..bytes.len().div_ceil(2)]);
                Ok(bytes.len().div_ceil(2))
            }
            _ => {
                // No more at a time than this, as systems do: a file takes several calls.
                let n = bytes.len().min(4);
                now.extend(&bytes[..n]);
                Ok(n)
            }
        }
    }

    fn sync(&self, file: &mut usize) -> io::Result<()> {
        if let Some(Fault::Garbled) = self.call("sync")? {
            return Err(io::Error::other("the disk is broken"));
        }
        let mut s = self.0.borrow_mut();
        let bytes = &mut s.files[*file];
        bytes.safe = bytes.now.clone();
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let fault = self.call("rename")?;
        self.rename_now(Change::Moved(from.into(), to.into()));
        match fault {
            Some(Fault::Garbled) => Err(io::Error::other("who knows")),
            _ => Ok(()),
        }
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        if let Some(Fault::Garbled) = self.call("sync folder")? {
            return Err(io::Error::other("the disk is broken"));
        }
        let mut s = self.0.borrow_mut();
        (s.safe_names, s.changes) = (s.names.clone(), Vec::new());
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call("remove")?;
        self.rename_now(Change::Gone(path.into()));
        Ok(())
    }
}

const OLD: &[u8] = b"the old file";
const NEW: &[u8] = b"the new file, which is longer";

fn replace(disk: &Memory, path: &Path) -> io::Result<()> {
    let mut file = Draft::begin(disk.clone(), path)?;
    file.write_all(NEW)?;
    file.keep()
}

#[test]
fn whichever_call_fails_there_is_the_old_file_or_the_new_one() {
    let path = Path::new("folder/model");
    let clean = Memory::holding(path, OLD);
    replace(&clean, path).unwrap();
    let calls = clean.0.borrow().calls;
    assert!(clean.0.borrow().log.ends_with(&["write", "sync", "rename", "sync folder"]));
    assert!(calls > 10, "{calls} calls");
    let mut tried = 0;
    for fault in FAULTS {
        for k in 1..=calls + 1 {
            let disk = Memory::holding(path, OLD);
            disk.0.borrow_mut().fault = Some((k, fault));
            let done = replace(&disk, path);
            let what = format!("{fault:?} at call {k} of {calls}: {done:?}");
            let now = disk.content(path).unwrap_or_else(|| panic!("{what}: no file"));
            assert!(now == OLD || now == NEW, "{what}: {now:?}");
            for left in disk.after_power_cut(path) {
                let left = left.unwrap_or_else(|| panic!("{what}: no file after a power cut"));
                assert!(left == OLD || left == NEW, "{what}: {left:?} after a power cut");
                assert!(done.is_err() || left == NEW, "{what}: the old file after a power cut");
            }
            // A short write and an interruption are no errors; everything else is said.
            let harmless = matches!(fault, Fault::Short | Fault::Interrupted) || k > calls;
            assert!(harmless == done.is_ok(), "{what}");
            assert!(done.is_err() || now == NEW, "{what}");
            // Nothing else stays, unless the power is off.
            let names = disk.0.borrow().names.len();
            assert!(names == 1 || fault == Fault::PowerCut, "{what}: {:?}", disk.0.borrow().names);
            tried += 1;
        }
    }
    assert_eq!(tried, FAULTS.len() * (calls + 1));
}

/// The measure itself: ways that are not safe are seen.
#[test]
fn unsafe_ways_would_be_noticed() {
    let path = Path::new("folder/model");
    let harmed = |way: &dyn Fn(&Memory)| {
        let disk = Memory::holding(path, OLD);
        way(&disk);
        let safe = |left: &Option<Vec<u8>>| left.as_deref().is_some_and(|l| l == OLD || l == NEW);
        disk.after_power_cut(path).iter().any(|left| !safe(left))
    };
    let all = |disk: &Memory, file: &mut usize| {
        let mut rest = NEW;
        while !rest.is_empty() {
            rest = &rest[disk.write(file, rest).unwrap()..];
        }
    };
    assert!(harmed(&|disk| {
        // In place.
        disk.0.borrow_mut().files[0].now.clear();
        all(disk, &mut 0);
    }));
    assert!(harmed(&|disk| {
        // Renamed without a flush.
        let mut file = disk.create(Path::new("folder/tmp")).unwrap();
        all(disk, &mut file);
        disk.rename(Path::new("folder/tmp"), path).unwrap();
    }));
    assert!(harmed(&|disk| {
        // The old one removed first.
        disk.remove(path).unwrap();
    }));
    assert!(!harmed(&|disk| replace(disk, path).unwrap()));
}
