use super::*;

const LIMITS: Limits = Limits {
    least: Duration::from_secs(1),
    wall: Duration::from_secs(90),
    cpu: Duration::from_mins(1),
};
const SLICE_S: f64 = 0.3;

/// What a service with one CPU does at a moment of its phase: the share of its compiler, and the CPU time of a request, ns.
struct ServiceActivity {
    share: Option<f64>,
    cost_ns: f64,
}

/// Runs a phase of a service that gets this share of a CPU. Returns how and when it ended, s.
fn run(
    (phase, kind): (WarmUpPhase, CompilerKind),
    measured_s: f64,
    cpu: f64,
    at: impl Fn(f64) -> ServiceActivity,
) -> (Classification, f64) {
    run_again((phase, kind), (measured_s, None), cpu, at)
}

/// The same for a service of which an earlier start needed this long.
fn run_again(
    (phase, kind): (WarmUpPhase, CompilerKind),
    (measured_s, known_s): (f64, Option<f64>),
    cpu: f64,
    at: impl Fn(f64) -> ServiceActivity,
) -> (Classification, f64) {
    let measured = Duration::from_secs_f64(measured_s);
    let mut judge = PhaseJudge::new(phase, LIMITS, (measured, known_s));
    for index in 0_u32.. {
        let activity = at(f64::from(index) * SLICE_S);
        let cpu_ns = cpu * SLICE_S * 1e9;
        // Noise of 3 % that repeats after 7 slices.
        let noise = 1.0 + 0.03 * (f64::from(index * 5 % 7) / 3.0 - 1.0);
        let cost = activity.cost_ns * noise;
        let slice = Slice {
            length_s: SLICE_S,
            cpu_ns: Some(cpu_ns as u64),
            compiler_ns: activity.share.map(|share| (share * cpu_ns) as u64),
            completed: (cpu_ns / cost) as u64,
            cost: Some(cost),
            idle: Some(0.8),
            probe_ns: None,
        };
        if let Some(ended) = judge.push(slice, activity.share.map(|_| kind)) {
            return (ended, f64::from(index + 1) * SLICE_S);
        }
    }
    unreachable!("each phase has a limit")
}

const LIGHT: (WarmUpPhase, CompilerKind) = (WarmUpPhase::Light { may_grow: false }, CompilerKind::Compiles);
const PLANNED: (WarmUpPhase, CompilerKind) = (WarmUpPhase::Planned, CompilerKind::Compiles);

fn active(share: f64, cost_ns: f64) -> ServiceActivity {
    ServiceActivity {
        share: Some(share),
        cost_ns,
    }
}

#[test]
fn the_light_load_ends_when_the_compiler_is_idle_for_three_seconds() {
    for busy_s in [2.0, 17.0, 40.0] {
        let jit = |at_s: f64| active(if at_s < busy_s { 0.45 } else { 0.01 }, 700_000.0);
        let (ended, at_s) = run(LIGHT, 1.0, 0.9, jit);
        assert_eq!(ended, Classification::Settled);
        assert!((busy_s + 2.5..busy_s + 4.5).contains(&at_s), "{busy_s}: {at_s}");
    }
}

#[test]
fn the_light_load_of_a_service_that_waits_grows() {
    let growth_on = |idle, may_grow, cpu_ns, share| {
        let phase = WarmUpPhase::Light { may_grow };
        let mut judge = PhaseJudge::new(phase, LIMITS, (Duration::from_secs(1), None));
        for slices in 1..=11 {
            let slice = Slice {
                length_s: SLICE_S,
                cpu_ns: Some(cpu_ns),
                compiler_ns: Some((share * cpu_ns as f64) as u64),
                completed: 6,
                cost: Some(1e6),
                idle: Some(idle),
                probe_ns: None,
            };
            if let Some(ended) = judge.push(slice, Some(CompilerKind::Compiles)) {
                return Some((ended, slices, judge.growth()));
            }
        }
        None
    };
    let growth = |may_grow, cpu_ns, share| growth_on(0.8, may_grow, cpu_ns, share);
    // 1 % of a CPU: after three seconds it goes on with 50 times as many connections.
    assert_eq!(
        growth(true, 3_000_000, 0.5),
        Some((Classification::Warming, 11, Some(50)))
    );
    // Too little to judge a share is no idle compiler.
    assert_eq!(
        growth(true, 3_000_000, 0.0),
        Some((Classification::Warming, 11, Some(50)))
    );
    // As many connections as planned, or a service that is busy enough.
    assert_eq!(growth(false, 3_000_000, 0.5), None);
    assert_eq!(growth(true, 90_000_000, 0.5), None);
    // It waits for a CPU.
    assert_eq!(growth_on(0.3, true, 3_000_000, 0.5), None);
    // A compiler that is idle.
    assert_eq!(
        growth(true, 150_000_000, 0.01),
        Some((Classification::Settled, 11, None))
    );
}

