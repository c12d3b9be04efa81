//! Builds trial records by hand.
#![allow(dead_code, reason = "each test binary uses its own part")]

use prony_records::{
    BytesMoved, Connections, Coverage, Exclusion, Fault, Generator, Histogram, Measurement, Outcomes,
    Recording, Requests, Resources, SCHEMA, ServiceId, StartUp, TrialRecord, TrialStage,
};

/// The trials of one service under a load.
pub(crate) struct TrialSpec {
    service: &'static str,
    load: serde_json::Value,
    results: Vec<Result<f64, TrialStage>>,
    saturated: bool,
}

impl TrialSpec {
    /// The same trials, with the generator as the limit.
    pub(crate) fn saturated(self) -> Self {
        Self {
            saturated: true,
            ..self
        }
    }

    /// The same trials under an open load.
    pub(crate) fn open(self) -> Self {
        Self {
            load: serde_json::json!({"kind": "open"}),
            ..self
        }
    }

    /// Trials under a closed load with these throughputs, one per round.
    pub(crate) fn closed(service: &'static str, throughputs: &[f64]) -> Self {
        let load = serde_json::json!({"kind": "closed", "connections": 64, "in_flight": 1});
        Self {
            service,
            load,
            results: throughputs.iter().map(|&value| Ok(value)).collect(),
            saturated: false,
        }
    }

    /// A service whose only trial fails.
    pub(crate) fn failing(service: &'static str, stage: TrialStage) -> Self {
        Self {
            results: vec![Err(stage)],
            ..Self::closed(service, &[])
        }
    }
}

/// The records of all services, round by round.
pub(crate) fn trials(specs: &[TrialSpec]) -> Vec<TrialRecord> {
    let mut records = Vec::new();
    let rounds = specs.iter().map(|spec| spec.results.len()).max().unwrap_or(0);
    for round in 0..rounds {
        for spec in specs {
            let Some(result) = spec.results.get(round) else {
                continue;
            };
            records.push(TrialRecord {
                number: records.len() as u32,
                round: round as u32,
                build: None,
                start: None,
                provisional: false,
                service: ServiceId {
                    service: spec.service.to_owned(),
                    variant: "current".to_owned(),
                },
                contract: "hello".to_owned(),
                workload: "hello".to_owned(),
                load: spec.load.clone(),
                rank_by: None,
                baseline: None,
                started_at: "2026-11-21T08:30:00Z".to_owned(),
                took_s: 3.0,
                result: match result {
                    Ok(throughput) => Ok(measurement(spec, *throughput)),
                    Err(stage) => Err(Exclusion {
                        stage: *stage,
                        reason: "made to fail".to_owned(),
                        log_tail: vec![],
                        fault: Fault::Service,
                    }),
                },
            });
        }
    }
    records
}

fn measurement(spec: &TrialSpec, throughput: f64) -> Measurement {
    let service = Resources {
        window_ns: 1_000_000_000,
        cpu_ns: Some(800_000_000),
        memory_bytes_peak: Some(1 << 20),
        ..Resources::default()
    };
    Measurement {
        recording: recording(spec, throughput),
        service,
        start_up: StartUp {
            listening_ms: Some(10.0),
            first_valid_ms: Some(12.0),
            ..StartUp::default()
        },
        service_cpus: vec![1],
        generator_cpus: vec![0],
        ..Measurement::default()
    }
}

fn recording(spec: &TrialSpec, throughput: f64) -> Recording {
    let replies = throughput as u64;
    let mut times = Histogram::new();
    times.record_many(1_000_000, replies);
    Recording {
        schema: SCHEMA,
        target: "http://127.0.0.1/".to_owned(),
        protocol: "http1".to_owned(),
        load: spec.load.clone(),
        duration_s: 1.0,
        requests: Requests {
            offered: replies,
            sent: replies,
            completed: replies,
            valid: replies,
        },
        throughput_per_s: throughput,
        goodput_per_s: throughput,
        outcomes: Outcomes {
            valid: replies,
            ..Outcomes::default()
        },
        bytes: BytesMoved {
            sent: 50 * replies,
            received: 100 * replies,
        },
        offered_per_s: Some(throughput),
        sent_per_s: Some(throughput),
        coverage: Coverage::EveryRequest,
        response_time_ns: times.summary().map(Into::into),
        valid_time_ns: times.summary(),
        service_time_ns: times.summary(),
        connections: Connections {
            asked: 64,
            established: 64,
            ..Connections::default()
        },
        generator: Generator {
            threads: 1,
            cpu_s: 0.5,
            busiest_thread: 0.5,
            transport: "epoll".to_owned(),
            saturated: spec.saturated,
        },
        histogram: times.encode(),
        ..Recording::default()
    }
}
