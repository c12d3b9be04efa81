//! Whether an interleaved service became faster or slower in its starts. Its windows are seconds apart, and the speed of the machine varies
//! between them, so that a single start says nothing: the change must be about the same in all starts.

use super::sample::ServiceSample;
use super::shape::is_open;
use crate::interval::ratio_interval;
use prony_records::{InterleavedWindow, Measurement, Warning};

/// A smaller change does not count.
const CHANGE: f64 = 0.05;
const CONFIDENCE: f64 = 0.99;

/// A warning if the throughput of the last window differs from that of the first one, on average over the starts.
pub(super) fn drift(service: &ServiceSample<'_>) -> Option<Warning> {
    let starts = service.measured.iter().filter_map(|(_, measured)| ends(measured));
    let starts: Vec<(f64, f64)> = starts.collect();
    let ratio = ratio_interval(&starts, CONFIDENCE)?;
    let change = ratio.point - 1.0;
    let is_shown = ratio.low > 1.0 || ratio.high < 1.0;
    let when = format!(
        "from the first window to the last one (mean of {} trials)",
        starts.len()
    );
    (is_shown && change.abs() >= CHANGE).then(|| Warning::drift(change, &when))
}

/// The throughput of the last window and of the first one. `None`: the load determines it, or there is one window.
fn ends(measured: &Measurement) -> Option<(f64, f64)> {
    let [first, .., last] = measured.interleaved.as_ref()?.windows.as_slice() else {
        return None;
    };
    let throughput = |window: &InterleavedWindow| window.completed as f64 / window.length_s;
    (!is_open(&measured.recording.load)).then(|| (throughput(last), throughput(first)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::{InterleavedWindows, ServiceId, WarningKind};

    /// The warning about a service with these replies in the windows of each start.
    fn found(starts: &[&[u64]], load: &str) -> Option<(WarningKind, String)> {
        let of_start = |replies: &&[u64]| {
            let window = |&completed: &u64| InterleavedWindow {
                length_s: 1.0,
                completed,
                ..InterleavedWindow::default()
            };
            let mut measured = Measurement {
                interleaved: Some(InterleavedWindows {
                    windows: replies.iter().map(window).collect(),
                    ..InterleavedWindows::default()
                }),
                ..Measurement::default()
            };
            measured.recording.load = serde_json::json!({ "kind": load });
            measured
        };
        let starts: Vec<Measurement> = starts.iter().map(of_start).collect();
        let service = ServiceSample {
            id: &ServiceId {
                service: "go".to_owned(),
                variant: "current".to_owned(),
            },
            measured: (0..).zip(&starts).collect(),
            baseline: None,
            builds: vec![None; starts.len()],
            failed: Vec::new(),
        };
        drift(&service).map(|warning| (warning.kind, warning.text))
    }

    #[test]
    fn a_change_in_every_start_is_a_drift() {
        let rise: [&[u64]; 5] = [
            &[1000, 1100, 1120],
            &[900, 1000, 990],
            &[950, 1000, 1060],
            &[1000, 900, 1110],
            &[1100, 1190, 1230],
        ];
        assert_eq!(
            found(&rise, "closed"),
            Some((
                WarningKind::SpeedingUp,
                "Throughput rose by 11 % from the first window to the last one (mean of 5 trials)."
                    .to_owned()
            ))
        );
        assert_eq!(found(&rise, "open"), None);
        let fall = rise.map(|start| start.iter().rev().copied().collect::<Vec<u64>>());
        let fall: Vec<&[u64]> = fall.iter().map(Vec::as_slice).collect();
        assert!(matches!(
            found(&fall, "closed"),
            Some((WarningKind::SlowingDown, _))
        ));
    }

    #[test]
    fn what_the_machine_changes_between_windows_is_none() {
        let noise: [&[u64]; 5] = [
            &[1000, 1100],
            &[1100, 1000],
            &[1000, 1090],
            &[1000, 930],
            &[1000, 1000],
        ];
        assert_eq!(found(&noise, "closed"), None);
        // Shown, but small.
        let small: [&[u64]; 4] = [&[1000, 1030], &[1000, 1030], &[1000, 1031], &[1000, 1030]];
        assert_eq!(found(&small, "closed"), None);
        // Of one start nothing is known.
        assert_eq!(found(&[&[1000, 1500]], "closed"), None);
        assert_eq!(found(&[&[1000], &[1100]], "closed"), None);
        assert_eq!(found(&[&[0, 100], &[0, 100], &[0, 100]], "closed"), None);
    }
}
