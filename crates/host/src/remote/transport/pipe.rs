//! An agent on this machine, as a child process: a testbed without a network.

use super::child::spawn;
use super::{Channel, Transport};
use crate::HostError;
use crate::remote::Progress;
use crate::wire::Marker;
use std::ffi::OsString;
use std::process::Command;
use std::time::{Duration, Instant};

/// Time for the agent to announce itself.
const START: Duration = Duration::from_secs(20);

/// An agent on this machine, as a child process.
#[derive(Debug, Clone)]
pub struct Pipe {
    /// Program and arguments of a command that runs [`crate::agent`].
    pub command: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
}

impl Pipe {
    /// An agent started by this command.
    pub fn new(command: Vec<OsString>) -> Self {
        Self {
            command,
            environment: Vec::new(),
        }
    }
}

impl Transport for Pipe {
    fn is_local(&self) -> bool {
        true
    }

    fn open(&self, host: &str, _: &dyn Fn(Progress)) -> Result<Channel, HostError> {
        let failed = |reason: String| HostError::Unreachable {
            host: host.to_owned(),
            reason,
        };
        let (program, arguments) = self
            .command
            .split_first()
            .ok_or_else(|| failed("its agent has no command".to_owned()))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        let shown = program.to_string_lossy();
        let mut channel =
            spawn(&mut command).map_err(|error| failed(format!("cannot start `{shown}`: {error}")))?;
        match channel.await_marker(Instant::now() + START) {
            Ok(Marker::Agent { .. }) => Ok(channel),
            Ok(Marker::Script(_)) => Err(failed(format!("`{shown}` is not an agent"))),
            Err((silence, junk)) => {
                channel.conduit.end();
                let said = channel.conduit.said().or(junk);
                let said = said.map_or_else(|| "no output".to_owned(), |said| said.replace('\n', " / "));
                Err(failed(format!("`{shown}` is not an agent ({silence:?}): {said}")))
            }
        }
    }
}
