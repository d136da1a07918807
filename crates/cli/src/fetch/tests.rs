//! Mirrors on this machine: whole, cut, wrong and gone. They are asked with `curl`, as the real ones are.

use super::catalogue::{File, Package, Packing, Set};
use super::checksum::Digest;
use super::{fetch, present};
use crate::report::Exit;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

const CONTENT: &[u8] = b"abc";
const CONTENT_MD5: Digest = Digest::Md5("900150983cd24fb0d6963f7d28e17f72");

/// "abc" as gzip with a fixed header, and its md5.
const GZIP: &[u8] =
    &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0x4c, 0x4a, 6, 0, 0xc2, 0x41, 0x24, 0x35, 3, 0, 0, 0];
const GZIP_MD5: Digest = Digest::Md5("3325b2de7b1e4ae33f7011ce438e8355");

/// A set of one file.
fn set(packing: Packing, mirrors: Vec<String>) -> Set {
    let gzip = Some((GZIP.len() as u64, GZIP_MD5));
    let file = File { name: "letters", content: CONTENT_MD5, gzip };
    // No such package: what comes after the mirrors fails as well, and quickly.
    let package = Package::Debian("no-such-package-of-tractable", "no/such/folder");
    Set { name: "alphabet", files: vec![file], packing, mirrors, package, by_hand: "write it into" }
}

/// What a server was asked.
type Asked = Arc<Mutex<Vec<String>>>;

/// A server that gives `body` for every path, from a given byte if asked to.
fn server(body: Vec<u8>, ranges: bool) -> (String, Asked) {
    let all = body.len();
    server_that_stops(body, ranges, all)
}

/// As [`server`], but the connection breaks after so many bytes.
fn server_that_stops(body: Vec<u8>, ranges: bool, after: usize) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let mut from = None;
            let mut request = String::new();
            while let Some(Ok(line)) = lines.next() {
                if line.is_empty() {
                    break;
                }
                if let Some(range) = line.to_lowercase().strip_prefix("range: bytes=") {
                    from = range.trim_end_matches('-').parse::<usize>().ok();
                }
                request += &format!("{line}\n");
            }
            log.lock().unwrap().push(request);
            let (status, part) = match from.filter(|f| ranges && *f < body.len()) {
                Some(from) => {
                    let range = format!("bytes {from}-{}/{}", body.len() - 1, body.len());
                    (format!("206 Partial Content\r\nContent-Range: {range}"), &body[from..])
                }
                None => ("200 OK".to_string(), &body[..]),
            };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", part.len());
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(&part[..part.len().min(after)]));
        }
    });
    (address, asked)
}

fn curl_is_here() -> bool {
    let here = std::process::Command::new("curl").arg("--version").output().is_ok();
    if !here {
        eprintln!("skipped: there is no curl on this machine");
    }
    here
}

fn failure(result: Result<Option<String>, Exit>) -> String {
    match result {
        Err(Exit::Error(why)) => why,
        Ok(from) => panic!("it worked, from {from:?}"),
        Err(_) => panic!("not an error"),
    }
}

#[test]
fn a_file_comes_from_the_first_mirror_that_has_it_right() {
    if !curl_is_here() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("alphabet");
    let (wrong, _) = server(b"<html>please log in</html>".to_vec(), true);
    let (right, asked) = server(GZIP.to_vec(), true);
    let set = set(Packing::Gzip, vec!["http://127.0.0.1:9".into(), wrong, right.clone()]);
    assert_eq!(fetch(&set, &folder, None).ok().flatten(), Some(right));
    assert_eq!(std::fs::read(folder.join("letters.gz")).unwrap(), GZIP);
    assert!(asked.lock().unwrap()[0].starts_with("GET /letters.gz "));
    assert!(!folder.join(".fetch").exists());
    // What is there is not got again.
    assert!(matches!(fetch(&set, &folder, None), Ok(None)));
    assert_eq!(asked.lock().unwrap().len(), 1);
    // Damaged by hand: it does not count, and is got again.
    std::fs::write(folder.join("letters.gz"), &GZIP[..20]).unwrap();
    assert!(present(&set.files[0], &folder).is_none());
    assert!(fetch(&set, &folder, None).is_ok());
}

