//! The lower bound of a generator's cost: loops that only send a constant request, receive, and take a timestamp. No
//! parsing, no checking, and only one counter. The cost of the generator is compared with them.
//!
//! `cargo bench -p prony-generator --bench bare -- io_uring|epoll ADDRESS CONNECTIONS SECONDS [PATH]` prints one JSON object.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd as _, RawFd};
use std::time::Duration;

fn main() {
    // `cargo bench` and `cargo test` add flags of their own.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|text| !text.starts_with("--"))
        .collect();
    let [kind, address, connections, seconds, rest @ ..] = arguments.as_slice() else {
        println!("usage: bare io_uring|epoll ADDRESS CONNECTIONS SECONDS [PATH]");
        return;
    };
    let address: SocketAddr = address.parse().expect("an address with a port");
    let connections: usize = connections.parse().expect("a number of connections");
    let seconds: f64 = seconds.parse().expect("a number of seconds");
    let path = rest.first().map_or("/", String::as_str);
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes();
    let sockets = connect(address, connections);
    let end = now() + (seconds * 1e9) as u64;
    let (begin, cpu_before) = (now(), cpu_s());
    let replies = match kind.as_str() {
        "epoll" => epoll(&sockets, &request, end),
        "io_uring" => uring::run(&sockets, &request, end),
        other => panic!("{other}: io_uring or epoll"),
    };
    let (elapsed, cpu) = ((now() - begin) as f64 / 1e9, cpu_s() - cpu_before);
    let (replies, calls) = replies.expect("a load");
    println!(
        "{{\"kind\": \"{kind}\", \"replies\": {replies}, \"seconds\": {elapsed:.3}, \"cpu_s\": {cpu:.3}, \
         \"per_cpu_s\": {:.0}, \"per_wait\": {:.2}}}",
        replies as f64 / cpu,
        replies as f64 / calls as f64
    );
}

fn connect(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    (0..count)
        .map(|_| {
            let socket = TcpStream::connect_timeout(&address, Duration::from_secs(5)).expect("a connection");
            socket.set_nodelay(true).expect("no delay");
            socket.set_nonblocking(true).expect("non-blocking");
            socket
        })
        .collect()
}

fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU time of this process, user and system, s.
fn cpu_s() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn send(fd: RawFd, bytes: &[u8]) {
    // SAFETY: the bytes are valid for their length.
    let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    assert_eq!(sent, bytes.len() as isize, "{}", io::Error::last_os_error());
}

fn epoll(sockets: &[TcpStream], request: &[u8], end: u64) -> io::Result<(u64, u64)> {
    // SAFETY: no memory is involved.
    let poll = unsafe { libc::epoll_create1(0) };
    for socket in sockets {
        let mut event = libc::epoll_event {
            events: (libc::EPOLLIN | libc::EPOLLET) as u32,
            u64: socket.as_raw_fd() as u64,
        };
        // SAFETY: both descriptors are open, and the kernel copies the event.
        unsafe { libc::epoll_ctl(poll, libc::EPOLL_CTL_ADD, socket.as_raw_fd(), &raw mut event) };
        send(socket.as_raw_fd(), request);
    }
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; 128];
    let mut buffer = vec![0_u8; 16 * 1024];
    let (mut replies, mut calls, mut last) = (0, 0, 0);
    while last < end {
        // SAFETY: `events` has room for 128 of them.
        let count = unsafe { libc::epoll_wait(poll, events.as_mut_ptr(), 128, 1000) };
        calls += 1;
        for event in &events[..usize::try_from(count).unwrap_or(0)] {
            let fd = event.u64 as RawFd;
            // SAFETY: the buffer is valid for its length.
            let got = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
            if got <= 0 {
                return Err(io::Error::other("the server closed a connection"));
            }
            last = now();
            replies += 1;
            send(fd, request);
        }
    }
    Ok((replies, calls))
}

