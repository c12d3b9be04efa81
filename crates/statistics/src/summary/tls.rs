//! The cost of TLS: each service over TLS next to the same service in clear, in the rounds that have both. Both loads of a round are
//! those of one process. What its start and the machine have in common cancels.

use super::sample::{GroupSample, ServiceSample};
use super::{Options, ServiceSummary, TlsCost};
use crate::Metric;
use crate::interval::{mean_interval, ratio_interval};
use prony_records::{Exclusion, Fault, Measurement, TrialStage};
use serde_json::Value;

/// The least share of resumed handshakes, where the load is one of resumed handshakes.
const RESUMED: f64 = 0.99;

/// The word of the channel of a load, if it has one.
fn channel(load: &Value) -> Option<&str> {
    load.get("over")?.as_str()
}

/// The same load in clear; `None` if it is not over TLS.
fn in_clear(load: &Value) -> Option<Value> {
    let clear = match channel(load)? {
        "https1" => "http1",
        "https2" => "http2",
        _ => return None,
    };
    let mut load = load.clone();
    load["over"] = clear.into();
    // One group in clear is the other half of full handshakes and of resumed ones.
    load.as_object_mut()?.remove("resumption");
    Some(load)
}

/// Excludes services that make full handshakes under a load of resumed ones: their numbers would answer another question.
pub(super) fn exclude_full_handshakes(group: &GroupSample<'_>, rows: &mut [ServiceSummary]) {
    let load = &group.first.load;
    if in_clear(load).is_none() || load.get("resumption").and_then(Value::as_bool) != Some(true) {
        return;
    }
    for (row, service) in rows.iter_mut().zip(&group.services) {
        let Some(share) = resumed_share(load, service).filter(|&share| share < RESUMED) else {
            continue;
        };
        // A resumed handshake that brings no new ticket is followed by a full one.
        let why = if share > 0.0 {
            "; a client that uses each ticket once, as browsers do, may have got too few"
        } else {
            ""
        };
        row.excluded.get_or_insert_with(|| Exclusion {
            stage: TrialStage::Measure,
            reason: format!(
                "does not resume TLS sessions: {:.0} % of the handshakes did{why}",
                100.0 * share
            ),
            log_tail: Vec::new(),
            fault: Fault::Service,
        });
    }
}

/// The costs of the services of a group over TLS, in the order of its sample; empty for other groups.
pub(super) fn costs(group: &GroupSample<'_>, groups: &[GroupSample<'_>], options: &Options) -> Vec<TlsCost> {
    let Some(clear) = in_clear(&group.first.load) else {
        return Vec::new();
    };
    let same = |other: &&GroupSample<'_>| {
        let (one, other) = (group.first, other.first);
        one.contract == other.contract && one.workload == other.workload && other.load == clear
    };
    let partner = groups.iter().find(same);
    let is_new = group
        .first
        .load
        .get("requests_per_connection")
        .and_then(Value::as_u64)
        == Some(1);
    let cost = |service: &ServiceSample<'_>| {
        let clear = partner.and_then(|group| group.services.iter().find(|one| one.id == service.id));
        TlsCost {
            resumed_share: resumed_share(&group.first.load, service),
            ..cost(service, clear, (is_new, options))
        }
    };
    group.services.iter().map(cost).collect()
}

fn cost(
    service: &ServiceSample<'_>,
    clear: Option<&ServiceSample<'_>>,
    (is_new, options): (bool, &Options),
) -> TlsCost {
    let pairs: Vec<(&Measurement, &Measurement)> =
        clear.map_or_else(Vec::new, |clear| paired(service, clear));
    let each = |metric: Metric| {
        pairs
            .iter()
            .filter_map(move |(tls, clear)| metric.of(tls).zip(metric.of(clear)))
    };
    let ratio = |metric: Metric| {
        let both: Vec<(f64, f64)> = each(metric).collect();
        ratio_interval(&both, options.confidence)
    };
    let differences: Vec<f64> = each(Metric::CpuNsPerRequest)
        .map(|(tls, clear)| tls - clear)
        .collect();
    TlsCost {
        pairs: pairs.len() as u32,
        cpu_ratio: ratio(Metric::CpuNsPerRequest),
        goodput_ratio: ratio(Metric::GoodputPerS),
        handshake_cpu_ns: mean_interval(&differences, options.confidence).filter(|_| is_new),
        resumed_share: None,
        agreed: service
            .measured
            .iter()
            .find_map(|(_, measured)| measured.recording.network.as_ref()?.agreed.clone()),
    }
}

/// The measurements over TLS and in clear of the rounds that have both.
fn paired<'a>(tls: &ServiceSample<'a>, clear: &ServiceSample<'a>) -> Vec<(&'a Measurement, &'a Measurement)> {
    let in_clear = |round: u32| clear.measured.iter().find(|(other, _)| *other == round);
    let both = tls.measured.iter().filter_map(|&(round, over_tls)| {
        let &(_, clear) = in_clear(round)?;
        Some((over_tls, clear))
    });
    both.collect()
}

