//! The arguments of `prony run`.

use crate::checkout::{ClaimArgs, StoreArgs, TestbedArgs};
use crate::option_values::{share, share_above_zero, time};
use crate::telemetry::CollectorArg;
use prony_config::{Address, Design, Machine, PlanOverrides, Starts};
use prony_load::DurationText;
use prony_runner::ResumeOptions;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

/// Build, start, check, load and rank the services of a suite
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Suite: a name in suites/, or a file [default: the only one, else quick]
    pub(super) suite: Option<String>,
    /// Duration profile, e.g. smoke, quick or full
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,
    /// Only matching services, e.g. 'go-*'; repeatable
    #[arg(long, value_name = "GLOB")]
    service: Vec<String>,
    /// Maximum fresh starts per service
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Independent builds per service
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) builds: Option<u32>,
    /// Stop when all intervals are this narrow, e.g. 2%
    #[arg(long, value_name = "SHARE", value_parser = share_above_zero)]
    precision: Option<f64>,
    /// Confidence level, e.g. 95%
    #[arg(long, value_name = "SHARE", value_parser = share_above_zero)]
    confidence: Option<f64>,
    /// Treat smaller differences as equal, e.g. 1%
    #[arg(long, value_name = "SHARE", value_parser = share)]
    tie: Option<f64>,
    /// Start no round after this time; with --resume: counts all sessions
    #[arg(long, value_name = "TIME", value_parser = time)]
    budget: Option<DurationText>,
    /// Time of each measurement
    #[arg(long, short, value_name = "TIME", value_parser = time)]
    duration: Option<DurationText>,
    /// Fixed warm-up instead of automatic
    #[arg(long, value_name = "TIME", value_parser = time)]
    warmup: Option<DurationText>,
    /// Measure the first two seconds after each start
    #[arg(long, conflicts_with_all = ["warmup", "duration", "interleaved"])]
    cold: bool,
    /// Interleave services; rank by CPU per request
    #[arg(long, alias = "turns")]
    interleaved: bool,
    /// Measure the services one after the other
    #[arg(long, conflicts_with = "interleaved")]
    sequence: bool,
    /// Address of services [default: the suite's, else loopback]
    #[arg(long, value_name = "ADDRESS", env = "PRONY_HOST")]
    host: Option<Ipv4Addr>,
    /// First port of services [default: the suite's, else a free one]
    #[arg(long, value_name = "N", env = "PRONY_PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Seed for random choices [default: a new one]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Continue an interrupted run [default: the latest]
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest")]
    pub(super) resume: Option<String>,
    /// Resume although machine, commit or build changed
    #[arg(long, requires = "resume")]
    pub(super) force: bool,
    /// With --resume: try failed services again
    #[arg(long, requires = "resume")]
    pub(super) retry_failed: bool,
    /// Exit 3 on missing numbers or wrong replies
    #[arg(long)]
    pub(super) strict: bool,
    /// Stop if limits cannot be enforced
    #[arg(long)]
    pub(super) require_isolation: bool,
    /// Do not repeat disturbed trials
    #[arg(long)]
    pub(super) keep_disturbed: bool,
    /// Show plan and time, then exit
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Folder for the report [default: .prony/reports/RUN/]
    #[arg(long, short, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Send live metrics to this OpenTelemetry collector [default: `OTEL_EXPORTER_OTLP_ENDPOINT`]
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "")]
    pub(super) otlp: Option<CollectorArg>,
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
    /// The first argument that describes a plan, which a resumed run has already. Conflicts of clap would waive `requires`: `--force`
    /// with a suite would need no `--resume`.
    pub(super) fn plan_argument(&self) -> Option<&'static str> {
        let given = [
            (self.suite.is_some(), "SUITE"),
            (self.profile.is_some(), "--profile"),
            (!self.service.is_empty(), "--service"),
            (self.rounds.is_some(), "--rounds"),
            (self.builds.is_some(), "--builds"),
            (self.precision.is_some(), "--precision"),
            (self.confidence.is_some(), "--confidence"),
            (self.tie.is_some(), "--tie"),
            (self.duration.is_some(), "--duration"),
            (self.warmup.is_some(), "--warmup"),
            (self.cold, "--cold"),
            (self.interleaved, "--interleaved"),
            (self.sequence, "--sequence"),
            (self.seed.is_some(), "--seed"),
        ];
        given
            .into_iter()
            .find_map(|(is_given, name)| is_given.then_some(name))
    }

    pub(super) fn resume_options(&self) -> ResumeOptions {
        ResumeOptions {
            force: self.force,
            retry_failed: self.retry_failed,
            budget: self.budget.map(|budget| budget.0),
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
