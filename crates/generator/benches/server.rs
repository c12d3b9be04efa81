//! A server that only replies: every read is one request, and every reply has the same bytes. With it, the generator
//! is the limit, not the server.
//!
//! `cargo bench -p prony-generator --bench server -- ADDRESS [BYTES|@FILE [FREEZE_MS]]` serves until its standard
//! input ends. It first prints the address on which it listens. `@FILE` is a file with the body. With `FREEZE_MS`, it
//! freezes for that time at the start of each second of its life.

use std::io::{self, Read as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, RawFd};
use std::time::{Duration, Instant};

fn main() {
    // `cargo bench` and `cargo test` add flags of their own.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|text| !text.starts_with("--"))
        .collect();
    let [address, rest @ ..] = arguments.as_slice() else {
        println!("usage: server ADDRESS [BYTES|@FILE [FREEZE_MS]]");
        return;
    };
    let body = rest.first().map_or_else(|| filler(13), |text| body(text));
    let freeze = rest.get(1).map(|text| {
        let ms = text.parse().expect("a number of milliseconds");
        Freeze {
            next: Instant::now(),
            length: Duration::from_millis(ms),
        }
    });
    let length = body.len();
    let kind = if body.starts_with('{') {
        "application/json"
    } else {
        "text/plain"
    };
    let reply = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}");
    let listener = TcpListener::bind(address).expect("a free address");
    println!("{}", listener.local_addr().expect("an address"));
    std::thread::spawn(|| {
        // The end of the input, or any byte, stops the server.
        let _ = io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    serve(&listener, reply.as_bytes(), freeze).expect("a server");
}

/// A body of the given length, or the content of a file.
fn body(text: &str) -> String {
    match text.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).expect("a file with a body"),
        None => filler(text.parse().expect("a number of bytes")),
    }
}

fn filler(length: usize) -> String {
    "Hello, World!".chars().cycle().take(length).collect()
}

/// When the server freezes.
struct Freeze {
    next: Instant,
    length: Duration,
}

const PERIOD: Duration = Duration::from_secs(1);

impl Freeze {
    /// Freezes if it is time. Returns the time until the next freeze, ms, rounded down: the rest is spent polling.
    fn keep(&mut self) -> i32 {
        let now = Instant::now();
        if now >= self.next {
            std::thread::sleep((self.next + self.length).saturating_duration_since(now));
            self.next += PERIOD;
        }
        self.next.saturating_duration_since(Instant::now()).as_millis() as i32
    }
}

/// A connection, and the length of the reply that its socket has not accepted yet.
struct Client {
    socket: TcpStream,
    left: usize,
}

impl Client {
    /// Sends as much of the remaining reply as the socket accepts.
    fn send(&mut self, reply: &[u8]) {
        let (rest, fd) = (&reply[reply.len() - self.left..], self.socket.as_raw_fd());
        // SAFETY: the bytes are valid for their length.
        let sent = unsafe { libc::send(fd, rest.as_ptr().cast(), rest.len(), libc::MSG_NOSIGNAL) };
        self.left -= usize::try_from(sent).unwrap_or(0);
    }
}

fn watch(poll: RawFd, fd: RawFd) {
    let mut event = libc::epoll_event {
        events: (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLET) as u32,
        u64: fd as u64,
    };
    // SAFETY: both descriptors are open, and the kernel copies the event.
    unsafe { libc::epoll_ctl(poll, libc::EPOLL_CTL_ADD, fd, &raw mut event) };
}

fn serve(listener: &TcpListener, reply: &[u8], mut freeze: Option<Freeze>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    // SAFETY: no memory is involved.
    let poll = unsafe { libc::epoll_create1(0) };
    watch(poll, listener.as_raw_fd());
    let mut open: Vec<Option<Client>> = Vec::new();
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; 128];
    let mut buffer = vec![0_u8; 16 * 1024];
    loop {
        let timeout = freeze.as_mut().map_or(-1, Freeze::keep);
        // SAFETY: `events` has room for 128 of them.
        let count = unsafe { libc::epoll_wait(poll, events.as_mut_ptr(), 128, timeout) };
        for event in &events[..usize::try_from(count).unwrap_or(0)] {
            let fd = event.u64 as RawFd;
            if fd == listener.as_raw_fd() {
                while let Ok((socket, _)) = listener.accept() {
                    socket.set_nonblocking(true)?;
                    socket.set_nodelay(true)?;
                    let fd = socket.as_raw_fd();
                    open.resize_with(open.len().max(fd as usize + 1), || None);
                    open[fd as usize] = Some(Client { socket, left: 0 });
                    watch(poll, fd);
                }
                continue;
            }
            let Some(client) = &mut open[fd as usize] else {
                continue;
            };
            if client.left > 0 {
                client.send(reply);
            }
            if event.events as i32 & libc::EPOLLIN == 0 {
                continue;
            }
            // SAFETY: the buffer is valid for its length.
            match unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) } {
                1.. => {
                    client.left = reply.len();
                    client.send(reply);
                }
                // A spurious edge.
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock => {}
                _ => open[fd as usize] = None,
            }
        }
    }
}
