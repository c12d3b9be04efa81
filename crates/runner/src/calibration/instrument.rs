//! The generator against servers whose truth is known.

use crate::error::ErrorContext as _;
use crate::generators::{Generator as _, record};
use crate::target_of;
use crate::{CommandError, LocalTestbed};
use prony_config::Catalogue;
use prony_host::{Placement, Process, ProcessSpec};
use prony_load::{
    Arrival, Check, Job, Load, PhaseDurations, Profile, Protocol, Rate, Spacing, TransportChoice, WarmUp,
    Workload,
};
use prony_records::{Quantile, Recording};
use prony_statistics::{TruthCheck, stalled_quantile};
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The freeze of the known truth: 200 ms in every second.
pub(super) const STALL_S: f64 = 0.2;
pub(super) const PERIOD_S: f64 = 1.0;
/// What makes the toy server freeze so.
pub(super) const STALLED: [&str; 4] = ["--stall-ms", "200", "--period-ms", "1000"];
const STALL_RATE_PER_S: f64 = 500.0;
/// Requests that are due in a freeze, and then some.
const STALL_CONNECTIONS: u32 = 512;
/// The spacing of the requests alone makes 0.5 % of the 99.9th percentile.
const STALL_ALLOWED: f64 = 0.02;
const RATES_PER_S: [f64; 3] = [100.0, 1000.0, 5000.0];
const RATE_ALLOWED: f64 = 0.001;
/// Requests of which one more or less is still within what is allowed.
const RATE_REQUESTS: f64 = 1500.0;
const RATE_CONNECTIONS: u32 = 64;
const STALL_LENGTH: Duration = Duration::from_secs(15);
const SHORT_STALL_LENGTH: Duration = Duration::from_secs(3);
const RATE_LENGTH: Duration = Duration::from_secs(4);
const SHORT_RATE_LENGTH: Duration = Duration::from_secs(1);
const WARM_UP: Duration = Duration::from_millis(500);
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// A server of ours listens at once, or never.
const READY: Duration = Duration::from_secs(10);
const SAMPLE_EVERY: Duration = Duration::from_millis(100);
const LOG_BYTES: u64 = 1 << 18;

pub(super) struct Instrument<'a> {
    pub(super) workbench: &'a LocalTestbed,
    /// Whether its stages take a few seconds only.
    pub(super) short: bool,
    /// Receives progress messages.
    pub(super) tell: &'a dyn Fn(&str),
}

/// What the generator said against known truths.
pub(super) struct GroundTruth {
    pub(super) checks: Vec<TruthCheck>,
    pub(super) generator_cpu_ns_per_request: Option<f64>,
    pub(super) watching_cpu_share: Option<f64>,
}

/// A load of a toy server.
pub(super) struct ToyLoad {
    pub(super) port: u16,
    pub(super) load: Load,
    pub(super) workload: Workload,
    pub(super) length: Duration,
    /// Time that requests in flight have to finish after the end.
    pub(super) drain: Duration,
}

/// A toy server that runs.
pub(super) struct Toy {
    process: Box<dyn Process>,
    pub(super) port: u16,
}

/// Requests at equal distances.
pub(super) fn evenly(rate_per_s: f64, connections: u32) -> Result<Load, CommandError> {
    let rate = Rate::per_second(rate_per_s).input()?;
    Ok(Load::Open {
        arrival: Arrival {
            profile: Profile::Constant { rate },
            spacing: Spacing::Even,
        },
        connections,
        in_flight: 1,
        backlog: 1_000_000,
        members: None,
    })
}

