//! An agent on this machine, as a child process: all of a lab but the network.

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
    /// Program and arguments that end up in [`crate::agent`].
    pub command: Vec<OsString>,
    /// Added to the environment of the agent.
    pub environment: Vec<(OsString, OsString)>,
}

impl Pipe {
    /// An agent that this command starts.
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
            .ok_or_else(|| failed("no command for its agent is given".to_owned()))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        let shown = program.to_string_lossy();
        let mut channel =
            spawn(&mut command).map_err(|error| failed(format!("`{shown}` does not start: {error}")))?;
        match channel.await_marker(Instant::now() + START) {
            Ok(Marker::Agent { .. }) => Ok(channel),
            Ok(Marker::Script(_)) => Err(failed(format!("`{shown}` is no agent"))),
            Err((silence, junk)) => {
                channel.conduit.end();
                let said = channel.conduit.said().or(junk);
                let said = said.map_or_else(|| "without a word".to_owned(), |said| said.replace('\n', " / "));
                Err(failed(format!("`{shown}` is no agent ({silence:?}): {said}")))
            }
        }
    }
}