/// The share of resumed handshakes; `None` without TLS, and if no connection was replaced.
fn resumed_share(load: &Value, service: &ServiceSample<'_>) -> Option<f64> {
    let connections = load.get("connections").and_then(Value::as_u64).unwrap_or(0);
    let (mut completed, mut resumed) = (0, 0);
    for (_, measured) in &service.measured {
        let handshakes = measured.recording.network.as_ref()?.tls?;
        // The first connections of a load have no session to resume.
        let first = connections.min(handshakes.completed - handshakes.resumed);
        completed += handshakes.completed - first;
        resumed += handshakes.resumed;
    }
    (completed > 0).then(|| resumed as f64 / completed as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summarise;
    use prony_records::{Handshakes, Network, Recording, Requests, Resources, ServiceId, TrialRecord};
    use serde_json::json;

    /// A trial with this CPU time per request, ns, of 1,000 requests.
    fn trial(number: u32, over: &str, cpu_ns: u64, resumed: u64) -> TrialRecord {
        let mut load = json!({ "kind": "closed", "connections": 16, "in_flight": 1 });
        load["over"] = over.into();
        load["requests_per_connection"] = 1.into();
        if over == "https1" {
            load["resumption"] = true.into();
        }
        let recording = Recording {
            duration_s: 1.0,
            throughput_per_s: 1000.0,
            goodput_per_s: 1e9 / cpu_ns as f64,
            requests: Requests {
                offered: 1000,
                completed: 1000,
                valid: 1000,
                ..Requests::default()
            },
            network: Some(Network {
                tls: Some(Handshakes {
                    completed: 1000,
                    resumed,
                }),
                ..Network::default()
            }),
            ..Recording::default()
        };
        let measurement = Measurement {
            recording,
            service: Resources {
                cpu_ns: Some(cpu_ns * 1000),
                ..Resources::default()
            },
            ..Measurement::default()
        };
        TrialRecord {
            number,
            round: number / 2,
            build: None,
            start: None,
            provisional: false,
            service: ServiceId {
                service: "one".to_owned(),
                variant: "current".to_owned(),
            },
            contract: "hello".to_owned(),
            workload: "hello".to_owned(),
            load,
            rank_by: None,
            baseline: None,
            started_at: String::new(),
            took_s: 1.0,
            result: Ok(measurement),
        }
    }

    fn row(trials: &[TrialRecord], over: &str) -> ServiceSummary {
        let summary = summarise(trials, &Options::default()).expect("a summary");
        let group = summary
            .groups
            .into_iter()
            .find(|group| group.load["over"] == over);
        group.expect("a group").services.remove(0)
    }

    /// The machine is twice as slow in the second round: the ratio does not change.
    #[test]
    fn a_round_is_compared_with_itself() {
        let trials = vec![
            trial(0, "http1", 100_000, 0),
            trial(1, "https1", 300_000, 984),
            trial(2, "https1", 600_000, 984),
            trial(3, "http1", 200_000, 0),
        ];
        let tls = row(&trials, "https1").tls.expect("a cost");
        assert_eq!(tls.pairs, 2);
        let cpu = tls.cpu_ratio.expect("a ratio");
        assert!(
            (cpu.point - 3.0).abs() < 1e-9 && cpu.high - cpu.low < 1e-9,
            "{cpu:?}"
        );
        let goodput = tls.goodput_ratio.expect("a ratio");
        assert!((goodput.point * 3.0 - 1.0).abs() < 1e-9, "{goodput:?}");
        let handshake = tls.handshake_cpu_ns.expect("CPU time");
        assert!((handshake.point - 300_000.0).abs() < 1e-6, "{handshake:?}");
        assert_eq!(tls.resumed_share, Some(1.0));
        assert_eq!(row(&trials, "http1").tls, None);
    }

    #[test]
    fn half_of_the_sessions_is_no_resumption() {
        let trials = vec![
            trial(0, "http1", 100_000, 0),
            trial(1, "https1", 300_000, 492),
            trial(2, "https1", 300_000, 492),
            trial(3, "http1", 100_000, 0),
        ];
        let excluded = row(&trials, "https1").excluded.expect("an exclusion");
        assert!(
            excluded
                .reason
                .starts_with("does not resume TLS sessions: 50 % of the handshakes did; a client"),
            "{excluded:?}"
        );
        assert_eq!(row(&trials, "http1").excluded, None);
    }

    #[test]
    fn a_service_without_its_other_half_has_no_ratio() {
        let trials = [trial(1, "https1", 300_000, 984), trial(3, "https1", 300_000, 984)];
        let tls = row(&trials, "https1").tls.expect("a cost");
        assert_eq!((tls.pairs, tls.cpu_ratio), (0, None));
    }
}
