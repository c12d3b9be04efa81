//! Detects that a backing service was the limit of a load, from resource usage and from what connections waited for. Pure functions.

use prony_host::Placement;
use prony_records::{BackingUsage, Measurement, Recording, Resources, SentEvents, Warning, WarningKind};

/// A backing service that uses at least this share of its CPUs is busy.
const BUSY: f64 = 0.9;
/// Share of CPUs that a backing service must use itself if it shares them with the generator: otherwise the generator is busy.
const OWN: f64 = 0.3;
/// A service that uses at most this share of its CPUs is mostly waiting.
const IDLE: f64 = 0.7;
/// If at least this share of the connections in use waits in a backing service, requests wait mainly there.
const WAITING: f64 = 0.5;
/// If a backing service sends more than this share of its events late, high percentiles include the delay.
const LATE_EVENTS: f64 = 0.01;
/// If it sends this share of its events late, the median includes it, too, and the backing service is the limit.
const MOST_EVENTS: f64 = 0.5;
/// Fewer observed waits may be chance.
const FEWEST_WAITS: u64 = 10;

/// Warns if a backing service kept its CPUs busy, or connections waiting, while the service was mostly idle.
pub(crate) fn backing_service_bound(measured: &Measurement, placement: &Placement) -> Option<Warning> {
    let generator = measured.generator.as_ref();
    busy_cpus(
        &measured.service,
        &measured.backing_services,
        generator,
        placement,
    )
    .or_else(|| {
        let mut backing_services = measured.backing_services.iter();
        backing_services.find_map(|one| late_events(&one.title, one.events?))
    })
    .or_else(|| {
        let service = share(&measured.service, placement.service.cpus.len())?;
        let in_flight = in_flight(&measured.recording);
        let mut backing_services = measured.backing_services.iter();
        backing_services.find_map(|one| waiting_connections(one, service, in_flight))
    })
}

/// Whether a backing service sent many of its events late: then its delay is not that of the service.
fn late_events(title: &str, events: SentEvents) -> Option<Warning> {
    let late = events.late as f64 / events.sent.max(1) as f64;
    if late <= LATE_EVENTS {
        return None;
    }
    let share = percent(late);
    let warning = if late < MOST_EVENTS {
        let text = format!("{title} sent {share} of its events late; high percentiles include the delay.");
        Warning::new(WarningKind::BackingServiceLate, text)
    } else {
        let text = format!("{title} was the limit: it sent {share} of its events late.");
        Warning::new(WarningKind::BackingServiceBound, text)
    };
    Some(warning.advise("Give it a CPU of its own, or lower the rate."))
}

/// Mean number of requests in flight, by Little's law; `None` without replies.
fn in_flight(recording: &Recording) -> Option<f64> {
    let mean_ns = recording.response_time_ns?.mean.at_least()?;
    Some(recording.throughput_per_s * mean_ns as f64 / 1e9)
}

/// Whether connections of a service that had little to do waited in this backing service.
fn waiting_connections(
    backing_service: &BackingUsage,
    service: f64,
    in_flight: Option<f64>,
) -> Option<Warning> {
    let waiting = BlockedConnections::of(backing_service, in_flight)?;
    if service > IDLE {
        return None;
    }
    let title = &backing_service.title;
    let text = format!(
        "{title} was the limit: {} of active connections waited there ({}); the service used {} of its CPUs.",
        percent(waiting.share),
        waiting.what,
        percent(service)
    );
    Some(Warning::new(WarningKind::BackingServiceBound, text).advise(format!("Tune {title}.")))
}

/// What connections waited for, to explain a failure; `None` if few waited.
pub(crate) fn waited<'a>(mut backing_services: impl Iterator<Item = &'a BackingUsage>) -> Option<String> {
    backing_services.find_map(|one| {
        let waiting = BlockedConnections::of(one, None)?;
        Some(format!(
            "meanwhile {} of its connections to {} waited there ({})",
            percent(waiting.share),
            one.title,
            waiting.what
        ))
    })
}

/// Connections that waited in a backing service, if most of those in use did.
struct BlockedConnections {
    share: f64,
    what: String,
}