#[test]
fn a_download_goes_on_where_it_stopped() {
    if !curl_is_here() {
        return;
    }
    for (ranges, what) in [(true, "goes on"), (false, "begins again")] {
        let place = tempfile::tempdir().unwrap();
        let (address, asked) = server(GZIP.to_vec(), ranges);
        let part = place.path().join(".fetch/letters.gz");
        std::fs::create_dir(part.parent().unwrap()).unwrap();
        std::fs::write(&part, &GZIP[..9]).unwrap();
        let set = set(Packing::Gzip, vec![address]);
        assert!(fetch(&set, place.path(), None).is_ok(), "{what}");
        assert_eq!(std::fs::read(place.path().join("letters.gz")).unwrap(), GZIP);
        let first = asked.lock().unwrap()[0].to_lowercase();
        assert!(first.contains("range: bytes=9-"), "{first}");
    }
    // The connection to one mirror breaks; the next goes on.
    let place = tempfile::tempdir().unwrap();
    let (breaks, _) = server_that_stops(GZIP.to_vec(), true, 10);
    let (whole, asked) = server(GZIP.to_vec(), true);
    assert!(fetch(&set(Packing::Gzip, vec![breaks, whole]), place.path(), None).is_ok());
    let first = asked.lock().unwrap()[0].to_lowercase();
    assert!(first.contains("range: bytes=10-"), "{first}");
    // What is left over and wrong does not spoil the next attempt.
    let place = tempfile::tempdir().unwrap();
    let (address, _) = server(GZIP.to_vec(), true);
    std::fs::create_dir(place.path().join(".fetch")).unwrap();
    std::fs::write(place.path().join(".fetch/letters.gz"), [7; 500]).unwrap();
    assert!(fetch(&set(Packing::Gzip, vec![address]), place.path(), None).is_ok());
}

#[test]
fn a_fetch_that_fails_says_what_was_tried_and_what_to_do() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("alphabet");
    let (wrong, _) = server(b"not what was asked for".to_vec(), true);
    let set = set(Packing::Gzip, vec![wrong.clone(), "http://127.0.0.1:9".into()]);
    let said = failure(fetch(&set, &folder, None));
    for part in [
        &wrong[..],
        "(2) http://127.0.0.1:9/letters.gz",
        "no-such-package-of-tractable",
        "By hand: write it into /",
    ] {
        assert!(said.contains(part), "{said} does not say {part}");
    }
    assert!(!curl_is_here() || said.contains("checksum differs"), "{said}");
    assert!(!folder.exists());
    // A mirror of one's own is the only one asked.
    let said = failure(fetch(&set, &folder, Some("http://127.0.0.1:9/mine/")));
    assert!(said.contains("(1) http://127.0.0.1:9/mine/letters.gz") && !said.contains("(2)"), "{said}");
}

/// A gzipped tar archive with one file.
fn archive(name: &str, content: &[u8]) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut header = tar::Header::new_ustar();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, name, content).unwrap();
    tar.into_inner().unwrap().finish().unwrap()
}

#[test]
fn archives_are_unpacked_file_by_file_and_checked() {
    let place = tempfile::tempdir().unwrap();
    let set = set(Packing::Gzip, vec![]);
    let unpack = |bytes: &[u8]| {
        let path = place.path().join("archive.tgz");
        std::fs::write(&path, bytes).unwrap();
        let result = super::unpack(&set, &place.path().join("out"), &path);
        result.map_err(|f| if let super::Failed::Source(why) = f { why } else { "stopped".into() })
    };
    let whole = archive("package/data/letters", CONTENT);
    let differs = unpack(&archive("package/data/letters", b"abd")).unwrap_err();
    assert!(differs.contains("the checksum of letters differs"), "{differs}");
    assert!(unpack(&archive("package/other", CONTENT)).unwrap_err().contains("letters is not in it"));
    assert!(unpack(&whole[..whole.len() / 2]).is_err());
    assert!(unpack(b"not an archive").is_err());
    // None of these left anything.
    let left = std::fs::read_dir(place.path().join("out")).map_or(0, |d| d.count());
    assert_eq!(left, 0);
    unpack(&whole).unwrap();
    assert_eq!(std::fs::read(place.path().join("out/letters")).unwrap(), CONTENT);
}
