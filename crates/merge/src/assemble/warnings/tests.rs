use super::*;

fn latency(p50: u64, p99: u64) -> Latency {
    Latency {
        mean: p50 as f64,
        min: p50,
        p50,
        p75: p50,
        p90: p50,
        p95: p50,
        p99,
        p99_9: p99,
        p99_99: p99,
        max: p99,
    }
}

/// 64 connections, 6,400 replies per second of 10 ms each: no warnings.
fn closed() -> WarningInputs {
    WarningInputs {
        completed: 64_000,
        requests: 64_000,
        throughput_per_s: 6_400.0,
        valid_time_ns: Some(latency(10_000_000, 20_000_000)),
        service_time_ns: Some(latency(10_000_000, 20_000_000)),
        connections_asked: 64,
        connections_established: 64,
        keeps_connections: true,
        in_flight: 1,
        busiest_thread: 0.3,
        ..WarningInputs::default()
    }
}

fn open() -> WarningInputs {
    WarningInputs {
        load: LoadKind::Open,
        due: Some(64_000.0),
        started: 64_000,
        schedule_lag_ns: Some(latency(1_000, 20_000)),
        own_lag_ns_p99: Some(20_000),
        ..closed()
    }
}

fn kinds(evidence: &WarningInputs) -> Vec<WarningKind> {
    evidence.warnings().iter().map(|warning| warning.kind).collect()
}

#[test]
fn good_numbers_are_not_doubted() {
    assert_eq!(kinds(&closed()), []);
    assert_eq!(kinds(&open()), []);
}

#[test]
fn a_reply_that_waits_for_a_delayed_acknowledgement_is_noted() {
    let with = |first: Latency, whole: Latency| {
        let inputs = WarningInputs {
            first_byte_ns: Some(first),
            service_time_ns: Some(whole),
            ..closed()
        };
        kinds(&inputs) == [WarningKind::DelayedAck]
    };
    let first = latency(600_000, 800_000);
    assert!(with(first, latency(43_000_000, 44_000_000)));
    assert!(with(first, latency(900_000, 43_500_000)), "one in a hundred");
    assert!(!with(first, latency(900_000, 25_000_000)));
    assert!(!with(first, latency(90_000_000, 95_000_000)), "a large reply");
    let busy = latency(39_000_000, 42_000_000);
    assert!(!with(busy, latency(41_000_000, 44_000_000)), "it is slow itself");
    assert_eq!(kinds(&closed()), [], "nothing is known of the first bytes");
}

#[test]
fn a_thread_that_is_busy_or_kept_from_its_cpu_is_the_limit() {
    let busy = WarningInputs {
        busiest_thread: 0.95,
        ..closed()
    };
    let starved = WarningInputs {
        busiest_thread: 0.4,
        starved_thread: 0.55,
        ..open()
    };
    for evidence in [busy, starved] {
        assert!(evidence.is_saturated());
        assert_eq!(kinds(&evidence), [WarningKind::GeneratorSaturated]);
    }
    assert!(!closed().is_saturated());
}

#[test]
fn late_sends_are_reported_however_long_the_backlog_is() {
    // Far above the service time: the generator stalled.
    for lag in [2_000_000, 900_000_000] {
        let late = WarningInputs {
            schedule_lag_ns: Some(latency(500_000, lag)),
            own_lag_ns_p99: Some(lag),
            ..open()
        };
        assert_eq!(kinds(&late), [WarningKind::ScheduleLag]);
    }
    // Requests, and users that had to connect first, waited for the service.
    for load in [LoadKind::Open, LoadKind::Users] {
        let waiting = WarningInputs {
            load,
            schedule_lag_ns: Some(latency(500_000_000, 900_000_000)),
            ..open()
        };
        assert_eq!(kinds(&waiting), []);
    }
}

#[test]
fn a_missed_rate_is_reported() {
    let short = WarningInputs {
        started: 63_600,
        ..open()
    };
    assert_eq!(kinds(&short), [WarningKind::RateNotHeld]);
    for started in [63_700, 64_500] {
        assert_eq!(kinds(&WarningInputs { started, ..open() }), []);
    }
}

#[test]
fn a_load_with_new_connections_has_some_that_are_being_made() {
    let renewed = WarningInputs {
        connections_established: 3,
        keeps_connections: false,
        ..closed()
    };
    assert_eq!(kinds(&renewed), []);
    let refused = WarningInputs {
        connect_error: Some("connection refused".into()),
        ..renewed
    };
    assert_eq!(kinds(&refused), [WarningKind::ConnectionsNotEstablished]);
}

#[test]
fn other_findings_are_reported_too() {
    let cases = [
        (
            WarningKind::ConnectionsNotEstablished,
            WarningInputs {
                connections_established: 60,
                throughput_per_s: 6_000.0,
                ..closed()
            },
        ),
        (
            WarningKind::StreamsLimited,
            WarningInputs {
                in_flight: 250,
                stream_limit: Some(1),
                ..closed()
            },
        ),
        (
            WarningKind::ClockStep,
            WarningInputs {
                clock_step_ns: Some(-3_000_000_000),
                ..closed()
            },
        ),
        (
            WarningKind::FewSamples,
            WarningInputs {
                requests: 999,
                ..closed()
            },
        ),
        (
            WarningKind::Errors,
            WarningInputs {
                errors: 1,
                ..closed()
            },
        ),
        (
            WarningKind::ConnectionClosed,
            WarningInputs {
                closed_by_server: 1,
                ..closed()
            },
        ),
    ];
    for (kind, evidence) in cases {
        assert_eq!(kinds(&evidence), [kind]);
    }
}

/// A few retries are an occasional race and only worth a note.
#[test]
fn retries_are_reported_and_many_are_a_warning() {
    let retried = |retried, requests| WarningInputs {
        requests,
        retried,
        ..closed()
    };
    assert_eq!(kinds(&retried(0, 10_000)), []);
    assert_eq!(kinds(&retried(10, 10_000)), [WarningKind::Note]);
    assert_eq!(kinds(&retried(11, 10_000)), [WarningKind::Retried]);
}
