//! What every command has in common: streams, colours, errors in two parts, and JSON for each error.

use crate::common::{json_of, prony, server, stderr_of};
use crate::terminal::{Stream, written_to};
use std::process::Command;
use std::time::Duration;

#[test]
fn without_a_command_the_groups_are_on_standard_error() {
    let output = prony(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let help = prony(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&help.stdout), stderr_of(&output));
    for part in [
        "Measure a URL:\n  load      Load a URL and report",
        "Examples:\n  prony load ",
    ] {
        assert!(stderr_of(&output).contains(part), "{}", stderr_of(&output));
    }
    assert!(!stderr_of(&output).contains("backend"), "{}", stderr_of(&output));
}

#[test]
fn colours_are_chosen_by_an_option_of_every_command() {
    let url = format!("http://127.0.0.1:{}/", crate::ports::reserved());
    let coloured = |arguments: &[&str]| {
        let output = prony(&[&["load", &url, "-d", "100ms"], arguments].concat());
        assert_eq!(output.status.code(), Some(3), "{}", stderr_of(&output));
        String::from_utf8_lossy(&output.stdout).contains("\x1b[31mFAILED\x1b[0m")
    };
    assert!(!coloured(&[]));
    assert!(coloured(&["--color", "always"]));
    assert!(coloured(&["--color=always"]));
    assert!(!coloured(&["--color", "never"]));
    let wrong = prony(&["load", &url, "--color", "blue"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        stderr_of(&wrong).contains("auto, always, never"),
        "{}",
        stderr_of(&wrong)
    );
}

#[test]
fn an_error_says_what_is_wrong_and_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path().to_str().expect("text");
    for (arguments, text, advice) in [
        (
            vec!["load", "http://127.0.0.1:9/", "--rps", "5"],
            "unexpected argument '--rps' found",
            "Use --rate. `prony load --help` lists the options.",
        ),
        (
            vec!["-C", here, "run"],
            "is not inside a prony project",
            "`prony init` creates one here; --store FILE names stored runs.",
        ),
        (
            vec!["load", "http://127.0.0.1:9/", "-c", "many"],
            "invalid connection count `many`",
            "Example: 64, or 10:200:30s to grow.",
        ),
        (
            vec!["load", "two words"],
            "invalid URL `http://two words`",
            "Example: http://127.0.0.1:8080/path",
        ),
    ] {
        let output = prony(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let shown = stderr_of(&output);
        let (what, then) = shown.trim_end().rsplit_once("\n  → ").expect("two parts");
        assert!(what.starts_with("prony: ") && what.contains(text), "{shown}");
        assert_eq!(then, advice, "{shown}");
    }
}

#[test]
fn json_has_one_object_for_an_invalid_command_line() {
    for arguments in [
        vec!["load", "--json", "--rps", "5", "http://127.0.0.1:9/"],
        vec!["capacity", "http://127.0.0.1:9/", "--rate", "5", "--json"],
        vec!["compare", "--json"],
        vec!["--json"],
    ] {
        let output = prony(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = json_of(&output);
        assert_eq!(
            (&error["exit"], &error["error"]["kind"]),
            (&2.into(), &"usage".into())
        );
        assert!(
            error["error"]["text"].is_string() && error["error"]["advice"].is_string(),
            "{error}"
        );
    }
}

#[test]
fn a_search_does_not_offer_the_options_of_a_fixed_load() {
    let help = prony(&["capacity", "--help"]);
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    for option in [
        "--rate",
        "--ramp",
        "--step-load",
        "--users",
        "--stages",
        "--think",
        "--requests ",
    ] {
        assert!(!help.contains(option), "{option}: {help}");
    }
    for option in ["--connections <N>", "--poisson", "--confirm", "--in-flight"] {
        assert!(help.contains(option), "{option}: {help}");
    }
}

#[test]
fn text_fits_the_terminal_and_its_letters() {
    let url = server();
    for width in [40, 60, 100] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command
            .args(["load", &url, "-n", "2000", "-c", "2", "--color", "never"])
            .env("LC_ALL", "C");
        let text = written_to(&mut command, Stream::Stdout, (width, 24), Duration::from_mins(1));
        // On a busy machine the generator may be the limit.
        let verdicts = ["OK: 100 % success", "LOWER BOUND: "];
        assert!(verdicts.iter().any(|verdict| text.starts_with(verdict)), "{text}");
        assert!(text.is_ascii(), "{text}");
        let latency = text.lines().filter(|line| !line.contains("generator thread"));
        for line in latency {
            assert!(
                line.trim_end().len() <= usize::from(width).max(58),
                "{width}: {line:?}"
            );
        }
    }
}
