//! Summaries of trials that are written out by hand.

use crate::common::{TrialSpec, trials};
use prony_records::{Fault, TrialRecord, TrialStage};
use prony_statistics::{Metric, Options, Quantity, ServiceSummary, StatisticsError, Verdict, summarise};

#[test]
fn a_clear_winner_ranks_first() {
    let run = trials(&[
        TrialSpec::closed("slow", &[1000.0, 1010.0, 990.0, 1005.0, 995.0]),
        TrialSpec::closed("fast", &[2000.0, 2020.0, 1980.0, 2010.0, 1990.0]),
    ]);
    let summary = summarise(&run, &Options::default()).expect("sound records");
    let group = &summary.groups[0];
    let names: Vec<&str> = group.services.iter().map(|row| row.id.service.as_str()).collect();
    assert_eq!(names, ["fast", "slow"]);
    assert_eq!(
        group.services.iter().map(|row| row.rank).collect::<Vec<_>>(),
        [Some(1), Some(2)]
    );
    assert_eq!(group.ranked_by, Metric::GoodputPerS);
    assert_eq!(group.pairs[0].verdict, Verdict::Faster);
    assert!(group.pairs[0].ratio.contains(2.0));
    assert!(group.services[0].tied_with.is_empty());
}

#[test]
fn a_group_is_ranked_by_the_metric_of_its_suite() {
    let mut run = trials(&[
        TrialSpec::closed("a", &[1000.0, 1010.0, 990.0]),
        TrialSpec::closed("b", &[2000.0, 2020.0, 1980.0]),
    ]);
    let key = Metric::CpuNsPerRequest.key();
    // The first trial may have been recorded by an older prony.
    for trial in &mut run[1..] {
        trial.rank_by = Some(key.to_owned());
    }
    let by = |options: &Options| summarise(&run, options).expect("sound records").groups[0].ranked_by;
    assert_eq!(by(&Options::default()), Metric::CpuNsPerRequest);
    let told = Options {
        rank_by: Some(Metric::ThroughputPerS),
        ..Options::default()
    };
    assert_eq!(
        by(&told),
        Metric::ThroughputPerS,
        "the caller's option takes precedence"
    );
    assert_eq!(Metric::of_key(key), Some(Metric::CpuNsPerRequest));
    assert_eq!(Metric::of_key("speed"), None);
}

#[test]
fn what_backing_services_cost_is_known_of_all_or_not_at_all() {
    let mut run = trials(&[TrialSpec::closed("a", &[1000.0])]);
    let measured = run[0].result.as_mut().expect("a measurement");
    let of = |measured: &prony_records::Measurement| Metric::BackingServiceCpuNsPerRequest.of(measured);
    assert_eq!(of(measured), None, "there is none");
    let beside = |cpu_ns: Option<u64>| {
        let resources = prony_records::Resources {
            cpu_ns,
            ..prony_records::Resources::default()
        };
        let text = serde_json::json!({ "name": "db", "uses": "db", "title": "DB", "version": null, "resources": resources });
        serde_json::from_value(text).expect("a backing service")
    };
    let replies = measured.recording.requests.completed;
    measured.backing_services = vec![beside(Some(3 * replies)), beside(Some(2 * replies))];
    assert_eq!(of(measured), Some(5.0));
    measured.backing_services.push(beside(None));
    assert_eq!(of(measured), None);
}

#[test]
fn message_rates_exist_only_for_streams() {
    let mut run = trials(&[TrialSpec::closed("a", &[1000.0])]);
    let measured = run[0].result.as_mut().expect("a measurement");
    let all = [
        Metric::MessagesPerS,
        Metric::FirstMessageNsP50,
        Metric::FirstMessageNsP99,
    ];
    assert_eq!(all.map(|metric| metric.of(measured)), [None; 3]);
    let mut messages = prony_records::Messages {
        received: 5_000,
        per_s: 5_000.0,
        first_ns: measured.recording.valid_time_ns,
        last_ns: None,
        gap_ns: None,
        ids: None,
        streams: None,
        llm: None,
        rooms: None,
    };
    measured.recording.messages = Some(messages);
    let first = messages.first_ns.map(|times| times.p99 as f64);
    assert_eq!(Metric::MessagesPerS.of(measured), Some(5_000.0));
    assert_eq!(Metric::FirstMessageNsP99.of(measured), first);
    // Interleaved trials only know the number of messages.
    messages.first_ns = None;
    measured.recording.messages = Some(messages);
    assert_eq!(all.map(|metric| metric.of(measured)), [Some(5_000.0), None, None]);
}