#[test]
fn a_compiler_that_never_rests_is_warming_at_the_limit() {
    let (ended, at_s) = run(LIGHT, 1.0, 1.0, |_| active(0.1, 1_000_000.0));
    assert_eq!(ended, Classification::Warming);
    assert!((60.0..61.0).contains(&at_s), "60 s of CPU time: {at_s}");
    let (ended, at_s) = run(LIGHT, 1.0, 0.3, |_| active(0.1, 1_000_000.0));
    assert_eq!(ended, Classification::Warming);
    assert!((90.0..91.0).contains(&at_s), "90 s on the clock: {at_s}");
}

#[test]
fn a_service_without_a_compiler_needs_little_light_load_and_enough_replies() {
    let native = |_| ServiceActivity {
        share: None,
        cost_ns: 10_000.0,
    };
    let (ended, at_s) = run(LIGHT, 1.0, 0.5, native);
    assert_eq!(ended, Classification::Settled);
    assert!(at_s <= 1.5, "{at_s}");
    let (ended, at_s) = run(PLANNED, 1.0, 1.0, native);
    assert_eq!(ended, Classification::Settled);
    assert!(at_s <= 3.5, "{at_s}");
    // 100 replies per second of CPU time.
    let slow = |_| ServiceActivity {
        share: None,
        cost_ns: 1e7,
    };
    let (ended, at_s) = run(PLANNED, 1.0, 1.0, slow);
    assert_eq!(ended, Classification::Settled);
    assert!((10.0..12.0).contains(&at_s), "{at_s}");
}

#[test]
fn the_planned_load_goes_on_until_the_cost_is_shown_to_be_stable() {
    // The compiler is idle from the start, but the cost falls by 2 % per second for 20 s.
    let falling = |at_s: f64| active(0.0, 50_000.0 * (1.0 - 0.02 * at_s.min(20.0)));
    let (ended, at_s) = run(PLANNED, 5.0, 1.0, falling);
    assert_eq!(ended, Classification::Settled);
    assert!(at_s > 20.0, "{at_s}");
    let endless = |at_s: f64| active(0.0, 50_000.0 * (-0.02 * at_s).exp());
    let (ended, _) = run(PLANNED, 5.0, 1.0, endless);
    assert_eq!(ended, Classification::Unsettled);
}

/// A service whose cost follows the speed of the CPUs by this power, which varies by 20 %, and has noise of 1 %. How long its warm-up takes, s.
fn with_a_varying_cpu(power: f64, probes: impl Fn(f64) -> Option<f64>) -> f64 {
    let mut judge = PhaseJudge::new(WarmUpPhase::Planned, LIMITS, (Duration::from_secs(4), None));
    for index in 0_u32.. {
        let speed = 1.0 + 0.2 * (f64::from(index * 7 % 11) / 5.0 - 1.0);
        let noise = 1.0 + 0.01 * (f64::from(index * 5 % 7) / 3.0 - 1.0);
        let slice = Slice {
            length_s: SLICE_S,
            cpu_ns: Some(250_000_000),
            compiler_ns: None,
            completed: 10_000,
            cost: Some(10_000.0 * speed.powf(power) * noise),
            idle: None,
            probe_ns: probes(speed),
        };
        if judge.push(slice, None).is_some() {
            return f64::from(index + 1) * SLICE_S;
        }
    }
    unreachable!("each phase has a limit")
}

