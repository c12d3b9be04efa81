//! Verifies variants: builds all, then checks and loads them in two concurrent runs, each on half of the CPUs. Failures are repeated
//! alone.

use super::select::{Id, Variant};
use crate::checkout::Checkout;
use crate::run::{Job, RunOutput, ServiceOutput, build, say};
use anyhow::Result;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Instant, SystemTime};

/// The result of a variant.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// It passed. The time in seconds; `cached` builds make it too short.
    Passed { seconds: f64, cached: bool },
    /// It failed, and passed when tried again: the first failure.
    Flaky(String),
    /// It failed twice.
    Failed(String),
    /// It cannot be built here, and its service file allows that.
    Unavailable(String),
    /// The time was over.
    NotTried,
}

/// The resources of the verification.
pub(super) struct Verification<'a> {
    pub(super) checkout: &'a Checkout,
    pub(super) suite: &'a str,
    /// The deadline.
    pub(super) until: Option<SystemTime>,
}

impl Verification<'_> {
    /// Verifies these variants.
    pub(super) fn verify(&self, variants: &[&Variant]) -> Result<BTreeMap<Id, Verdict>> {
        let names: Vec<String> = variants.iter().map(|variant| variant.id().to_string()).collect();
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let began = Instant::now();
        let took = build(self.checkout, &names, self.until)?;
        say(&format!("built in {:.0} s", began.elapsed().as_secs_f64()));
        let runs = if self.is_over() {
            Vec::new()
        } else {
            self.side_by_side(variants)?
        };
        let mut verdicts = BTreeMap::new();
        for variant in variants {
            let id = variant.id();
            let built = took.get(&id.to_string()).copied();
            let verdict = match runs.iter().find(|(dealt, _)| dealt.contains(&id)) {
                Some((_, ran)) => judge(variant, ran, built),
                None => Verdict::NotTried,
            };
            verdicts.insert(id, verdict);
        }
        // A broken run shows nothing about its services: repeating each of them alone would take hours.
        let whole = runs.iter().all(|(_, ran)| ran.judged || ran.cut);
        for variant in variants {
            if let Some(Verdict::Failed(first)) = verdicts.get(&variant.id())
                && whole
                && !self.is_over()
            {
                let again = self.again(variant, first)?;
                verdicts.insert(variant.id(), again);
            }
        }
        Ok(verdicts)
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= SystemTime::now())
    }

    /// Concurrent runs, each with some of the variants.
    fn side_by_side(&self, variants: &[&Variant]) -> Result<Vec<(Vec<Id>, RunOutput)>> {
        let lanes = halves(&cpus());
        let hands = dealt(variants, lanes.len());
        // Backing services create their data once for each seed.
        let seed = SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap_or_default()
            .as_secs()
            .to_string();
        let jobs = lanes
            .iter()
            .zip(&hands)
            .zip(1..)
            .filter(|((_, hand), _)| !hand.is_empty());
        let jobs: Vec<(Vec<Id>, Job)> = jobs
            .map(|((cpus, hand), number)| {
                let place = self.checkout.path(&format!(".prony/test/{number}"));
                let path = |name: &str| place.join(name).display().to_string();
                let more = [
                    "--seed",
                    &seed,
                    "--store",
                    &path("store.db"),
                    "--out",
                    &path("report"),
                ];
                let job = Job {
                    suite: self.suite.to_owned(),
                    services: hand.iter().map(ToString::to_string).collect(),
                    cpus: if lanes.len() > 1 { cpus.clone() } else { Vec::new() },
                    more: more.map(str::to_owned).to_vec(),
                    mark: format!("{number} | "),
                    until: self.until,
                    ..Job::default()
                };
                (hand.clone(), job)
            })
            .collect();
        let _ = std::fs::remove_dir_all(self.checkout.path(".prony/test"));
        for number in 1..=lanes.len() {
            std::fs::create_dir_all(self.checkout.path(&format!(".prony/test/{number}")))?;
        }
        thread::scope(|scope| {
            let started: Vec<_> = jobs
                .into_iter()
                .map(|(hand, job)| scope.spawn(move || job.run(self.checkout).map(|ran| (hand, ran))))
                .collect();
            started
                .into_iter()
                .map(|run| {
                    run.join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        })
    }

    /// A hiccup of the machine does not repeat, but a fault of the service does.
    fn again(&self, variant: &Variant, first: &str) -> Result<Verdict> {
        say(&format!("again: {}", variant.id()));
        let job = Job {
            suite: self.suite.to_owned(),
            services: vec![variant.id().to_string()],
            until: self.until,
            ..Job::default()
        };
        let ran = job.run(self.checkout)?;
        Ok(match judge(variant, &ran, None) {
            Verdict::Passed { .. } | Verdict::Flaky(_) => Verdict::Flaky(first.to_owned()),
            Verdict::NotTried => Verdict::Failed(first.to_owned()),
            other => other,
        })
    }
}

/// The verdict on a variant. `built`: seconds of its build, 0 if it existed already.
fn judge(variant: &Variant, ran: &RunOutput, built: Option<f64>) -> Verdict {
    let nothing = ServiceOutput::default();
    let told = ran.told.get(&variant.id().to_string()).unwrap_or(&nothing);
    if let Some(reason) = &told.unavailable {
        return match variant.unavailable_hint {
            Some(_) => Verdict::Unavailable(reason.clone()),
            None => Verdict::Failed(reason.clone()),
        };
    }
    if let Some(first) = told.faults.first() {
        let more = told.faults.len() - 1;
        let more = if more > 0 {
            format!(" (and {more} more)")
        } else {
            String::new()
        };
        return Verdict::Failed(format!("{first}{more}"));
    }
    // The failed attempts are among the trials.
    if ran.judged && told.trials >= variant.trials + told.flaky.len() && variant.trials > 0 {
        if let Some(first) = told.flaky.first() {
            return Verdict::Flaky(first.clone());
        }
        return Verdict::Passed {
            seconds: told.seconds + built.unwrap_or(0.0),
            cached: built.is_none_or(|seconds| seconds == 0.0),
        };
    }
    if ran.cut {
        return Verdict::NotTried;
    }
    Verdict::Failed(if variant.trials == 0 {
        "no group of the suite loads it: add one, or remove the variant".to_owned()
    } else if ran.judged {
        format!("{} of its {} loads were run", told.trials, variant.trials)
    } else {
        "its run ended without a verdict: see its last lines above".to_owned()
    })
}

/// The number of concurrent runs.
pub(super) fn lanes() -> usize {
    halves(&cpus()).len()
}

/// The CPUs that this process may use.
pub(crate) fn cpus() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(|list| listed(list.trim())).unwrap_or_default()
}

