//! The values of `{name}` in commands, the servers, and the generators under test.

use super::{EngineBenchmark, Part};
use anyhow::{Context as _, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use wait4::Wait4 as _;
use xshell::cmd;

const GHZ: &str = "github.com/bojand/ghz/cmd/ghz@v0.93.0";
const START: Duration = Duration::from_secs(20);

/// Output and resource usage of a generator.
pub(super) struct ToolUsage {
    pub(super) output: String,
    /// User and system time, from its start to its end.
    pub(super) cpu_s: f64,
    pub(super) peak_mib: f64,
}

/// A server, which is stopped on drop.
pub(super) struct ServerProcess(Child);

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

impl EngineBenchmark<'_> {
    pub(super) fn set(&mut self, name: &str, value: impl std::fmt::Display) {
        self.values.insert(format!("{{{name}}}"), value.to_string());
    }

    /// The text with its `{name}`s replaced. Values may contain further names.
    pub(super) fn fill(&self, text: &str) -> String {
        let replace = |text: String, (name, value): (&String, &String)| text.replace(name, value);
        (0..3).fold(text.to_owned(), |text, _| self.values.iter().fold(text, replace))
    }

    /// The arguments of a command.
    pub(super) fn words(&self, template: &str) -> Vec<String> {
        let load = self.values.get("{load}").map_or("", String::as_str);
        template
            .replace("{load}", load)
            .split_whitespace()
            .map(|word| self.fill(word))
            .collect()
    }

    /// Builds the programs that a part needs.
    pub(super) fn make_programs(&mut self, part: Part) -> Result<()> {
        match part {
            Part::Http2 | Part::GrpcStreams => {
                self.install_ghz()?;
                self.build_go_grpc()
            }
            Part::Events => self.install_aiohttp(),
            Part::StreamMemory => Ok(()),
            _ => self.build_loops(),
        }
    }

    /// The bare loops and the bare server.
    fn build_loops(&mut self) -> Result<()> {
        let benches = ["--bench", "bare", "--bench", "server", "--bench", "websocket"];
        let build = cmd!(
            self.shell,
            "cargo bench --no-run --locked -p prony-generator {benches...} --message-format=json"
        );
        for line in build.quiet().read()?.lines() {
            let message: Value = serde_json::from_str(line).context("cargo prints JSON")?;
            if let (Some(name), Some(path)) =
                (message["target"]["name"].as_str(), message["executable"].as_str())
            {
                self.set(name, path);
            }
        }
        Ok(())
    }

    fn install_ghz(&mut self) -> Result<()> {
        let folder = self.cache.join("bin");
        if !folder.join("ghz").exists() {
            cmd!(self.shell, "go install {GHZ}").env("GOBIN", &folder).run()?;
        }
        self.set("ghz", folder.join("ghz").display());
        Ok(())
    }

    /// A Python with aiohttp, in the version of the service that uses it.
    fn install_aiohttp(&mut self) -> Result<()> {
        let folder = self.cache.join("python");
        cmd!(self.shell, "python3 -m venv {folder}").run()?;
        cmd!(
            self.shell,
            "{folder}/bin/pip install --quiet -r services/python-aiohttp/requirements.txt"
        )
        .run()?;
        self.set("python", folder.join("bin/python").display());
        Ok(())
    }

    /// The server of the service go-grpc, with the files that it shares with other services: `copies` in its service.toml.
    fn build_go_grpc(&mut self) -> Result<()> {
        let folder = self.cache.join("go-grpc");
        self.shell.create_dir(&folder)?;
        let copies = [
            "person/person.proto",
            "person/persons.json",
            "stream/stream.proto",
        ]
        .map(|name| format!("contracts/{name}"));
        cmd!(self.shell, "cp -R services/go-grpc/. {copies...} {folder}").run()?;
        self.set("go_grpc", folder.join("server").display());
        let _there = self.shell.push_dir(&folder);
        cmd!(self.shell, "sh generate.sh").run()?;
        Ok(cmd!(self.shell, "go build -o server .")
            .env("CGO_ENABLED", "0")
            .run()?)
    }

    /// Starts a server on its CPU, and waits until it accepts connections.
    pub(super) fn serve(&mut self, template: &str) -> Result<ServerProcess> {
        let address = format!("127.0.0.1:{}", free_port()?);
        self.set("host", &address);
        self.set("port", address.rsplit(':').next().unwrap_or_default());
        let tls_port = free_port()?;
        self.set("tls_port", tls_port);
        self.set("tls_host", format!("127.0.0.1:{tls_port}"));
        fs::write(
            self.fill("{folder}/nginx.conf"),
            self.fill(include_str!("nginx.conf")),
        )?;
        let words = self.words(template);
        let mut command = on_cpu(self.arguments.server_cpu, &words);
        // The bare servers end with their standard input.
        let mut running = ServerProcess(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?);
        let deadline = Instant::now() + START;
        while TcpStream::connect(&address).is_err() {
            let has_ended = running.0.try_wait()?.is_some();
            ensure!(
                !has_ended && Instant::now() < deadline,
                "{} does not serve",
                words.join(" ")
            );
            thread::sleep(Duration::from_millis(10));
        }
        Ok(running)
    }

    /// Runs a generator on its CPU.
    pub(super) fn generate(&self, words: &[String]) -> Result<ToolUsage> {
        let errors = self.fill("{folder}/errors");
        let mut command = on_cpu(self.arguments.generator_cpu, words);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(File::create(&errors)?)
            .spawn()?;
        let mut output = String::new();
        child
            .stdout
            .take()
            .context("standard output is a pipe")?
            .read_to_string(&mut output)?;
        let used = child.wait4()?;
        let said = || fs::read_to_string(&errors).unwrap_or_default();
        ensure!(
            used.status.success(),
            "{} failed: {}\n{}",
            words.join(" "),
            used.status,
            said()
        );
        let cpu_s = (used.rusage.utime + used.rusage.stime).as_secs_f64();
        let peak_mib = used.rusage.maxrss as f64 / f64::from(1 << 20);
        Ok(ToolUsage {
            output,
            cpu_s,
            peak_mib,
        })
    }
}

fn on_cpu(cpu: usize, words: &[String]) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string()]).args(words);
    command
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
