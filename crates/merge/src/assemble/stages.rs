//! The stages of an open load whose rate changes.

use crate::part::Part;
use prony_load::{Job, Load, Profile};
use prony_records::{Histogram, IntervalPart, Responses, StageRecording};
use std::collections::BTreeMap;

/// Number of stages that a ramp is divided into.
const PARTS: u32 = 10;
/// Maximum number of stages, since a step load may have many.
const MOST: usize = 100;

/// Each stage with the replies that ended in it; empty if the rate is constant.
pub(super) fn stages(job: &Job, part: &Part, duration_s: f64) -> Vec<StageRecording> {
    let Load::Open { arrival, .. } = &job.load else {
        return Vec::new();
    };
    let profile = &arrival.profile;
    let bounds = bounds(profile, duration_s);
    bounds
        .windows(2)
        .map(|bounds| stage(profile, (bounds[0], bounds[1]), &part.intervals))
        .collect()
}

/// The boundaries of the stages, s.
fn bounds(profile: &Profile, duration_s: f64) -> Vec<f64> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let mut bounds: Vec<f64> = match profile {
        Profile::Constant { .. } => return Vec::new(),
        Profile::Ramp { over_ns, .. } => (0..=PARTS)
            .map(|part| seconds(*over_ns) * f64::from(part) / f64::from(PARTS))
            .collect(),
        Profile::StepLoad { every_ns, .. } => {
            (0..MOST as u64).map(|stair| seconds(stair * every_ns)).collect()
        }
        Profile::Stages { stages } => {
            let mut end = 0.0;
            let ends = stages.iter().map(|stage| {
                end += seconds(stage.for_ns);
                end
            });
            std::iter::once(0.0).chain(ends).collect()
        }
    };
    bounds.retain(|bound| *bound < duration_s);
    bounds.push(duration_s);
    bounds
}

fn stage(
    profile: &Profile,
    (begin, end): (f64, f64),
    intervals: &BTreeMap<u64, IntervalPart>,
) -> StageRecording {
    let mut times = Histogram::new();
    let (mut valid, mut errors) = (0, 0);
    for interval in intervals.values() {
        // An interval across a boundary belongs to the stage that contains its middle.
        let middle = (interval.begin_ns as f64 + interval.end_ns as f64) / 2e9;
        if (begin..end).contains(&middle) {
            valid += interval.valid;
            errors += interval.errors;
            interval.times.add_to(&mut times);
        }
    }
    let responses = Responses {
        failed: (valid + errors).saturating_sub(times.len()),
        valid: times,
        open: None,
    };
    StageRecording {
        start_s: begin,
        length_s: end - begin,
        offered_per_s: (profile.events_within(end) - profile.events_within(begin)) / (end - begin).max(1e-9),
        valid,
        errors,
        p50: responses.quantile(0.5),
        p99: responses.quantile(0.99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_end_with_the_measurement() {
        let ramp: Profile = serde_json::from_value(serde_json::json!({
            "kind": "ramp", "from": 100.0, "to": 1_100.0, "over_ns": 10_000_000_000_u64
        }))
        .expect("a ramp");
        let bounds_of = |seconds| bounds(&ramp, seconds);
        assert_eq!(bounds_of(12.0).len(), 12);
        assert_eq!(bounds_of(2.5), [0.0, 1.0, 2.0, 2.5]);
        let first = stage(&ramp, (0.0, 1.0), &BTreeMap::new());
        assert!((first.offered_per_s - 150.0).abs() < 1e-6, "{first:?}");
        assert_eq!(first.p99, None);
    }
}
