//! The live view of `prony load`, on a pseudo-terminal.

use crate::common::server;
use crate::terminal::{Stream, written_to};
use std::process::Command;
use std::time::Duration;

/// The view writes this before each line.
const AGAIN: &str = "\r\x1b[2K";

/// Loads a server for two intervals with a terminal of this width at standard error. Returns the lines that were shown one
/// over the other, and the final text.
fn on_terminal(columns: u16, expected: &str, variables: &[(&str, &str)]) -> (Vec<String>, String) {
    let url = server();
    let text = written_to(
        Command::new(env!("CARGO_BIN_EXE_prony"))
            .args([
                "load", &url, "--rate", "200", "-c", "2", "-d", "2s", "--expect", expected,
            ])
            .env_remove("NO_COLOR")
            .env("LC_ALL", "C.UTF-8")
            .envs(variables.iter().copied()),
        Stream::Stderr,
        (columns, 24),
        Duration::from_mins(1),
    );
    let mut lines: Vec<String> = text.split(AGAIN).map(str::to_owned).collect();
    let last = lines.pop().expect("the final text");
    assert_eq!(lines.remove(0), "", "nothing precedes the view");
    assert!(lines.len() >= 2, "{text:?}");
    (lines, last)
}

/// The width of a line.
fn columns(line: &str) -> usize {
    line.replace("\x1b[31m", "")
        .replace("\x1b[0m", "")
        .chars()
        .count()
}

#[test]
fn the_view_shows_throughput_percentiles_errors_and_a_sparkline() {
    let (lines, last) = on_terminal(120, "hello", &[]);
    for line in &lines {
        for part in ["measuring", "/s  ", "  100 % ok  ", "p50 ", "p99 "] {
            assert!(line.contains(part), "{part}: {line:?}");
        }
        assert!(line.contains(|bar: char| ('▁'..='█').contains(&bar)), "{line:?}");
        assert!(!line.contains('\x1b') && columns(line) < 120, "{line:?}");
    }
    assert!(!last.contains("measuring"), "the line is cleared: {last:?}");
}

#[test]
fn errors_are_red_unless_colour_is_not_wanted() {
    let red = |lines: &[String]| lines.iter().filter(|line| line.contains("\x1b[31m")).count();
    let (lines, _) = on_terminal(120, "another body", &[]);
    assert_eq!(red(&lines), lines.len(), "{lines:?}");
    let (lines, _) = on_terminal(120, "another body", &[("NO_COLOR", "1")]);
    assert_eq!(red(&lines), 0, "{lines:?}");
    assert!(lines.iter().all(|line| line.contains("  0 % ok")), "{lines:?}");
}

#[test]
fn a_narrow_terminal_is_not_overrun() {
    for width in [30, 12, 4] {
        let (lines, _) = on_terminal(width, "hello", &[]);
        for line in &lines {
            assert!(columns(line) < usize::from(width), "{width}: {line:?}");
            assert!(!line.contains('\n'), "{line:?}");
        }
        if width > 10 {
            assert!(
                lines.iter().all(|line| line.starts_with("measuring")),
                "{lines:?}"
            );
        }
    }
}
