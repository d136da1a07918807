//! One client: its request, the response, and its time limits.

use super::request::{self, Asked, Refusal, Request};
use super::{Pages, SCRIPT};
use crate::page::STYLE;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// For the whole head of a request.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// For taking in one answer or event.
const ANSWER_TIME: Duration = Duration::from_secs(20);
/// A stream without news says that it is still there, and finds out whether anybody else is.
const BEAT: Duration = Duration::from_secs(15);

/// What is sent next, and how much of it is gone.
struct Sending {
    bytes: Arc<[u8]>,
    done: usize,
    until: Instant,
}

enum State {
    /// The head is coming.
    Asking(Vec<u8>),
    /// The answer is going, then it ends.
    Answering,
    /// Events are going; the last version said.
    Streaming { said: u64, beat: Instant },
}

pub(super) struct Connection {
    stream: TcpStream,
    state: State,
    began: Instant,
    sending: Option<Sending>,
}

impl Connection {
    /// # Errors
    /// If the client is gone already.
    pub(super) fn new(stream: TcpStream, now: Instant) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, state: State::Asking(Vec::new()), began: now, sending: None })
    }

    pub(super) fn is_stream(&self) -> bool {
        matches!(self.state, State::Streaming { .. })
    }

    /// Whether it has not said yet what it wants.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self.state, State::Asking(_))
    }

    /// Does what can be done now. Whether it is still wanted.
    pub(super) fn step(&mut self, pages: &Pages, port: u16, more_streams: bool, now: Instant) -> bool {
        if let State::Asking(head) = &mut self.state {
            match listen(&mut self.stream, head) {
                Heard::Nothing if now >= self.began + HEAD_TIME => self.refuse(request::TOO_LATE, now),
                Heard::Nothing => return true,
                Heard::End => return false,
                Heard::More => match request::read(head, port) {
                    None => return true,
                    Some(Ok(request)) => self.answer(request, pages, more_streams, now),
                    Some(Err(refusal)) => self.refuse(refusal, now),
                },
            }
        }
        if let State::Streaming { said, beat } = &mut self.state
            && self.sending.is_none()
        {
            let version = pages.now();
            if version.number != *said {
                (*said, *beat) = (version.number, now);
                self.send(version.event.clone(), now);
            } else if now >= *beat + BEAT {
                *beat = now;
                self.send(Arc::from(&b": still here\n\n"[..]), now);
            }
        }
        self.write(now)
    }

    fn answer(&mut self, request: Request, pages: &Pages, more_streams: bool, now: Instant) {
        let (kind, body): (&str, Arc<[u8]>) = match request.asked {
            Asked::Events if !more_streams && !request.head_only => {
                return self.refuse(request::TOO_MANY, now);
            }
            Asked::Events => {
                let head = head(200, "OK", "text/event-stream; charset=utf-8", None);
                self.state = match request.head_only {
                    true => State::Answering,
                    false => State::Streaming { said: u64::MAX, beat: now },
                };
                return self.send(head.into_bytes().into(), now);
            }
            Asked::Page => ("text/html; charset=utf-8", pages.now().html.clone()),
            Asked::Style => ("text/css; charset=utf-8", STYLE.as_bytes().into()),
            Asked::Script => ("text/javascript; charset=utf-8", SCRIPT.as_bytes().into()),
        };
        let mut answer = head(200, "OK", kind, Some(body.len())).into_bytes();
        if !request.head_only {
            answer.extend_from_slice(&body);
        }
        self.state = State::Answering;
        self.send(answer.into(), now);
    }

    fn refuse(&mut self, Refusal(code, why): Refusal, now: Instant) {
        let body = format!("{code} {why}\n");
        let answer = head(code, why, "text/plain; charset=utf-8", Some(body.len())) + &body;
        self.state = State::Answering;
        self.send(answer.into_bytes().into(), now);
    }

    fn send(&mut self, bytes: Arc<[u8]>, now: Instant) {
        self.sending = Some(Sending { bytes, done: 0, until: now + ANSWER_TIME });
    }

    /// Whether there is more to come after what was to be sent.
    fn write(&mut self, now: Instant) -> bool {
        let Some(sending) = &mut self.sending else {
            return self.is_stream() && !matches!(listen(&mut self.stream, &mut Vec::new()), Heard::End);
        };
        while sending.done < sending.bytes.len() {
            match self.stream.write(&sending.bytes[sending.done..]) {
                Ok(0) => return false,
                Ok(n) => sending.done += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return now < sending.until,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        self.sending = None;
        if !self.is_stream() {
            // What was said after the request is thrown away, or the answer might be lost with it.
            let _ = self.stream.shutdown(std::net::Shutdown::Write);
            let _ = listen(&mut self.stream, &mut Vec::new());
        }
        self.is_stream()
    }
}

enum Heard {
    Nothing,
    More,
    End,
}

/// What has come by now, no more of it than a head may have.
fn listen(stream: &mut TcpStream, to: &mut Vec<u8>) -> Heard {
    let mut buffer = [0; 2048];
    let before = to.len();
    while to.len() <= request::LONGEST {
        match stream.read(&mut buffer) {
            Ok(0) if to.len() > before => break,
            Ok(0) => return Heard::End,
            Ok(n) => to.extend_from_slice(&buffer[..n]),
            Err(e) if e.kind() == ErrorKind::WouldBlock => break,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Heard::End,
        }
    }
    if to.len() > before { Heard::More } else { Heard::Nothing }
}

/// The head of a response. Our page loads only from us, runs only our script and cannot be framed.
fn head(code: u16, why: &str, kind: &str, length: Option<usize>) -> String {
    let length = length.map_or(String::new(), |n| format!("Content-Length: {n}\r\n"));
    let allow = if code == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    format!(
        "HTTP/1.1 {code} {why}\r\nContent-Type: {kind}\r\n{length}{allow}Connection: close\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\r\n"
    )
}
