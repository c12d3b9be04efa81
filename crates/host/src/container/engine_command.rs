//! Runs one command of an engine to its end, or until the timeout.

use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The result of a command of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineOutput {
    /// Whether it succeeded.
    pub(crate) ok: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl EngineOutput {
    /// Why it failed, as reported by the engine.
    pub(crate) fn words(&self) -> String {
        last_words(&self.err)
    }
}

/// The last line that is not empty, without the prefix of all errors.
pub(crate) fn last_words(text: &str) -> String {
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    let line = last.unwrap_or("it failed without a message");
    line.strip_prefix("Error: ").unwrap_or(line).to_owned()
}

/// Runs a command of an engine with further variables. The error is a sentence: the command cannot be started, or it timed out.
pub(crate) fn ask(
    program: &Path,
    arguments: &[impl AsRef<OsStr>],
    variables: &[(String, String)],
    within: Duration,
) -> Result<EngineOutput, String> {
    let name = program.display();
    let failed = |error: io::Error| format!("cannot run `{name}`: {error}");
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(|| {
            // A supervisor blocks the signals that it reads from a signalfd.
            sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
            Ok(())
        });
    }
    let child = command.spawn().map_err(failed)?;
    let pid = Pid::from_raw(child.id() as i32);
    let (sender, receiver) = mpsc::channel();
    let waits = thread::spawn(move || {
        let _ = sender.send(child.wait_with_output());
    });
    let output = receiver.recv_timeout(within);
    if output.is_err() {
        // The child has not been waited for yet, so its process id cannot be reused.
        let _ = kill(pid, Signal::SIGKILL);
    }
    let _ = waits.join();
    let first = arguments.first().map(|word| word.as_ref().to_string_lossy());
    let output = output
        .map_err(|_| {
            let command = first.unwrap_or_default();
            format!("`{name} {command}` did not end within {within:?}")
        })?
        .map_err(failed)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(EngineOutput {
        ok: output.status.success(),
        out: text(&output.stdout),
        err: text(&output.stderr),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_takes_too_long_is_ended() {
        let sleep = Path::new("sleep");
        let error = ask(sleep, &["60"], &[], Duration::from_millis(50)).expect_err("too long");
        assert!(error.contains("did not end within 50ms"), "{error}");
        let error = ask(Path::new("/no/such/engine"), &["x"], &[], Duration::from_secs(9)).expect_err("none");
        assert!(error.contains("/no/such/engine"), "{error}");
    }

    #[test]
    fn the_engine_s_words_are_its_last_line() {
        assert_eq!(last_words("WARN x\nError: no such image\n\n"), "no such image");
        assert_eq!(last_words("\n"), "it failed without a message");
    }
}
