//! The arguments of `prony run`.

use crate::checkout::{ClaimArgs, StoreArgs, TestbedArgs};
use crate::parse_share::{share, share_above_zero};
use prony_config::{Address, Design, Machine, PlanOverrides, Starts};
use prony_load::DurationText;
use prony_runner::ResumeOptions;
use prony_telemetry::Collector;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

/// Build, start, check, load and rank the services of a suite
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The suite: a name in suites/ or a file [default: the project's only one, else `quick`]
    pub(super) suite: Option<String>,
    /// Profile of the suite: how long everything takes (`smoke`, `quick`, `full`, if the suite has them)
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,
    /// Run only services that match this pattern: `go-*`, `java-netty/nio`; can be repeated
    #[arg(long, value_name = "GLOB")]
    service: Vec<String>,
    /// Maximum number of rounds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Build each service N times, without the cache, and spread the rounds over the builds: shows how results vary from
    /// build to build
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) builds: Option<u32>,
    /// Stop when every interval is this narrow: `2%` is ±2 %
    #[arg(long, value_name = "SHARE", value_parser = share_above_zero)]
    precision: Option<f64>,
    /// Confidence of the intervals: `95%`
    #[arg(long, value_name = "SHARE", value_parser = share_above_zero)]
    confidence: Option<f64>,
    /// Differences below this count as equal: `1%`
    #[arg(long, value_name = "SHARE", value_parser = share)]
    tie: Option<f64>,
    /// Start no new round after this time: `10m`
    #[arg(long, value_name = "TIME")]
    budget: Option<DurationText>,
    /// Length of each measurement: `5s`
    #[arg(long, short, value_name = "TIME")]
    duration: Option<DurationText>,
    /// Fixed length of each warm-up, instead of waiting until a service is warm: `2s`
    #[arg(long, value_name = "TIME")]
    warmup: Option<DurationText>,
    /// Measure the first two seconds of load after each start, without a warm-up
    #[arg(long, conflicts_with_all = ["warmup", "duration", "interleaved"])]
    cold: bool,
    /// Interleave the services in many short windows, and rank by CPU time per request: for a machine that is shared with
    /// others
    #[arg(long, alias = "turns")]
    interleaved: bool,
    /// Measure the services one after the other, each with the machine for itself
    #[arg(long, conflicts_with = "interleaved")]
    sequence: bool,
    /// IPv4 address that services listen on [default: the suite's, else the loopback]
    #[arg(long, value_name = "ADDRESS", env = "PRONY_HOST")]
    host: Option<Ipv4Addr>,
    /// Port that services listen on [default: the suite's, else a free one]
    #[arg(long, value_name = "N", env = "PRONY_PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Seed for the order of the trials and all random choices [default: a new one, which is printed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Continue a run that was stopped early: its name, or the latest run if no name is given
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest", conflicts_with_all = ["profile", "service", "rounds", "builds"])]
    pub(super) resume: Option<String>,
    /// Continue even if the machine, the commit or a build has changed since the run began; the report says so
    #[arg(long, requires = "resume")]
    pub(super) force: bool,
    /// With --resume: try services again that failed by their own error in an earlier part of the run
    #[arg(long, requires = "resume")]
    pub(super) retry_failed: bool,
    /// Exit with code 3 if a service has no result, or if any request under load got no valid reply
    #[arg(long)]
    pub(super) strict: bool,
    /// Fail if the limits of the suite cannot be enforced
    #[arg(long)]
    pub(super) require_isolation: bool,
    /// Do not repeat trials that other programs disturbed
    #[arg(long)]
    pub(super) keep_disturbed: bool,
    /// Show the plan and its expected duration, and stop
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Folder for the files of the report [default: .prony/reports/RUN/ in the checkout]
    #[arg(long, short, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
    /// Print the report as JSON; with --dry-run the plan
    #[arg(long)]
    pub(super) json: bool,
    /// Send live metrics to an OpenTelemetry collector (OTLP over HTTP), such as `http://127.0.0.1:4318`
    #[arg(long, value_name = "URL")]
    pub(super) otlp: Option<Collector>,
    #[command(flatten)]
    pub(super) testbed: TestbedArgs,
    #[command(flatten)]
    pub(super) claim: ClaimArgs,
    #[command(flatten)]
    pub(super) store: StoreArgs,
}

/// Length of a measurement with `--cold`.
const COLD: Duration = Duration::from_secs(2);

impl Args {
    pub(super) const fn resume_options(&self) -> ResumeOptions {
        ResumeOptions {
            force: self.force,
            retry_failed: self.retry_failed,
        }
    }

    /// The settings that override those of the suite.
    pub(super) fn overrides(&self, machine: Machine) -> PlanOverrides {
        let time = |duration: Option<DurationText>| duration.map(|duration| duration.0);
        PlanOverrides {
            services: self.service.clone(),
            rounds: self.rounds,
            builds: self.builds,
            precision: self.precision,
            confidence: self.confidence,
            budget: time(self.budget),
            duration: time(self.duration).or(self.cold.then_some(COLD)),
            warm_up: time(self.warmup).or(self.cold.then_some(Duration::ZERO)),
            starts: self.cold.then_some(Starts::Fresh),
            tie: self.tie,
            design: if self.interleaved {
                Some(Design::interleaved())
            } else {
                (self.sequence || self.cold).then_some(Design::Sequence)
            },
            address: Address {
                host: self.host.map(|host| host.to_string()),
                port: self.port,
            },
            machine: Some(machine),
            seed: self.seed.unwrap_or_else(rand::random),
        }
    }
}
