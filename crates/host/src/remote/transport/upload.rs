//! Copies prony's binary to a host over a channel to a shell, and starts it there as an agent.

use super::{Channel, HandshakeFailure, ready};
use crate::remote::Progress;
use crate::wire::{Marker, hash};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::PollFlags;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Runs on the host in any shell: executes the binary with the given hash, or receives it from its input first. One line
/// without quotes, backslashes or exclamation marks, since shells treat these differently.
const SCRIPT: &str = include_str!("bootstrap.sh");
/// Time for the agent to announce itself once its binary is there.
const START: Duration = Duration::from_secs(30);
/// Longest time without progress while the binary is sent.
const STALL: Duration = Duration::from_secs(20);

/// A prony binary for a host: a file of this machine, and its hash.
#[derive(Debug, Clone)]
pub struct Binary {
    path: PathBuf,
    hash: String,
    /// Whether the user specified it; otherwise it is the running binary.
    named: bool,
}

/// Explains why no agent announced itself. Arguments: the channel, the output received instead, whether the binary was there.
pub type HandshakeErrorFn<'a> = &'a dyn Fn(&mut Channel, (HandshakeFailure, Option<String>), bool) -> String;

impl Binary {
    /// The specified binary, or the running one. The error says why it cannot be read.
    pub fn of(named: Option<&Path>) -> Result<Self, String> {
        let path = named.unwrap_or(Path::new("/proc/self/exe")).to_owned();
        let hash = hash::of_binary(&path)
            .map_err(|error| format!("cannot read the binary for it, {}: {error}", path.display()))?;
        Ok(Self {
            path,
            hash,
            named: named.is_some(),
        })
    }

    /// The arguments for a POSIX shell on the host (`sh -c SCRIPT prony HASH`), which becomes the agent.
    pub fn script(&self) -> [&str; 3] {
        [SCRIPT.trim_end(), "prony", &self.hash]
    }

    /// Waits until the script announces the agent, and sends it the binary if it is missing. `until` is the deadline for the
    /// first output of the script.
    pub fn bring(
        &self,
        channel: &mut Channel,
        until: Instant,
        why: HandshakeErrorFn<'_>,
        tell: &dyn Fn(Progress),
    ) -> Result<(), String> {
        let first = channel.await_marker(until);
        let first = first.map_err(|silence| why(channel, silence, false))?;
        let Marker::Script(words) = first else {
            return Ok(());
        };
        self.fits(&words)?;
        let sent = send(channel, &self.path, tell);
        let second = channel.await_marker(Instant::now() + START);
        match (sent, second) {
            (_, Ok(Marker::Agent { .. })) => Ok(()),
            (_, Ok(Marker::Script(words))) => {
                Err(format!("cannot copy prony's binary there: {}", words.join(" ")))
            }
            (Err(error), Err((HandshakeFailure::Late, _))) => {
                Err(format!("cannot send prony's binary: {error}"))
            }
            (_, Err(silence)) => Err(why(channel, silence, true)),
        }
    }

    /// Checks that the binary is for a host with these properties: `missing`, its system, its architecture.
    fn fits(&self, words: &[String]) -> Result<(), String> {
        let [state, system, machine] = words else {
            return Err(format!(
                "it sent `{}`, which prony does not know",
                words.join(":")
            ));
        };
        if state != "missing" {
            return Err(format!("{system} {machine}"));
        }
        if system != "Linux" {
            return Err(format!("it runs {system}, and prony measures on Linux only"));
        }
        let of = architecture(&self.path);
        match of {
            Some(of) if of != machine => Err(if self.named {
                format!(
                    "it is {machine}, but {} is for {of}: set a binary for it with `program = …`",
                    self.path.display()
                )
            } else {
                format!("it is {machine}, but this prony is for {of}: set a binary for it with `program = …`")
            }),
            None => Err(format!("{} is not a Linux binary", self.path.display())),
            Some(_) => Ok(()),
        }
    }
}

/// Sends the length of the binary in a line, then the binary. Writes only as much as fits, to detect a network that hangs.
fn send(channel: &Channel, binary: &Path, tell: &dyn Fn(Progress)) -> io::Result<()> {
    let mut file = File::open(binary)?;
    let total = file.metadata()?.len();
    let waits = OFlag::from_bits_truncate(fcntl(&channel.output, FcntlArg::F_GETFL)?);
    fcntl(&channel.output, FcntlArg::F_SETFL(waits | OFlag::O_NONBLOCK))?;
    let mut sent = 0;
    let mut written = push(&channel.output, format!("{total}\n").as_bytes());
    let mut buffer = vec![0; 256 << 10];
    while written.is_ok() && sent < total {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            written = Err(io::Error::other("the file changed during the transfer"));
            break;
        }
        written = push(&channel.output, &buffer[..length]);
        sent += length as u64;
        tell(Progress { sent, total });
    }
    fcntl(&channel.output, FcntlArg::F_SETFL(waits))?;
    written
}

fn push(mut output: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match output.write(bytes) {
            Ok(length) => bytes = &bytes[length..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if !ready(output, PollFlags::POLLOUT, Instant::now() + STALL)? {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        format!("no progress for {} s", STALL.as_secs()),
                    ));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The architecture of a binary as in `uname -m`; `None` if it is not a known Linux binary.
pub(super) fn architecture(binary: &Path) -> Option<&'static str> {
    let mut head = [0; 20];
    File::open(binary).ok()?.read_exact(&mut head).ok()?;
    of(&head)
}

fn of(head: &[u8; 20]) -> Option<&'static str> {
    let machine = match (head.get(..4)?, head[5]) {
        (b"\x7fELF", 1) => u16::from_le_bytes([head[18], head[19]]),
        (b"\x7fELF", 2) => u16::from_be_bytes([head[18], head[19]]),
        _ => return None,
    };
    match machine {
        3 => Some("i686"),
        21 => Some("ppc64le"),
        22 => Some("s390x"),
        40 => Some("armv7l"),
        62 => Some("x86_64"),
        183 => Some("aarch64"),
        243 => Some("riscv64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_for_these_cpus() {
        let own = std::env::current_exe().expect("a path");
        assert_eq!(architecture(&own), Some(std::env::consts::ARCH));
    }

    #[test]
    fn a_script_is_for_none() {
        let mut head = [0; 20];
        head[..11].copy_from_slice(b"#!/bin/sh\n\n");
        assert_eq!(of(&head), None);
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        head[18..].copy_from_slice(&[183, 0]);
        assert_eq!(of(&head), Some("aarch64"));
    }
}
