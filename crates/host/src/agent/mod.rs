//! The agent: prony on another host of a testbed. It serves a [`Local`] to a controller over its standard input and output,
//! and does not listen on any port. It ends everything that it started when its input ends or when its lease expires.

mod cache;
mod files;
mod folders;
mod processes;
mod session;

use crate::sources::sources;
use crate::supervisor::pin_thread;
use crate::wire::AgentHello;
use crate::{Cpus, Host as _, HostError, Local, free_bytes, hostname};
use folders::Folders;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{dup2_stdin, dup2_stdout};
use session::Session;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd as _;
use std::sync::mpsc;
use std::thread;

/// The main function of the agent: call it first when the binary is started in that role. `supervisor` is the command that
/// runs [`crate::supervise`]; `hash` is the SHA-256 of the binary, if the process that started it knows it. Returns when
/// everything that it started has ended.
pub fn agent(supervisor: Vec<OsString>, hash: Option<String>) -> io::Result<()> {
    let (input, output) = own_streams()?;
    let mut handled = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        handled.add(signal);
    }
    // Before any thread exists: threads inherit the mask. The standard library resets it in child processes.
    handled.thread_block()?;
    let address = address_of(&std::env::var("SSH_CONNECTION").unwrap_or_default());
    let host = Local::new(supervisor);
    let host = match &address {
        Some(address) => host.at(address.clone()),
        None => host,
    };
    let folders = Folders::make()?;
    cache::tidy(folders.cache());
    let now = session::clocks();
    let hello = AgentHello {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sources: sources().to_owned(),
        hash,
        architecture: std::env::consts::ARCH.to_owned(),
        hostname: hostname(),
        pid: std::process::id(),
        binary: fs::read_link("/proc/self/exe").ok(),
        topology: host.topology().clone(),
        environment: host.environment(),
        address,
        monotonic_ns: now.0,
        wall_ns: now.1,
        work: folders.work().to_owned(),
        cache: folders.cache().to_owned(),
        free_bytes: free_bytes(folders.work()),
    };
    let (end, ended) = mpsc::channel();
    let signalled = end.clone();
    thread::spawn(move || {
        if let Ok(signal) = handled.wait() {
            let _ = signalled.send(format!("it received {signal}"));
        }
    });
    Session::new(Box::new(host), folders, end).serve(&hello, input, output, &ended);
    Ok(())
}

/// Reserves the standard streams for the protocol: anything that prints to stdout by mistake prints to stderr.
fn own_streams() -> io::Result<(File, File)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(io::stderr())?;
    Ok((input.into(), output.into()))
}

/// Pins all threads of this process, also those that run already.
fn pin(cpus: &Cpus) -> Result<(), HostError> {
    for entry in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let Some(thread) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        match pin_thread(thread, cpus) {
            // The thread has ended meanwhile.
            Ok(()) | Err(nix::errno::Errno::ESRCH) => {}
            Err(error) => {
                return Err(HostError::Pin {
                    cpus: cpus.to_string(),
                    error,
                });
            }
        }
    }
    Ok(())
}

/// The server address of an ssh connection: the third word of `SSH_CONNECTION`.
fn address_of(connection: &str) -> Option<String> {
    let word = connection.split(' ').nth(2)?;
    // A link-local address is followed by a zone.
    let (address, zone) = word.split_at(word.find('%').unwrap_or(word.len()));
    let address: IpAddr = address.parse().ok()?;
    Some(format!("{}{zone}", address.to_canonical()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_where_the_connection_came_to() {
        let of = |connection: &str| address_of(connection);
        assert_eq!(of("10.0.0.1 4711 10.0.0.7 22").as_deref(), Some("10.0.0.7"));
        assert_eq!(of("fd00::1 4711 ::ffff:10.0.0.7 22").as_deref(), Some("10.0.0.7"));
        assert_eq!(of("fd00::1 4711 fd00::7 22").as_deref(), Some("fd00::7"));
        assert_eq!(
            of("fe80::1%eth0 4711 fe80::7%eth0 22").as_deref(),
            Some("fe80::7%eth0")
        );
        assert_eq!(of(""), None);
        assert_eq!(of("UNKNOWN 65535 UNKNOWN 65535"), None);
    }
}