#[test]
fn a_failed_repeat_replaces_no_valid_trial() {
    let mut run = trials(&[TrialSpec::closed("a", &[1000.0, 1010.0])]);
    let failing = trials(&[TrialSpec::failing("a", TrialStage::Measure)]);
    // Its number is that of the first trial.
    run.extend(failing);
    let summary = summarise(&run, &Options::default()).expect("sound records");
    let row = &summary.groups[0].services[0];
    assert_eq!((row.trials, row.failed_trials), (2, 0));
    assert!(row.excluded.is_none());
}

#[test]
fn an_infrastructure_failure_excludes_no_service() {
    let mut run = trials(&[TrialSpec::closed("a", &[1000.0, 1010.0])]);
    let mut void = trials(&[TrialSpec::failing("a", TrialStage::Check)]).remove(0);
    void.number = 2;
    if let Err(failed) = &mut void.result {
        failed.fault = Fault::Infrastructure;
    }
    run.push(void.clone());
    let of = |run: &[TrialRecord]| {
        let summary = summarise(run, &Options::default()).expect("sound records");
        summary.groups[0].services[0].excluded.clone()
    };
    assert_eq!(of(&run), None);
    let alone = of(&[void]).expect("a service without numbers has a row with a reason");
    assert!(
        alone
            .reason
            .starts_with("not measured because of infrastructure failures"),
        "{}",
        alone.reason
    );
}

/// A rate that the generator limited is a lower bound: it can prove a service better, never worse. Its ranks start at 1.
#[test]
fn a_lower_bound_is_ranked_from_first_to_one_after_those_not_proven_worse() {
    let near = |rate: f64| [0.0, 1.0, -1.0, 0.5, -0.5].map(|step| rate * (1.0 + step / 100.0));
    let run = trials(&[
        TrialSpec::closed("first", &near(3000.0)),
        TrialSpec::closed("bound", &near(2000.0)).saturated(),
        TrialSpec::closed("also bound", &near(1900.0)).saturated(),
        TrialSpec::closed("last", &near(1000.0)),
    ]);
    let summary = summarise(&run, &Options::default()).expect("sound records");
    let group = &summary.groups[0];
    let range = |row: &ServiceSummary| (row.rank_low.expect("a rank"), row.rank_high.expect("a rank"));
    let seen: Vec<(&str, Option<u32>, (u32, u32))> = group
        .services
        .iter()
        .map(|row| (row.id.service.as_str(), row.rank, range(row)))
        .collect();
    // Three are proven better than the last; any of them may be the first.
    let wanted = [
        ("first", Some(1), (1, 3)),
        ("bound", Some(1), (1, 3)),
        ("also bound", Some(1), (1, 3)),
        ("last", Some(4), (4, 4)),
    ];
    assert_eq!(seen, wanted);
    assert_eq!(
        group.services[1].tied_with,
        ["first/current", "also bound/current"]
    );
    let pairs: Vec<(&str, &str)> = group.pairs.iter().map(|pair| (&*pair.a, &*pair.b)).collect();
    assert_eq!(
        pairs,
        [("first/current", "last/current")],
        "by how much is unknown"
    );
    let ratios: Vec<bool> = group
        .services
        .iter()
        .map(|row| row.ratio_to_first.is_some())
        .collect();
    assert_eq!(ratios, [true, false, false, true]);
    let text = group.warnings[0].whole();
    assert!(
        text.contains("2 of 4") && text.contains("Compare CPU per request"),
        "{text}"
    );
}

/// Whatever limits the services, one of them may be the first.
#[test]
fn every_ranking_has_a_rank_that_starts_at_one() {
    let near = |rate: f64| [0.0, 1.0, -1.0, 0.5, -0.5].map(|step| rate * (1.0 + step / 100.0));
    let rates = [3000.0, 2000.0, 1000.0];
    for limited in 0..8u32 {
        let specs = rates.iter().enumerate().map(|(place, &rate)| {
            let spec = TrialSpec::closed(["a", "b", "c"][place], &near(rate));
            if limited >> place & 1 == 1 {
                spec.saturated()
            } else {
                spec
            }
        });
        let run = trials(&specs.collect::<Vec<_>>());
        let summary = summarise(&run, &Options::default()).expect("sound records");
        let rows = &summary.groups[0].services;
        assert!(rows.iter().all(|row| row.rank.is_some()), "{limited:b}");
        assert!(rows.iter().any(|row| row.rank_low == Some(1)), "{limited:b}");
        assert_eq!(rows[0].rank, Some(1), "{limited:b}");
    }
}

