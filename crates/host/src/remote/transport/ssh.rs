//! An agent on another host, started through the system's `ssh` with the user's own configuration.

use super::child::spawn;
use super::explain::explain;
use super::{Channel, Silence, Transport, elf, ready};
use crate::HostError;
use crate::remote::Progress;
use crate::wire::{Marker, hash};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::PollFlags;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs on the host, in whatever shell: looks for the binary by its hash and becomes it; else takes it from its input. In one
/// line without a quote, a backslash or an exclamation mark, since each shell has its own idea of these.
const SCRIPT: &str = include_str!("bootstrap.sh");
/// Time to log in and to say why that fails, when the connection stands or does not.
const SAYING: Duration = Duration::from_secs(10);
/// Time for the agent to announce itself when its binary is there.
const START: Duration = Duration::from_secs(30);
/// Longest time without progress while the binary is sent.
const STALL: Duration = Duration::from_secs(20);

/// A host that `ssh` knows.
#[derive(Debug, Clone)]
pub struct Ssh {
    /// As `ssh` takes it: a name of its configuration, an address, `user@name`.
    pub host: String,
    /// The program, and arguments before all others: `["ssh"]`, `["ssh", "-F", "config"]`.
    pub command: Vec<String>,
    /// The binary for this host; `None`: the one that runs.
    pub binary: Option<PathBuf>,
    /// Time for the connection to stand.
    pub within: Duration,
}

impl Ssh {
    /// A host, through `ssh` as the user would call it.
    pub fn new(host: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            command: vec!["ssh".to_owned()],
            binary: None,
            within: Duration::from_secs(20),
        }
    }

    /// The name or address that `ssh` connects to, as its configuration says; `None` where it does not say.
    pub fn host_name(&self) -> Option<String> {
        let mut words = self.command.iter();
        let mut command = Command::new(words.next().map_or("ssh", String::as_str));
        command.args(words).args(["-G", "--", &self.host]);
        let output = command.stdin(Stdio::null()).output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let name = said.lines().find_map(|line| line.strip_prefix("hostname "));
        name.map(|name| name.trim().to_owned())
    }

    /// The command line.
    fn command(&self, hash: &str) -> Command {
        let mut words = self.command.iter();
        let mut command = Command::new(words.next().map_or("ssh", String::as_str));
        let connect = format!("ConnectTimeout={}", self.within.as_secs().max(1));
        command.args(words);
        // Asks for nothing, since nobody would answer; takes part in a connection that the user shares, but begins none that
        // outlives it; forwards nothing.
        command.args(["-T", "-x", "-a", "-o", "BatchMode=yes", "-o", "ControlMaster=no"]);
        command.args(["-o", &connect, "-o", "ClearAllForwardings=yes", "--", &self.host]);
        command.arg(format!("exec sh -c '{}' prony {hash}", SCRIPT.trim_end()));
        command
    }
}

impl Transport for Ssh {
    fn open(&self, host: &str, tell: &dyn Fn(Progress)) -> Result<Channel, HostError> {
        let failed = |reason: String| HostError::Unreachable {
            host: host.to_owned(),
            reason,
        };
        let own = Path::new("/proc/self/exe");
        let binary = self.binary.as_deref().unwrap_or(own);
        let hash = hash::of_binary(binary).map_err(|error| {
            failed(format!(
                "the binary for it, {}, cannot be read: {error}",
                binary.display()
            ))
        })?;
        let mut command = self.command(&hash);
        let program = command.get_program().to_string_lossy().into_owned();
        let mut channel = spawn(&mut command).map_err(|error| {
            failed(format!(
                "`{program}` does not start: {error}; install OpenSSH's client"
            ))
        })?;
        // ssh itself knows best why it does not get there, so it may say so first.
        let first = channel.await_marker(Instant::now() + self.within + SAYING);
        let first = first.map_err(|silence| failed(why(&mut channel, silence, false)))?;
        let Marker::Script(words) = first else {
            return Ok(channel);
        };
        wanted(binary, &words, self.binary.is_some()).map_err(failed)?;
        let sent = send(&channel, binary, tell);
        let second = channel.await_marker(Instant::now() + START);
        match (sent, second) {
            (_, Ok(Marker::Agent { .. })) => Ok(channel),
            (_, Ok(Marker::Script(words))) => Err(failed(format!(
                "prony's binary could not be brought there: {}",
                words.join(" ")
            ))),
            (Err(error), Err((Silence::Late, _))) => {
                Err(failed(format!("prony's binary could not be sent: {error}")))
            }
            (_, Err(silence)) => Err(failed(why(&mut channel, silence, true))),
        }
    }
}

/// Whether the binary is for a host that says this of itself: `missing`, its system, its architecture.
fn wanted(binary: &Path, words: &[String], named: bool) -> Result<(), String> {
    let [state, system, machine] = words else {
        return Err(format!(
            "it said `{}`, which is nothing that prony knows",
            words.join(":")
        ));
    };
    if state != "missing" {
        return Err(format!("{system} {machine}"));
    }
    if system != "Linux" {
        return Err(format!("it runs {system}, and prony measures on Linux only"));
    }
    let of = elf::architecture(binary);
    match of {
        Some(of) if of != machine => Err(if named {
            format!(
                "it is {machine}, and {} is for {of}: give one for it with `program = …`",
                binary.display()
            )
        } else {
            format!("it is {machine}, and this prony is {of}: give one for it with `program = …`")
        }),
        None => Err(format!("{} is no binary for Linux", binary.display())),
        Some(_) => Ok(()),
    }
}

/// Why nobody announced himself.
fn why(channel: &mut Channel, silence: (Silence, Option<String>), script: bool) -> String {
    let (silence, junk) = silence;
    if silence != Silence::Ended {
        channel.conduit.end();
    }
    let said = channel.conduit.said();
    let junk = junk.map(|junk| {
        format!(
            "; it printed `{junk}` instead: does a login script (~/.bashrc, ~/.profile) start a program or end the shell? \
             It must let `ssh HOST true` pass"
        )
    });
    let mut text = match silence {
        Silence::Ended => match &said {
            Some(said) => explain(said, script),
            None if junk.is_some() => "no agent started there".to_owned(),
            None => "ssh ended without a word".to_owned(),
        },
        Silence::Late => {
            let said = said.map(|said| format!(": {}", explain(&said, script)));
            let said = said.unwrap_or_else(|| ": is it very busy, or does a login script hang?".to_owned());
            format!("no agent started there in time{said}")
        }
        Silence::Babble => "no agent started there".to_owned(),
    };
    text.push_str(junk.as_deref().unwrap_or_default());
    text
}

/// Sends the length of the binary in a line, and the binary. Writes no more than fits, so that a network that hangs is noticed.
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
            written = Err(io::Error::other("it changed while it was sent"));
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
                        format!("nothing went through for {} s", STALL.as_secs()),
                    ));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
