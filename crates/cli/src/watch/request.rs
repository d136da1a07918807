//! Parses the head of an HTTP request strictly: anything but a request for one of our paths by our own page is
//! refused.

/// A head is no longer than this.
pub(super) const LONGEST: usize = 8 << 10;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Page,
    Style,
    Script,
    Events,
}

/// A request that is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) asked: Asked,
    /// Only the head of the answer is wanted.
    pub(super) head_only: bool,
}

/// Why one is not: the status line's number and words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) u16, pub(super) &'static str);

const BAD: Refusal = Refusal(400, "Bad Request");
const NOT_OURS: Refusal = Refusal(403, "Forbidden");
const NOT_FOUND: Refusal = Refusal(404, "Not Found");
const METHOD: Refusal = Refusal(405, "Method Not Allowed");
pub(super) const TOO_LATE: Refusal = Refusal(408, "Request Timeout");
const TOO_LONG: Refusal = Refusal(431, "Request Header Fields Too Large");
pub(super) const TOO_MANY: Refusal = Refusal(503, "Service Unavailable");

/// Reads what has come so far; `None` while the head is not whole. `port` is the one we listen on.
pub(super) fn read(bytes: &[u8], port: u16) -> Option<Result<Request, Refusal>> {
    let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") else {
        return (bytes.len() > LONGEST).then_some(Err(TOO_LONG));
    };
    if end > LONGEST {
        return Some(Err(TOO_LONG));
    }
    Some(std::str::from_utf8(&bytes[..end]).map_err(|_| BAD).and_then(|head| parse(head, port)))
}

fn parse(head: &str, port: u16) -> Result<Request, Refusal> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().ok_or(BAD)?.split(' ');
    let (Some(method), Some(path), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(BAD);
    };
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return Err(BAD);
    }
    let (mut hosts, mut origins) = (Vec::new(), Vec::new());
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(BAD)?;
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if name.is_empty() || !name.bytes().all(token) || value.bytes().any(|b| b < b' ' && b != b'\t') {
            return Err(BAD);
        }
        match name.to_ascii_lowercase().as_str() {
            "host" => hosts.push(value.trim()),
            "origin" => origins.push(value.trim()),
            // Nothing is to be sent to us.
            "content-length" if value.trim() == "0" => {}
            "content-length" | "transfer-encoding" => return Err(BAD),
            _ => {}
        }
    }
    // A name that somebody else has pointed to this machine is in the way of a page of theirs: it may not read ours.
    let ours = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    match hosts[..] {
        [host] if ours.iter().any(|o| o.eq_ignore_ascii_case(host)) => {}
        [_] => return Err(NOT_OURS),
        _ => return Err(BAD),
    }
    let own = |origin: &&str| ours.iter().any(|o| format!("http://{o}").eq_ignore_ascii_case(origin));
    if !origins.iter().all(own) {
        return Err(NOT_OURS);
    }
    let head_only = match method {
        "GET" => false,
        "HEAD" => true,
        _ => return Err(METHOD),
    };
    let asked = match path {
        "/" => Asked::Page,
        "/style.css" => Asked::Style,
        "/live.js" => Asked::Script,
        "/events" => Asked::Events,
        _ => return Err(NOT_FOUND),
    };
    Ok(Request { asked, head_only })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Option<Result<Request, Refusal>> {
        read(text.as_bytes(), 80)
    }

    fn status(text: &str) -> u16 {
        said(text).expect("a whole head").expect_err("should be refused").0
    }

    #[test]
    fn our_pages_are_answered() {
        let get = |path: &str, more: &str| {
            said(&format!("GET {path} HTTP/1.1\r\nHost: localhost:80\r\n{more}\r\n"))
        };
        let asked = |asked| Some(Ok(Request { asked, head_only: false }));
        assert_eq!(get("/", ""), asked(Asked::Page));
        assert_eq!(get("/events", "Accept: text/event-stream\r\nLast-Event-ID: 7\r\n"), asked(Asked::Events));
        assert_eq!(get("/style.css", "origin: http://127.0.0.1:80\r\n"), asked(Asked::Style));
        let head = said("HEAD /live.js HTTP/1.1\r\nHOST: 127.0.0.1:80\r\n\r\n");
        assert_eq!(head, Some(Ok(Request { asked: Asked::Script, head_only: true })));
        // Not whole yet.
        assert_eq!(said("GET / HTTP/1.1\r\nHost: localhost:80\r\n"), None);
        assert_eq!(said(""), None);
    }

    #[test]
    fn everything_else_is_refused() {
        let with = |head: &str| status(&format!("{head}\r\n\r\n"));
        // Names that are not ours: another site's name that leads here, none, two.
        assert_eq!(with("GET / HTTP/1.1\r\nHost: evil.example:80"), 403);
        assert_eq!(with("GET / HTTP/1.1\r\nHost: localhost"), 403);
        assert_eq!(with("GET / HTTP/1.1\r\nHost: localhost:81"), 403);
        assert_eq!(with("GET / HTTP/1.1\r\nHost: localhost:80.evil.example"), 403);
        assert_eq!(with("GET / HTTP/1.1"), 400);
        assert_eq!(with("GET / HTTP/1.1\r\nHost: localhost:80\r\nHost: evil.example"), 400);
        let from =
            |origin: &str| with(&format!("GET /events HTTP/1.1\r\nHost: localhost:80\r\nOrigin: {origin}"));
        assert_eq!([from("http://evil.example"), from("null"), from("https://localhost:80")], [403; 3]);
        assert_eq!(from("http://localhost:8080"), 403);
        let method = |m: &str| with(&format!("{m} / HTTP/1.1\r\nHost: localhost:80"));
        assert_eq!(["POST", "PUT", "OPTIONS", "TRACE", "get", "CONNECT"].map(method), [405; 6]);
        let path = |p: &str| with(&format!("GET {p} HTTP/1.1\r\nHost: localhost:80"));
        let paths = [
            "/config.json",
            "/../etc/passwd",
            "/%2e%2e/",
            "//",
            "/?x",
            "http://localhost:80/",
            "*",
            "/events/",
        ];
        assert_eq!(paths.map(path), [404; 8]);
        assert_eq!(with("GET  / HTTP/1.1\r\nHost: localhost:80"), 400);
        assert_eq!(with("GET / HTTP/2\r\nHost: localhost:80"), 400);
        assert_eq!(with("GET / HTTP/1.1\r\nHost: localhost:80\r\nContent-Length: 5"), 400);
        assert_eq!(with("GET / HTTP/1.1\r\nHost: localhost:80\r\nTransfer-Encoding: chunked"), 400);
        assert_eq!(with("GET / HTTP/1.1\r\nHost: localhost:80\r\nno colon"), 400);
        assert_eq!(with("GET / HTTP/1.1\r\nHost : localhost:80"), 400);
        assert_eq!(with("GET / HTTP/1.1\r\nHost: localhost:80\r\nX: a\nb"), 400);
        assert_eq!(with("\r\n\r\n"), 400);
        assert_eq!(read(b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n", 80), Some(Err(BAD)));
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(status(&long), 431);
        assert_eq!(with(&format!("GET / HTTP/1.1\r\nHost: localhost:80\r\nA: {long}")), 431);
    }
}
