//! A non-blocking socket, and `poll(2)` to wait for it.

use super::ClientError;
use prony_load::Target;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The socket of a connection.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects to the first address of the target that accepts.
    pub(super) fn connect(target: &Target, deadline: Instant) -> Result<Self, ClientError> {
        let unreachable = |error: io::Error| ClientError::Unreachable(error.to_string());
        if let Some(path) = &target.connect.unix {
            let stream = UnixStream::connect(path).map_err(unreachable)?;
            stream.set_nonblocking(true).map_err(unreachable)?;
            return Ok(Self::Unix(stream));
        }
        let mut refused = io::Error::other("the name has no address");
        for address in addresses(target).map_err(unreachable)? {
            match connect(&address, deadline) {
                Ok(stream) => return Ok(Self::Tcp(stream)),
                Err(error) => refused = error,
            }
        }
        Err(unreachable(refused))
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    /// Waits until the socket is readable or, if `writes` is set, writable.
    pub(super) fn wait(&self, writes: bool, deadline: Instant) -> Result<(), ClientError> {
        let mut poll = libc::pollfd {
            fd: self.as_raw_fd(),
            events: libc::POLLIN | if writes { libc::POLLOUT } else { 0 },
            revents: 0,
        };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            // Rounded up, so that the deadline has passed when the wait is over.
            let millis = left.as_millis().saturating_add(1).min(60_000) as libc::c_int;
            if left.is_zero() {
                return Err(ClientError::TimedOut);
            }
            // SAFETY: `poll` is one valid entry, and outlives the call.
            match unsafe { libc::poll(&raw mut poll, 1, millis) } {
                1.. => return Ok(()),
                0 => {}
                _ => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(ClientError::Unreachable(error.to_string()));
                    }
                }
            }
        }
    }

    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Tcp(stream) => stream.as_raw_fd(),
            Self::Unix(stream) => stream.as_raw_fd(),
        }
    }
}

fn addresses(target: &Target) -> io::Result<Vec<SocketAddr>> {
    let given = &target.connect.addresses;
    if given.is_empty() {
        let (host, port) = target.peer();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        return Ok((host, port).to_socket_addrs()?.collect());
    }
    let with_port = |ip: &std::net::IpAddr| SocketAddr::new(*ip, target.port);
    Ok(given.iter().map(with_port).collect())
}

fn connect(address: &SocketAddr, deadline: Instant) -> io::Result<TcpStream> {
    let left = deadline.saturating_duration_since(Instant::now());
    let stream = TcpStream::connect_timeout(address, left.max(Duration::from_millis(1)))?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}