impl BlockedConnections {
    /// The number of connections in use is at most that of open ones and that of requests in flight.
    fn of(backing_service: &BackingUsage, in_flight: Option<f64>) -> Option<Self> {
        let watched = backing_service.watched.as_ref()?;
        let mean = |count: u64| count as f64 / watched.samples.max(1) as f64;
        let open = mean(watched.connections());
        let used = in_flight.map_or(open, |requests| requests.min(open));
        let part = |count: u64| (mean(count) / used).min(1.0);
        let waiting = watched.waiting();
        if waiting < FEWEST_WAITS || used <= 0.0 || part(waiting) < WAITING {
            return None;
        }
        let named = watched.waits().into_iter();
        let named = named.map(|(what, count)| format!("{what} {}", percent(part(count))));
        Some(Self {
            share: part(waiting),
            what: named.take(3).collect::<Vec<_>>().join(", "),
        })
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn busy_cpus(
    service: &Resources,
    backing_services: &[BackingUsage],
    generator: Option<&Resources>,
    placement: &Placement,
) -> Option<Warning> {
    let service = share(service, placement.service.cpus.len())?;
    let own_placement = placement.backing_service.as_ref()?;
    let part = |one: &Resources| share(one, own_placement.cpus.len());
    let used: Vec<(&str, f64)> = backing_services
        .iter()
        .filter_map(|one| Some((one.title.as_str(), part(one.resources.as_ref()?)?)))
        .collect();
    let by_generator = match generator {
        Some(generator) if own_placement.shares_cpus(placement.generator()) => part(generator)?,
        _ => 0.0,
    };
    let own: f64 = used.iter().map(|(_, share)| share).sum();
    let (most, _) = used.iter().max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    if own + by_generator < BUSY || own < OWN || service > IDLE {
        return None;
    }
    let with = if by_generator > 0.0 {
        format!(", the generator {} of them", percent(by_generator))
    } else {
        String::new()
    };
    let text = format!(
        "{most} was the limit: backing services used {} of their CPUs{with}, the service {} of its own.",
        percent(own),
        percent(service)
    );
    Some(Warning::new(WarningKind::BackingServiceBound, text).advise("Give it more CPUs."))
}

/// The share of these CPUs that was used.
fn share(used: &Resources, cpus: usize) -> Option<f64> {
    let all = used.window_ns as f64 * cpus as f64;
    (all > 0.0).then_some(used.cpu_ns? as f64 / all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_host::{Cpus, RolePlacement};
    use prony_records::ConnectionSamples;

    fn used(percent: u64) -> Resources {
        Resources {
            window_ns: 1_000,
            cpu_ns: Some(percent * 10),
            ..Resources::default()
        }
    }

    fn place(cpu: usize) -> RolePlacement {
        RolePlacement {
            cpus: Cpus::from(vec![cpu]),
            ..RolePlacement::default()
        }
    }

    /// Service, backing service and generator in percent of one CPU each; the last two on the same one, or on their own.
    fn verdict(service: u64, backing_service: u64, generator: u64, apart: bool) -> Option<String> {
        let placement = Placement {
            service: place(1),
            workers: vec![place(0)],
            backing_service: Some(place(if apart { 2 } else { 0 })),
            warnings: Vec::new(),
        };
        let text = serde_json::json!({ "name": "db", "uses": "postgresql", "title": "PostgreSQL", "version": null, "resources": used(backing_service) });
        let backing_service = serde_json::from_value(text).expect("a backing service");
        let bound = busy_cpus(
            &used(service),
            &[backing_service],
            Some(&used(generator)),
            &placement,
        );
        bound.map(|warning| warning.text)
    }

    #[test]
    fn a_busy_backing_service_before_an_idle_service_is_the_limit() {
        let text = verdict(40, 62, 35, false).expect("bound");
        assert!(text.starts_with("PostgreSQL was the limit"), "{text}");
        assert!(
            text.contains("62 %") && text.contains("35 %") && text.contains("40 %"),
            "{text}"
        );
        assert!(verdict(40, 95, 10, true).is_some(), "on CPUs of its own");
    }

    /// The warning for a service that used `service` percent of its CPU, with 4 connections in each of 20 samples.
    fn waiting(service: u64, doing: &[(&str, u64)], in_flight: f64) -> Option<String> {
        let text = serde_json::json!({ "name": "db", "uses": "postgresql", "title": "PostgreSQL", "version": null, "resources": null });
        let mut backing_service: BackingUsage = serde_json::from_value(text).expect("a backing service");
        let mut watched = ConnectionSamples::default();
        for _ in 0..20 {
            watched.add(doing.iter().map(|(what, count)| ((*what).to_owned(), *count)));
        }
        backing_service.watched = Some(watched);
        let share = service as f64 / 100.0;
        waiting_connections(&backing_service, share, Some(in_flight)).map(|warning| warning.text)
    }

    #[test]
    fn a_backing_service_in_which_connections_wait_is_the_limit() {
        let text = waiting(12, &[("lock", 2), ("io", 1), ("running", 1)], 64.0).expect("bound");
        for part in ["PostgreSQL was the limit", "75 %", "(lock 50 %, io 25 %)", "12 %"] {
            assert!(text.contains(part), "{text}");
        }
        let pool = &[("lock", 1), ("idle", 3)];
        assert!(waiting(12, pool, 1.2).is_some(), "the others have nothing to do");
        assert_eq!(waiting(12, pool, 4.0), None, "the others are between two queries");
        assert_eq!(waiting(90, &[("lock", 4)], 64.0), None, "the service is busy");
        assert_eq!(waiting(12, &[("running", 4)], 64.0), None, "no query waits");
    }

    #[test]
    fn a_few_waits_are_chance() {
        let text = serde_json::json!({ "name": "db", "uses": "postgresql", "title": "PostgreSQL", "version": null, "resources": null });
        let mut backing_service: BackingUsage = serde_json::from_value(text).expect("a backing service");
        let mut watched = ConnectionSamples::default();
        watched.add([("io".to_owned(), FEWEST_WAITS - 1)]);
        backing_service.watched = Some(watched.clone());
        assert_eq!(waited([&backing_service].into_iter()), None);
        watched.add([("io".to_owned(), 1)]);
        backing_service.watched = Some(watched);
        let text = waited([&backing_service].into_iter()).expect("all of them");
        assert_eq!(
            text,
            "meanwhile 100 % of its connections to PostgreSQL waited there (io 100 %)"
        );
    }

    #[test]
    fn nobody_else_is() {
        assert_eq!(verdict(95, 62, 35, false), None, "the service is busy");
        assert_eq!(verdict(40, 10, 88, false), None, "the generator is");
        assert_eq!(verdict(40, 50, 35, true), None, "neither is busy");
    }

    #[test]
    fn a_backing_service_that_sends_most_events_late_is_the_limit() {
        let found = |late| {
            let events = SentEvents { sent: 1_000, late };
            late_events("model", events).map(|warning| (warning.kind, warning.text))
        };
        assert_eq!(found(10), None);
        let text = "model sent 2 % of its events late; high percentiles include the delay.";
        assert_eq!(
            found(20),
            Some((WarningKind::BackingServiceLate, text.to_owned()))
        );
        let text = "model was the limit: it sent 60 % of its events late.";
        assert_eq!(
            found(600),
            Some((WarningKind::BackingServiceBound, text.to_owned()))
        );
    }
}
