//! Sockets as both transports make them.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// An address in the kernel's form.
#[derive(Clone, Copy)]
pub(super) struct KernelAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl KernelAddress {
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

    /// Where the address lies, and its length. It must not move while the kernel reads it.
    pub(super) const fn parts(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        ((&raw const self.storage).cast(), self.length)
    }

    fn family(&self) -> libc::c_int {
        libc::c_int::from(self.storage.ss_family)
    }
}

/// A non-blocking TCP socket without Nagle's delay.
pub(super) fn open(address: &KernelAddress) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::socket(address.family(), kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor, and nobody else has it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let on: libc::c_int = 1;
    // SAFETY: the option is one int.
    unsafe {
        libc::setsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_NODELAY,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
    Ok(socket)
}

/// Begins to connect.
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

/// The error that the socket holds, if it holds one; reading it takes it away.
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
