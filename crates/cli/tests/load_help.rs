//! The help of `prony load`: `-h` has what a beginner needs, `--help` has everything, in groups.

use std::process::Command;

/// Lines of a typical terminal.
const SCREEN: usize = 50;

/// The groups of `--help` in their order, each with options that belong there.
const GROUPS: [(&str, &[&str]); 9] = [
    (
        "Load:",
        &[
            "--connections",
            "--requests",
            "--stages",
            "--rate",
            "--step-load",
            "--users",
            "--no-keepalive",
        ],
    ),
    (
        "Request:",
        &[
            "--header",
            "--form",
            "--expect",
            "--urls",
            "--curl",
            "--data",
            "--feed",
            "--follow",
            "--cookies",
            "--decode",
            "--http2",
            "--http1",
        ],
    ),
    (
        "gRPC:",
        &[
            "--grpc",
            "--proto",
            "--proto-path",
            "--message",
            "--deadline",
            "--messages",
            "--unanswered",
        ],
    ),
    ("WebSocket:", &["--message-size", "--binary"]),
    (
        "Streams:",
        &["--events", "--for", "--expect-event", "--longest-event"],
    ),
    (
        "Language models:",
        &[
            "--llm",
            "--model",
            "--prompt",
            "--prompts",
            "--prompt-words",
            "--max-tokens",
        ],
    ),
    (
        "Connections:",
        &[
            "--resolve",
            "--unix",
            "--source",
            "--proxy",
            "--h2-window",
            "--h2-connection-window",
            "--h2-max-frame",
            "--connect-timeout",
        ],
    ),
    (
        "TLS:",
        &[
            "--insecure",
            "--cacert",
            "--cert",
            "--key",
            "--sni",
            "--tls",
            "--no-resumption",
        ],
    ),
    (
        "Result:",
        &[
            "--objective",
            "--abort-on-miss",
            "--json",
            "--debug",
            "--log",
            "--log-share",
            "--metrics",
            "--otlp",
            "--save",
        ],
    ),
];

/// What a beginner needs.
const FIRST: [&str; 10] = [
    "--connections",
    "--threads",
    "--requests",
    "--duration",
    "--rate",
    "--header",
    "--body",
    "--expect",
    "--objective",
    "--json",
];

fn help(switch: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["load", switch])
        .output()
        .expect("prony");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("text")
}

/// The options that a help text describes, each with its group.
fn switches(help: &str) -> Vec<(String, String)> {
    let mut group = String::new();
    let mut found = Vec::new();
    for line in help.lines().take_while(|line| *line != "Examples:") {
        if line.ends_with(':') && !line.starts_with(' ') {
            line.clone_into(&mut group);
        }
        // `  -c, --connections <N>` or `      --rate <PER_S>`; wrapped text is indented further.
        let described = line.trim_start();
        let word = described
            .get(4..)
            .filter(|_| described.as_bytes().get(2) == Some(&b','))
            .unwrap_or(described);
        let indent = line.len() - line.trim_start().len();
        if word.starts_with("--") && (indent == 2 || indent == 6) {
            let name = word.split([' ', '=']).next().unwrap_or_default();
            found.push((group.clone(), name.to_owned()));
        }
    }
    found
}

#[test]
fn the_short_help_is_one_screen_for_a_beginner() {
    let short = help("-h");
    assert!(
        short.lines().count() <= SCREEN,
        "{} lines:\n{short}",
        short.lines().count()
    );
    let names: Vec<String> = switches(&short).into_iter().map(|(_, name)| name).collect();
    for switch in FIRST {
        assert!(
            names.iter().any(|name| name == switch),
            "{switch} is missing:\n{short}"
        );
    }
    for switch in [
        "--step-load",
        "--proto",
        "--cacert",
        "--resolve",
        "--log",
        "--metrics",
        "--otlp",
        "--curl",
        "--events",
        "--llm",
        "--job",
    ] {
        assert!(
            !names.iter().any(|name| name == switch),
            "{switch} is for --help:\n{short}"
        );
    }
    assert!(short.contains("--help has all of them"), "{short}");
}

#[test]
fn the_long_help_has_all_in_groups() {
    let long = help("--help");
    let all = switches(&long);
    for (group, names) in GROUPS {
        for name in names {
            let stands: Vec<&str> = all
                .iter()
                .filter(|(_, one)| one == name)
                .map(|(group, _)| group.as_str())
                .collect();
            assert_eq!(stands, [group], "{name}:\n{long}");
        }
    }
    let mut order: Vec<&str> = all.iter().map(|(group, _)| group.as_str()).collect();
    order.dedup();
    let expected: Vec<&str> = GROUPS.iter().map(|(group, _)| *group).collect();
    // The options of all commands come first, without a group of their own.
    assert_eq!(
        order.split_first(),
        Some((&"Options:", expected.as_slice())),
        "{long}"
    );
    let short = switches(&help("-h"));
    assert!(short.iter().all(|switch| all.contains(switch)), "{long}");
}
