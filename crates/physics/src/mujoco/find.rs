//! Where MuJoCo's library may be: named by the user, by `MUJOCO_PATH`, in Python's packages, or fetched.

use std::path::{Path, PathBuf};
use std::process::Command;
use tractable_core::error::{Error, Result};

/// The requested library, or the first one found, as in [`Mujoco::open`](super::Mujoco::open), without
/// opening it.
///
/// ```
/// use tractable::rl::env::mujoco::locate;
/// assert!(locate(Some("no/such/folder".as_ref())).is_err());
/// ```
pub fn locate(asked: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = asked {
        return within(path)
            .ok_or_else(|| Error::invalid("MuJoCo", format!("no MuJoCo library at {}", path.display())));
    }
    if let Some(path) = std::env::var_os("MUJOCO_PATH") {
        let path = PathBuf::from(path);
        return within(&path).ok_or_else(|| {
            let why = format!("no MuJoCo library at MUJOCO_PATH, which is {}", path.display());
            Error::invalid("MuJoCo", why)
        });
    }
    let places: Vec<PathBuf> = site_packages().into_iter().chain(fetched()).collect();
    places.iter().find_map(|place| within(place)).ok_or_else(|| {
        let said: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        let why = format!(
            "its library was not found (looked in: {}); install it with `pip install mujoco`, put it in one of these \
             folders, or name it by MUJOCO_PATH",
            if said.is_empty() { "nowhere, there is no Python".to_string() } else { said.join(", ") }
        );
        Error::invalid("MuJoCo", why)
    })
}

/// Where a downloaded library is expected: in the user's data folder.
///
/// ```
/// let folder = tractable::rl::env::mujoco::fetched();
/// assert!(folder.is_none_or(|f| f.ends_with("tractable/mujoco")));
/// ```
pub fn fetched() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let data = set("XDG_DATA_HOME").or_else(|| set("LOCALAPPDATA"));
    let data = data.or_else(|| Some(set("HOME")?.join(".local/share")))?;
    Some(data.join("tractable/mujoco"))
}

/// The library at a path: the file itself, or in the folder, as releases and packages lay it out.
fn within(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.into());
    }
    ["", "mujoco", "mujoco_core", "lib", "bin"].iter().find_map(|part| newest(&path.join(part)))
}

/// The library with the last name in a folder: versions are part of names.
fn newest(folder: &Path) -> Option<PathBuf> {
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let unix = name.starts_with("libmujoco") && (name.contains(".so") || name.ends_with(".dylib"));
        path.is_file() && (unix || name == "mujoco.dll")
    };
    let entries = std::fs::read_dir(folder).ok()?;
    entries.filter_map(|e| Some(e.ok()?.path())).filter(is_library).max()
}

/// Package folders of the active Python, if there is one.
fn site_packages() -> Vec<PathBuf> {
    let ask = "import sysconfig; print(sysconfig.get_path('platlib')); print(sysconfig.get_path('purelib'))";
    let answer =
        |python: &&str| Command::new(python).args(["-c", ask]).output().ok().filter(|o| o.status.success());
    let Some(output) = ["python3", "python"].iter().find_map(answer) else {
        return Vec::new();
    };
    let mut places: Vec<PathBuf> =
        String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_where_packages_put_them() {
        let dir = tempfile::tempdir().unwrap();
        assert!(within(dir.path()).is_none() && locate(Some(dir.path())).is_err());
        let package = dir.path().join("mujoco");
        std::fs::create_dir(&package).unwrap();
        std::fs::write(package.join("__init__.py"), "").unwrap();
        assert!(within(dir.path()).is_none());
        std::fs::write(package.join("libmujoco.so.3.3.6"), "").unwrap();
        std::fs::write(package.join("libmujoco.so.3.3.7"), "").unwrap();
        let found = package.join("libmujoco.so.3.3.7");
        assert_eq!(within(dir.path()), Some(found.clone()));
        assert_eq!(locate(Some(&package)).unwrap(), found);
        assert_eq!(locate(Some(&found)).unwrap(), found);
    }
}
