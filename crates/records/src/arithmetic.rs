//! Arithmetic identities that every result must satisfy, with and without errors. A violation becomes a warning on the figure
//! concerned.
//!
//! 1. Replies per second × CPU per request = busy CPUs.
//! 2. The time occupied by requests, connects and pauses = slots × length of the measurement (Little, *A proof for the
//!    queuing formula L = λW*, 1961).

use crate::{Coverage, Measurement, Quantile, Recording, Warning, WarningKind, count};
use serde_json::Value;

/// Allowed deviation of the busy CPUs from throughput × CPU per request, as a share.
const CPU_TOLERANCE: f64 = 0.01;
/// Allowed deviation between accounted time and slot time, as a share.
const TIME_TOLERANCE: f64 = 0.05;
/// Fewest replies for judging the time of the slots: with fewer, one slow reply at the edge of the measurement decides.
const FEWEST: u64 = 1_000;

impl Measurement {
    /// Contradictions within a trial, as warnings.
    pub fn contradictions(&self) -> Vec<Warning> {
        cpu(self)
            .into_iter()
            .chain(self.recording.contradictions())
            .collect()
    }
}

impl Recording {
    /// Requests on their way on average, if the time of the slots of a closed load is known. The time of their responses begins when
    /// they are sent.
    pub fn in_flight(&self) -> Option<f64> {
        let time = self.occupancy?;
        (self.duration_s > 0.0).then(|| (time.requests_s - time.unsent_s) / self.duration_s)
    }

    /// A contradiction within a load, as a warning.
    pub fn contradictions(&self) -> Option<Warning> {
        if let Some(time) = self.occupancy {
            let at_a_time = |seconds: f64| seconds / self.duration_s.max(1e-9);
            return occupancy_warning(at_a_time(time.accounted_s()), at_a_time(time.slots_s));
        }
        if self.coverage != Coverage::SurvivorsOnly || self.messages.is_some() || self.replies() < FEWEST {
            return None;
        }
        let Quantile::Exact(mean_ns) = self.response_time_ns?.mean else {
            return None;
        };
        let slots = busy_slots(&self.load, self.connections.established)?;
        little(self.throughput_per_s, mean_ns as f64, slots)
    }
}

/// Slots of a closed load, from the JSON of the load.
fn slots(load: &Value, connections: u64) -> Option<f64> {
    let in_flight = load["in_flight"].as_f64().unwrap_or(1.0);
    (load["kind"] == "closed").then_some(connections as f64 * in_flight)
}

/// Slots of a closed load if every slot is known to have a request in flight at all times; else `None`.
pub fn busy_slots(load: &Value, connections: u64) -> Option<f64> {
    let thinks = load["think_ns"].as_u64().unwrap_or(0) > 0;
    let is_steady = load["growth"].is_null() && load["members"].is_null();
    slots(load, connections).filter(|_| !thinks && is_steady)
}

fn cpu(measured: &Measurement) -> Option<Warning> {
    let used_ns = measured.service.cpu_ns? as f64;
    let (window_ns, replies) = (measured.service.window_ns, measured.recording.replies());
    if window_ns == 0 || replies == 0 {
        return None;
    }
    let per_request_ns = used_ns / replies as f64;
    cpu_per_request(
        measured.recording.throughput_per_s,
        per_request_ns,
        used_ns / window_ns as f64,
    )
}

/// Warns if throughput × CPU per request contradicts the busy CPUs.
pub fn cpu_per_request(throughput_per_s: f64, per_request_ns: f64, busy: f64) -> Option<Warning> {
    let accounted = throughput_per_s * per_request_ns / 1e9;
    // Below a hundredth of a CPU, clock ticks dominate.
    (busy > 0.01 && (accounted / busy - 1.0).abs() > CPU_TOLERANCE).then(|| {
        let text = format!(
            "CPU per request contradicts the busy CPUs: {} × {throughput_per_s:.0} replies/s is {accounted:.3} CPUs, but \
             {busy:.3} were busy.",
            time(per_request_ns)
        );
        Warning::new(WarningKind::CpuContradiction, text).advise("Trust the busy CPUs, not CPU per request.")
    })
}

/// Warns if throughput × mean response time contradicts the requests in flight.
pub fn little(throughput_per_s: f64, mean_ns: f64, slots: f64) -> Option<Warning> {
    occupancy_warning(throughput_per_s * mean_ns / 1e9, slots)
}

fn occupancy_warning(accounted: f64, slots: f64) -> Option<Warning> {
    (slots > 0.0 && (accounted / slots - 1.0).abs() > TIME_TOLERANCE).then(|| {
        let (which, only) = if accounted < slots {
            ("low", "only ")
        } else {
            ("high", "")
        };
        let text = format!(
            "Latency is too {which}: requests, connects and pauses explain {only}{} of {} requests in flight.",
            if accounted < 10.0 {
                format!("{accounted:.1}")
            } else {
                count(accounted.round() as u64)
            },
            count(slots.round() as u64)
        );
        Warning::new(WarningKind::LittlesLaw, text).advise("Trust throughput, not latency.")
    })
}

fn time(ns: f64) -> String {
    if ns < 1e6 {
        format!("{:.1} µs", ns / 1e3)
    } else {
        format!("{:.2} ms", ns / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cpu_per_request_that_omits_busy_time_is_reported_with_both_values() {
        // Rails at 7,500/s: CPU time of the measurement divided by the replies of measurement and drain.
        let text = cpu_per_request(1_477.0, 196_000.0, 1.0)
            .expect("a contradiction")
            .text;
        assert!(
            text.contains("CPU per request") && text.contains("0.289") && text.contains("1.000"),
            "{text}"
        );
        assert_eq!(cpu_per_request(1_477.0, 677_000.0, 1.0), None);
    }

    #[test]
    fn latency_that_omits_waiting_is_reported_with_both_values() {
        // Rails under a closed load of 512: the reported mean was 21 ms.
        let text = little(680.0, 21e6, 512.0).expect("a contradiction").text;
        assert!(text.contains("explain only 14 of 512"), "{text}");
        assert_eq!(little(6_400.0, 10e6, 64.0), None);
        assert!(
            little(6_400.0, 10.6e6, 64.0).is_some(),
            "deviations upwards count too"
        );
    }

    #[test]
    fn only_closed_loads_have_slots_that_are_always_busy() {
        let closed = json!({ "kind": "closed", "connections": 8, "in_flight": 4 });
        assert_eq!(busy_slots(&closed, 8), Some(32.0));
        let thinks = json!({ "kind": "closed", "connections": 8, "in_flight": 1, "think_ns": 5 });
        assert_eq!(busy_slots(&thinks, 8), None);
        assert_eq!(busy_slots(&json!({ "kind": "open" }), 8), None);
    }
}