/// `0-3,8`
fn listed(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        Some(low.trim().parse().ok()?..=high.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// Two halves; a single set if there is only one CPU.
pub(crate) fn halves(cpus: &[usize]) -> Vec<Vec<usize>> {
    let (first, second) = cpus.split_at(cpus.len().div_ceil(2));
    let halves = [first, second].into_iter().filter(|half| !half.is_empty());
    let halves: Vec<Vec<usize>> = halves.map(<[usize]>::to_vec).collect();
    if halves.is_empty() {
        vec![Vec::new()]
    } else {
        halves
    }
}

/// Distributes variants over a number of runs: each gets about the same number of loads and, since variants of one language are
/// adjacent by name, about the same share of each language.
fn dealt(variants: &[&Variant], hands: usize) -> Vec<Vec<Id>> {
    let mut sorted = variants.to_vec();
    sorted.sort_by_key(|variant| variant.id());
    let mut dealt = vec![(0, Vec::new()); hands];
    for variant in sorted {
        if let Some((loads, hand)) = dealt.iter_mut().min_by_key(|(loads, _)| *loads) {
            *loads += variant.trials.max(1);
            hand.push(variant.id());
        }
    }
    dealt.into_iter().map(|(_, hand)| hand).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(service: &str, trials: usize, hint: bool) -> Variant {
        serde_json::from_value(serde_json::json!({
            "service": service, "variant": "current", "trials": trials, "fingerprint": {},
            "unavailable_hint": hint.then_some("it needs a tool"),
        }))
        .expect("a variant")
    }

    fn ran(told: ServiceOutput, judged: bool, cut: bool) -> RunOutput {
        RunOutput {
            told: BTreeMap::from([("a/current".to_owned(), told)]),
            judged,
            cut,
        }
    }

    #[test]
    fn only_what_was_tried_wholly_and_has_no_fault_passed() {
        let a = variant("a", 2, false);
        let told = |trials| ServiceOutput {
            trials,
            seconds: 3.0,
            ..ServiceOutput::default()
        };
        let passed = Verdict::Passed {
            seconds: 7.0,
            cached: false,
        };
        assert_eq!(judge(&a, &ran(told(2), true, false), Some(4.0)), passed);
        assert!(matches!(
            judge(&a, &ran(told(1), true, false), None),
            Verdict::Failed(_)
        ));
        assert_eq!(judge(&a, &ran(told(1), true, true), None), Verdict::NotTried);
        // A variant without a final verdict is unknown.
        assert_eq!(judge(&a, &ran(told(2), false, true), None), Verdict::NotTried);
        assert!(matches!(
            judge(&a, &ran(told(2), false, false), None),
            Verdict::Failed(_)
        ));
        let nothing = variant("a", 0, false);
        assert!(matches!(
            judge(&nothing, &ran(told(0), true, false), None),
            Verdict::Failed(_)
        ));
    }

    #[test]
    fn what_cannot_be_built_fails_unless_it_says_so_itself() {
        let told = ServiceOutput {
            unavailable: Some("no tool".to_owned()),
            ..ServiceOutput::default()
        };
        let of = |hint| judge(&variant("a", 1, hint), &ran(told.clone(), true, false), None);
        assert_eq!(of(true), Verdict::Unavailable("no tool".to_owned()));
        assert_eq!(of(false), Verdict::Failed("no tool".to_owned()));
        let faults = ServiceOutput {
            faults: vec!["hello: 500".to_owned(), "sequence: 500".to_owned()],
            ..ServiceOutput::default()
        };
        let verdict = judge(&variant("a", 2, true), &ran(faults, true, false), None);
        assert_eq!(verdict, Verdict::Failed("hello: 500 (and 1 more)".to_owned()));
        let second = ServiceOutput {
            trials: 2,
            flaky: vec!["hello: 500".to_owned()],
            ..ServiceOutput::default()
        };
        let verdict = judge(&variant("a", 1, false), &ran(second, true, false), None);
        assert_eq!(verdict, Verdict::Flaky("hello: 500".to_owned()));
    }

    #[test]
    fn each_hand_gets_about_as_many_loads() {
        let variants = [
            variant("go-a", 3, false),
            variant("go-b", 1, false),
            variant("java-a", 1, false),
            variant("java-b", 3, false),
        ];
        let hands = dealt(&variants.iter().collect::<Vec<_>>(), 2);
        let names: Vec<Vec<&str>> = hands
            .iter()
            .map(|hand| hand.iter().map(|id| id.service.as_str()).collect())
            .collect();
        assert_eq!(names, [vec!["go-a"], vec!["go-b", "java-a", "java-b"]]);
    }

    #[test]
    fn cpus_are_halved() {
        assert_eq!(listed("0-2,7"), [0, 1, 2, 7]);
        assert_eq!(halves(&[0, 1, 2]), [vec![0, 1], vec![2]]);
        assert_eq!(halves(&[5]), [vec![5]]);
        assert_eq!(halves(&[]), [Vec::<usize>::new()]);
    }
}
