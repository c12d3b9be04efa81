//! Transports by a child process, whose standard streams are the channel; [`Pipe`] is an agent on this machine.

use super::Transport;
use super::{Channel, TransportGuard};
use crate::HostError;
use crate::remote::Progress;
use crate::wire::Marker;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Number of lines of its error output that are kept.
const KEPT_LINES: usize = 8;
/// Maximum length of a kept line, bytes.
const LONGEST_LINE: u64 = 1_000;
/// Time for it to exit after its streams have ended.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct TransportChild {
    child: Child,
    lines: Arc<Mutex<VecDeque<String>>>,
    listener: Option<JoinHandle<()>>,
    status: Option<ExitStatus>,
}

/// Starts the child in its own process group: Ctrl-C goes to prony alone, which decides how to react.
pub(super) fn spawn(command: &mut Command) -> io::Result<Channel> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let output = File::from(OwnedFd::from(
        child.stdin.take().expect("invariant: stdin is piped"),
    ));
    let input = File::from(OwnedFd::from(
        child.stdout.take().expect("invariant: stdout is piped"),
    ));
    let errors = child.stderr.take().expect("invariant: stderr is piped");
    let lines = Arc::default();
    let listener = listen(errors, Arc::clone(&lines));
    let carrier = TransportChild {
        child,
        lines,
        listener: Some(listener),
        status: None,
    };
    Ok(Channel::new(input, output, Box::new(carrier)))
}

fn listen(errors: impl Read + Send + 'static, lines: Arc<Mutex<VecDeque<String>>>) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut errors = BufReader::new(errors);
        let mut line = Vec::new();
        // A line without an end is split into pieces.
        while let Ok(1..) = errors.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            line.clear();
            if !text.is_empty() {
                let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                lines.push_back(text);
                if lines.len() > KEPT_LINES {
                    lines.pop_front();
                }
            }
        }
    })
}

impl TransportChild {
    /// Waits until it exits; kills it after the timeout.
    fn wait(&mut self, within: Duration) {
        let deadline = Instant::now() + within;
        while self.status.is_none() {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(2)),
                Ok(None) => {
                    let _ = self.child.kill();
                    self.status = self.child.wait().ok();
                    return;
                }
                Ok(status) => self.status = status,
                Err(_) => return,
            }
        }
        // Other processes may hold its error output open. If none does, all of it is read.
        while self
            .listener
            .as_ref()
            .is_some_and(|listener| !listener.is_finished())
            && Instant::now() < deadline
        {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl TransportGuard for TransportChild {
    fn end(&mut self) {
        if self.status.is_none() {
            // Its streams have ended or hang: it has nothing left to do.
            let _ = self.child.kill();
            self.wait(EXIT_TIMEOUT);
        }
    }

    fn said(&mut self) -> Option<String> {
        self.wait(EXIT_TIMEOUT);
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl Drop for TransportChild {
    fn drop(&mut self) {
        self.end();
    }
}

/// Time for the agent to announce itself.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(20);

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
        match channel.await_marker(Instant::now() + HANDSHAKE_TIMEOUT) {
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
