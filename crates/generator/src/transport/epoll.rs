//! epoll, edge-triggered: one `read` and one `write` per request, and no `epoll_ctl` after the connection is
//! established.

use super::dial::{Dialer, Network, Route};
use super::{Event, Transport, socket};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

/// Most events per wait; few, so that the clock is read again soon.
const BATCH: usize = 128;
/// Most bytes per read.
const BUFFER: usize = 64 * 1024;

/// The key of the file with which other threads wake this one. Each write to it is an edge, so it need not be read.
const BELL: u64 = u64::MAX;

/// The transport based on epoll.
pub(crate) struct Epoll {
    poll: OwnedFd,
    dial: Dialer,
    wires: Vec<EpollSocket>,
    ready: Vec<libc::epoll_event>,
    next: usize,
    buffer: Vec<u8>,
    /// Whether the kernel supports waits in nanoseconds (since Linux 5.11, if no seccomp filter forbids the call).
    exact: bool,
}

/// The socket of a connection.
#[derive(Default)]
struct EpollSocket {
    socket: Option<OwnedFd>,
    connecting: bool,
    /// Counts the uses of this number, to recognize events of an earlier use.
    generation: u32,
    /// Bytes that the socket has not accepted yet, from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
}

impl EpollSocket {
    /// Sends the pending bytes, as far as the socket accepts them.
    fn send_rest(&mut self) {
        let Some(socket) = &self.socket else { return };
        self.sent += socket::send_now(socket, &self.unsent[self.sent..]);
        if self.sent == self.unsent.len() {
            // The memory is not kept: few sockets are ever full, and the remainder may be large.
            self.unsent = Vec::new();
            self.sent = 0;
        }
    }
}

/// The result of one read.
enum ReadResult {
    Bytes(usize),
    Nothing,
    End(Option<io::Error>),
}

impl Epoll {
    fn watch(&self, connection: u32, fd: RawFd) -> io::Result<()> {
        let generation = self.wires[connection as usize].generation;
        self.add(fd, u64::from(generation) << 32 | u64::from(connection))
    }

