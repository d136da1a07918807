//! All clients on one thread, polled in turn; none can block another.

use super::Pages;
use super::connection::Connection;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// Maximum number of clients. One more replaces the slowest unfinished request.
const CLIENTS: usize = 128;
/// Open pages at a time.
const STREAMS: usize = 64;
/// Between two rounds: short while there is something to do.
const SHORT: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_millis(40);

/// Serves until it is time to `end`.
///
/// # Errors
/// If the socket fails for good.
pub(crate) fn serve(listener: &TcpListener, pages: &Pages, end: impl Fn() -> bool) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let mut clients: Vec<Connection> = Vec::new();
    let mut busy = Instant::now();
    while !end() {
        let now = Instant::now();
        // A round takes in no more than there is room for.
        for _ in 0..CLIENTS {
            match listener.accept() {
                Ok((stream, from)) if from.ip().is_loopback() => {
                    busy = now;
                    make_room(&mut clients);
                    clients.extend(Connection::new(stream, now));
                }
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                // One that went away before it was let in, or no more files for this process: the next round may do.
                Err(e) if e.kind() != ErrorKind::InvalidInput => break,
                Err(e) => return Err(e),
            }
        }
        let mut streams = clients.iter().filter(|c| c.is_stream()).count();
        clients.retain_mut(|client| {
            let was = client.is_stream();
            let stays = client.step(pages, port, streams < STREAMS, now);
            streams += usize::from(client.is_stream() && !was);
            stays
        });
        let idle = clients.iter().all(Connection::is_stream) || now > busy + Duration::from_millis(500);
        std::thread::sleep(if idle { LONG } else { SHORT });
    }
    Ok(())
}

/// When full, drops the slowest unfinished request; then the oldest client.
fn make_room(clients: &mut Vec<Connection>) {
    if clients.len() >= CLIENTS {
        let slow = clients.iter().position(Connection::is_asking);
        let other = slow.or_else(|| clients.iter().position(|c| !c.is_stream()));
        clients.remove(other.unwrap_or(0));
    }
}
