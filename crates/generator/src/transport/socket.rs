//! Sockets as used by both transports.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// An address in the kernel's format.
#[derive(Clone, Copy)]
pub(super) struct KernelAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl KernelAddress {
    /// The address of a Unix socket.
    pub(super) fn in_file_system(path: &Path) -> io::Result<Self> {
        let bytes = path.as_os_str().as_bytes();
        // SAFETY: all-zero bytes are a valid sockaddr_un.
        let mut form: libc::sockaddr_un = unsafe { std::mem::zeroed() };
        // One byte is reserved: the path ends with NUL.
        if bytes.is_empty() || bytes.len() >= form.sun_path.len() || bytes.contains(&0) {
            return Err(io::Error::other(format!(
                "the path of a Unix socket must have 1 to {} bytes",
                form.sun_path.len() - 1
            )));
        }
        form.sun_family = libc::AF_UNIX as libc::sa_family_t;
        for (place, byte) in form.sun_path.iter_mut().zip(bytes) {
            *place = *byte as libc::c_char;
        }
        // SAFETY: all-zero bytes are a valid sockaddr_storage.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        // SAFETY: sockaddr_storage is large enough and aligned for every address form.
        unsafe { (&raw mut storage).cast::<libc::sockaddr_un>().write(form) };
        Ok(Self {
            storage,
            length: size_of::<libc::sockaddr_un>() as libc::socklen_t,
        })
    }

    /// The address of a TCP socket.
    pub(super) fn new(address: SocketAddr) -> Self {
        // SAFETY: all-zero bytes are a valid sockaddr_storage.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let length = match address {
            SocketAddr::V4(address) => {
                let form = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: address.port().to_be(),
                    sin_addr: libc::in_addr {
                        s_addr: u32::from_ne_bytes(address.ip().octets()),
                    },
                    sin_zero: [0; 8],
                };
                // SAFETY: sockaddr_storage is large enough and aligned for every address form.
                unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(form) };
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(address) => {
                let form = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: address.port().to_be(),
                    sin6_flowinfo: address.flowinfo(),
                    sin6_addr: libc::in6_addr {
                        s6_addr: address.ip().octets(),
                    },
                    sin6_scope_id: address.scope_id(),
                };
                // SAFETY: as above.
                unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(form) };
                size_of::<libc::sockaddr_in6>()
            }
        };
        Self {
            storage,
            length: length as libc::socklen_t,
        }
    }

    /// Pointer to the address, and its length. The address must not move while the kernel reads it.
    pub(super) const fn parts(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        ((&raw const self.storage).cast(), self.length)
    }

    fn family(&self) -> libc::c_int {
        libc::c_int::from(self.storage.ss_family)
    }
}

/// Opens a non-blocking socket; for TCP, without Nagle's algorithm.
pub(super) fn open(address: &KernelAddress) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::socket(address.family(), kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // This fails on a Unix socket, which has no such delay.
    let _ = switch_on(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY);
    Ok(socket)
}

fn switch_on(socket: &OwnedFd, level: libc::c_int, option: libc::c_int) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the option is one int.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Binds a socket to a local address. The port is chosen on connect, so that a port can be shared by connections to
/// different peers.
pub(super) fn bind(socket: &OwnedFd, address: &KernelAddress) -> io::Result<()> {
    // Without this option, the port is chosen here, and fewer ports are available.
    let _ = switch_on(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT);
    // SAFETY: the address is valid for its length.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address.storage).cast(),
            address.length,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Segments that TCP has retransmitted on this socket; 0 if it is not a TCP socket.
pub(super) fn retransmits(socket: &OwnedFd) -> u32 {
    // SAFETY: all-zero bytes are a valid tcp_info.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: `info` and `length` are valid places for the answer.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    if result == 0 { info.tcpi_total_retrans } else { 0 }
}

/// Sends as much as the socket takes now; returns how much that is.
pub(super) fn send_now(socket: &OwnedFd, bytes: &[u8]) -> usize {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the bytes are valid for their length.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    // A failure is also reported on the reading side; a full socket becomes writable later.
    usize::try_from(sent).unwrap_or(0)
}

/// Starts connecting.
pub(super) fn begin_connect(socket: &OwnedFd, address: &KernelAddress) -> io::Result<()> {
    // SAFETY: the address is valid for its length.
    let result = unsafe {
        libc::connect(
            socket.as_raw_fd(),
            (&raw const address.storage).cast(),
            address.length,
        )
    };
    if result == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EINPROGRESS) => Ok(()),
        _ => Err(error),
    }
}

/// The pending error of the socket, if any; reading it clears it.
pub(super) fn take_error(socket: &OwnedFd) -> Option<io::Error> {
    let mut code: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: `code` and `length` are valid places for the answer.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut code).cast(),
            &raw mut length,
        )
    };
    match (result, code) {
        (0, 0) => None,
        (0, code) => Some(io::Error::from_raw_os_error(code)),
        _ => Some(io::Error::last_os_error()),
    }
}
