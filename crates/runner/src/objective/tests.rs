use super::*;

#[test]
fn durations_have_three_digits() {
    for (ns, text) in [
        (999, "999 ns"),
        (1_500, "1.50 µs"),
        (12_345_678, "12.3 ms"),
        (2_000_000_000, "2.00 s"),
    ] {
        assert_eq!(duration(ns), text);
    }
}

#[test]
fn numbers_have_three_digits_or_all_of_a_large_one() {
    for (value, text) in [
        (0.0, "0"),
        (0.182, "0.182"),
        (0.018_2, "0.0182"),
        (4.0, "4.00"),
        (9.996, "10.0"),
        (61.0, "61.0"),
        (99.96, "100"),
        (52_418.4, "52,418"),
    ] {
        assert_eq!(number(value), text);
    }
}

#[test]
fn only_all_of_it_is_100_percent() {
    for (share, text) in [
        (1.0, "100 %"),
        (0.999_999, "99.9 %"),
        (0.94, "94.0 %"),
        (0.29, "29.0 %"),
        (0.5, "50.0 %"),
        (0.019_99, "1.99 %"),
        (0.0, "0 %"),
        (0.001_2, "0.120 %"),
    ] {
        assert_eq!(percent_down(share), text);
    }
}

#[test]
fn enough_streams_are_good_or_too_few() {
    let objective: Objective = "ttft<500ms,itl<50ms,e2el<10s,good>90%"
        .parse()
        .expect("a good one");
    let streams = objective.streams().expect("of streams");
    let good = |answers| GoodputStreams {
        answers,
        due: 100,
        per_s: 1.0,
        late: 8,
        slow: 3,
        long: 1,
    };
    let met = of_streams(&streams, &limits(&objective), Some(good(90)));
    assert_eq!(
        (met.condition.as_str(), met.found.as_str(), met.missed),
        (
            "good>90%",
            "90.0 % (ttft<500ms, tpot<50ms, e2el<10s): 8 late, 3 slow, 1 long",
            None
        )
    );
    assert_eq!(
        of_streams(&streams, "", Some(good(89))).missed.expect("missed"),
        "89.0 % of the prompts had a good answer, not 90 % (8 late, 3 slow, 1 long)"
    );
    let told = of_streams(&streams, "", None).missed.expect("missed");
    assert!(told.contains("--llm"), "{told}");
}

#[test]
fn what_has_no_bound_or_is_still_open_is_below_nothing() {
    let hour = 3_600_000_000_000;
    assert_eq!(
        below("p99", Some(Quantile::Exact(5)), 10),
        ("5 ns".to_owned(), None)
    );
    for (found, shown) in [
        (Some(Quantile::Unbounded), "no bound"),
        (Some(Quantile::AtLeast(10_000_000)), "≥ 10.0 ms"),
        (None, "unknown"),
    ] {
        let (text, missed) = below("p99", found, hour);
        assert_eq!(text, shown);
        assert_eq!(missed, Some(format!("p99 {shown}, not below 3600 s")));
    }
}
