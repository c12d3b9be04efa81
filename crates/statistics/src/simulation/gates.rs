//! The gate with a history: how often it fails without a slowdown, how often it lets a slowdown pass, and how often it finds one.
//! Runs are made nightly, some are missing, and the machine may change.

use super::Source;
use crate::change::baseline_gate;
use rand::RngExt as _;

const HISTORIES: usize = 1_000;
const NIGHTS: usize = 40;
/// Standard deviation from run to run.
const DEVIATION: f64 = 0.01;
const ALLOWED: f64 = 0.02;
/// Share of the nights without a run.
const MISSING: f64 = 0.1;
/// The run on each machine that later runs are compared with.
const BASE: usize = 7;

/// What happens to the service in a history.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scenario {
    Level,
    /// It becomes slower by this share, at a random night.
    Step(f64),
    /// It becomes slower by this share every night.
    Drift(f64),
}

/// A run that was made.
struct SimulatedRun {
    value: f64,
    /// How much slower the service is than at the start, as a logarithm.
    slower: f64,
    machine: u32,
}

fn history(source: &mut Source, scenario: Scenario) -> Vec<SimulatedRun> {
    let step = source.0.random_range(12..30);
    // One history in four moves to a machine that is 30 % slower.
    let moved = if source.0.random::<f64>() < 0.25 {
        source.0.random_range(10..30)
    } else {
        NIGHTS
    };
    let night = |night: usize| {
        let noise = DEVIATION * source.normal();
        let machine = u32::from(night >= moved);
        let slower = match scenario {
            Scenario::Step(share) if night >= step => -(-share).ln_1p(),
            Scenario::Level | Scenario::Step(_) => 0.0,
            Scenario::Drift(share) => share * night as f64,
        };
        (source.0.random::<f64>() >= MISSING).then(|| SimulatedRun {
            value: (noise - slower - 0.3 * f64::from(machine)).exp(),
            slower,
            machine,
        })
    };
    (0..NIGHTS).filter_map(night).collect()
}

/// Verdicts of gates, by whether the service really was slower than allowed.
#[derive(Debug, Default)]
struct Verdicts {
    sound: usize,
    false_alarms: usize,
    slower: usize,
    found: usize,
    passed: usize,
    /// Of gates ten runs or more after the first that was slower.
    late: usize,
    found_late: usize,
}

impl Verdicts {
    /// Each run is compared with the base of its machine, after the earlier runs of that machine.
    fn of(scenario: Scenario) -> Self {
        let mut source = Source::new(43);
        let mut all = Self::default();
        for _ in 0..HISTORIES {
            let runs = history(&mut source, scenario);
            for machine in 0..2 {
                let runs: Vec<&SimulatedRun> = runs.iter().filter(|run| run.machine == machine).collect();
                let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
                let mut since = 0;
                for new in BASE + 1..runs.len() {
                    let loss = 1.0 - (runs[BASE].slower - runs[new].slower).exp();
                    let (regressed, inconclusive) = baseline_gate(&values[..new], BASE, values[new], ALLOWED);
                    since += usize::from(loss > ALLOWED);
                    all.count(loss, since, regressed, inconclusive);
                }
            }
        }
        all
    }

    fn count(&mut self, loss: f64, since: usize, regressed: bool, inconclusive: bool) {
        if loss <= ALLOWED {
            self.sound += 1;
            self.false_alarms += usize::from(regressed);
            return;
        }
        self.slower += 1;
        self.found += usize::from(regressed);
        self.passed += usize::from(!regressed && !inconclusive);
        if since > 10 {
            self.late += 1;
            self.found_late += usize::from(regressed);
        }
    }
}

#[test]
fn a_gate_with_a_history_rarely_errs() {
    let percent = |part: usize, all: usize| 100.0 * part as f64 / all.max(1) as f64;
    for (scenario, least_found) in [
        (Scenario::Level, 0.0),
        (Scenario::Step(0.03), 0.0),
        (Scenario::Step(0.05), 40.0),
        (Scenario::Step(0.10), 95.0),
        (Scenario::Drift(0.002), 0.0),
        (Scenario::Drift(0.005), 70.0),
    ] {
        let all = Verdicts::of(scenario);
        let (alarms, passed) = (
            percent(all.false_alarms, all.sound),
            percent(all.passed, all.slower),
        );
        let (found, late) = (percent(all.found, all.slower), percent(all.found_late, all.late));
        println!(
            "nightly gate, {scenario:?}: {alarms:.2} % of sound runs fail, {found:.0} % of slower runs fail ({late:.0} % from the eleventh on), \
             {passed:.2} % of them pass"
        );
        assert!(alarms < 2.5, "{scenario:?}: {alarms}");
        assert!(passed < 2.5, "{scenario:?}: {passed}");
        assert!(found >= least_found, "{scenario:?}: {found}");
        assert!(late + 5.0 >= found, "{scenario:?}: {late} after {found}");
    }
}
