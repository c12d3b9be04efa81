//! A transport that is a child process: its standard streams are the channel.

use super::{Channel, Conduit};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Lines of its error output that are kept.
const LINES: usize = 8;
/// Longest of them that is kept, bytes.
const LINE: u64 = 1_000;
/// Time to end by itself when its streams have ended.
const GOING: Duration = Duration::from_secs(1);

/// The child.
#[derive(Debug)]
pub(super) struct Carrier {
    child: Child,
    lines: Arc<Mutex<VecDeque<String>>>,
    listener: Option<JoinHandle<()>>,
    status: Option<ExitStatus>,
}

/// Starts it. It leaves the terminal's foreground: Ctrl-C is meant for prony, which decides what it means.
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
    let carrier = Carrier {
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
        // A line without end comes in pieces.
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

impl Carrier {
    /// Waits for its end; kills it when it takes too long.
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
        // Somebody else may hold its error output open; who does not is heard to the end.
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

impl Conduit for Carrier {
    fn end(&mut self) {
        if self.status.is_none() {
            // What it carries has ended or hangs: it has nothing left to do.
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

impl Drop for Carrier {
    fn drop(&mut self) {
        self.end();
    }
}
