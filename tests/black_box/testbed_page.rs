//! Runs the first part of docs/TESTBEDS.md, from three machines to a report, exactly as written. The machines are namespaces with
//! OpenSSH.

use crate::common::{CommandOutput, until};
use crate::hosts;
use crate::skip::skipped;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The code blocks of the walkthrough, each with its language.
fn blocks() -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/TESTBEDS.md");
    let page = fs::read_to_string(page).expect("docs/TESTBEDS.md");
    let walk = page
        .split_once("\n## Three machines, one report\n")
        .expect("the heading")
        .1;
    let walk = walk.split_once("\n## ").expect("the next heading").0;
    // Text and blocks alternate: every second part is a block.
    let blocks = walk.split("\n```").skip(1).step_by(2);
    blocks
        .map(|block| {
            let (language, text) = block.split_once('\n').expect("a language");
            (language.to_owned(), format!("{text}\n"))
        })
        .collect()
}

/// One script of all commands; it writes the testbed file where the page shows it.
fn script(blocks: &[(String, String)]) -> String {
    let steps = blocks.iter().map(|(language, text)| match language.as_str() {
        "sh" => text.clone(),
        "toml" => format!("cat > testbed.toml <<'END'\n{text}END\n"),
        "ssh-config" => String::new(),
        other => panic!("no rule for a block of `{other}`"),
    });
    steps.collect()
}

/// A controller in the network of the hosts, whose `ssh` uses the configuration of the page.
struct Controller {
    folder: TempDir,
    net: String,
}

impl Controller {
    fn new(hosts: &hosts::Testbed, config: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        // The page leaves user and key to its reader.
        let rest = fs::read_to_string(hosts.path("config")).expect("a configuration");
        fs::write(folder.path().join("config"), format!("{config}{rest}")).expect("written");
        fs::create_dir(folder.path().join("bin")).expect("a folder");
        let program = folder.path().join("bin/ssh");
        let path = std::env::var("PATH").expect("a PATH");
        let text = format!(
            "#!/bin/sh\nPATH={path}\nexec ssh -F {} \"$@\"\n",
            folder.path().join("config").display()
        );
        fs::write(&program, text).expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("allowed");
        let net = hosts.net();
        Self { folder, net }
    }

    fn shell(&self, script: &str) -> CommandOutput {
        let binary = Path::new(env!("CARGO_BIN_EXE_prony")).parent().expect("a folder");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = [self.folder.path().join("bin"), binary.to_owned()];
        let path = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path)));
        let output = Command::new("nsenter")
            .args([&self.net, "bash", "-euo", "pipefail", "-c", script])
            .current_dir(self.folder.path())
            .env("PATH", path.expect("a PATH"))
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .env("PRONY_LOCKS", self.folder.path().join("locks"))
            .env("NO_COLOR", "1")
            .env_remove("PRONY_STORE")
            .env_remove("PRONY_TESTBED")
            .stdin(Stdio::null())
            .output();
        CommandOutput::of(&output.expect("nsenter and bash"))
    }
}

#[test]
fn the_page_takes_three_machines_to_a_report() {
    if let Some(reason) = hosts::without_testbeds() {
        skipped(&reason);
        return;
    }
    let hosts = hosts::Testbed::new(3, "");
    if !hosts.run("h1", "node --version").status.success() {
        skipped("the walk of docs/TESTBEDS.md needs Node.js in /usr/bin or /usr/local/bin");
        return;
    }
    let blocks = blocks();
    let config = blocks.iter().find(|(language, _)| language == "ssh-config");
    let controller = Controller::new(&hosts, &config.expect("the names of the hosts").1);
    let began = std::time::Instant::now();
    let walked = controller.shell(&script(&blocks));
    println!("the walk took {:.1} min", began.elapsed().as_secs_f64() / 60.0);
    assert_eq!(walked.code, Some(0), "{}\n{}", walked.out, walked.err);
    for part in [
        "app: service at 10.79.0.11",
        "load1 → app: round trip",
        "load2 → app: round trip",
        "goodput",
    ] {
        assert!(walked.out.contains(part), "no `{part}` in\n{}", walked.out);
    }
    let report = controller.shell("cd my-api && prony report --json").json();
    let service = &report["groups"][0]["services"][0];
    assert_eq!(service["trials"], 5, "{service}");
    assert!(
        service["goodput_per_s"]["point"]
            .as_f64()
            .is_some_and(|goodput| goodput > 0.0),
        "{service}"
    );
    let there = &report["environment"]["hosts"];
    assert_eq!(there["app"]["roles"], serde_json::json!(["service"]), "{there}");
    assert_eq!(there["load2"]["address"], hosts::address(3), "{there}");
    let pages = fs::read_dir(controller.folder.path().join("my-api/.prony/reports")).expect("reports");
    let mut pages = pages.flatten().map(|entry| entry.path().join("report.html"));
    assert!(pages.any(|page| page.is_file()), "no page in\n{}", walked.err);
    // The page's claims about the hosts afterwards.
    for host in ["h1", "h2", "h3"] {
        let works = hosts.of(host, "home").join(".cache/prony/work");
        until("no folder is left behind", || {
            fs::read_dir(&works).map_or(0, Iterator::count) == 0
        });
    }
}
