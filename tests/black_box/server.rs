//! A third-party server as a child process of the test.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

/// Longest time for a graceful stop; then it is killed.
const GRACE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

/// Stopped on drop.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
}

impl Server {
    /// Starts a command that serves on this port; returns once the port accepts connections.
    pub(crate) fn start(command: &mut Command, port: u16, log: &Path, patience: Duration) -> Self {
        let file = std::fs::File::create(log).expect("a log");
        command.stdout(file.try_clone().expect("the log")).stderr(file);
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut server = Self {
            child,
            url: format!("http://127.0.0.1:{port}"),
        };
        let deadline = Instant::now() + patience;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = server.child.try_wait().expect("its state");
            assert!(
                ended.is_none() && Instant::now() < deadline,
                "{command:?} does not answer within {patience:?} ({ended:?}):\n{}",
                std::fs::read_to_string(log).unwrap_or_default()
            );
            std::thread::sleep(PAUSE);
        }
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let deadline = Instant::now() + GRACE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(PAUSE);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The standard output of a command that must succeed.
pub(crate) fn output(command: &mut Command) -> String {
    let ended = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(ended.status.success(), "{command:?}: {}", told(&ended));
    String::from_utf8(ended.stdout).expect("UTF-8")
}

/// All output of a command.
pub(crate) fn told(ended: &Output) -> String {
    let text = String::from_utf8_lossy;
    format!("{}\n{}{}", ended.status, text(&ended.stdout), text(&ended.stderr))
}
