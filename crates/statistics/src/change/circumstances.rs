//! Checks whether two runs can be compared at all.

use crate::interval::median;
use prony_records::{Environment, Fingerprint, Part, TestbedHost, TrialRecord};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The conditions of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunConditions<'a> {
    /// Name of the suite.
    pub suite: &'a str,
    /// The machine and the version of prony.
    pub environment: &'a Environment,
    /// The generators of its trials; `None` if unknown. See [`generators`].
    pub generators: Option<BTreeSet<String>>,
    /// Settings of saved loads, by name; empty if unknown.
    pub settings: BTreeMap<String, String>,
    /// Share of the machine's CPU time that other programs used during saved loads. See [`share_of_others`].
    pub others: Option<f64>,
    /// What the results of each service depend on, by its label; empty if unknown.
    pub fingerprints: BTreeMap<String, Fingerprint>,
}

/// A difference in the CPU share of other programs that changes a result by more than a few per cent.
const OTHERS: f64 = 0.05;

/// The share of the CPU time of a machine with `cpus` CPUs that other programs and the hypervisor used in the median trial;
/// `None` if no trial recorded it.
pub fn share_of_others(trials: &[TrialRecord], cpus: u32) -> Option<f64> {
    let share = |trial: &TrialRecord| {
        let measured = trial.result.as_ref().ok()?;
        let capacity = measured.service.window_ns as f64 * f64::from(cpus);
        let taken = measured.other_cpu_ns? + measured.steal_ns.unwrap_or(0);
        (capacity > 0.0).then(|| taken as f64 / capacity)
    };
    let shares: Vec<f64> = trials.iter().filter_map(share).collect();
    (!shares.is_empty()).then(|| median(&shares))
}

/// A condition in which two runs differ, so that a difference in their numbers may not come from the services.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// Name of the condition, such as `kernel`.
    pub what: String,
    /// Its value in the base run.
    pub base: String,
    /// Its value in the new run.
    pub new: String,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}: {} in the base, {} now",
            self.what, self.base, self.new
        )
    }
}

/// Every generator that the trials used, as transport and threads.
pub fn generators(trials: &[TrialRecord]) -> BTreeSet<String> {
    let measured = trials.iter().filter_map(|trial| trial.result.as_ref().ok());
    let name =
        |generator: &prony_records::Generator| format!("{} × {}", generator.transport, generator.threads);
    measured
        .map(|measured| name(&measured.recording.generator))
        .collect()
}