#[test]
fn an_open_load_is_ranked_though_the_generator_was_busy() {
    let rates = [1000.0, 1010.0, 990.0];
    let run = trials(&[
        TrialSpec::closed("a", &rates).saturated().open(),
        TrialSpec::closed("b", &rates).open(),
    ]);
    let summary = summarise(&run, &Options::default()).expect("sound records");
    let rows = &summary.groups[0].services;
    assert!(rows.iter().all(|row| row.rank.is_some() && !row.generator_bound));
}

/// With 500 replies only five are beyond the p99: services are ranked by CPU time per request, or by the p95 if that is unknown.
#[test]
fn a_percentile_ranks_only_with_ten_replies_beyond_it() {
    let run = |replies: f64, knows_cpu: bool| {
        let rates = [replies, replies + 2.0, replies + 1.0];
        let mut run = trials(&[
            TrialSpec::closed("a", &rates).open(),
            TrialSpec::closed("b", &rates).open(),
        ]);
        for measured in run.iter_mut().filter_map(|trial| trial.result.as_mut().ok()) {
            measured.service.cpu_ns = measured.service.cpu_ns.filter(|_| knows_cpu);
        }
        let summary = summarise(&run, &Options::default()).expect("sound records");
        let group = summary.groups.into_iter().next().expect("a group");
        let has_ranks = group.services.iter().all(|row| row.rank.is_some());
        let warning = group.warnings.first().map(|warning| warning.text.clone());
        (group.ranked_by, has_ranks, warning)
    };
    assert_eq!(run(1_000.0, true), (Metric::ResponseTimeNsP99, true, None));
    let (ranked_by, has_ranks, warning) = run(500.0, true);
    assert_eq!((ranked_by, has_ranks), (Metric::CpuNsPerRequest, true));
    let warning = warning.expect("a reason");
    assert!(
        warning.contains("ranked by CPU per request: a trial of 500 replies")
            && warning.contains("needs 1000 replies"),
        "{warning}"
    );
    let (ranked_by, has_ranks, _) = run(500.0, false);
    assert_eq!((ranked_by, has_ranks), (Metric::ResponseTimeNsP95, true));
    let (_, has_ranks, warning) = run(15.0, false);
    assert!(!has_ranks && warning.expect("a reason").contains("no ranks"));
}

#[test]
fn one_trial_has_no_interval_and_no_rank() {
    let run = trials(&[
        TrialSpec::closed("a", &[1000.0]),
        TrialSpec::closed("b", &[2000.0]),
    ]);
    let summary = summarise(&run, &Options::default()).expect("sound records");
    for row in &summary.groups[0].services {
        let throughput = row.metrics.throughput_per_s.as_ref().expect("measured");
        assert!(matches!(throughput, Quantity::TooFewTrials(few) if few.trials_needed == 2));
        assert_eq!(row.rank, None);
        assert!(row.excluded.is_none());
    }
    let json = serde_json::to_value(&summary).expect("plain data");
    let throughput = &json["groups"][0]["services"][0]["throughput_per_s"];
    assert!(throughput.get("point").is_none() && throughput.get("low").is_none());
}

#[test]
fn json_has_the_promised_keys_and_reads_back() {
    let run = trials(&[
        TrialSpec::closed("a", &[1000.0, 1001.0, 1002.0]),
        TrialSpec::failing("b", TrialStage::Check),
    ]);
    let summary = summarise(&run, &Options::default()).expect("sound records");
    let json = serde_json::to_value(&summary).expect("plain data");
    let row = &json["groups"][0]["services"][0];
    for key in [
        "service",
        "variant",
        "rank",
        "rank_low",
        "rank_high",
        "tied_with",
        "throughput_per_s",
        "response_time_ns_p99",
        "cpu_ns_per_request",
        "memory_bytes_peak",
        "start_ms",
        "bytes_per_reply",
        "trials",
        "warnings",
        "excluded",
    ] {
        assert!(row.get(key).is_some(), "{key} is missing");
    }
    for key in ["point", "low", "high", "confidence"] {
        assert!(row["throughput_per_s"][key].is_f64(), "{key}");
    }
    assert_eq!(json["groups"][0]["services"][1]["excluded"]["stage"], "check");
    let back: prony_statistics::Summary = serde_json::from_value(json).expect("own JSON");
    assert_eq!(back, summary);
}

#[test]
fn a_damaged_number_is_an_error() {
    let run = trials(&[TrialSpec::closed("a", &[1000.0, f64::NAN])]);
    let error = summarise(&run, &Options::default()).expect_err("NaN");
    assert!(matches!(error, StatisticsError::NotFinite { .. }));
    assert!(
        error
            .to_string()
            .contains("throughput_per_s of a/current in round 1")
    );
}

