//! The output of `prony run` on a terminal, which is a pseudoterminal.

#[path = "../../crates/cli/tests/terminal/mod.rs"]
mod terminal;

use crate::common::{Checkout, PATIENCE};
use terminal::{Stream, written_to};

/// Runs the toys with a terminal of 100 × 40 as standard error; returns everything that was written there.
fn on_terminal(checkout: &Checkout, no_colour: &str) -> String {
    written_to(
        checkout
            .command(&[
                "run",
                "toys",
                "--seed",
                "1",
                "--duration",
                "1500ms",
                "--keep-disturbed",
            ])
            .env("NO_COLOR", no_colour)
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8"),
        Stream::Stderr,
        (100, 40),
        2 * PATIENCE,
    )
}

/// The end of the output: enough to diagnose a failure.
fn end(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    letters[letters.len().saturating_sub(2000)..].iter().collect()
}

#[test]
fn a_run_on_a_terminal_shows_what_happens_the_table_so_far_and_the_time_left() {
    let checkout = Checkout::new(3, &["right"]);
    let text = on_terminal(&checkout, "1");
    for part in [
        "toy-right/current: load ",
        "rank  service",
        "goodput/s",
        "2 rounds",
        "round 2 of 3",
        " left",
        "[3/3]",
    ] {
        assert!(text.contains(part), "no {part:?} in {:?}", end(&text));
    }
    assert!(
        text.contains(|bar| ('▁'..='█').contains(&bar)),
        "no sparkline: {:?}",
        end(&text)
    );
    // Moving the cursor does not count as colour.
    let colours = ["\u{1b}[1m", "\u{1b}[2m", "\u{1b}[33m"];
    assert!(
        !colours.iter().any(|code| text.contains(code)),
        "colour: {:?}",
        end(&text)
    );
    let text = on_terminal(&checkout, "");
    assert!(text.contains("\u{1b}[2m"), "no colour: {:?}", end(&text));
}
