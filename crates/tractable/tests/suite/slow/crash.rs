//! Processes that are killed while they save: whatever is there afterwards is whole, and at most one temporary file is
//! left, which the next save removes.
//!
//! `TRACTABLE_KILLS=2000 cargo test --test suite crash` kills more often than the 200 times of every run.

use crate::cases::Draw;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tractable::files::{self, FolderLock};
use tractable::{Activation, Device, Error, Network};

const FOLDER: &str = "TRACTABLE_CRASH_FOLDER";
const BYTES: &str = "TRACTABLE_CRASH_BYTES";
/// The log is cut back when it is longer than this.
const LONGEST_LOG: u64 = 4 << 20;

/// Content that says which it is: its number, its length, then bytes that follow from both.
fn content(number: u64, bytes: usize) -> Vec<u8> {
    let mut word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ bytes as u64;
    let mut block = Vec::new();
    for _ in 0..512 {
        word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(number | 1);
        block.extend(word.to_le_bytes());
    }
    let mut all = block.repeat(bytes.div_ceil(block.len()));
    all.truncate(bytes);
    all[..8].copy_from_slice(&number.to_le_bytes());
    all[8..16].copy_from_slice(&(bytes as u64).to_le_bytes());
    all
}

/// The number of a content that is whole.
fn whole(all: &[u8]) -> Option<u64> {
    let (number, rest) = all.split_first_chunk()?;
    let (number, length) = (u64::from_le_bytes(*number), u64::from_le_bytes(*rest.first_chunk()?));
    (all.len() as u64 == length && all == content(number, all.len())).then_some(number)
}

/// A line of the log, as long as it says.
fn line(number: u64) -> String {
    format!("{number} {}\n", number.to_string().repeat(10_000))
}

/// About a mebibyte as a file.
fn net(seed: u64) -> Network {
    Network::mlp([140, 1000, 1], Activation::Relu).seed(seed).device(Device::cpu(1)).build().unwrap()
}

fn log(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("log")).unwrap_or_default();
    text.split_inclusive('\n').map(String::from).collect()
}

/// Saves until it is killed: a line of the log, the state it belongs to, a model.
#[test]
#[ignore = "the process that others kill"]
fn victim() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let (folder, bytes) = (Path::new(&folder), std::env::var(BYTES).unwrap().parse().unwrap());
    let nets = [net(1), net(2)];
    let state = folder.join("state");
    let first = fs::read(&state).map_or(0, |s| whole(&s).expect("a whole state") + 1);
    // What a killed process logged ahead of its state goes, as when a run is resumed.
    let kept: String = (first.saturating_sub(10)..first).map(line).collect();
    println!("\nat work");
    files::write(&folder.join("log"), kept.as_bytes()).unwrap();
    for number in first.. {
        // Made before it is said, so that whoever listens can kill in the middle of the saves.
        let next = content(number, bytes);
        println!("at work");
        let mut log = File::options().append(true).create(true).open(folder.join("log")).unwrap();
        log.write_all(line(number).as_bytes()).unwrap();
        log.sync_all().unwrap();
        println!("at work");
        files::write(&state, &next).unwrap();
        println!("at work");
        nets[number as usize % 2].save(folder.join("model")).unwrap();
        if log.metadata().unwrap().len() > LONGEST_LOG {
            let short: String = (number.saturating_sub(10)..=number).map(line).collect();
            files::write(&folder.join("log"), short.as_bytes()).unwrap();
        }
    }
}

/// Starts a process and returns when it has said so many times that it is at work.
fn start(folder: &Path, bytes: usize, times: usize) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["slow::crash::victim", "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(FOLDER, folder).env(BYTES, bytes.to_string());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let said = out.by_ref().lines().filter(|l| l.as_ref().is_ok_and(|l| l == "at work"));
    assert_eq!(said.take(times).count(), times, "it did not start");
    // Open until it is dead: it goes on talking.
    child.stdout = Some(out.into_inner());
    child
}

fn temporaries(folder: &Path) -> usize {
    let names = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|n| n.ends_with(".tmp")).count()
}

