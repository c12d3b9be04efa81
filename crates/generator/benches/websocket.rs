//! The lower bound of the cost of a WebSocket load: a loop that only frames, masks, sends, receives and takes a
//! timestamp, and an echo server. The cost of the generator is compared with the loop.
//!
//! `cargo bench -p prony-generator --bench websocket -- server ADDRESS` serves until its standard input ends, and
//! first prints the address on which it listens. `… -- epoll ADDRESS CONNECTIONS SECONDS BYTES IN_FLIGHT` prints one
//! JSON object.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, RawFd};
use std::time::{Duration, Instant};

fn main() {
    // `cargo bench` and `cargo test` add flags of their own.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|text| !text.starts_with("--"))
        .collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["server", address] => serve(address).expect("a server"),
        ["epoll", address, connections, seconds, bytes, in_flight] => {
            let number = |text: &str| text.parse::<usize>().expect("a number");
            let load = Load {
                address: address.parse().expect("an address with a port"),
                connections: number(connections),
                seconds: Duration::from_secs_f64(seconds.parse().expect("a number of seconds")),
                bytes: number(bytes),
                in_flight: number(in_flight),
            };
            let replies = load.run().expect("a load");
            println!("{{\"kind\": \"epoll\", \"replies\": {replies}}}");
        }
        _ => println!("usage: websocket server ADDRESS | epoll ADDRESS CONNECTIONS SECONDS BYTES IN_FLIGHT"),
    }
}

const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;
const MASKED: u8 = 0x80;
/// The length is in the next two, or the next eight bytes.
const IN_TWO: u8 = 126;
const IN_EIGHT: u8 = 127;

