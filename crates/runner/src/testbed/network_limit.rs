//! Detects loads that were limited by the network.

use prony_records::{Recording, TestbedLink as Link, Warning, WarningKind};

/// A load that uses at least this share of the measured speed of a link may be limited by it.
const NEAR: f64 = 0.8;
/// A load above this share of the fastest single link proves that the port of the service is faster than that link.
const BEYOND: f64 = 1.15;

/// Sent and received bits per second.
type Rates = [f64; 2];

/// Warns if simultaneous loads nearly reached the measured speed of the network to the host of the service: on the link of one
/// worker, or on all links together if the port of the service is as fast as its fastest link. `links` were measured before the
/// run.
pub fn network_bound(recordings: &[&Recording], links: &[Link], service: &str) -> Option<Warning> {
    let links: Vec<&Link> = links.iter().filter(|link| link.to == service).collect();
    let moved: Vec<(&Link, Rates)> = links
        .iter()
        .filter_map(|link| Some((*link, carried(recordings, link, &links)?)))
        .collect();
    let of = |used: f64, link: &Link| used / link.bits_per_s.max(1.0);
    let used = moved.iter().map(|(link, rates)| (*link, most(*rates)));
    let (link, busiest) =
        used.max_by(|(one, mine), (other, theirs)| of(*mine, one).total_cmp(&of(*theirs, other)))?;
    if of(busiest, link) >= NEAR {
        return Some(warning(
            busiest,
            link.bits_per_s,
            &format!("{} to {service}", link.from),
        ));
    }
    let fastest = moved
        .iter()
        .map(|(link, _)| link)
        .max_by(|one, other| one.bits_per_s.total_cmp(&other.bits_per_s))?;
    let together = most(moved.iter().fold([0.0; 2], |sum, (_, rates)| plus(sum, *rates)));
    let is_near = (NEAR..=BEYOND).contains(&of(together, fastest));
    (is_near && moved.len() > 1).then(|| {
        let way = format!("a single worker to {service}, and all workers used it together");
        warning(together, fastest.bits_per_s, &way)
    })
}

/// The rates of all loads on one link; `None` if it is unknown which part of them used it.
fn carried(recordings: &[&Recording], link: &Link, links: &[&Link]) -> Option<Rates> {
    let each = recordings.iter().filter_map(|recording| {
        let share = share(recording, link, links)?;
        let seconds = recording.duration_s;
        let rate = |bytes: u64| share * bytes as f64 * 8.0 / seconds;
        (seconds > 0.0).then(|| [rate(recording.bytes.sent), rate(recording.bytes.received)])
    });
    each.reduce(plus)
}

/// The share of a load on a link. Bytes are assumed to be proportional to replies, which each worker counts.
fn share(recording: &Recording, link: &Link, links: &[&Link]) -> Option<f64> {
    if recording.workers.is_empty() {
        // One worker generated the whole load. With several candidates it is unknown which one it was.
        return (links.len() == 1).then_some(1.0);
    }
    let all = recording.workers.iter().map(|worker| worker.throughput_per_s);
    let all: f64 = all.sum();
    let worker = recording.workers.iter().find(|worker| worker.name == link.from)?;
    (all > 0.0).then(|| worker.throughput_per_s / all)
}

fn plus(one: Rates, other: Rates) -> Rates {
    [one[0] + other[0], one[1] + other[1]]
}

const fn most(rates: Rates) -> f64 {
    rates[0].max(rates[1])
}

fn warning(used: f64, measured: f64, way: &str) -> Warning {
    let text = format!(
        "Network limit: {} of {} Gbit/s from {way}.",
        gigabits(used),
        gigabits(measured)
    );
    Warning::new(WarningKind::NetworkBound, text)
        .advise("Use a faster network, smaller replies, or fewer services at once.")
}