#[test]
fn killed_at_any_moment_everything_is_whole() {
    let kills = std::env::var("TRACTABLE_KILLS").map_or(200, |n| n.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    let models = [1, 2].map(|seed| {
        let path = folder.join("model");
        net(seed).save(&path).unwrap();
        fs::read(&path).unwrap()
    });
    assert!(models[0].len() > 1 << 20);
    let mut draw = Draw::new(17);
    let (mut saved, mut left, mut largest) = (0, 0, 0);
    for kill in 0..kills {
        let bytes = match draw.below(50) {
            0 => 64 << 20,
            1..=5 => (2 + draw.below(7)) << 20,
            _ => 1 << 20,
        };
        // After some steps, and then anywhere in the next: a mebibyte takes some milliseconds.
        let times = 1 + draw.below(6);
        let moment = draw.uniform(0.0, 2.0 + (bytes >> 20) as f64);
        let mut child = start(folder, bytes, times);
        std::thread::sleep(Duration::from_micros((1000.0 * moment) as u64));
        child.kill().unwrap();
        child.wait().unwrap();

        let what = format!("kill {kill}, {moment:.1} ms after step {times} of saving {bytes} bytes");
        let state = fs::read(folder.join("state")).ok();
        let number = state.map(|s| whole(&s).unwrap_or_else(|| panic!("{what}: the state is damaged")));
        saved = number.map_or(0, |n| n + 1);
        largest = largest.max(bytes);
        // The model is one of the two, byte by byte.
        assert!(models.contains(&fs::read(folder.join("model")).unwrap()), "{what}: the model is damaged");
        // Lines are whole, one after the other, but for a torn last one; none is missing up to the state.
        let lines = log(folder);
        let good: Vec<u64> = lines
            .iter()
            .map_while(|l| l.split(' ').next()?.parse().ok().filter(|&n| *l == line(n)))
            .collect();
        assert!(good.len() + 1 >= lines.len(), "{what}: the log is damaged");
        assert!(good.windows(2).all(|w| w[1] == w[0] + 1), "{what}: {good:?}");
        assert!(good.last() >= number.as_ref(), "{what}: the log is behind the state");
        let stale = temporaries(folder);
        assert!(stale <= 1, "{what}: {stale} temporary files");
        left += stale;
    }
    println!(
        "{kills} kills: {saved} states saved, of up to {largest} bytes; {left} temporary files were left"
    );
    assert!(saved > kills / 4, "only {saved} states were saved: it was killed too early");
    assert!(left > 0 || kills < 100, "no kill came while a file was being written");
    files::write(&folder.join("last"), b"").unwrap();
    assert_eq!(temporaries(folder), 0, "the next save removes what was left");
}

#[test]
fn only_what_nobody_writes_is_swept_away() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let mine = files::NewFile::beside(&at("model")).unwrap();
    let name = mine.temporary().file_name().unwrap().to_str().unwrap().to_string();
    let machine = name.strip_prefix(".tractable-").unwrap().split('-').next().unwrap();
    let made = |name: &str, age: u64| {
        let file = File::create(at(name)).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(age)).unwrap();
        file
    };
    // Of this machine, with and without a holder; of another; of somebody else.
    let (held, dead) = (format!(".tractable-{machine}-1-0.tmp"), format!(".tractable-{machine}-1-1.tmp"));
    let holder = made(&held, 3600);
    holder.try_lock().unwrap();
    made(&dead, 0);
    let (fresh, old, note) = (".tractable-0-1-2.tmp", ".tractable-4294967295-0.tmp", ".tractable-note");
    made(fresh, 1);
    made(old, 3600);
    made(note, 3600);
    files::write(&at("net.safetensors"), b"x").unwrap();
    assert!(!at(&dead).exists() || machine == "unknown", "left by a killed process");
    assert!(!at(old).exists(), "old, and nobody holds it");
    assert!(at(&held).exists(), "somebody is writing it");
    assert!(mine.temporary().exists(), "we are writing it");
    assert!(at(fresh).exists(), "another machine may be writing it");
    assert!(at(note).exists(), "not one of ours");
    mine.keep().unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_is_held_until_its_process_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let held = FolderLock::take(dir.path()).unwrap();
    let second = FolderLock::take(dir.path()).unwrap_err();
    assert!(matches!(second, Error::InUse { .. }), "{second:?}");
    assert!(second.to_string().contains("another process is using this folder"), "{second}");
    assert!(matches!(FolderLock::wait(dir.path(), Duration::from_millis(20)), Err(Error::InUse { .. })));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| FolderLock::wait(dir.path(), Duration::from_secs(20)));
        std::thread::sleep(Duration::from_millis(20));
        drop(held);
        drop(waiting.join().unwrap().unwrap());
    });
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left for it");
    let missing = FolderLock::take(&dir.path().join("none")).unwrap_err();
    assert!(missing.to_string().contains("none"), "{missing}");
}

/// Files may grow to 64 KiB only, as on a disk that is nearly full.
#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    net(1).save(dir.path().join("model")).unwrap();
    let before = fs::read(dir.path().join("model")).unwrap();
    let mut command = Command::new("sh");
    let exe = std::env::current_exe().unwrap();
    command.args(["-c", "ulimit -f 64; trap '' XFSZ; exec \"$@\"", "sh", exe.to_str().unwrap()]);
    command.args(["slow::crash::saves_once", "--exact", "--ignored", "--nocapture"]).env(FOLDER, dir.path());
    let out = command.output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let path = dir.path().join("model").display().to_string();
    assert!(said.contains(&format!("said: {path}: cannot write it: ")), "{said} {out:?}");
    assert!(fs::read(dir.path().join("model")).unwrap() == before, "the old file stays");
    assert_eq!(temporaries(dir.path()), 0);
}

#[test]
#[ignore = "the process whose disk is full"]
fn saves_once() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    println!("\nsaid: {}", net(2).save(Path::new(&folder).join("model")).unwrap_err());
}
