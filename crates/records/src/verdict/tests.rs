use super::*;
use crate::Figures;
use serde_json::{Value, json};

/// A recording with these outcomes; the counts of completed and sent requests follow from them.
fn recording(outcomes: &Value, more: &Value) -> Recording {
    let of = |name: &str| outcomes[name].as_u64().unwrap_or(0);
    let completed = of("valid") + of("unexpected") + of("status");
    let sent = completed + of("timeout") + of("reset");
    let offered = sent + of("connect_error") + of("dropped");
    let mut all = json!({
        "schema": 1, "target": "http://127.0.0.1/", "protocol": "http1", "load": { "kind": "closed" },
        "duration_s": 2.0, "timeout_ns": 1_000_000_000,
        "requests": { "offered": offered, "sent": sent, "completed": completed, "valid": of("valid") },
        "throughput_per_s": 1.0, "goodput_per_s": 1.0,
        "outcomes": { "valid": 0, "unexpected": 0, "status": 0, "timeout": 0, "connect_error": 0, "reset": 0, "dropped": 0 },
        "status_codes": {}, "bytes": { "sent": 0, "received": 0 },
        "response_time_ns": null, "service_time_ns": null, "schedule_lag_ns": null,
        "connections": { "asked": 4, "established": 4, "reconnects": 0 },
        "generator": { "threads": 1, "cpu_s": 0.1, "busiest_thread": 0.1, "transport": "epoll", "saturated": false },
        "intervals": [], "histogram": "", "warnings": []
    });
    merge(&mut all["outcomes"], outcomes);
    merge(&mut all, more);
    serde_json::from_value(all).expect("a recording")
}

fn merge(into: &mut Value, more: &Value) {
    for (key, value) in more.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}

fn failure(outcomes: &Value, more: &Value) -> Option<(WarningKind, String)> {
    let found = recording(outcomes, more).failure(Some("Connection refused"));
    found.map(|warning| {
        assert_eq!(warning.level(), Level::Invalid);
        (warning.kind, warning.text)
    })
}