fn gigabits(bits: f64) -> String {
    format!("{:.3}", bits / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::WorkerRow;
    use serde_json::json;

    fn link(from: &str, to: &str, gigabits: f64) -> Link {
        Link {
            from: from.to_owned(),
            to: to.to_owned(),
            round_trip_ns: 100_000,
            bits_per_s: gigabits * 1e9,
        }
    }

    fn worker(name: &str, throughput_per_s: f64) -> WorkerRow {
        let row = json!({
            "name": name, "threads": 1, "connections": 1, "throughput_per_s": throughput_per_s,
            "goodput_per_s": throughput_per_s, "errors": 0, "cpu_s": 1.0, "busiest_thread": 0.5,
        });
        serde_json::from_value(row).expect("a row")
    }

    /// A load of ten seconds that received this many gigabits per second.
    fn recording(gigabits: f64, workers: &[(&str, f64)]) -> Recording {
        let latency = serde_json::Value::Null;
        let recording = json!({
            "schema": 1, "target": "http://a/", "protocol": "http1", "load": {}, "duration_s": 10.0,
            "requests": { "offered": 1, "sent": 1, "completed": 1, "valid": 1 },
            "throughput_per_s": 1.0, "goodput_per_s": 1.0, "outcomes": prony_records::Outcomes::default(),
            "status_codes": {}, "bytes": { "sent": 1, "received": (gigabits * 1e9 * 10.0 / 8.0) as u64 },
            "response_time_ns": latency, "service_time_ns": latency, "schedule_lag_ns": latency,
            "connections": { "asked": 1, "established": 1, "reconnects": 0 },
            "generator": { "threads": 1, "cpu_s": 1.0, "busiest_thread": 0.5, "transport": "epoll", "saturated": false }, "intervals": [], "histogram": "", "warnings": [],
        });
        let mut recording: Recording = serde_json::from_value(recording).expect("a recording");
        recording.workers = workers.iter().map(|(name, rate)| worker(name, *rate)).collect();
        recording
    }

    fn says(recording: &Recording, links: &[Link]) -> Option<String> {
        let warning = network_bound(&[recording], links, "app")?;
        assert_eq!(warning.kind, WarningKind::NetworkBound);
        Some(warning.text)
    }

    #[test]
    fn a_link_that_is_nearly_full_is_named() {
        let links = [link("one", "app", 1.0), link("app", "db", 0.1)];
        let text = says(&recording(0.94, &[]), &links).expect("it is the limit");
        assert!(text.contains("0.940 of 1.000 Gbit/s"), "{text}");
        assert!(text.contains("from one to app"), "{text}");
        assert_eq!(says(&recording(0.7, &[]), &links), None);
        assert_eq!(says(&recording(0.94, &[]), &[]), None, "nothing was measured");
    }

    #[test]
    fn each_worker_has_its_own_link() {
        let links = [link("one", "app", 1.0), link("two", "app", 10.0)];
        let even = [("one", 50.0), ("two", 50.0)];
        let text = says(&recording(1.8, &even), &links).expect("that of one is full");
        assert!(text.contains("0.900 of 1.000 Gbit/s"), "{text}");
        let uneven = [("one", 10.0), ("two", 90.0)];
        assert_eq!(says(&recording(1.8, &uneven), &links), None);
    }

    #[test]
    fn workers_share_the_port_of_the_service() {
        let links = [link("one", "app", 1.0), link("two", "app", 1.0)];
        let even = [("one", 50.0), ("two", 50.0)];
        let text = says(&recording(0.95, &even), &links).expect("the port is full");
        assert!(text.contains("all workers used it together"), "{text}");
        assert_eq!(says(&recording(0.5, &even), &links), None);
        // The total exceeds a single link: the port is faster than one link, so it may not be saturated.
        assert_eq!(says(&recording(1.5, &even), &links), None);
    }

    #[test]
    fn a_worker_beside_the_service_uses_no_network() {
        let links = [link("one", "app", 1.0)];
        let shared = [("one", 10.0), ("app", 90.0)];
        assert_eq!(says(&recording(5.0, &shared), &links), None);
    }

    #[test]
    fn loads_at_the_same_time_share_a_link() {
        let links = [link("one", "app", 1.0)];
        let (half, less) = (recording(0.5, &[]), recording(0.2, &[]));
        assert_eq!(says(&half, &links), None);
        let together = |both: &[&Recording]| network_bound(both, &links, "app");
        let warning = together(&[&half, &half]).expect("the link is full");
        assert!(warning.text.contains("1.000 of 1.000 Gbit/s"), "{}", warning.text);
        assert_eq!(together(&[&half, &less]), None);
        // One load has no figures for this link, so only the other one counts.
        let empty = recording(0.5, &[("two", 10.0)]);
        assert_eq!(together(&[&half, &empty]), None);
    }
}
