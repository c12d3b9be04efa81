//! Each way in which a service can go wrong is a row with a reason, and leaves nothing behind.

use crate::common::{Testbed, leftovers, stage};
use crate::skip;
use prony_config::{Limits, WarmUpChoice};
use prony_records::{Classification, TrialStage, WarningKind};
use std::time::Duration;

#[test]
fn a_good_service_is_measured() {
    let testbed = Testbed::new(&["ok"]);
    let measurement = testbed.results().remove(0).expect("measured");
    assert!(
        measurement.recording.outcomes.valid > 50,
        "{:?}",
        measurement.recording.outcomes
    );
    assert_eq!(measurement.recording.outcomes.errors(), 0);
    assert!(
        measurement.service.cpu_ns.is_some_and(|ns| ns > 1_000_000),
        "{:?}",
        measurement.service.cpu_ns
    );
    let seconds = measurement.service.window_ns as f64 / 1e9;
    assert!((0.45..1.5).contains(&seconds), "a window of {seconds} s");
    assert!(
        measurement
            .service
            .memory_bytes_peak
            .is_some_and(|bytes| bytes > 100_000)
    );
    assert!(
        measurement
            .generator
            .is_some_and(|generator| generator.cpu_ns > Some(1_000_000))
    );
    let start_up = measurement.start_up;
    assert!(
        start_up.listening_ms > Some(0.0) && start_up.first_valid_ms >= start_up.listening_ms,
        "{start_up:?}"
    );
    assert!(start_up.idle_memory_bytes.is_some());
    let steadiness = measurement.steadiness.expect("watched");
    assert_eq!(steadiness.classification, Classification::Fixed);
    assert!(!steadiness.intervals.is_empty() && steadiness.worst_p99_ns == Some(200_000));
    assert!(!measurement.warm_up_samples.is_empty());
    assert_eq!(leftovers(&testbed), Vec::<String>::new());
}

#[test]
fn a_warm_up_ends_when_it_is_steady() {
    let mut testbed = Testbed::new(&["ok"]);
    testbed.plan.groups[0].warm_up = WarmUpChoice::Steady {
        least_ns: 300_000_000,
        most_ns: 3_000_000_000,
    };
    let measurement = testbed.results().remove(0).expect("measured");
    let steadiness = measurement.steadiness.expect("watched");
    assert_ne!(steadiness.classification, Classification::Fixed);
    assert!(
        steadiness.warm_up_s >= 0.3 && steadiness.warm_up_s < 3.5,
        "{}",
        steadiness.warm_up_s
    );
}

#[test]
fn opening_the_port_late_is_waited_for() {
    let testbed = Testbed::new(&["late 400"]);
    let measurement = testbed.results().remove(0).expect("measured");
    assert!(
        measurement.start_up.listening_ms >= Some(400.0),
        "{:?}",
        measurement.start_up
    );
}

#[test]
fn unavailable_while_starting_is_waited_for() {
    let testbed = Testbed::new(&["unready 20"]);
    let measurement = testbed.results().remove(0).expect("measured");
    let start_up = measurement.start_up;
    assert!(start_up.first_valid_ms > start_up.listening_ms, "{start_up:?}");
}

#[test]
fn never_listening_has_a_limit() {
    let mut testbed = Testbed::new(&["never"]);
    testbed.catalogue.services[0].start_timeout = Duration::from_millis(300);
    let excluded = testbed.excluded();
    assert_eq!(excluded.stage, TrialStage::Start);
    assert!(
        excluded
            .reason
            .contains("not ready within 300ms: nothing listens on 127.0.0.1:"),
        "{}",
        excluded.reason
    );
}

#[test]
fn unavailable_for_ever_has_a_limit() {
    let mut testbed = Testbed::new(&["unready 1000000"]);
    testbed.catalogue.services[0].start_timeout = Duration::from_millis(500);
    let excluded = testbed.excluded();
    assert_eq!(excluded.stage, TrialStage::Start);
    assert!(
        excluded.reason.contains("accepts connections, but") && excluded.reason.contains("503"),
        "{}",
        excluded.reason
    );
}

#[test]
fn crashing_shows_its_log() {
    let excluded = Testbed::new(&["crashes"]).excluded();
    assert_eq!(excluded.stage, TrialStage::Start);
    assert_eq!(
        excluded.reason,
        "the service ended with exit code 1 before it was ready"
    );
    assert_eq!(excluded.log_tail, ["no configuration found"]);
}