/// Asserts kind and text of the failure of loads with these outcomes.
fn assert_failures(cases: impl IntoIterator<Item = (Value, Value, WarningKind, &'static str)>) {
    for (outcomes, more, kind, text) in cases {
        assert_eq!(
            failure(&outcomes, &more),
            Some((kind, text.to_owned())),
            "{outcomes}"
        );
    }
}

#[test]
fn replies_that_are_not_valid_are_no_result() {
    use WarningKind::{FewValidReplies, NoValidReply};
    let wrong = json!([{ "operation": "a", "what": "body", "expected": "x", "got": "y" }]);
    assert_failures([
        (
            json!({ "status": 41_872 }),
            json!({ "status_codes": { "404": 41_872 } }),
            NoValidReply,
            "all 41,872 replies have status 404",
        ),
        (
            json!({ "unexpected": 7 }),
            json!({ "unexpected_replies": wrong }),
            NoValidReply,
            "all 7 replies are unexpected: body",
        ),
        (
            json!({ "valid": 49, "timeout": 11, "dropped": 40 }),
            json!({}),
            FewValidReplies,
            "only 49 of 100 requests had a valid reply; 40 were dropped",
        ),
    ]);
}

#[test]
fn requests_without_an_answer_are_no_result() {
    use WarningKind::{NothingAnswered, NothingSent};
    let own = json!({ "network": { "addresses": [], "own_shortages": 3 } });
    let dead = json!({ "connections": { "asked": 4, "established": 0, "reconnects": 0 } });
    assert_failures([
        (
            json!({ "timeout": 64 }),
            json!({}),
            NothingAnswered,
            "none of 64 requests was answered within 1.0 s",
        ),
        // All requests were due before the measurement and are still in flight.
        (
            json!({}),
            json!({}),
            NothingAnswered,
            "no request was answered within 2.0 s",
        ),
        (
            json!({ "connect_error": 100 }),
            dead.clone(),
            NothingAnswered,
            "no connection for any of 100 requests (Connection refused)",
        ),
        (
            json!({ "connect_error": 9 }),
            own,
            NothingSent,
            "no connection for any of 9 requests (Connection refused)",
        ),
        (
            json!({}),
            dead.clone(),
            NothingSent,
            "no request was sent (Connection refused)",
        ),
        (
            json!({ "dropped": 100 }),
            dead,
            NothingSent,
            "none of 100 requests was sent (Connection refused)",
        ),
        (
            json!({ "reset": 2 }),
            json!({}),
            NothingAnswered,
            "none of 2 requests was answered: the server closed the connections",
        ),
    ]);
}

#[test]
fn half_of_the_requests_are_enough() {
    assert_eq!(failure(&json!({ "valid": 50, "status": 50 }), &json!({})), None);
    assert_eq!(failure(&json!({ "valid": 1 }), &json!({})), None);
    // A stream cut by the end of the load is valid, although it is not a complete reply.
    let cut = json!({ "requests": { "offered": 4, "sent": 4, "completed": 0, "valid": 4 } });
    assert_eq!(failure(&json!({ "valid": 4 }), &cut), None);
}

#[test]
fn the_most_serious_warning_decides() {
    let fine = json!({ "valid": 100 });
    let with = |kinds: &[&str], load: &str| {
        let warnings: Vec<Value> = kinds
            .iter()
            .map(|kind| json!({ "kind": kind, "text": "" }))
            .collect();
        recording(&fine, &json!({ "warnings": warnings, "load": { "kind": load } }))
    };
    assert_eq!(verdict(&with(&[], "closed")), Verdict::Valid);
    assert_eq!(
        verdict(&with(&["note", "connection_closed"], "closed")),
        Verdict::Valid
    );
    assert!(
        matches!(verdict(&with(&["few_samples", "note"], "closed")), Verdict::Doubtful(all) if all.len() == 1)
    );
    let limited = with(&["few_samples", "generator_saturated"], "closed");
    assert!(
        matches!(verdict(&limited), Verdict::LowerBound(one) if one.kind == WarningKind::GeneratorSaturated)
    );
    // The rate of an open load does not depend on the generator: its response times may be wrong.
    let open = with(&["few_samples", "generator_saturated"], "open");
    assert!(matches!(verdict(&open), Verdict::Doubtful(all) if all.len() == 2));
    let invalid = with(&["generator_saturated", "nothing_sent"], "closed");
    assert!(matches!(verdict(&invalid), Verdict::Invalid(all) if all.len() == 1));
}

#[test]
fn json_has_what_a_kind_declares_and_reading_ignores_it() {
    let warning = Warning::new(WarningKind::FewSamples, "p99 rests on 4 of 400 replies.").advise("Longer.");
    let written = serde_json::to_value(&warning).expect("plain data");
    let wanted = json!({
        "kind": "few_samples", "text": "p99 rests on 4 of 400 replies.", "advice": "Longer.", "level": "warning",
        "affects": ["tail"], "scope": "service", "sentence": "High percentiles rest on too few replies."
    });
    assert_eq!(written, wanted);
    let mut changed = written;
    changed["level"] = json!("note");
    assert_eq!(
        serde_json::from_value::<Warning>(changed).expect("a warning"),
        warning
    );
}

#[test]
fn a_kind_of_a_newer_version_affects_every_figure() {
    let read: Warning =
        serde_json::from_str(r#"{"kind":"moon_phase","text":"full"}"#).expect("a newer record is readable");
    assert_eq!((read.kind, read.level()), (WarningKind::Unknown, Level::Warning));
    for (name, figures) in Figures::NAMED {
        assert!(read.affects(figures), "{name}");
    }
}

#[test]
fn a_kind_affects_figures_unless_it_is_a_note() {
    for kind in WarningKind::ALL {
        let facts = kind.facts();
        assert_eq!(facts.affects.is_empty(), facts.level == Level::Note, "{kind:?}");
        assert!(facts.sentence.ends_with('.'), "{kind:?}");
    }
}

#[test]
fn counts_have_thousands_separators() {
    for (number, text) in [
        (0, "0"),
        (999, "999"),
        (1_000, "1,000"),
        (52_418, "52,418"),
        (1_234_567, "1,234,567"),
    ] {
        assert_eq!(count(number), text);
    }
}