    fn add(&self, fd: RawFd, name: u64) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32,
            u64: name,
        };
        // SAFETY: both descriptors are open, and the kernel copies the event.
        let result =
            unsafe { libc::epoll_ctl(self.poll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Waits with nanosecond precision; returns the number of events, or -1 for an error.
    fn wait_exactly(&mut self, timeout_ns: u64) -> i64 {
        let timeout = libc::timespec {
            tv_sec: (timeout_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (timeout_ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: `ready` has room for BATCH events, and the timeout is valid.
        unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.poll.as_raw_fd(),
                self.ready.as_mut_ptr(),
                BATCH,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0,
            )
        }
    }

    /// Waits in whole milliseconds, rounded down, so that nothing due is sent late; the remaining time is spent
    /// polling.
    fn wait_roughly(&mut self, timeout_ns: u64) -> i64 {
        let timeout = i32::try_from(timeout_ns / 1_000_000).unwrap_or(i32::MAX);
        // SAFETY: `ready` has room for BATCH events.
        let count = unsafe {
            libc::epoll_wait(
                self.poll.as_raw_fd(),
                self.ready.as_mut_ptr(),
                BATCH as i32,
                timeout,
            )
        };
        i64::from(count)
    }

    fn read(&mut self, fd: RawFd) -> ReadResult {
        loop {
            // SAFETY: the buffer is valid for its length.
            let got = unsafe { libc::read(fd, self.buffer.as_mut_ptr().cast(), self.buffer.len()) };
            match got {
                0 => return ReadResult::End(None),
                1.. => return ReadResult::Bytes(got as usize),
                _ => {}
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::WouldBlock => return ReadResult::Nothing,
                io::ErrorKind::Interrupted => {}
                _ => return ReadResult::End(Some(error)),
            }
        }
    }

    /// Finishes a connect; `None` while it is still in progress.
    fn finish_connect(&mut self, number: u32, flags: i32) -> Option<Result<(), io::Error>> {
        let wire = &mut self.wires[number as usize];
        let socket = wire.socket.as_ref()?;
        if let Some(error) = socket::take_error(socket) {
            return Some(Err(error));
        }
        if flags & libc::EPOLLOUT == 0 || flags & libc::EPOLLHUP != 0 {
            return None;
        }
        wire.connecting = false;
        Some(Ok(()))
    }
}

impl Transport for Epoll {
    const NAME: &'static str = "epoll";
    const DEFERS: bool = false;

    fn listen(&mut self, bell: BorrowedFd<'_>) -> io::Result<()> {
        self.add(bell.as_raw_fd(), BELL)
    }

    fn new(route: &Route, connections: u32) -> io::Result<Self> {
        // SAFETY: no memory is involved.
        let poll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if poll < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            // SAFETY: the kernel has just given us this descriptor.
            poll: unsafe { OwnedFd::from_raw_fd(poll) },
            dial: Dialer::new(route)?,
            wires: (0..connections).map(|_| EpollSocket::default()).collect(),
            ready: Vec::with_capacity(BATCH),
            next: 0,
            buffer: vec![0; BUFFER],
            exact: true,
        })
    }

    fn connect(&mut self, number: u32) -> io::Result<()> {
        let (socket, address) = self.dial.open()?;
        let wire = &mut self.wires[number as usize];
        wire.generation = wire.generation.wrapping_add(1);
        wire.connecting = true;
        wire.unsent.clear();
        wire.sent = 0;
        socket::begin_connect(&socket, address)?;
        self.watch(number, socket.as_raw_fd())?;
        self.wires[number as usize].socket = Some(socket);
        Ok(())
    }

    fn send(&mut self, number: u32, bytes: &[u8]) {
        let wire = &mut self.wires[number as usize];
        let Some(socket) = &wire.socket else { return };
        let sent = if wire.unsent.is_empty() {
            socket::send_now(socket, bytes)
        } else {
            0
        };
        if sent < bytes.len() {
            wire.unsent.extend_from_slice(&bytes[sent..]);
        }
    }

    fn close(&mut self, number: u32) {
        let wire = &mut self.wires[number as usize];
        if let Some(socket) = wire.socket.take() {
            self.dial.over(&socket);
        }
        wire.unsent = Vec::new();
        wire.sent = 0;
    }

    fn wait(&mut self, timeout_ns: u64) -> io::Result<()> {
        self.next = 0;
        self.ready.clear();
        let mut count = if self.exact {
            self.wait_exactly(timeout_ns)
        } else {
            self.wait_roughly(timeout_ns)
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => return Ok(()),
                Some(libc::ENOSYS | libc::EPERM) if self.exact => {
                    self.exact = false;
                    count = 0;
                }
                _ => return Err(error),
            }
        }
        // SAFETY: the kernel has written `count` events.
        unsafe { self.ready.set_len(count as usize) };
        Ok(())
    }

    fn next_event(&mut self) -> Option<Event<'_>> {
        let (number, taken) = loop {
            let libc::epoll_event { events, u64: name } = *self.ready.get(self.next)?;
            if name == BELL {
                self.next += 1;
                continue;
            }
            let (number, flags) = (name as u32, events as i32);
            let wire = &mut self.wires[number as usize];
            let current = wire.generation == (name >> 32) as u32;
            let Some(socket) = wire.socket.as_ref().filter(|_| current) else {
                self.next += 1;
                continue;
            };
            let fd = socket.as_raw_fd();
            if wire.connecting {
                match self.finish_connect(number, flags) {
                    // The same event may also report received bytes: it is processed again.
                    Some(Ok(())) => return Some(Event::Connected(number)),
                    Some(Err(error)) => {
                        self.next += 1;
                        return Some(Event::ConnectFailed(number, error));
                    }
                    None => {
                        self.next += 1;
                        continue;
                    }
                }
            }
            if flags & libc::EPOLLOUT != 0 && !wire.unsent.is_empty() {
                wire.send_rest();
            }
            let end_flags = libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR;
            if flags & (libc::EPOLLIN | end_flags) == 0 {
                self.next += 1;
                continue;
            }
            let taken = self.read(fd);
            // A short read has emptied the socket, and further bytes trigger a new edge; but this edge may already
            // include the end of the stream.
            let more = matches!(taken, ReadResult::Bytes(count) if count == BUFFER || flags & end_flags != 0);
            if !more {
                self.next += 1;
            }
            if !matches!(taken, ReadResult::Nothing) {
                break (number, taken);
            }
        };
        Some(match taken {
            ReadResult::Bytes(count) => Event::Received(number, &self.buffer[..count]),
            ReadResult::End(error) => Event::Ended(number, error),
            ReadResult::Nothing => unreachable!("the loop continues if nothing was received"),
        })
    }

    fn network(&self) -> Network {
        self.dial
            .network(self.wires.iter().filter_map(|wire| wire.socket.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    /// A kernel without nanosecond waits delivers the same bytes, and no wait is longer than requested.
    #[test]
    fn a_kernel_without_the_exact_wait_serves_too() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut epoll = Epoll::new(&Route::to(listener.local_addr().expect("an address")), 1).expect("epoll");
        epoll.exact = false;
        epoll.connect(0).expect("a connection");
        let (mut peer, _) = listener.accept().expect("the other side");
        peer.write_all(b"hello").expect("sent");
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let (mut connected, mut got) = (false, Vec::new());
        while got.len() < 5 && std::time::Instant::now() < deadline {
            epoll.wait(1_900_000).expect("a wait");
            while let Some(event) = epoll.next_event() {
                match event {
                    Event::Connected(0) => connected = true,
                    Event::Received(0, bytes) => got.extend_from_slice(bytes),
                    other => panic!("{other:?}"),
                }
            }
        }
        assert!(connected);
        assert_eq!(got, b"hello");
        epoll.send(0, b"answer");
        let mut answer = [0; 6];
        peer.read_exact(&mut answer).expect("the answer");
        assert_eq!(&answer, b"answer");
    }
}