/// The differences that keep two runs from being compared: machine, system, suite, version, generator. A condition that one of
/// the runs did not record is not a difference.
pub fn mismatches(base: &RunConditions<'_>, new: &RunConditions<'_>) -> Vec<Mismatch> {
    let (old, now) = (base.environment, new.environment);
    let mut differs = hosts(old, now);
    let text = |value: Option<&String>| value.cloned();
    let number = |value: u32| (value > 0).then(|| value.to_string());
    let memory = |environment: &Environment| environment.memory_bytes.map(gibibytes);
    let limit = |environment: &Environment| {
        let bytes = environment.memory_limit_bytes?;
        Some(format!("{} MiB", bytes >> 20))
    };
    let list = |generators: Option<&BTreeSet<String>>| {
        let names = generators?.iter().cloned().collect::<Vec<_>>();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let pairs = [
        ("suite", Some(base.suite.to_owned()), Some(new.suite.to_owned())),
        (
            "version of prony",
            Some(old.prony.clone()),
            Some(now.prony.clone()),
        ),
        ("CPU", text(old.cpu.model.as_ref()), text(now.cpu.model.as_ref())),
        ("CPUs", number(old.cpu.online), number(now.cpu.online)),
        ("memory", memory(old), memory(now)),
        ("memory limit", limit(old), limit(now)),
        ("system", text(old.os.as_ref()), text(now.os.as_ref())),
        ("kernel", text(old.kernel.as_ref()), text(now.kernel.as_ref())),
        (
            "virtualisation",
            text(old.virtualisation.as_ref()),
            text(now.virtualisation.as_ref()),
        ),
        (
            "generator",
            list(base.generators.as_ref()),
            list(new.generators.as_ref()),
        ),
    ];
    differs.extend(
        pairs
            .into_iter()
            .filter_map(|(what, base, new)| mismatch(what, base, new)),
    );
    differs.extend(variables(old, now));
    differs.extend(settings(base, new));
    for (service, base) in &base.fingerprints {
        let new = new.fingerprints.get(service);
        differs.extend(
            new.into_iter()
                .flat_map(|new| part_mismatches(service, (base, new), Part::COMPARISON)),
        );
    }
    differs.extend(others(base, new));
    differs
}

/// The parts in which the fingerprints of a service differ.
pub fn part_mismatches(
    service: &str,
    (base, new): (&Fingerprint, &Fingerprint),
    parts: &[Part],
) -> Vec<Mismatch> {
    let digest = |of: &Fingerprint, part| of.part(part).unwrap_or("unknown").to_owned();
    let each = base.differences(new, parts).into_iter();
    each.map(|part| Mismatch {
        what: format!("{} of {service}", part.description()),
        base: digest(base, part),
        new: digest(new, part),
    })
    .collect()
}

/// Environment variables that services inherit. Runs of earlier versions have none.
fn variables(old: &Environment, now: &Environment) -> Vec<Mismatch> {
    let (old, now) = (&old.variables, &now.variables);
    if old.inherited.is_empty() || now.inherited.is_empty() {
        return Vec::new();
    }
    let names: BTreeSet<&String> = old.values.keys().chain(now.values.keys()).collect();
    let shown = |value: Option<&String>| Some(value.map_or_else(|| "not set".to_owned(), Clone::clone));
    names
        .into_iter()
        .filter_map(|name| {
            mismatch(
                &format!("variable {name}"),
                shown(old.values.get(name)),
                shown(now.values.get(name)),
            )
        })
        .collect()
}

fn settings(base: &RunConditions<'_>, new: &RunConditions<'_>) -> Vec<Mismatch> {
    let each = base.settings.iter();
    each.filter_map(|(name, value)| mismatch(name, Some(value.clone()), new.settings.get(name).cloned()))
        .collect()
}

fn others(base: &RunConditions<'_>, new: &RunConditions<'_>) -> Option<Mismatch> {
    let (then, now) = (base.others?, new.others?);
    let shown = |share: f64| Some(format!("{:.0} % of the machine", 100.0 * share));
    let differs = (then - now).abs() > OTHERS;
    differs.then(|| mismatch("CPU time of other programs", shown(then), shown(now)))?
}

fn mismatch(what: &str, base: Option<String>, new: Option<String>) -> Option<Mismatch> {
    let (base, new) = (base?, new?);
    (base != new).then(|| Mismatch {
        what: what.to_owned(),
        base,
        new,
    })
}

/// Differences between the hosts of two runs: which hosts exist and their roles; and the environment of each host that both have.
/// The service's host is left out, since the run's own environment describes it.
fn hosts(old: &Environment, now: &Environment) -> Vec<Mismatch> {
    let described = |hosts: &BTreeMap<String, TestbedHost>| {
        let one = |(name, host): (&String, &TestbedHost)| {
            if host.is_pod() {
                let (roles, cpus) = (host.roles.join(" and "), host.cpus.len());
                return format!("{name} ({roles}) in a pod on {cpus} CPUs");
            }
            let cpus: Vec<String> = host.cpus.iter().map(ToString::to_string).collect();
            let (roles, cpus) = (host.roles.join(" and "), cpus.join(","));
            format!("{name} ({roles}) at {} on CPUs {cpus}", host.address)
        };
        let each: Vec<String> = hosts.iter().map(one).collect();
        if each.is_empty() {
            "this machine alone".to_owned()
        } else {
            each.join(", ")
        }
    };
    let mut differs: Vec<Mismatch> =
        mismatch("hosts", Some(described(&old.hosts)), Some(described(&now.hosts)))
            .into_iter()
            .collect();
    let is_told = |host: &TestbedHost| host.roles.iter().any(|role| role == "service");
    for (name, old) in old.hosts.iter().filter(|(_, host)| !is_told(host)) {
        let Some(now) = now.hosts.get(name) else { continue };
        let (old, now) = (&old.environment, &now.environment);
        let pairs = [
            ("CPU", &old.cpu.model, &now.cpu.model),
            ("system", &old.os, &now.os),
            ("kernel", &old.kernel, &now.kernel),
            ("virtualisation", &old.virtualisation, &now.virtualisation),
        ];
        let found = pairs
            .into_iter()
            .filter_map(|(what, old, now)| mismatch(&format!("{what} of {name}"), old.clone(), now.clone()));
        differs.extend(found);
    }
    differs
}

/// Rounded, since the kernel reserves a little memory whose size varies.
fn gibibytes(bytes: u64) -> String {
    format!("{:.0} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(environment: &Environment) -> RunConditions<'_> {
        RunConditions {
            suite: "quick",
            environment,
            generators: None,
            settings: BTreeMap::new(),
            others: None,
            fingerprints: BTreeMap::new(),
        }
    }

    #[test]
    fn other_hosts_are_named() {
        let testbed = |kernel: &str, cpus: &[usize]| {
            let host = |role: &str, kernel: &str| TestbedHost {
                roles: vec![role.to_owned()],
                address: "10.0.0.1".to_owned(),
                cpus: cpus.to_vec(),
                environment: Environment {
                    kernel: Some(kernel.to_owned()),
                    ..Environment::default()
                },
            };
            let hosts = [("app", host("service", "6.1")), ("one", host("load", kernel))];
            Environment {
                hosts: hosts.map(|(name, host)| (name.to_owned(), host)).into(),
                ..Environment::default()
            }
        };
        let base = testbed("6.1", &[0, 1]);
        assert!(mismatches(&of(&base), &of(&base)).is_empty());
        let alone = Environment::default();
        let found = mismatches(&of(&base), &of(&alone));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].what, "hosts");
        assert_eq!(found[0].new, "this machine alone");
        assert!(
            found[0].base.contains("app (service) at 10.0.0.1 on CPUs 0,1"),
            "{found:?}"
        );
        let other = testbed("6.8", &[0, 1]);
        let found = mismatches(&of(&base), &of(&other));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].to_string(), "kernel of one: 6.1 in the base, 6.8 now");
        assert_eq!(
            mismatches(&of(&base), &of(&testbed("6.1", &[0])))[0].what,
            "hosts"
        );
    }

    #[test]
    fn new_pods_are_as_those_before_where_as_many_cpus_are() {
        let testbed = |address: &str, node: &str, cpus: &[usize]| {
            let runtimes = [(TestbedHost::NODE.to_owned(), node.to_owned())].into();
            let host = TestbedHost {
                roles: vec!["service".to_owned()],
                address: address.to_owned(),
                cpus: cpus.to_vec(),
                environment: Environment {
                    runtimes,
                    ..Environment::default()
                },
            };
            Environment {
                hosts: [("app".to_owned(), host)].into(),
                ..Environment::default()
            }
        };
        let differs = |base: &Environment, new: &Environment| mismatches(&of(base), &of(new));
        let base = testbed("10.0.0.1", "n1", &[2, 3]);
        assert!(differs(&base, &testbed("10.0.0.9", "n2", &[4, 5])).is_empty());
        let found = differs(&base, &testbed("10.0.0.9", "n2", &[4]));
        assert_eq!(
            found[0].to_string(),
            "hosts: app (service) in a pod on 2 CPUs in the base, app (service) in a pod on 1 CPUs now"
        );
    }

    #[test]
    fn differences_are_named() {
        let one = Environment {
            prony: "0.1.0".to_owned(),
            kernel: Some("6.1".to_owned()),
            ..Environment::default()
        };
        let other = Environment {
            prony: "0.2.0".to_owned(),
            kernel: None,
            ..one.clone()
        };
        let within = |bytes| Environment {
            memory_limit_bytes: bytes,
            ..one.clone()
        };
        let (less, more) = (within(Some(512 << 20)), within(Some(768 << 20)));
        let found = mismatches(&of(&less), &of(&more));
        assert_eq!(
            found[0].to_string(),
            "memory limit: 512 MiB in the base, 768 MiB now"
        );
        let found = mismatches(&of(&one), &of(&other));
        assert_eq!(found.len(), 1, "an unknown kernel is not a difference: {found:?}");
        assert_eq!(
            found[0].to_string(),
            "version of prony: 0.1.0 in the base, 0.2.0 now"
        );
        assert!(mismatches(&of(&one), &of(&one)).is_empty());
    }

    #[test]
    fn what_the_results_of_a_service_depend_on_is_named_except_for_its_source() {
        let print = |run: &str, source: &str| {
            let parts = [
                Part::Recipe,
                Part::Tools,
                Part::Environment,
                Part::Backing,
                Part::Contract,
            ];
            let same = parts
                .iter()
                .fold(Fingerprint::default(), |all, part| all.with(*part, "same"));
            same.with(Part::Run, run).with(Part::Source, source)
        };
        let (mut one, mut other) = (Environment::default(), Environment::default());
        one.variables.inherited = BTreeSet::from(["PATH".to_owned()]);
        one.variables.values = BTreeMap::from([("LANG".to_owned(), "C".to_owned())]);
        other.variables.inherited = BTreeSet::from(["PATH".to_owned()]);
        let named = |base: RunConditions<'_>, new: RunConditions<'_>| -> Vec<String> {
            let found = mismatches(&base, &new);
            found.iter().map(ToString::to_string).collect()
        };
        let with = |environment, services: &[(&str, Fingerprint)]| RunConditions {
            fingerprints: services
                .iter()
                .map(|(name, print)| ((*name).to_owned(), print.clone()))
                .collect(),
            ..of(environment)
        };
        let base = with(&one, &[("go/a", print("1", "x")), ("go/b", print("1", "x"))]);
        let new = with(&other, &[("go/a", print("2", "y")), ("go/c", print("1", "x"))]);
        assert_eq!(
            named(base, new),
            [
                "variable LANG: C in the base, not set now",
                "start command and its settings of go/a: 1 in the base, 2 now"
            ]
        );
        assert_eq!(
            named(of(&one), of(&Environment::default())),
            [] as [&str; 0],
            "unknown is no difference"
        );
    }

    #[test]
    fn other_settings_and_busy_neighbours_are_named() {
        let environment = Environment::default();
        let of = |duration: &str, others: Option<f64>| RunConditions {
            suite: "load",
            environment: &environment,
            generators: None,
            settings: [("duration".to_owned(), duration.to_owned())].into(),
            others,
            fingerprints: BTreeMap::new(),
        };
        let named = |base, new| -> Vec<String> {
            let found = mismatches(&base, &new);
            found.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            named(of("1 s", Some(0.02)), of("2 s", Some(0.43))),
            [
                "duration: 1 s in the base, 2 s now",
                "CPU time of other programs: 2 % of the machine in the base, 43 % of the machine now",
            ]
        );
        assert!(named(of("1 s", Some(0.40)), of("1 s", Some(0.43))).is_empty());
        assert!(
            named(of("1 s", None), of("1 s", Some(0.43))).is_empty(),
            "not known"
        );
    }
}
