//! `tractable mujoco`: downloads MuJoCo's library from PyPI with the user's pip, or shows which one is found.
//!
//! Python downloads, hashes and unpacks, so that we need no code for it.

use crate::report::{Exit, Outcome, Report, file_error};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use tractable::rl::env::mujoco::{Mujoco, fetched, locate};

const AFTER_HELP: &str = "\
Example:
  tractable mujoco fetch
  tractable mujoco find

The library is searched at --mujoco PATH, at MUJOCO_PATH, in the packages of the active Python,
and in the folder used by fetch.";

/// Download MuJoCo's library, or show which one is found
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Download MuJoCo with pip, check its checksum, and keep its library
    Fetch(FetchArgs),
    /// Show which library would be used
    Find(FindArgs),
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  tractable mujoco fetch --release 3.3.7 -o mujoco/")]
struct FetchArgs {
    /// Release to download
    #[arg(long, value_name = "VERSION", default_value = "3.3.7")]
    release: String,
    /// Folder for the library [default: tractable/mujoco in the user's data folder]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Python whose pip to use
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: PathBuf,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  tractable mujoco find --mujoco mujoco/")]
struct FindArgs {
    /// The library, or the folder that contains it
    #[arg(long, value_name = "PATH")]
    mujoco: Option<PathBuf>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// SHA-256 of the libraries in the wheels of 3.3.7: Linux on x86-64 and aarch64, macOS on both, Windows.
const KNOWN: &[&str] = &[
    "23841520ecf60ad648405674a757f260949f7cf6b44deb284398b9851b3f061d",
    "8e810a626a3ce394cd638b299785427fb48d3af77b62f3fa71095b9cf6bda1f0",
    "7d8616fa1bae897eb116330d710034299616aaf1fe78175520cda8088a643d60",
    "2ac33837d51c03dad7f610ac721707ed6d18defae16d616d309468bc184f544e",
    "39265b4f1fb76d9dd624d1ecf9d0cce69ada18aef08c3154eeda3647b32c2cd6",
];
/// The release that these sums are of.
const KNOWN_RELEASE: &str = "3.3.7";

/// Line `mujoco` of `mujoco`.
#[derive(Serialize)]
struct Found<'a> {
    /// Of the library.
    path: &'a Path,
    /// Of the library.
    version: &'a str,
    /// Of the library; from `fetch`.
    sha256: Option<&'a str>,
    /// Whether this version knows that checksum; from `fetch`.
    known: Option<bool>,
}

pub fn run(args: &Args) -> Outcome {
    match &args.what {
        What::Fetch(args) => fetch(args),
        What::Find(args) => {
            let mujoco = Mujoco::open(args.mujoco.as_deref())?;
            let found = Found { path: mujoco.path(), version: mujoco.version(), sha256: None, known: None };
            let text = || format!("MuJoCo {} at {}", mujoco.version(), mujoco.path().display());
            Report::new(args.json).say("mujoco", &found, text)
        }
    }
}

fn fetch(args: &FetchArgs) -> Outcome {
    let release = &args.release;
    if release.is_empty() || !release.chars().all(|c| c.is_ascii_alphanumeric() || c == '.') {
        return Err(Exit::Error(format!("--release: `{release}` is not a version such as 3.3.7")));
    }
    let unknown = || Exit::Error("no user data folder found; name a folder with -o DIR".into());
    let folder = args.out.clone().or_else(fetched).ok_or_else(unknown)?;
    // Python works in a folder of its own.
    let folder = std::path::absolute(&folder).map_err(file_error(&folder, "be found"))?;
    let is_new = !folder.exists();
    std::fs::create_dir_all(&folder).map_err(file_error(&folder, "make the folder"))?;
    // Beside its place, so that the last move is within one disk.
    let work = folder.join(format!(".fetch-{}", std::process::id()));
    let done = fetch_into(args, &folder, &work);
    // What is left of an attempt is ours alone; if it cannot be removed, it does no harm.
    let _ = std::fs::remove_dir_all(&work);
    if done.is_err() && is_new {
        let _ = std::fs::remove_dir(&folder);
    }
    done
}

fn fetch_into(args: &FetchArgs, folder: &Path, work: &Path) -> Outcome {
    std::fs::create_dir(work).map_err(file_error(work, "make the folder"))?;
    let python = |what: &str, arguments: &[&str]| {
        let run = Command::new(&args.python).args(arguments).current_dir(work).output();
        let run = run.map_err(|e| {
            Exit::Error(format!(
                "{}: cannot be run ({e}); choose a Python with --python",
                args.python.display()
            ))
        })?;
        if !run.status.success() {
            let said = String::from_utf8_lossy(&run.stderr).into_owned();
            let last = said.lines().rev().find(|l| l.contains("ERROR") || l.contains("No module"));
            let last = last.or(said.lines().last()).unwrap_or("no reason was given");
            return Err(Exit::Error(format!("cannot {what}: {}: {last}", args.python.display())));
        }
        Ok(String::from_utf8_lossy(&run.stdout).trim().to_string())
    };
    // From 4.0.0 on the library is a package of its own, below the Python bindings.
    let major: u32 = args.release.split('.').next().and_then(|m| m.parse().ok()).unwrap_or(0);
    let package = if major >= 4 { "mujoco-core" } else { "mujoco" };
    let wanted = format!("{package}=={}", args.release);
    python(
        "download MuJoCo with pip",
        &["-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--dest", "wheel", &wanted],
    )?;
    let wheel = only_file(&work.join("wheel"))?;
    python("unpack the wheel", &["-m", "zipfile", "-e", &wheel.to_string_lossy(), "unpacked"])?;
    // Found, not opened: nothing of it runs before its sum is known.
    let library = locate(Some(&work.join("unpacked")))?;
    let hash = "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())";
    let sum = python("hash the library", &["-c", hash, &library.to_string_lossy()])?;
    let known = KNOWN.contains(&sum.as_str());
    if args.release == KNOWN_RELEASE && !known {
        return Err(Exit::CheckFailed(format!(
            "the library of MuJoCo {KNOWN_RELEASE} has the unknown SHA-256 {sum}; not kept"
        )));
    }
    let place = folder.join(library.file_name().unwrap_or_default());
    std::fs::rename(&library, &place).map_err(file_error(&place, "put the library there"))?;
    let mujoco = Mujoco::open(Some(&place))?;
    let found = Found { path: &place, version: mujoco.version(), sha256: Some(&sum), known: Some(known) };
    Report::new(args.json).say("mujoco", &found, || {
        let trust = if known { "as expected" } else { "not a known checksum" };
        format!("MuJoCo {} at {}\nSHA-256 {sum}, {trust}", mujoco.version(), place.display())
    })
}

fn only_file(folder: &Path) -> Outcome<PathBuf> {
    let entries = std::fs::read_dir(folder).map_err(file_error(folder, "read the folder"))?;
    let files: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    match files.as_slice() {
        [file] => Ok(file.clone()),
        _ => Err(Exit::Error(format!("expected one wheel from pip, found {} files", files.len()))),
    }
}
