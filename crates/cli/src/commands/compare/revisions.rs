//! The services that differ between two git revisions, each loaded at the same time as its base.

use super::headline::{self, HeadlineVerdict};
use super::measure::PairMeasurement;
use super::{Args, Comparison, FailOn};
use crate::exit::{Exit, bad_input};
use anyhow::anyhow;
use prony_records::plural;
use prony_runner::{Checkout, CommandError, ResumeFrom, RevisionPairs, ServiceLeftOut, ServiceSelector};
use prony_statistics::ChangeOptions;
use prony_store::StoreError;
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

/// What `compare` prints in JSON for two git revisions.
#[derive(Debug, Serialize)]
pub(super) struct RevisionComparison {
    schema: u32,
    /// `regression`, `failed`, `inconclusive`, `no_regression`, or `no_change` if no service differs.
    pub(super) verdict: &'static str,
    pub(super) headline: String,
    exit: u8,
    base: Revision,
    head: Revision,
    /// Whether the base is the last common commit of both: the history of a shallow clone does not reach back to it.
    is_merge_base: bool,
    /// The machine that measured, in words.
    machine: String,
    pub(super) comparisons: Vec<Comparison>,
    /// Services whose comparison failed, for example because one side cannot be built.
    pub(super) failed: Vec<ServiceLeftOut>,
    pub(super) left_out: Vec<ServiceLeftOut>,
}

/// A side of the comparison.
#[derive(Debug, Serialize)]
struct Revision {
    /// As the user wrote it; `None`: the files as they are now.
    revision: Option<String>,
    /// `None` if changes are not committed.
    commit: Option<String>,
}

impl Revision {
    fn shown(&self, quotes: &str) -> String {
        match &self.commit {
            Some(commit) => format!("{quotes}{}{quotes}", short(commit)),
            None => "the files as they are now".to_owned(),
        }
    }
}

/// The first digits of a commit; any other name as it is.
fn short(name: &str) -> &str {
    if name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return &name[..12];
    }
    name
}

/// Whether the sides are git revisions of the project: neither is a stored run or a file.
pub(super) fn are_named(args: &Args) -> bool {
    let Ok(checkout) = Checkout::find() else {
        return false;
    };
    let mut sides = std::iter::once(&args.base).chain(&args.new);
    sides.all(|name| !is_stored(name, args) && checkout.has_revision(name))
}

fn is_stored(name: &str, args: &Args) -> bool {
    if Path::new(name).is_file() {
        return true;
    }
    let Ok(store) = args.store.open_existing() else {
        return false;
    };
    !matches!(store.find_run(name), Err(StoreError::NoSuchRun { .. }))
}

/// Compares each service that differs. A service that cannot be compared does not end the others.
pub(super) fn compared(args: &Args, options: &ChangeOptions) -> anyhow::Result<RevisionComparison> {
    let began = Instant::now();
    let resume = match args.measuring.pair.resume.as_deref() {
        None => None,
        Some("latest") => Some(ResumeFrom::Equal),
        Some(run) => {
            let text = format!(
                "--resume {run}: each service has a run of its own → Give --resume without a run to continue all of them."
            );
            return Err(bad_input(anyhow!(text)));
        }
    };
    let measurement = PairMeasurement::new(args, options, true)?;
    let found = RevisionPairs::find(
        &measurement.checkout,
        (&args.base, args.new.as_deref()),
        &args.measuring.services,
    )?;
    let tell = |text: &str| eprintln!("{text}");
    found.build(&measurement.checkout, &measurement.workbench, &tell)?;
    let mut comparisons = Vec::new();
    let mut failed = Vec::new();
    for (done, [base, new]) in found.pairs.iter().enumerate() {
        let budget = args.measuring.budget.map(|whole| {
            let left = whole.0.saturating_sub(began.elapsed());
            left / (found.pairs.len() - done) as u32
        });
        eprintln!("[{}/{}] {new} against {base}", done + 1, found.pairs.len());
        match compared_pair(&measurement, [base, new], budget, resume)? {
            Ok(comparison) => comparisons.push(comparison.with_verdict(args.fail_on)),
            Err(reason) => failed.push(ServiceLeftOut {
                service: service_of(new),
                reason,
            }),
        }
    }
    let cpu = measurement.workbench.environment().cpu;
    let comparison = RevisionComparison {
        schema: 1,
        verdict: "",
        headline: String::new(),
        exit: 0,
        base: Revision {
            revision: Some(args.base.clone()),
            commit: Some(found.base),
        },
        head: Revision {
            revision: args.new.clone(),
            commit: found.head,
        },
        is_merge_base: found.is_merge_base,
        machine: format!(
            "{}, {}",
            plural(u64::from(cpu.online), "CPU"),
            cpu.model.as_deref().unwrap_or("unknown model")
        ),
        comparisons,
        failed,
        left_out: found.left_out,
    };
    Ok(comparison.with_verdict(args.fail_on))
}

