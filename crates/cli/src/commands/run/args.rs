//! The arguments of `prony run`.

use crate::checkout::{ClaimArgs, LabArgs, StoreArgs};
use crate::parse_share::{share, share_above_zero};
use prony_config::{Address, Design, Machine, Wishes};
use prony_load::WrittenDuration;
use prony_telemetry::Collector;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Build, start, check, load and rank the services of a suite
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The suite: a name in suites/ or a file [default: the project's only one, else `quick`]
    pub(super) suite: Option<String>,
    /// The profile of the suite: how long everything takes (`smoke`, `quick`, `full`, where it has them)
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,
    /// Only services that this names: `go-*`, `java-netty/nio`; may be given several times
    #[arg(long, value_name = "GLOB")]
    service: Vec<String>,
    /// Rounds, at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Build each service this often, without the cache, and spread the rounds over the builds: shows what varies from
    /// build to build
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) builds: Option<u32>,
    /// Stop when every interval is this tight: `2%` is ±2 %
    #[arg(long, value_name = "SHARE", value_parser = share_above_zero)]
    precision: Option<f64>,
    /// Confidence of the intervals: `95%`
    #[arg(long, value_name = "SHARE", value_parser = share_above_zero)]
    confidence: Option<f64>,
    /// Differences below this count as none: `1%`
    #[arg(long, value_name = "SHARE", value_parser = share)]
    tie: Option<f64>,
    /// Begin no round after this time: `10m`
    #[arg(long, value_name = "TIME")]
    budget: Option<WrittenDuration>,
    /// Length of each measurement: `5s`
    #[arg(long, short, value_name = "TIME")]
    duration: Option<WrittenDuration>,
    /// Length of each warm-up, instead of until it is steady: `2s`
    #[arg(long, value_name = "TIME")]
    warmup: Option<WrittenDuration>,
    /// Load the services in turns, in many short windows, and rank by CPU time per request: for a machine that others use
    /// as well
    #[arg(long)]
    turns: bool,
    /// IPv4 address that services listen on [default: the suite's, else the loopback]
    #[arg(long, value_name = "ADDRESS", env = "PRONY_HOST")]
    host: Option<Ipv4Addr>,
    /// Port that services listen on, one after the other [default: the suite's, else a free one]
    #[arg(long, value_name = "N", env = "PRONY_PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Decides the order of the trials and every random choice [default: a new one, which is printed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Continue a run that was ended early: its name, or the latest one
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest", conflicts_with_all = ["profile", "service", "rounds", "builds"])]
    pub(super) resume: Option<String>,
    /// Continue although the machine, the commit or a build is another than when the run began; the report says so
    #[arg(long, requires = "resume")]
    pub(super) force: bool,
    /// End with code 3 when a service gave no number, or when any request under load got no valid reply
    #[arg(long)]
    pub(super) strict: bool,
    /// Refuse to run where the limits of the suite cannot be enforced
    #[arg(long)]
    pub(super) require_isolation: bool,
    /// Repeat no trial that others disturbed
    #[arg(long)]
    pub(super) keep_disturbed: bool,
    /// Show the plan and how long it takes, and stop
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Where the report goes, which is several files [default: .prony/reports/RUN/ of the checkout]
    #[arg(long, short, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
    /// Print the report as JSON; with --dry-run the plan
    #[arg(long)]
    pub(super) json: bool,
    /// Send live metrics to a collector of OpenTelemetry (OTLP over HTTP), as `http://127.0.0.1:4318`
    #[arg(long, value_name = "URL")]
    pub(super) otlp: Option<Collector>,
    #[command(flatten)]
    pub(super) lab: LabArgs,
    #[command(flatten)]
    pub(super) claim: ClaimArgs,
    #[command(flatten)]
    pub(super) store: StoreArgs,
}

impl Args {
    /// What the user wishes otherwise than the suite.
    pub(super) fn wishes(&self, machine: Machine) -> Wishes {
        let time = |duration: Option<WrittenDuration>| duration.map(|duration| duration.0);
        Wishes {
            services: self.service.clone(),
            rounds: self.rounds,
            builds: self.builds,
            precision: self.precision,
            confidence: self.confidence,
            budget: time(self.budget),
            duration: time(self.duration),
            warm_up: time(self.warmup),
            tie: self.tie,
            design: self.turns.then(Design::turns),
            address: Address {
                host: self.host.map(|host| host.to_string()),
                port: self.port,
            },
            machine: Some(machine),
            seed: self.seed.unwrap_or_else(rand::random),
        }
    }
}