#[test]
fn what_a_service_costs_over_its_baseline_is_the_difference_of_the_rounds() {
    let mut run = trials(&[
        TrialSpec::closed("by-hand", &[1000.0; 5]),
        TrialSpec::closed("package", &[1000.0; 5]),
    ]);
    // The machine is slower from round to round, which both feel: the package takes 3 µs more, and 100 ns of noise.
    for trial in &mut run {
        let (round, is_package) = (f64::from(trial.round), trial.service.service == "package");
        let more = if is_package {
            3_000.0 + 50.0 * (round - 2.0)
        } else {
            0.0
        };
        let measured = trial.result.as_mut().expect("a measurement");
        let replies = measured.recording.requests.completed as f64;
        measured.service.cpu_ns = Some(((6_000.0 + 500.0 * round + more) * replies) as u64);
        if is_package {
            trial.baseline = Some("by-hand/current".to_owned());
        }
    }
    let summary = summarise(&run, &Options::default()).expect("sound records");
    let row = |name: &str| {
        let mut rows = summary.groups[0].services.iter();
        rows.find(|row| row.id.service == name).expect("a row")
    };
    assert_eq!(row("by-hand").over_baseline, None);
    let over = row("package").over_baseline.clone().expect("a baseline");
    assert_eq!(over.baseline, "by-hand/current");
    assert!((over.cpu_ns_per_request.point - 3_000.0).abs() < 1.0, "{over:?}");
    assert!(over.cpu_ns_per_request.half_width() < 0.05, "{over:?}");
    assert!(
        over.ratio.contains(10.0 / 7.0) && over.ratio.low > 1.3,
        "{over:?}"
    );
    // A baseline that was not measured shows nothing.
    for trial in &mut run {
        trial.baseline = Some("other/current".to_owned());
    }
    let summary = summarise(&run, &Options::default()).expect("sound records");
    assert!(
        summary.groups[0]
            .services
            .iter()
            .all(|row| row.over_baseline.is_none())
    );
}

#[test]
fn memory_per_connection_is_the_slope_over_numbers_of_connections() {
    let with = |connections: [u64; 3]| {
        let mut run = Vec::new();
        for count in connections {
            for mut trial in trials(&[TrialSpec::closed("held", &[1000.0; 3])]) {
                trial.number = run.len() as u32;
                trial.load["connections"] = count.into();
                let measured = trial.result.as_mut().expect("a measurement");
                let bytes = 20_000_000 + 40_960 * count + 1_000 * u64::from(trial.round) * count / 100;
                measured.service.memory_bytes_mean = Some(bytes);
                run.push(trial);
            }
        }
        summarise(&run, &Options::default()).expect("sound records")
    };
    let slopes = |summary: &prony_statistics::Summary| {
        let groups = summary.groups.iter();
        let slopes = groups.map(|group| group.services[0].memory_bytes_per_connection);
        slopes.collect::<Vec<_>>()
    };
    let summary = with([250, 1000, 1]);
    let [None, Some(slope), None] = slopes(&summary)[..] else {
        panic!("only the group with the most connections: {:?}", slopes(&summary))
    };
    assert!(
        (slope.point - 40_970.0).abs() < 1.0 && slope.contains(40_970.0),
        "{slope:?}"
    );
    // So few connections are lost in the noise.
    assert_eq!(slopes(&with([1, 16, 64])), [None, None, None]);
    // A service that fails a part of them does not hold them, and what it would need is unknown.
    let failing = |count: u64, share: u64| {
        let mut run = Vec::new();
        for connections in [1, 250, count] {
            for mut trial in trials(&[TrialSpec::closed("held", &[1000.0; 3])]) {
                trial.number = run.len() as u32;
                trial.load["connections"] = connections.into();
                let measured = trial.result.as_mut().expect("a measurement");
                measured.service.memory_bytes_mean = Some(20_000_000 + 40_960 * connections.min(600));
                if connections == count {
                    measured.recording.outcomes.reset = measured.recording.outcomes.valid * share / 100;
                }
                run.push(trial);
            }
        }
        summarise(&run, &Options::default()).expect("sound records")
    };
    let of_the_held = slopes(&failing(1000, 40))[2].expect("250 connections and 1 were held");
    assert!((of_the_held.point - 40_960.0).abs() < 1.0, "{of_the_held:?}");
    assert!(slopes(&failing(1000, 0))[2].expect("all seem to be held").point < 30_000.0);
}