/// Appends a frame, masked if there is a key.
fn frame(payload: &[u8], key: Option<[u8; 4]>, out: &mut Vec<u8>) {
    let mask = if key.is_some() { MASKED } else { 0 };
    out.push(TEXT);
    match payload.len() {
        short @ 0..126 => out.push(mask | short as u8),
        middle @ 126..65_536 => {
            out.push(mask | IN_TWO);
            out.extend_from_slice(&(middle as u16).to_be_bytes());
        }
        long => {
            out.push(mask | IN_EIGHT);
            out.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    if let Some(key) = key {
        out.extend_from_slice(&key);
    }
    let begin = out.len();
    out.extend_from_slice(payload);
    if let Some(key) = key {
        mask_with(&mut out[begin..], key);
    }
}

fn mask_with(bytes: &mut [u8], key: [u8; 4]) {
    let wide = u128::from(u32::from_ne_bytes(key)) * 0x0000_0001_0000_0001_0000_0001_0000_0001;
    let (chunks, rest) = bytes.as_chunks_mut::<16>();
    for chunk in chunks {
        *chunk = (u128::from_ne_bytes(*chunk) ^ wide).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(key.iter().cycle()) {
        *byte ^= key;
    }
}

/// The first byte, and the start and end of the payload (including its key, if it is masked); `None`: the frame is
/// incomplete.
fn parse(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    let [first, second, rest @ ..] = bytes else {
        return None;
    };
    let (length, begin) = match second & !MASKED {
        IN_TWO => (usize::from(u16::from_be_bytes(*rest.first_chunk()?)), 4),
        IN_EIGHT => (u64::from_be_bytes(*rest.first_chunk()?) as usize, 10),
        short => (usize::from(short), 2),
    };
    let key = if second & MASKED == 0 { 0 } else { 4 };
    let end = begin + key + length;
    (bytes.len() >= end).then_some((*first, begin, end))
}

struct Load {
    address: SocketAddr,
    connections: usize,
    seconds: Duration,
    bytes: usize,
    in_flight: usize,
}

/// A connection of the loop, and the received part of a frame.
struct Connection {
    socket: TcpStream,
    partial: Vec<u8>,
}

impl Load {
    fn connect(&self) -> io::Result<TcpStream> {
        let mut socket = TcpStream::connect_timeout(&self.address, Duration::from_secs(5))?;
        socket.set_nodelay(true)?;
        let address = self.address;
        write!(
            socket,
            "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )?;
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            socket.read_exact(&mut byte)?;
            head.extend(byte);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "the server does not switch");
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    fn run(&self) -> io::Result<u64> {
        let payload: Vec<u8> = (0..self.bytes).map(|at| b'a' + (at % 26) as u8).collect();
        let mut connections = Vec::new();
        let (mut out, mut random) = (Vec::new(), 0x9e37_79b9_u32);
        let mut key = || {
            // Xorshift (Marsaglia 2003).
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            random.to_ne_bytes()
        };
        // SAFETY: no memory is involved.
        let poll = unsafe { libc::epoll_create1(0) };
        for _ in 0..self.connections {
            let socket = self.connect()?;
            watch(
                poll,
                socket.as_raw_fd(),
                libc::EPOLLIN | libc::EPOLLET,
                connections.len(),
            );
            out.clear();
            (0..self.in_flight).for_each(|_| frame(&payload, Some(key()), &mut out));
            send_all(socket.as_raw_fd(), &out);
            connections.push(Connection {
                socket,
                partial: Vec::new(),
            });
        }
        let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; 128];
        let mut buffer = vec![0_u8; 64 * 1024];
        let (mut replies, mut last) = (0, Instant::now());
        let end = last + self.seconds;
        while last < end {
            // SAFETY: `events` has room for 128 of them.
            let count = unsafe { libc::epoll_wait(poll, events.as_mut_ptr(), 128, 1000) };
            for event in &events[..usize::try_from(count).unwrap_or(0)] {
                let connection = &mut connections[event.u64 as usize];
                let fd = connection.socket.as_raw_fd();
                // SAFETY: the buffer is valid for its length.
                let got = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
                let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
                if got == 0 {
                    return Err(io::Error::other("the server closed a connection"));
                }
                last = Instant::now();
                out.clear();
                let mut bytes = &buffer[..got];
                if !connection.partial.is_empty() {
                    connection.partial.extend_from_slice(bytes);
                    bytes = &connection.partial;
                }
                while let Some((_, _, end)) = parse(bytes) {
                    bytes = &bytes[end..];
                    replies += 1;
                    frame(&payload, Some(key()), &mut out);
                }
                connection.partial = bytes.to_vec();
                send_all(fd, &out);
            }
        }
        Ok(replies)
    }
}

/// Sends to a socket that accepts everything sooner or later.
fn send_all(fd: RawFd, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the bytes are valid for their length.
        let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        match usize::try_from(sent) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(_) => assert_eq!(
                io::Error::last_os_error().kind(),
                io::ErrorKind::WouldBlock,
                "a socket that is open"
            ),
        }
    }
}

fn watch(poll: RawFd, fd: RawFd, events: i32, number: usize) {
    let mut event = libc::epoll_event {
        events: events as u32,
        u64: number as u64,
    };
    // SAFETY: both descriptors are open, and the kernel copies the event.
    unsafe { libc::epoll_ctl(poll, libc::EPOLL_CTL_ADD, fd, &raw mut event) };
}

/// A connection of the server: the received part of a frame or head, and the bytes that its socket has not accepted
/// yet.
struct Client {
    socket: TcpStream,
    switched: bool,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Client {
    /// Reads and echoes everything available; `false`: the connection has ended.
    fn talk(&mut self, buffer: &mut [u8]) -> bool {
        loop {
            match self.socket.read(buffer) {
                Ok(0) => return false,
                Ok(count) => {
                    self.input.extend_from_slice(&buffer[..count]);
                    if !self.answer() {
                        return false;
                    }
                    if count < buffer.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        if self.output.is_empty() {
            return true;
        }
        match self.socket.write(&self.output) {
            Ok(count) => {
                self.output.drain(..count);
                true
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }

    fn answer(&mut self) -> bool {
        if !self.switched {
            let Some(length) = self.input.windows(4).position(|end| end == b"\r\n\r\n") else {
                return true;
            };
            let head = String::from_utf8_lossy(&self.input[..length]).into_owned();
            let key = head
                .lines()
                .find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "));
            let Some(key) = key else { return false };
            let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
            let accept = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()));
            let reply = format!(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                 Sec-WebSocket-Accept: {accept}\r\n\r\n"
            );
            self.output.extend_from_slice(reply.as_bytes());
            self.input.drain(..length + 4);
            self.switched = true;
        }
        let mut taken = 0;
        while let Some((first, begin, end)) = parse(&self.input[taken..]) {
            if first == CLOSE {
                return false;
            }
            let masked = &mut self.input[taken + begin..taken + end];
            let (key, payload) = masked.split_first_chunk_mut().expect("a client masks");
            mask_with(payload, *key);
            let written = self.output.len();
            frame(payload, None, &mut self.output);
            self.output[written] = first;
            taken += end;
        }
        self.input.drain(..taken);
        true
    }
}

fn serve(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("{}", listener.local_addr()?);
    std::thread::spawn(|| {
        // The end of the input, or any byte, stops the server.
        let _ = io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    listener.set_nonblocking(true)?;
    // SAFETY: no memory is involved.
    let poll = unsafe { libc::epoll_create1(0) };
    watch(poll, listener.as_raw_fd(), libc::EPOLLIN, usize::MAX);
    let mut clients: Vec<Option<Client>> = Vec::new();
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; 128];
    let mut buffer = vec![0_u8; 64 * 1024];
    loop {
        // SAFETY: `events` has room for 128 of them.
        let count = unsafe { libc::epoll_wait(poll, events.as_mut_ptr(), 128, -1) };
        for event in &events[..usize::try_from(count).unwrap_or(0)] {
            if event.u64 == u64::MAX {
                while let Ok((socket, _)) = listener.accept() {
                    socket.set_nonblocking(true)?;
                    socket.set_nodelay(true)?;
                    let edges = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLET;
                    watch(poll, socket.as_raw_fd(), edges, clients.len());
                    clients.push(Some(Client {
                        socket,
                        switched: false,
                        input: Vec::new(),
                        output: Vec::new(),
                    }));
                }
                continue;
            }
            let place = &mut clients[event.u64 as usize];
            if let Some(client) = place
                && !client.talk(&mut buffer)
            {
                *place = None;
            }
        }
    }
}
