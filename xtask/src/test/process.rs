//! Runs one command: copies its output to the terminal and to a log, and stops it at the deadline or on an interrupt.

use anyhow::{Context as _, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
/// Interval of checking whether a command has ended.
const POLL: Duration = Duration::from_millis(100);
/// From SIGINT, on which prony and its tests clean up, to SIGKILL.
const GRACE: Duration = Duration::from_secs(30);

/// How a command ended.
pub(crate) struct CommandEnd {
    status: ExitStatus,
    stopped: Option<&'static str>,
}

impl CommandEnd {
    pub(crate) fn is_success(&self) -> bool {
        self.failure().is_none()
    }

    /// Why it counts as failed.
    pub(crate) fn failure(&self) -> Option<String> {
        match (self.stopped, self.status.success()) {
            (Some(reason), _) => Some(reason.into()),
            (None, true) => None,
            (None, false) => Some(match self.status.code() {
                Some(code) => format!("exit code {code}"),
                None => self.status.to_string(),
            }),
        }
    }
}

/// From now on Ctrl-C and TERM stop the running command, and the following steps are not run.
pub(crate) fn stop_on_signals() {
    let flag = INTERRUPTED.get_or_init(Arc::default);
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let _ = signal_hook::flag::register(signal, Arc::clone(flag));
    }
}

pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Runs a command in its own process group, so that none of its descendants outlives the deadline.
pub(crate) fn run(
    command: &[String],
    environment: &[(&str, String)],
    root: &Path,
    log: &Path,
    deadline: Instant,
) -> Result<CommandEnd> {
    let (reader, writer) = std::io::pipe().context("cannot create a pipe")?;
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(writer.try_clone().context("cannot copy a pipe")?)
        .stderr(writer)
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", command[0]))?;
    let copy = copy_output(
        reader,
        File::create(log).with_context(|| format!("cannot write {}", log.display()))?,
    );
    let group = Pid::from_raw(child.id() as i32);
    let mut stopped = None;
    let mut kill_at = None;
    let status = loop {
        if let Some(status) = child.try_wait().context("cannot wait for a command")? {
            break status;
        }
        let now = Instant::now();
        if stopped.is_none() && (now >= deadline || is_interrupted()) {
            stopped = Some(if now >= deadline {
                "out of time"
            } else {
                "interrupted"
            });
            kill_at = Some(now + GRACE);
            let _ = killpg(group, Signal::SIGINT);
        }
        if kill_at.is_some_and(|at| now >= at) {
            let _ = killpg(group, Signal::SIGKILL);
        }
        thread::sleep(POLL);
    };
    if stopped.is_some() {
        let _ = killpg(group, Signal::SIGKILL);
    }
    // A process that left the group may keep the pipe open.
    let _ = copy.recv_timeout(Duration::from_secs(5));
    Ok(CommandEnd { status, stopped })
}

/// Copies the output of the pipe to standard output and to the log; the channel closes at its end.
fn copy_output(mut reader: std::io::PipeReader, mut log: File) -> mpsc::Receiver<()> {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count) = reader.read(&mut buffer) {
            if count == 0 {
                break;
            }
            let _ = std::io::stdout().write_all(&buffer[..count]);
            let _ = std::io::stdout().flush();
            let _ = log.write_all(&buffer[..count]);
        }
        drop(done);
    });
    ended
}
