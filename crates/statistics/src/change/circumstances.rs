//! Whether two runs can be compared at all.

use prony_measurement::{Environment, TrialRecord};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Under what a run happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Circumstances<'a> {
    /// The suite.
    pub suite: &'a str,
    /// The machine and the version of prony.
    pub environment: &'a Environment,
    /// The generators of its trials, `None` where they are not known. See [`generators`].
    pub generators: Option<BTreeSet<String>>,
}

/// Something in which two runs differ, so that a difference of their numbers need not be one of the services.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// What differs.
    pub what: String,
    /// What it was in the base.
    pub base: String,
    /// What it is now.
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

/// Every generator that the trials used: transport and threads.
pub fn generators(trials: &[TrialRecord]) -> BTreeSet<String> {
    let measured = trials.iter().filter_map(|trial| trial.result.as_ref().ok());
    let name =
        |generator: &prony_measurement::Generator| format!("{} × {}", generator.transport, generator.threads);
    measured
        .map(|measured| name(&measured.recording.generator))
        .collect()
}

/// In what two runs differ that keeps them from being compared: machine, system, suite, version, generator. What one of
/// the two does not know is no difference.
pub fn mismatches(base: &Circumstances<'_>, new: &Circumstances<'_>) -> Vec<Mismatch> {
    let (old, now) = (base.environment, new.environment);
    let text = |value: Option<&String>| value.cloned();
    let number = |value: u32| (value > 0).then(|| value.to_string());
    let memory = |environment: &Environment| environment.memory_bytes.map(gibibytes);
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
    let differs = pairs.into_iter().filter_map(|(what, base, new)| {
        let (base, new) = (base?, new?);
        (base != new).then(|| Mismatch {
            what: what.to_owned(),
            base,
            new,
        })
    });
    differs.collect()
}

/// Rounded, since the kernel keeps a little for itself and not always as much.
fn gibibytes(bytes: u64) -> String {
    format!("{:.0} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let of = |environment| Circumstances {
            suite: "quick",
            environment,
            generators: None,
        };
        let found = mismatches(&of(&one), &of(&other));
        assert_eq!(found.len(), 1, "an unknown kernel is no difference: {found:?}");
        assert_eq!(
            found[0].to_string(),
            "version of prony: 0.1.0 in the base, 0.2.0 now"
        );
        assert!(mismatches(&of(&one), &of(&one)).is_empty());
    }
}
