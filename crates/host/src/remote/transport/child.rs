//! A transport by a child process: its standard streams are the channel.

use super::{Channel, TransportGuard};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Number of lines of its error output that are kept.
const LINES: usize = 8;
/// Maximum length of a kept line, bytes.
const LINE: u64 = 1_000;
/// Time for it to exit after its streams have ended.
const GOING: Duration = Duration::from_secs(1);

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
        while let Ok(1..) = errors.by_ref().take(LINE).read_until(b'\n', &mut line) {
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            line.clear();
            if !text.is_empty() {
                let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                lines.push_back(text);
                if lines.len() > LINES {
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
            self.wait(GOING);
        }
    }

    fn said(&mut self) -> Option<String> {
        self.wait(GOING);
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