/// In measurements a cost grew by powers of the probe between 0 and 1.2, different for each service and for each placement on CPUs.
#[test]
fn what_the_cpu_speed_probe_explains_needs_no_longer_proof_whatever_the_power() {
    for power in [0.0, 0.4, 1.0] {
        let with = with_a_varying_cpu(power, |speed| Some(26_000.0 * speed));
        assert!(with <= 4.0, "{power}: {with} s");
    }
    assert!(with_a_varying_cpu(1.0, |_| None) > 6.0);
}

#[test]
fn a_later_start_needs_an_idle_compiler_and_the_time_of_an_earlier_one() {
    let busy = |at_s: f64| active(if at_s < 4.0 { 0.3 } else { 0.0 }, 50_000.0);
    let (ended, at_s) = run_again(PLANNED, (30.0, Some(2.0)), 1.0, busy);
    assert_eq!(ended, Classification::Settled);
    // It was idle for three seconds.
    assert!((6.9..8.0).contains(&at_s), "{at_s}");
    let (_, at_s) = run_again(PLANNED, (30.0, Some(9.0)), 1.0, busy);
    assert!((9.0..9.6).contains(&at_s), "{at_s}");
}

/// The same noise needs a longer look if the measurement is longer.
#[test]
fn a_longer_measurement_needs_a_longer_proof() {
    let constant = |_| active(0.0, 50_000.0);
    let at: Vec<f64> = [1.0, 5.0, 30.0]
        .map(|s| run(PLANNED, s, 1.0, constant).1)
        .to_vec();
    assert!(at[0] < at[1] && at[1] < at[2], "{at:?}");
}

#[test]
fn threads_that_collect_garbage_are_idle_when_their_share_has_stopped_falling() {
    let collects = (
        WarmUpPhase::Light { may_grow: false },
        CompilerKind::CompilesAndCollects,
    );
    let garbage = |at_s: f64| active(0.08 + 0.3 * (-at_s / 2.0).exp(), 100_000.0);
    let (ended, at_s) = run(collects, 1.0, 1.0, garbage);
    assert_eq!(ended, Classification::Settled);
    assert!((3.0..9.0).contains(&at_s), "{at_s}");
    // The same of a compiler alone is no end.
    assert_eq!(run(LIGHT, 1.0, 1.0, garbage).0, Classification::Warming);
}

/// What a service used in its measurement.
fn used(compiler_cpu_ns: Option<u64>, cpu_ns: u64) -> Resources {
    Resources {
        cpu_ns: Some(cpu_ns),
        compiler_cpu_ns,
        ..Resources::default()
    }
}

#[test]
fn a_share_is_judged_over_half_a_second_of_cpu_time() {
    let idle = |_| active(0.0, 100_000.0);
    let (ended, at_s) = run(LIGHT, 1.0, 0.02, idle);
    assert_eq!(ended, Classification::Settled);
    assert!((25.0..26.0).contains(&at_s), "{at_s}");
    let share =
        |compiler_ns, kind, settled| is_warming(&[used(Some(compiler_ns), 1_000_000_000)], (kind, settled));
    let compiles = Some(CompilerKind::Compiles);
    let collects = Some(CompilerKind::CompilesAndCollects);
    assert!(share(31_000_000, compiles, None) && !share(29_000_000, compiles, None));
    assert!(share(130_000_000, collects, Some(0.08)) && !share(110_000_000, collects, Some(0.08)));
    assert!(
        !is_warming(&[used(Some(90_000_000), 100_000_000)], (compiles, None)),
        "too little CPU time"
    );
    assert!(!is_warming(&[used(None, 1_000_000_000)], (None, None)));
}

/// Windows in which the compiler had these shares, in percent.
fn windows(shares: &[u64]) -> Vec<Resources> {
    let window = |percent: &u64| used(Some(percent * 10_000_000), 1_000_000_000);
    shares.iter().map(window).collect()
}

