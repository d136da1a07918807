//! Reads files from an untrusted gzipped tar archive: names are looked up, never used as paths, and no entry can
//! exceed the memory we allow.

use flate2::read::MultiGzDecoder;
use std::io::{self, Read};
use std::path::{Component, Path};

/// What all entries of an archive may come to, unpacked.
const MOST_BYTES: u64 = 4 << 30;

/// Visits the regular files of an archive. Links, devices and folders are skipped, and so are files whose name
/// leads out of the archive.
pub fn each_file<E>(
    archive: impl Read,
    refuse: impl Fn(io::Error) -> E,
    mut visit: impl FnMut(&Path, &mut dyn Read) -> Result<(), E>,
) -> Result<(), E> {
    let mut tar = tar::Archive::new(MultiGzDecoder::new(archive).take(MOST_BYTES));
    // Raw: an extension header, which could claim a name of any length, stays an entry of its own, unread.
    for entry in tar.entries().map_err(&refuse)?.raw(true) {
        let mut entry = entry.map_err(&refuse)?;
        let Ok(path) = entry.path().map(|p| p.into_owned()) else { continue };
        if entry.header().entry_type().is_file() && stays_inside(&path) {
            visit(&path, &mut entry)?;
        }
    }
    Ok(())
}

/// No root, no drive, no way up.
fn stays_inside(path: &Path) -> bool {
    path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    /// A header and its content, with any name at all.
    fn entry(name: &[u8], kind: tar::EntryType, content: &[u8]) -> Vec<u8> {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        let padding = content.len().next_multiple_of(512) - content.len();
        [header.as_bytes(), content, &vec![0; padding]].concat()
    }

    fn packed(entries: &[Vec<u8>]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&entries.concat()).unwrap();
        gzip.write_all(&[0; 1024]).unwrap();
        gzip.finish().unwrap()
    }

    /// Names and content of what is visited.
    fn seen(archive: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
        let mut seen = Vec::new();
        each_file(
            archive,
            |e| e.to_string(),
            |path, content| {
                let mut bytes = Vec::new();
                content.read_to_end(&mut bytes).map_err(|e| e.to_string())?;
                seen.push((path.display().to_string(), bytes));
                Ok(())
            },
        )?;
        Ok(seen)
    }

    #[test]
    fn names_that_lead_out_and_links_are_passed_over() {
        use tar::EntryType;
        let file = |name: &[u8]| entry(name, EntryType::Regular, b"x");
        let archive = packed(&[
            file(b"package/a.bin"),
            file(b"../a.bin"),
            file(b"package/../../a.bin"),
            file(b"/etc/a.bin"),
            entry(b"package/link", EntryType::Symlink, b""),
            entry(b"package/hard", EntryType::Link, b""),
            entry(b"package/device", EntryType::Char, b""),
            entry(b"package/fifo", EntryType::Fifo, b""),
            file(b"./b.bin"),
        ]);
        let names: Vec<String> = seen(&archive).unwrap().into_iter().map(|s| s.0).collect();
        assert_eq!(names, ["package/a.bin", "./b.bin"]);
    }

    #[test]
    fn long_names_are_not_held_in_memory() {
        use tar::EntryType;
        // Sixteen mebibytes of name, a few kilobytes packed; and one that claims eight exabytes.
        let name = vec![b'n'; 16 << 20];
        let mut claim = tar::Header::new_gnu();
        claim.set_entry_type(EntryType::GNULongName);
        claim.set_size(1 << 62);
        claim.set_cksum();
        for kind in [EntryType::GNULongName, EntryType::XHeader, EntryType::XGlobalHeader] {
            let archive = packed(&[entry(b"long", kind, &name), entry(b"a", EntryType::Regular, b"1")]);
            assert!(archive.len() < 1 << 17);
            assert_eq!(seen(&archive).unwrap(), [("a".to_string(), b"1".to_vec())]);
        }
        let _ = seen(&packed(&[claim.as_bytes().to_vec()]));
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic() {
        let archive = packed(&[entry(b"a", tar::EntryType::Regular, &[7; 700])]);
        for end in 0..archive.len() {
            let _ = seen(&archive[..end]);
        }
        for at in 0..archive.len() {
            let mut changed = archive.clone();
            changed[at] ^= 0x55;
            let _ = seen(&changed);
        }
        assert!(seen(b"no archive").is_err());
    }
}
