//! Verifies variants: builds all, then checks and loads them in two concurrent runs, each on half of the CPUs. Failures are repeated
//! alone.

use super::select::{Id, Variant};
use crate::checkout::Checkout;
use crate::run::{Job, RunOutput, ServiceOutput, build, print_line};
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
    pub(super) deadline: Option<SystemTime>,
}

impl Verification<'_> {
    /// Verifies these variants.
    pub(super) fn verify(&self, variants: &[&Variant]) -> Result<BTreeMap<Id, Verdict>> {
        let names: Vec<String> = variants.iter().map(|variant| variant.id().to_string()).collect();
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let began = Instant::now();
        let took = build(self.checkout, &names, self.deadline)?;
        print_line(&format!("built in {:.0} s", began.elapsed().as_secs_f64()));
        let runs = if self.is_past_deadline() {
            Vec::new()
        } else {
            self.run_concurrently(variants)?
        };
        let mut verdicts = BTreeMap::new();
        for variant in variants {
            let id = variant.id();
            let built = took.get(&id.to_string()).copied();
            let verdict = match runs.iter().find(|(assigned, _)| assigned.contains(&id)) {
                Some((_, output)) => judge(variant, output, built),
                None => Verdict::NotTried,
            };
            verdicts.insert(id, verdict);
        }
        // A broken run shows nothing about its services: repeating each of them alone would take hours.
        let all_are_complete = runs
            .iter()
            .all(|(_, output)| output.has_verdict || output.stopped_at_deadline);
        for variant in variants {
            if let Some(Verdict::Failed(first)) = verdicts.get(&variant.id())
                && all_are_complete
                && !self.is_past_deadline()
            {
                let verdict = self.retry_alone(variant, first)?;
                verdicts.insert(variant.id(), verdict);
            }
        }
        Ok(verdicts)
    }

    fn is_past_deadline(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| deadline <= SystemTime::now())
    }

    /// Concurrent runs, each with some of the variants.
    fn run_concurrently(&self, variants: &[&Variant]) -> Result<Vec<(Vec<Id>, RunOutput)>> {
        let cpu_sets = halves(&cpus());
        let shares = distribute(variants, cpu_sets.len());
        // Backing services create their data once for each seed.
        let seed = SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap_or_default()
            .as_secs()
            .to_string();
        let jobs = cpu_sets
            .iter()
            .zip(&shares)
            .zip(1..)
            .filter(|((_, share), _)| !share.is_empty());
        let jobs: Vec<(Vec<Id>, Job)> = jobs
            .map(|((cpus, share), number)| {
                let place = self.checkout.path(&format!(".prony/test/{number}"));
                let path = |name: &str| place.join(name).display().to_string();
                let arguments = [
                    "--seed",
                    &seed,
                    "--store",
                    &path("store.db"),
                    "--out",
                    &path("report"),
                ];
                let job = Job {
                    suite: self.suite.to_owned(),
                    services: share.iter().map(ToString::to_string).collect(),
                    cpus: if cpu_sets.len() > 1 {
                        cpus.clone()
                    } else {
                        Vec::new()
                    },
                    arguments: arguments.map(str::to_owned).to_vec(),
                    prefix: format!("{number} | "),
                    deadline: self.deadline,
                    ..Job::default()
                };
                (share.clone(), job)
            })
            .collect();
        let _ = std::fs::remove_dir_all(self.checkout.path(".prony/test"));
        for number in 1..=cpu_sets.len() {
            std::fs::create_dir_all(self.checkout.path(&format!(".prony/test/{number}")))?;
        }
        thread::scope(|scope| {
            let started: Vec<_> = jobs
                .into_iter()
                .map(|(share, job)| scope.spawn(move || job.run(self.checkout).map(|output| (share, output))))
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
    fn retry_alone(&self, variant: &Variant, first: &str) -> Result<Verdict> {
        print_line(&format!("again: {}", variant.id()));
        let job = Job {
            suite: self.suite.to_owned(),
            services: vec![variant.id().to_string()],
            deadline: self.deadline,
            ..Job::default()
        };
        let output = job.run(self.checkout)?;
        Ok(match judge(variant, &output, None) {
            Verdict::Passed { .. } | Verdict::Flaky(_) => Verdict::Flaky(first.to_owned()),
            Verdict::NotTried => Verdict::Failed(first.to_owned()),
            other => other,
        })
    }
}

/// The verdict on a variant. `built`: seconds of its build, 0 if it existed already.
fn judge(variant: &Variant, output: &RunOutput, built: Option<f64>) -> Verdict {
    let nothing = ServiceOutput::default();
    let service = output.services.get(&variant.id().to_string()).unwrap_or(&nothing);
    if let Some(reason) = &service.unavailable {
        return match variant.unavailable_hint {
            Some(_) => Verdict::Unavailable(reason.clone()),
            None => Verdict::Failed(reason.clone()),
        };
    }
    if let Some(first) = service.faults.first() {
        let more = service.faults.len() - 1;
        let more = if more > 0 {
            format!(" (and {more} more)")
        } else {
            String::new()
        };
        return Verdict::Failed(format!("{first}{more}"));
    }
    // The failed attempts are among the trials.
    if output.has_verdict && service.trials >= variant.trials + service.flaky.len() && variant.trials > 0 {
        if let Some(first) = service.flaky.first() {
            return Verdict::Flaky(first.clone());
        }
        return Verdict::Passed {
            seconds: service.seconds + built.unwrap_or(0.0),
            cached: built.is_none_or(|seconds| seconds == 0.0),
        };
    }
    if output.stopped_at_deadline {
        return Verdict::NotTried;
    }
    Verdict::Failed(if variant.trials == 0 {
        "no group of the suite loads it: add one, or remove the variant".to_owned()
    } else if output.has_verdict {
        format!("{} of its {} loads were run", service.trials, variant.trials)
    } else {
        "its run ended without a verdict: see its last lines above".to_owned()
    })
}

/// The number of concurrent runs.
pub(super) fn concurrent_runs() -> usize {
    halves(&cpus()).len()
}

/// The CPUs that this process may use.
pub(crate) fn cpus() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(|list| parse_cpu_list(list.trim())).unwrap_or_default()
}

/// `0-3,8`
fn parse_cpu_list(list: &str) -> Vec<usize> {
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
fn distribute(variants: &[&Variant], shares: usize) -> Vec<Vec<Id>> {
    let mut sorted = variants.to_vec();
    sorted.sort_by_key(|variant| variant.id());
    let mut assigned = vec![(0, Vec::new()); shares];
    for variant in sorted {
        if let Some((loads, share)) = assigned.iter_mut().min_by_key(|(loads, _)| *loads) {
            *loads += variant.trials.max(1);
            share.push(variant.id());
        }
    }
    assigned.into_iter().map(|(_, share)| share).collect()
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

    fn run_output(service: ServiceOutput, has_verdict: bool, stopped_at_deadline: bool) -> RunOutput {
        RunOutput {
            services: BTreeMap::from([("a/current".to_owned(), service)]),
            has_verdict,
            stopped_at_deadline,
        }
    }

    #[test]
    fn a_variant_passes_only_if_all_loads_were_run_without_a_fault() {
        let a = variant("a", 2, false);
        let service = |trials| ServiceOutput {
            trials,
            seconds: 3.0,
            ..ServiceOutput::default()
        };
        let passed = Verdict::Passed {
            seconds: 7.0,
            cached: false,
        };
        assert_eq!(judge(&a, &run_output(service(2), true, false), Some(4.0)), passed);
        assert!(matches!(
            judge(&a, &run_output(service(1), true, false), None),
            Verdict::Failed(_)
        ));
        assert_eq!(
            judge(&a, &run_output(service(1), true, true), None),
            Verdict::NotTried
        );
        // A variant without a final verdict is unknown.
        assert_eq!(
            judge(&a, &run_output(service(2), false, true), None),
            Verdict::NotTried
        );
        assert!(matches!(
            judge(&a, &run_output(service(2), false, false), None),
            Verdict::Failed(_)
        ));
        let without_loads = variant("a", 0, false);
        assert!(matches!(
            judge(&without_loads, &run_output(service(0), true, false), None),
            Verdict::Failed(_)
        ));
    }

    #[test]
    fn an_unavailable_build_fails_unless_the_service_file_allows_it() {
        let service = ServiceOutput {
            unavailable: Some("no tool".to_owned()),
            ..ServiceOutput::default()
        };
        let of = |hint| {
            judge(
                &variant("a", 1, hint),
                &run_output(service.clone(), true, false),
                None,
            )
        };
        assert_eq!(of(true), Verdict::Unavailable("no tool".to_owned()));
        assert_eq!(of(false), Verdict::Failed("no tool".to_owned()));
        let faults = ServiceOutput {
            faults: vec!["hello: 500".to_owned(), "sequence: 500".to_owned()],
            ..ServiceOutput::default()
        };
        let verdict = judge(&variant("a", 2, true), &run_output(faults, true, false), None);
        assert_eq!(verdict, Verdict::Failed("hello: 500 (and 1 more)".to_owned()));
        let second = ServiceOutput {
            trials: 2,
            flaky: vec!["hello: 500".to_owned()],
            ..ServiceOutput::default()
        };
        let verdict = judge(&variant("a", 1, false), &run_output(second, true, false), None);
        assert_eq!(verdict, Verdict::Flaky("hello: 500".to_owned()));
    }

    #[test]
    fn each_run_gets_about_the_same_number_of_loads() {
        let variants = [
            variant("go-a", 3, false),
            variant("go-b", 1, false),
            variant("java-a", 1, false),
            variant("java-b", 3, false),
        ];
        let shares = distribute(&variants.iter().collect::<Vec<_>>(), 2);
        let names: Vec<Vec<&str>> = shares
            .iter()
            .map(|share| share.iter().map(|id| id.service.as_str()).collect())
            .collect();
        assert_eq!(names, [vec!["go-a"], vec!["go-b", "java-a", "java-b"]]);
    }

    #[test]
    fn cpus_are_halved() {
        assert_eq!(parse_cpu_list("0-2,7"), [0, 1, 2, 7]);
        assert_eq!(halves(&[0, 1, 2]), [vec![0, 1], vec![2]]);
        assert_eq!(halves(&[5]), [vec![5]]);
        assert_eq!(halves(&[]), [Vec::<usize>::new()]);
    }
}