#[test]
fn a_wrong_reply_is_excluded_before_the_load() {
    let excluded = Testbed::new(&["short"]).excluded();
    // It answers, so that it is up; but rightly it never does.
    assert!(
        matches!(excluded.stage, TrialStage::Start | TrialStage::Check),
        "{excluded:?}"
    );
    assert!(excluded.reason.contains("Hello, World!"), "{}", excluded.reason);
}

#[test]
fn going_into_the_background_is_excluded_and_ended() {
    let testbed = Testbed::new(&["background"]);
    // The daemon may answer before its parent has ended; then that is noticed a little later.
    let excluded = testbed.excluded();
    assert!(
        excluded.reason.contains("must stay in the foreground"),
        "{excluded:?}"
    );
    assert_eq!(leftovers(&testbed), Vec::<String>::new());
}

#[test]
fn dying_under_load_is_excluded_with_its_last_words() {
    let excluded = Testbed::new(&["dies 600"]).excluded();
    assert!(
        matches!(excluded.stage, TrialStage::WarmUp | TrialStage::Measure),
        "{excluded:?}"
    );
    assert!(
        excluded.reason.starts_with("the service ended with exit code 3"),
        "{}",
        excluded.reason
    );
    assert!(
        excluded.log_tail.contains(&"an unexpected error".to_owned()),
        "{:?}",
        excluded.log_tail
    );
}

#[test]
fn answering_wrongly_under_load_is_excluded() {
    let excluded = Testbed::new(&["degrades 400"]).excluded();
    assert!(
        matches!(excluded.stage, TrialStage::Measure | TrialStage::Recheck),
        "{excluded:?}"
    );
}

#[test]
fn needing_too_much_memory_is_named() {
    if let Some(reason) = skip::without_control_groups() {
        return skip::skipped(reason);
    }
    // Within the requests of the check: how many the load comes to is a matter of the machine.
    let mut testbed = Testbed::new(&["hogs 100"]);
    testbed.plan.limits = Limits {
        cpus: None,
        memory_bytes: Some(64 << 20),
    };
    let excluded = testbed.excluded();
    assert!(excluded.reason.contains("64 MiB of memory (OOM)"), "{excluded:?}");
}

#[test]
fn needing_too_much_memory_under_load_is_named() {
    if let Some(reason) = skip::without_control_groups() {
        return skip::skipped(reason);
    }
    // More requests than the check sends, and a load that is long enough for every machine to reach them: the trial ends when the
    // service ends.
    let mut testbed = Testbed::new(&["hogs 1000"]);
    testbed.plan.groups[0].warm_up = WarmUpChoice::FixedNs(120_000_000_000);
    testbed.plan.limits = Limits {
        cpus: None,
        memory_bytes: Some(64 << 20),
    };
    let excluded = testbed.excluded();
    assert_eq!(excluded.stage, TrialStage::WarmUp, "{excluded:?}");
    assert!(excluded.reason.contains("64 MiB of memory (OOM)"), "{excluded:?}");
}

#[test]
fn a_limit_of_cpu_is_in_force() {
    if let Some(reason) = skip::without_control_groups() {
        return skip::skipped(reason);
    }
    let mut testbed = Testbed::new(&["ok"]);
    testbed.plan.limits = Limits {
        cpus: Some(0.25),
        memory_bytes: None,
    };
    let measurement = testbed.results().remove(0).expect("measured");
    let share = measurement.service.cpu_ns.expect("counted") as f64 / measurement.service.window_ns as f64;
    // A period of the limit is 0.1 s, a fifth of the window.
    assert!(share < 0.35, "{share}");
    assert!(
        measurement
            .warnings
            .iter()
            .all(|warning| warning.kind != WarningKind::NotIsolated)
    );
}

#[test]
fn printing_a_gigabyte_does_not_fill_the_disk() {
    let testbed = Testbed::new(&["prints 1000000000"]);
    testbed.results().remove(0).expect("measured");
    let size: u64 = std::fs::read_dir(testbed.logs())
        .expect("logs")
        .flatten()
        .map(|entry| entry.metadata().expect("there").len())
        .sum();
    assert!(size < 4 << 20, "{size} bytes of logs");
}

#[test]
fn the_run_goes_on_after_a_failure() {
    let testbed = Testbed::new(&["crashes", "ok", "short"]);
    let results = testbed.results();
    // What fails by itself has a second try.
    assert_eq!(results.len(), 5);
    assert!(
        results[..2]
            .iter()
            .all(|result| stage(result) == Some(TrialStage::Start))
    );
    assert!(results[2].is_ok());
    assert!(results[3..].iter().all(Result::is_err));
}
