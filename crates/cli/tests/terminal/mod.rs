//! A pseudo-terminal, for tests of what a person sees.

use nix::pty::{Winsize, openpty};
use std::fs::File;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The stream of a command that is a terminal; the other one is discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "each test binary uses its own part")]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// Runs a command that must end within `patience`, with a terminal of this size. Returns everything that was written there.
pub(crate) fn written_to(
    command: &mut Command,
    stream: Stream,
    (columns, rows): (u16, u16),
    patience: Duration,
) -> String {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let terminal = openpty(&size, None).expect("a terminal");
    let slave = Stdio::from(terminal.slave);
    let (out, err) = match stream {
        Stream::Stdout => (slave, Stdio::null()),
        Stream::Stderr => (Stdio::null(), slave),
    };
    let mut child = command.stdout(out).stderr(err).spawn().expect("prony runs");
    // The command holds its own copy of the terminal; reading would not end while it is open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (done, result) = mpsc::channel();
    let mut master = File::from(terminal.master);
    std::thread::spawn(move || {
        let (mut text, mut piece) = (Vec::new(), [0; 4096]);
        // Reading fails when no process has the terminal open for writing any more.
        while let Ok(count @ 1..) = master.read(&mut piece) {
            text.extend_from_slice(&piece[..count]);
        }
        done.send(String::from_utf8(text).expect("text"))
    });
    let text = result.recv_timeout(patience).expect("prony ends");
    // 2 and 3: prony ended normally, and its input is wrong or its verdict is a failure.
    let code = child.wait().expect("an end").code();
    assert!(matches!(code, Some(0 | 2 | 3)), "{code:?}: {text}");
    text
}