#[test]
fn a_share_of_garbage_is_higher_in_all_windows() {
    assert!(!is_falling(&windows(&[12, 14, 11, 13])));
    assert!(is_falling(&windows(&[20, 7, 5, 4])));
    assert!(is_falling(&windows(&[9])), "unknown");
    let collects = (Some(CompilerKind::CompilesAndCollects), Some(0.08));
    assert!(is_warming(&windows(&[20, 14, 13, 6]), collects));
    assert!(!is_warming(&windows(&[14, 13, 13, 14]), collects));
}

#[test]
fn the_window_in_the_middle_decides_as_it_does_for_the_figures() {
    let compiles = (Some(CompilerKind::Compiles), None);
    assert!(!is_warming(&windows(&[30, 20, 2, 1, 1, 2, 1, 0]), compiles));
    assert!(is_warming(&windows(&[5, 4, 2, 4, 6, 4, 2, 4]), compiles));
}

/// A slice with half a CPU.
fn slice(compiler_share: f64) -> Slice {
    let cpu_ns = 150_000_000;
    Slice {
        length_s: SLICE_S,
        cpu_ns: Some(cpu_ns),
        compiler_ns: Some((compiler_share * cpu_ns as f64) as u64),
        completed: 100,
        cost: Some(1e6),
        idle: Some(0.8),
        probe_ns: None,
    }
}

#[test]
fn a_busy_compiler_needs_a_break_after_a_second_under_load() {
    let mut judge = PhaseJudge::new(WarmUpPhase::Planned, LIMITS, (Duration::from_secs(1), None));
    let mut breaks = |share: f64| -> Vec<bool> {
        let after = |_| {
            judge.push(slice(share), Some(CompilerKind::Compiles));
            let needs = judge.needs_break();
            if needs {
                judge.end_break();
            }
            needs
        };
        (0..8).map(after).collect()
    };
    let every_fourth = [false, false, false, true, false, false, false, true];
    assert_eq!(breaks(0.1), every_fourth);
    assert_eq!(breaks(0.0), [false; 8]);
}

#[test]
fn a_rehearsal_lasts_as_long_as_it_should_and_takes_no_break() {
    let ended = |share: f64, kind, before| {
        let phase = WarmUpPhase::Rehearsal { before };
        let mut judge = PhaseJudge::new(phase, LIMITS, (Duration::from_secs(1), None));
        for _ in 0..3 {
            assert_eq!(judge.push(slice(share), Some(kind)), None);
            assert!(!judge.needs_break());
        }
        judge.push(slice(share), Some(kind))
    };
    let (compiles, collects) = (CompilerKind::Compiles, CompilerKind::CompilesAndCollects);
    assert_eq!(ended(0.025, compiles, Some(0.025)), Some(Classification::Warming));
    assert_eq!(ended(0.015, compiles, None), Some(Classification::Settled));
    assert_eq!(ended(0.2, collects, None), Some(Classification::Warming));
    assert_eq!(ended(0.2, collects, Some(0.3)), Some(Classification::Warming));
    assert_eq!(ended(0.2, collects, Some(0.22)), Some(Classification::Settled));
}

#[test]
fn compiler_threads_settle_at_their_share_over_a_rehearsal() {
    let settled = |share: f64| {
        let phase = WarmUpPhase::Rehearsal { before: None };
        let mut judge = PhaseJudge::new(phase, LIMITS, (Duration::from_secs(1), None));
        for share in [0.0, 0.0, 0.0, share] {
            judge.push(slice(share), Some(CompilerKind::CompilesAndCollects));
        }
        judge.settled_share()
    };
    let close = |share: Option<f64>| share.is_some_and(|share| (share - 0.02).abs() < 1e-6);
    assert!(close(settled(0.08)), "a quarter of the time");
}

#[test]
fn a_compiler_is_done_when_it_is_idle_without_load() {
    let window = Duration::from_millis(100);
    assert!(is_done_compiling(&used(Some(3_000_000), 3_000_000), window));
    assert!(!is_done_compiling(&used(Some(4_000_000), 4_000_000), window));
    assert!(is_done_compiling(&used(None, 90_000_000), window), "it has none");
}
