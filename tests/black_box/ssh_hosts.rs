//! A testbed of hosts with OpenSSH, and the binary as their controller.

use crate::common::{Checkout, CommandOutput, until};
use crate::hosts;
use crate::skip::skipped;
use std::fs;
use std::process::{Child, Command, Stdio};

/// A checkout, and hosts with OpenSSH: `h1` for the service, `h2` and `h3` for the load.
pub(crate) struct SshHosts {
    pub(crate) checkout: Checkout,
    pub(crate) hosts: hosts::Testbed,
}

impl SshHosts {
    /// One toy, measured for this long. `None`, with a message, if no hosts can be created.
    pub(crate) fn new(rounds: u32, measured: &str) -> Option<Self> {
        let checkout = Checkout::new(rounds, &["right"]);
        let suite = fs::read_to_string(checkout.path("suites/toys.toml")).expect("the suite");
        checkout.write(
            "suites/toys.toml",
            &suite.replace("duration = \"300ms\"", &format!("duration = \"{measured}\"")),
        );
        Self::with(checkout)
    }

    /// Uses this checkout, and writes `testbed.toml` into it. `None`, with a message, if no hosts can be created.
    pub(crate) fn with(checkout: Checkout) -> Option<Self> {
        if let Some(reason) = hosts::without_testbeds() {
            skipped(&reason);
            return None;
        }
        let hosts = hosts::Testbed::new(3, "");
        let remote = Self { checkout, hosts };
        remote.testbed("testbed.toml", "load = [\"one\", \"two\"]");
        Some(remote)
    }

    /// Writes a testbed file with the three hosts, these roles and the role of the service.
    pub(crate) fn testbed(&self, file: &str, roles: &str) {
        let words: Vec<String> = self
            .hosts
            .ssh()
            .iter()
            .map(|word| format!("\"{word}\""))
            .collect();
        let testbed = format!(
            "[host.app]\nssh = \"h1\"\n[host.one]\nssh = \"h2\"\n[host.two]\nssh = \"h3\"\n[roles]\nservice = \"app\"\n\
             {roles}\n[ssh]\ncommand = [{}]\n",
            words.join(", ")
        );
        self.checkout.write(file, &testbed);
    }

    /// The binary in the network of the controller.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let inner = self.checkout.command(arguments);
        let mut command = Command::new("nsenter");
        command
            .arg(self.hosts.net())
            .arg(inner.get_program())
            .args(inner.get_args());
        command.current_dir(self.checkout.path(""));
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self) -> Child {
        self.start(&[
            "run",
            "toys",
            "--testbed",
            "testbed.toml",
            "--json",
            "--keep-disturbed",
        ])
    }

    /// Starts the binary in the network of the controller.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().expect("the binary starts")
    }

    pub(crate) fn ended(child: Child) -> CommandOutput {
        CommandOutput::of(&child.wait_with_output().expect("it ends"))
    }

    /// Processes of prony on a host, and their children.
    pub(crate) fn processes(&self, host: &str) -> Vec<(i32, String)> {
        let home = self.hosts.of(host, "home");
        let pids = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
        pids.filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let inside =
                |link: &str| fs::read_link(entry.path().join(link)).is_ok_and(|path| path.starts_with(&home));
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            (inside("exe") || inside("cwd")).then_some((pid, line))
        })
        .collect()
    }

    /// ssh processes that connect the controller to a host.
    pub(crate) fn connections(&self, host: &str) -> Vec<i32> {
        let config = self.hosts.path("config").display().to_string();
        let pids = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<_> = line.split(|&byte| byte == 0).collect();
            [b"ssh".as_slice(), config.as_bytes(), host.as_bytes()]
                .iter()
                .all(|word| words.contains(word))
        })
        .collect()
    }

    /// Waits until the generator runs on a host, and returns its process id.
    pub(crate) fn generator(&self, host: &str) -> i32 {
        let mut found = None;
        until("the generator runs", || {
            found = self.running(host, "load --job");
            found.is_some()
        });
        found.expect("found")
    }

    /// A process of prony on a host, or a child of one, whose command line contains these words.
    pub(crate) fn running(&self, host: &str, words: &str) -> Option<i32> {
        let all = self.processes(host);
        let mut found = all.iter().filter(|(_, line)| line.contains(words));
        found.next().map(|(pid, _)| *pid)
    }

    pub(crate) fn nothing_is_left(&self, hosts: &[&str]) {
        for host in hosts {
            until("nothing is left behind", || self.processes(host).is_empty());
            let works = self.hosts.of(host, "home").join(".cache/prony/work");
            until("no folder is left behind", || {
                fs::read_dir(&works).map_or(0, Iterator::count) == 0
            });
        }
    }
}

/// Sends a signal to a process.
pub(crate) fn send(signal: &str, pid: i32) {
    let sent = Command::new("kill")
        .args([&format!("-{signal}"), &pid.to_string()])
        .status()
        .expect("kill");
    assert!(sent.success());
}