impl Instrument<'_> {
    pub(super) fn truth(
        &self,
        catalogue: &Catalogue,
        placement: &Placement,
    ) -> Result<GroundTruth, CommandError> {
        let hello = catalogue.contract("hello")?;
        let hello = hello.workload("hello", Protocol::Http1).input()?;
        (self.tell)(&format!(
            "a server that freezes {:.0} ms in every second …",
            1000.0 * STALL_S
        ));
        let mut checks = self.stalled(&hello, placement)?;
        let mut toy = self.toy(placement, &[])?;
        let mut cpu = (0.0, 0);
        toy.process.begin_window()?;
        for rate in RATES_PER_S {
            (self.tell)(&format!("{rate} requests per second …"));
            let recording = self.load(
                placement,
                ToyLoad {
                    port: toy.port,
                    load: evenly(rate, RATE_CONNECTIONS)?,
                    workload: hello.clone(),
                    length: self.rate_length(rate),
                    drain: TIMEOUT,
                },
            )?;
            let held = recording.sent_per_s.unwrap_or(0.0);
            checks.push(TruthCheck::new(
                format!("rate of {rate}/s"),
                "1/s",
                rate,
                held,
                RATE_ALLOWED,
            ));
            cpu = (
                cpu.0 + recording.generator.cpu_s * 1e9,
                cpu.1 + recording.replies(),
            );
        }
        let usage = toy.process.end_window()?;
        let window = usage.resources.window_ns;
        Ok(GroundTruth {
            checks,
            generator_cpu_ns_per_request: (cpu.1 > 0).then(|| cpu.0 / cpu.1 as f64),
            watching_cpu_share: (window > 0).then(|| usage.supervisor_cpu_ns as f64 / window as f64),
        })
    }

    /// Long enough that a request more or less at its ends does not decide.
    fn rate_length(&self, rate_per_s: f64) -> Duration {
        if self.short {
            return SHORT_RATE_LENGTH;
        }
        RATE_LENGTH.max(Duration::from_secs_f64(RATE_REQUESTS / rate_per_s))
    }

    fn stalled(&self, hello: &Workload, placement: &Placement) -> Result<Vec<TruthCheck>, CommandError> {
        let toy = self.toy(placement, &STALLED)?;
        let recording = self.load(
            placement,
            ToyLoad {
                port: toy.port,
                load: evenly(STALL_RATE_PER_S, STALL_CONNECTIONS)?,
                workload: hello.clone(),
                length: if self.short {
                    SHORT_STALL_LENGTH
                } else {
                    STALL_LENGTH
                },
                drain: TIMEOUT,
            },
        )?;
        let times = recording
            .response_time_ns
            .ok_or_else(|| CommandError::Failed("no reply came from the server that freezes".to_owned()))?;
        let check = |(name, quantile, found): (&str, f64, Quantile)| {
            let truth = 1000.0 * stalled_quantile(STALL_S, PERIOD_S, quantile);
            TruthCheck::new(
                format!("{name} under a known freeze"),
                "ms",
                truth,
                found.exact().map_or(f64::INFINITY, |ns| ns as f64 / 1e6),
                STALL_ALLOWED,
            )
        };
        let quantiles = [
            ("p90", 0.9, times.p90),
            ("p99", 0.99, times.p99),
            ("p99.9", 0.999, times.p99_9),
        ];
        Ok(quantiles.into_iter().map(check).collect())
    }

    pub(super) fn toy(&self, placement: &Placement, arguments: &[&str]) -> Result<Toy, CommandError> {
        let port = self.workbench.host().free_port()?;
        let there = self.workbench.testbed.service();
        let command = there.prony(&[&["toy"], arguments].concat());
        let spec = ProcessSpec {
            name: "the toy server".to_owned(),
            command,
            folder: there.logs.clone(),
            environment: BTreeMap::from([
                ("HOST".to_owned(), self.workbench.host().address().to_owned()),
                ("PORT".to_owned(), port.to_string()),
            ]),
            cpus: placement.service.cpus.clone(),
            supervisor_cpus: placement.service.keepers.clone(),
            log: there.logs.join(format!("prony-toy-{port}.log")),
            log_bytes: LOG_BYTES,
            grace: Duration::from_secs(2),
            sample_every: Some(SAMPLE_EVERY),
            ..ProcessSpec::default()
        };
        let mut process = self.workbench.host().start(&spec)?;
        let began = Instant::now();
        while TcpStream::connect((self.workbench.host().address(), port)).is_err() {
            if let Some(ending) = process.ended() {
                return Err(CommandError::Failed(format!(
                    "the toy server {ending}: {}",
                    process.log_tail(3).join(" | ")
                )));
            }
            if began.elapsed() > READY {
                return Err(CommandError::Failed(format!(
                    "the toy server did not listen within {READY:?}"
                )));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(Toy { process, port })
    }

    pub(super) fn load(&self, placement: &Placement, wish: ToyLoad) -> Result<Recording, CommandError> {
        let ToyLoad { port, length, .. } = wish;
        let job = Job {
            target: target_of(self.workbench.host().address(), port),
            protocol: Protocol::Http1,
            load: wish.load,
            workload: wish.workload,
            phases: PhaseDurations {
                warm_up: WarmUp::FixedNs(WARM_UP.as_nanos() as u64),
                measurement_ns: length.as_nanos() as u64,
                drain_ns: wish.drain.as_nanos() as u64,
            },
            timeout_ns: TIMEOUT.as_nanos() as u64,
            check: Check { share: 1.0, keep: 5 },
            threads: 1,
            cpus: placement.generator().cpus.as_slice().to_vec(),
            transport: TransportChoice::Auto,
            interval_ns: 100_000_000,
            seed: 1,
            limits: prony_load::Limits::default(),
            log: None,
            share: None,
            count_replies: false,
        };
        let log = PathBuf::from(format!("prony-generator-{port}.log"));
        let begun = self.workbench.generator.begin(&job, placement, &log);
        record(begun?, &mut |_| {}, &mut |_| {
            if self.workbench.cancel.is_asked() {
                let text = "stopped early: nothing was calibrated";
                return Err(CommandError::Interrupted(text.to_owned()));
            }
            Ok(())
        })
    }
}
