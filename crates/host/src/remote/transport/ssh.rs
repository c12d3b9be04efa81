//! An agent on another host, started through the system's `ssh` with the user's own configuration.

use super::child::spawn;
use super::explain::explain;
use super::upload::Binary;
use super::{Channel, HandshakeFailure, Transport};
use crate::HostError;
use crate::remote::Progress;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time to log in once connected, or to report why the connection failed.
const SAYING: Duration = Duration::from_secs(10);

/// A host that `ssh` can connect to.
#[derive(Debug, Clone)]
pub struct Ssh {
    /// The destination for `ssh`: a name of its configuration, an address, `user@name`.
    pub host: String,
    /// The program, and arguments before all others: `["ssh"]`, `["ssh", "-F", "config"]`.
    pub command: Vec<String>,
    /// The binary for this host; `None`: the running one.
    pub binary: Option<PathBuf>,
    /// Timeout for establishing the connection.
    pub within: Duration,
}

impl Ssh {
    /// A host with the default `ssh` command.
    pub fn new(host: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            command: vec!["ssh".to_owned()],
            binary: None,
            within: Duration::from_secs(20),
        }
    }

    /// The name or address that `ssh` connects to according to its configuration; `None` if unknown.
    pub fn host_name(&self) -> Option<String> {
        let mut words = self.command.iter();
        let mut command = Command::new(words.next().map_or("ssh", String::as_str));
        command.args(words).args(["-G", "--", &self.host]);
        let output = command.stdin(Stdio::null()).output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let name = said.lines().find_map(|line| line.strip_prefix("hostname "));
        name.map(|name| name.trim().to_owned())
    }

    fn command(&self, binary: &Binary) -> Command {
        let mut words = self.command.iter();
        let mut command = Command::new(words.next().map_or("ssh", String::as_str));
        let connect = format!("ConnectTimeout={}", self.within.as_secs().max(1));
        command.args(words);
        // No prompts, since no one could reply. Reuses a shared connection of the user, but creates none that would outlive
        // prony. No forwarding.
        command.args(["-T", "-x", "-a", "-o", "BatchMode=yes", "-o", "ControlMaster=no"]);
        command.args(["-o", &connect, "-o", "ClearAllForwardings=yes", "--", &self.host]);
        let [script, name, hash] = binary.script();
        command.arg(format!("exec sh -c '{script}' {name} {hash}"));
        command
    }
}

impl Transport for Ssh {
    fn open(&self, host: &str, tell: &dyn Fn(Progress)) -> Result<Channel, HostError> {
        let failed = |reason: String| HostError::Unreachable {
            host: host.to_owned(),
            reason,
        };
        let binary = Binary::of(self.binary.as_deref()).map_err(failed)?;
        let mut command = self.command(&binary);
        let program = command.get_program().to_string_lossy().into_owned();
        let mut channel = spawn(&mut command).map_err(|error| {
            failed(format!(
                "cannot start `{program}`: {error}; install the OpenSSH client"
            ))
        })?;
        // ssh's own message is the best explanation, so wait until its timeout has passed.
        let until = Instant::now() + self.within + SAYING;
        binary.bring(&mut channel, until, &why, tell).map_err(failed)?;
        Ok(channel)
    }
}

/// Explains why no agent announced itself.
fn why(channel: &mut Channel, silence: (HandshakeFailure, Option<String>), script: bool) -> String {
    let (silence, junk) = silence;
    if silence != HandshakeFailure::Ended {
        channel.conduit.end();
    }
    let said = channel.conduit.said();
    let junk = junk.map(|junk| {
        format!(
            "; it printed `{junk}` instead: does a login script (~/.bashrc, ~/.profile) start a program or end the shell? \
             `ssh HOST true` must succeed"
        )
    });
    let mut text = match silence {
        HandshakeFailure::Ended => match &said {
            Some(said) => explain(said, script),
            None if junk.is_some() => "no agent started there".to_owned(),
            None => "ssh ended without a message".to_owned(),
        },
        HandshakeFailure::Late => {
            let said = said.map(|said| format!(": {}", explain(&said, script)));
            let said = said.unwrap_or_else(|| ": is it very busy, or does a login script hang?".to_owned());
            format!("no agent started there in time{said}")
        }
        HandshakeFailure::Babble => "no agent started there".to_owned(),
    };
    text.push_str(junk.as_deref().unwrap_or_default());
    text
}
