//! Calls to the operating system other than sockets: name resolution, file limits, CPU pinning.

use crate::EngineError;
use std::net::{SocketAddr, ToSocketAddrs as _};

/// The addresses of a name, in the resolver's order.
pub(crate) fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, EngineError> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let failed = |source| EngineError::Resolve {
        host: host.to_owned(),
        source,
    };
    let found: Vec<SocketAddr> = (bare, port).to_socket_addrs().map_err(failed)?.collect();
    if found.is_empty() {
        return Err(failed(std::io::Error::other("the name has no address")));
    }
    Ok(found)
}

/// Open files that a process needs in addition to its connections: standard streams, rings, libraries, `/proc`.
const SPARE_FILES: u64 = 64;
/// Open files that a thread of the generator needs in addition to its connections: its poll file and its wake-up
/// file.
const FILES_OF_A_THREAD: u64 = 4;

/// Ensures that `connections` sockets of `threads` threads may be open, raising the soft limit if necessary and
/// allowed.
pub(crate) fn allow_files(connections: u64, threads: u64) -> Result<(), EngineError> {
    let needed = connections + SPARE_FILES + threads * FILES_OF_A_THREAD;
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid place for the answer.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Err(EngineError::System {
            what: "reading the limit for open files",
            source: std::io::Error::last_os_error(),
        });
    }
    if limit.rlim_cur >= needed {
        return Ok(());
    }
    let wished = libc::rlimit {
        rlim_cur: needed,
        rlim_max: limit.rlim_max.max(needed),
    };
    // SAFETY: the pointer is to a valid limit; the kernel rejects values that this process may not set.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const wished) } == 0 {
        return Ok(());
    }
    Err(EngineError::FileLimit {
        connections,
        needed,
        limit: limit.rlim_max,
    })
}

/// Pins the calling thread to one CPU.
pub(crate) fn pin(cpu: usize) -> Result<(), EngineError> {
    // SAFETY: an all-zero set is valid, CPU_SET checks its bound, and the kernel only reads the set.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result == 0 {
        return Ok(());
    }
    let reason = std::io::Error::last_os_error();
    Err(EngineError::Job(format!(
        "cannot pin a thread to CPU {cpu}: {reason}; give CPUs of this machine"
    )))
}

/// Asks the kernel to wake the calling thread as precisely as possible (the default allows 50 µs of delay).
pub(crate) fn wake_exactly() {
    // SAFETY: this option takes one integer and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
