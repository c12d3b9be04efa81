//! Facts from the kernel about processes that an engine has started.

use super::super::usage::tick_ns;
use crate::tree::stat_field;
use nix::sys::signal::Signal;
use nix::sys::time::TimeValLike as _;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, read};
use std::fs;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

/// Engines add this to the number of the signal that ended a container's first process.
pub(super) const BY_SIGNAL: i32 = 128;

/// A descriptor that is readable when the process has ended (`pidfd_open(2)`); `None` if the kernel lacks it.
pub(super) fn end_of(pid: i32) -> Option<OwnedFd> {
    // SAFETY: the system call takes two numbers, and returns a new descriptor without another owner, or -1.
    let fd = unsafe { nix::libc::syscall(nix::libc::SYS_pidfd_open, pid, 0) };
    // SAFETY: as above.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// When a process was started.
pub(super) fn began(pid: i32) -> Option<Instant> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let ticks: u64 = stat_field(&stat, 22)?.parse().ok()?;
    let up = clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?.num_nanoseconds() as u64;
    Instant::now().checked_sub(Duration::from_nanos(up.saturating_sub(ticks * tick_ns())))
}

/// Whether a process has a handler for a signal (proc(5), `SigCgt`).
pub(super) fn handles(pid: i32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // If unknown, assume that it has one.
    caught.is_none_or(|mask| mask >> (signal as i32 - 1) & 1 == 1)
}

/// The exit code of a child that has ended, which remains waitable.
pub(super) fn exit_code(pid: i32) -> Option<i32> {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    match waitid(Id::Pid(Pid::from_raw(pid)), flags) {
        Ok(WaitStatus::Exited(_, code)) => Some(code),
        Ok(WaitStatus::Signaled(_, signal, _)) => Some(BY_SIGNAL + signal as i32),
        _ => None,
    }
}

/// The output of a client that has ended.
pub(super) fn printed(output: &OwnedFd) -> String {
    let mut bytes = vec![0; 65_536];
    let length = read(output, &mut bytes).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}
