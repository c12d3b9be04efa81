//! `cargo xtask bench-engine`: prony compared with other generators on the same server, and with known results.
//!
//! The generator has one CPU, the server another one. The tools of a case (`cases.toml`) run alternately for several rounds. The
//! output is medians over the rounds: replies per second of the generator's CPU time, user and system, from its start to its
//! end, and the ratio to another tool in the same round; then the accuracy of prony for a server that freezes, the accuracy of its
//! rates, and the memory per connection and stream. The last table lists whether the targets are met.

mod cases;
mod compare;
mod known;
mod output;
mod programs;

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use xshell::{Shell, cmd};

/// Measure prony and wrk, h2load, ghz and a client in Python (some 20 minutes, on an otherwise idle machine).
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The program to measure.
    #[arg(long, env = "PRONY", default_value = "target/release/prony")]
    prony: PathBuf,
    /// Rounds in which each tool runs once.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Length of a run.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    #[arg(long, default_value_t = 0)]
    generator_cpu: usize,
    #[arg(long, default_value_t = 1)]
    server_cpu: usize,
    /// Only these [default: all].
    #[arg(long, value_delimiter = ',', value_enum)]
    parts: Vec<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Part {
    Http1,
    Connections,
    Bodies,
    Rules,
    Websocket,
    Truth,
    Rates,
    Memory,
    Http2,
    Events,
    GrpcStreams,
    StreamMemory,
}

/// State that the parts share.
struct EngineBenchmark<'a> {
    arguments: &'a Arguments,
    shell: Shell,
    cache: PathBuf,
    /// The values of `{name}` in commands.
    values: BTreeMap<String, String>,
    /// The number of connections that this machine allows a process.
    connections: u64,
    targets: Vec<Target>,
}

struct Target {
    what: String,
    measured: f64,
    wanted: f64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let root = crate::root();
    let prony = root.join(&arguments.prony);
    ensure!(prony.exists(), "{} is missing: make build", prony.display());
    let cpus = std::thread::available_parallelism().context("cannot count the CPUs")?;
    ensure!(
        cpus.get() > 1,
        "two CPUs are needed, one for each side; this machine has fewer"
    );
    let shell = Shell::new()?;
    shell.change_dir(&root);
    let packages = [
        "wrk=wrk",
        "h2load=nghttp2-client",
        "/usr/sbin/nginx=nginx-light",
        "openssl=openssl",
        "protoc=protobuf-compiler",
    ];
    cmd!(shell, "scripts/setup {packages...} taskset=util-linux")
        .quiet()
        .run()?;
    let folder = shell.create_temp_dir()?;
    let (cache, connections) = (root.join("target/bench"), allow_connections()?);
    let mut bench = EngineBenchmark {
        arguments,
        shell,
        cache,
        values: BTreeMap::new(),
        connections,
        targets: Vec::new(),
    };
    bench.set("prony", prony.display());
    bench.set("seconds", arguments.seconds);
    bench.set("hello", "Hello, World!");
    bench.set("folder", folder.path().display());
    bench.set("contracts", root.join("contracts").display());
    bench.set("here", root.join("xtask/src/bench_engine").display());
    let certificate = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost";
    let certificate = bench.words(&format!(
        "{certificate} -keyout {{folder}}/key.pem -out {{folder}}/cert.pem"
    ));
    cmd!(bench.shell, "env {certificate...}")
        .quiet()
        .ignore_stderr()
        .run()?;
    for part in Part::value_variants() {
        if arguments.parts.is_empty() || arguments.parts.contains(part) {
            bench.make_programs(*part)?;
            bench.measure(*part)?;
        }
    }
    if !bench.targets.is_empty() {
        println!(
            "\n### Targets: ratios of replies per CPU-second, medians over the rounds\n\n| what | measured | wanted | |\n|---|---|---|---|"
        );
    }
    for Target {
        what,
        measured,
        wanted,
    } in &bench.targets
    {
        let verdict = if measured >= wanted { "met" } else { "MISSED" };
        println!("| {what} | {measured:.2} | ≥ {wanted:.2} | {verdict} |");
    }
    Ok(true)
}

impl EngineBenchmark<'_> {
    fn measure(&mut self, part: Part) -> Result<()> {
        match part {
            Part::Truth => return self.truth(),
            Part::Rates => return self.rates(),
            Part::Memory => return self.memory(&known::CONNECTIONS),
            Part::StreamMemory => return self.memory(&known::STREAMS),
            _ => {}
        }
        let table = cases::Table::read()?;
        for case in table.cases.iter().filter(|case| case.part == part) {
            case.each
                .iter()
                .try_for_each(|row| self.compare(&table, case, row))?;
        }
        Ok(())
    }
}

/// Raises the limit of open files as far as the memory test needs or this machine allows; returns it, less a reserve.
fn allow_connections() -> Result<u64> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let wanted = [hard.max(20_100), hard]
        .into_iter()
        .find(|files| setrlimit(Resource::RLIMIT_NOFILE, *files, *files).is_ok());
    Ok(wanted.context("cannot raise the limit of open files")? - 100)
}

/// 1234567 as 1,234,567.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(
            [0.0, 999.6, 1234.4, 1e6].map(grouped),
            ["0", "1,000", "1,234", "1,000,000"]
        );
    }
}