/// The comparison of a service, or why there is none. The error ends the whole command.
fn compared_pair(
    measurement: &PairMeasurement<'_>,
    sides: [&ServiceSelector; 2],
    budget: Option<Duration>,
    resume: Option<ResumeFrom<'_>>,
) -> anyhow::Result<Result<Comparison, String>> {
    match measurement.at_once(sides, budget, resume) {
        Ok(comparison) => Ok(Ok(comparison)),
        Err(error) => match error.downcast_ref::<CommandError>() {
            Some(CommandError::Input(_) | CommandError::Files(_) | CommandError::Failed(_)) => {
                Ok(Err(error.to_string()))
            }
            _ => Err(error),
        },
    }
}

/// The name of a service without its revision.
fn service_of(selector: &ServiceSelector) -> String {
    let name = selector.to_string();
    name.split('@').next().unwrap_or_default().to_owned()
}

impl RevisionComparison {
    fn count(&self, verdict: HeadlineVerdict) -> usize {
        let verdicts = self.comparisons.iter().map(headline::word);
        verdicts.filter(|&found| found == verdict).count()
    }

    /// How the command ends: a regression outweighs a failure, which says nothing about the others.
    pub(super) fn outcome(&self, fail_on: FailOn) -> Exit {
        let fails = |comparison: &Comparison| comparison.outcome(fail_on) == Exit::ObjectiveFailed;
        if self.comparisons.iter().any(fails) {
            Exit::ObjectiveFailed
        } else if self.failed.is_empty() {
            Exit::Fine
        } else {
            Exit::Failed
        }
    }

    /// Fills in the verdict, the headline and the exit code.
    pub(super) fn with_verdict(self, fail_on: FailOn) -> Self {
        let all = self.comparisons.len() + self.failed.len();
        let of_all = |count: usize| match all {
            1 => "the service".to_owned(),
            _ => format!("{count} of {all} services"),
        };
        let (slower, open) = (
            self.count(HeadlineVerdict::Regression),
            all - self.failed.len()
                - self.count(HeadlineVerdict::Regression)
                - self.count(HeadlineVerdict::NoRegression),
        );
        let (verdict, headline) = if slower > 0 {
            (
                "regression",
                format!("REGRESSION: {} became slower", of_all(slower)),
            )
        } else if !self.failed.is_empty() {
            let failed = of_all(self.failed.len());
            ("failed", format!("FAILED: {failed} could not be compared"))
        } else if open > 0 {
            ("inconclusive", format!("INCONCLUSIVE for {}", of_all(open)))
        } else if all > 0 {
            let none = if all == 1 {
                "the service did not become"
            } else {
                "no service became"
            };
            ("no_regression", format!("NO REGRESSION: {none} slower"))
        } else if self.left_out.is_empty() {
            (
                "no_change",
                "NO CHANGE: no service differs between the revisions".to_owned(),
            )
        } else {
            ("no_change", "NOTHING TO COMPARE".to_owned())
        };
        Self {
            verdict,
            headline,
            exit: self.outcome(fail_on).code(),
            ..self
        }
    }

    /// The revisions and the machine, as a sentence.
    pub(super) fn circumstances(&self, quotes: &str) -> String {
        let named = |side: &Revision| match &side.revision {
            Some(name) => format!("{quotes}{}{quotes}", short(name)),
            None => "HEAD".to_owned(),
        };
        let base = if self.is_merge_base {
            format!(
                "the last common commit of {} and {}",
                named(&self.base),
                named(&self.head)
            )
        } else {
            format!(
                "{}, because this clone does not have the last common commit",
                named(&self.base)
            )
        };
        format!(
            "Base: {} ({base}). Head: {}. Machine: {}.",
            self.base.shown(quotes),
            self.head.shown(quotes),
            self.machine
        )
    }

    /// A sentence for each service that was not compared.
    pub(super) fn remarks(&self, quotes: &str) -> Vec<String> {
        let left = self.left_out.iter();
        left.map(|left| format!("{quotes}{}{quotes} {}", left.service, left.reason))
            .collect()
    }
}
