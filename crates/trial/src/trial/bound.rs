//! Whether a companion was the limit of a load: a function of what each used, without a clock or a process.

use prony_host::{Place, Placement};
use prony_measurement::{CompanionUse, Measurement, Resources, Warning, WarningKind};

/// From this share of its CPUs on a companion is busy.
const BUSY: f64 = 0.9;
/// What it uses itself of CPUs that it shares with the generator, at least: else it is the generator that is busy.
const OWN: f64 = 0.3;
/// Below this share of its CPUs a service is idle for a good part.
const IDLE: f64 = 0.7;

/// Whether a companion kept its CPUs busy while the service did not.
pub(super) fn companion_bound(measured: &Measurement, placement: &Placement) -> Option<Warning> {
    let generator = measured.generator.as_ref();
    bound(&measured.service, &measured.companions, generator, placement)
}

fn bound(
    service: &Resources,
    companions: &[CompanionUse],
    generator: Option<&Resources>,
    placement: &Placement,
) -> Option<Warning> {
    let service = share(service, placement.service.cpus.len())?;
    let place = placement.companion.as_ref()?;
    let part = |one: &Resources| share(one, place.cpus.len());
    let used: Vec<(&str, f64)> = companions
        .iter()
        .filter_map(|one| Some((one.title.as_str(), part(one.resources.as_ref()?)?)))
        .collect();
    let beside = match generator {
        Some(generator) if shares(place, placement.generator()) => part(generator)?,
        _ => 0.0,
    };
    let own: f64 = used.iter().map(|(_, share)| share).sum();
    let (most, _) = used.iter().max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    if own + beside < BUSY || own < OWN || service > IDLE {
        return None;
    }
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let with = if beside > 0.0 {
        format!(", the generator {} of them", percent(beside))
    } else {
        String::new()
    };
    let text = format!(
        "{most} was the limit, not the service: companions used {} of their CPUs{with}, the service {} of its own",
        percent(own),
        percent(service)
    );
    Some(Warning::new(WarningKind::CompanionBound, text))
}

/// The part of so many CPUs that was used.
fn share(used: &Resources, cpus: usize) -> Option<f64> {
    let all = used.window_ns as f64 * cpus as f64;
    (all > 0.0).then_some(used.cpu_ns? as f64 / all)
}

fn shares(one: &Place, other: &Place) -> bool {
    let theirs = other.cpus.as_slice();
    one.host == other.host && one.cpus.as_slice().iter().any(|cpu| theirs.contains(cpu))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_host::Cpus;

    fn used(percent: u64) -> Resources {
        Resources {
            window_ns: 1_000,
            cpu_ns: Some(percent * 10),
            ..Resources::default()
        }
    }

    fn place(cpu: usize) -> Place {
        Place {
            cpus: Cpus::from(vec![cpu]),
            ..Place::default()
        }
    }

    /// Service, companion and generator in percent of one CPU each; the last two on the same one, or on their own.
    fn verdict(service: u64, companion: u64, generator: u64, apart: bool) -> Option<String> {
        let placement = Placement {
            service: place(1),
            workers: vec![place(0)],
            companion: Some(place(if apart { 2 } else { 0 })),
            warnings: Vec::new(),
        };
        let text = serde_json::json!({ "name": "db", "uses": "postgresql", "title": "PostgreSQL", "version": null, "resources": used(companion) });
        let beside = serde_json::from_value(text).expect("a companion");
        let bound = bound(&used(service), &[beside], Some(&used(generator)), &placement);
        bound.map(|warning| warning.text)
    }

    #[test]
    fn a_busy_companion_before_an_idle_service_is_the_limit() {
        let text = verdict(40, 62, 35, false).expect("bound");
        assert!(text.starts_with("PostgreSQL was the limit"), "{text}");
        assert!(
            text.contains("62 %") && text.contains("35 %") && text.contains("40 %"),
            "{text}"
        );
        assert!(verdict(40, 95, 10, true).is_some(), "on CPUs of its own");
    }

    #[test]
    fn nobody_else_is() {
        assert_eq!(verdict(95, 62, 35, false), None, "the service is busy");
        assert_eq!(verdict(40, 10, 88, false), None, "the generator is");
        assert_eq!(verdict(40, 50, 35, true), None, "nobody is");
    }
}