mod uring {
    use super::{TcpStream, io, now};
    use io_uring::squeue::{Entry, Flags};
    use io_uring::types::{BufRingEntry, Fixed, SubmitArgs, Timespec};
    use io_uring::{IoUring, cqueue, opcode};
    use std::os::fd::{AsRawFd, RawFd};
    use std::sync::atomic::{AtomicU16, Ordering};

    const BUFFERS: u16 = 256;
    const SIZE: usize = 2048;
    const SENT: u64 = 1 << 32;

    /// A page, so that the kernel can map the ring of buffers.
    #[repr(C, align(4096))]
    struct Page([u8; 4096]);

    struct Buffers {
        ring: Box<Page>,
        memory: Vec<u8>,
        tail: u16,
    }

    impl Buffers {
        const fn entries(&self) -> *mut BufRingEntry {
            (&raw const *self.ring).cast_mut().cast()
        }

        fn give(&mut self, id: u16) {
            // SAFETY: the place lies inside the page, which holds 256 entries of 16 bytes.
            let entry = unsafe { &mut *self.entries().add(usize::from(self.tail % BUFFERS)) };
            entry.set_addr(self.memory.as_ptr() as u64 + u64::from(id) * SIZE as u64);
            entry.set_len(SIZE as u32);
            entry.set_bid(id);
            self.tail = self.tail.wrapping_add(1);
        }

        fn publish(&self) {
            // SAFETY: the tail is a part of the page, aligned for 16 bits.
            let tail = unsafe { &*BufRingEntry::tail(self.entries()).cast::<AtomicU16>() };
            tail.store(self.tail, Ordering::Release);
        }
    }

    fn send(index: u32, request: &[u8]) -> Entry {
        opcode::Send::new(Fixed(index), request.as_ptr(), request.len() as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .flags(Flags::SKIP_SUCCESS)
            .user_data(u64::from(index) | SENT)
    }

    /// Completions to wait for per call: `BARE_WANT`; default: 1.
    fn want() -> usize {
        std::env::var("BARE_WANT")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(1)
    }

    pub(crate) fn run(sockets: &[TcpStream], request: &[u8], end: u64) -> io::Result<(u64, u64)> {
        let mut ring: IoUring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(4096)
            .build(512)?;
        let fds: Vec<RawFd> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&fds)?;
        let mut buffers = Buffers {
            ring: Box::new(Page([0; 4096])),
            memory: vec![0; usize::from(BUFFERS) * SIZE],
            tail: 0,
        };
        (0..BUFFERS).for_each(|id| buffers.give(id));
        buffers.publish();
        // SAFETY: the page lives until the process ends the ring.
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(buffers.entries() as u64, BUFFERS, 0, 0)?;
        }
        for index in 0..sockets.len() as u32 {
            let receive = opcode::RecvMulti::new(Fixed(index), 0)
                .build()
                .user_data(u64::from(index));
            // SAFETY: the request and the buffers outlive the ring.
            unsafe {
                ring.submission()
                    .push_multiple(&[receive, send(index, request)])
                    .expect("room");
            };
        }
        let (second, want) = (Timespec::new().sec(1), want());
        let (mut replies, mut calls, mut last) = (0, 0, 0);
        while last < end {
            match ring
                .submitter()
                .submit_with_args(want, &SubmitArgs::new().timespec(&second))
            {
                Err(error) if error.raw_os_error() != Some(libc::ETIME) => return Err(error),
                _ => calls += 1,
            }
            let (_, mut submission, completion) = ring.split();
            for entry in completion.filter(|entry| entry.user_data() & SENT == 0) {
                if entry.result() <= 0 || !cqueue::more(entry.flags()) {
                    return Err(io::Error::other(
                        "the server closed a connection, or buffers ran out",
                    ));
                }
                last = now();
                replies += 1;
                buffers.give(cqueue::buffer_select(entry.flags()).expect("a buffer"));
                // SAFETY: the request outlives the ring.
                unsafe {
                    submission
                        .push(&send(entry.user_data() as u32, request))
                        .expect("room");
                };
            }
            buffers.publish();
        }
        Ok((replies, calls))
    }
}
