//! The report format of GitLab's code quality, which merge requests show: an issue for each regression, inconclusive change and failure.

use super::outcome::CompareOutcome;
use prony_config::project::service_file;
use prony_runner::Checkout;
use serde_json::{Value, json};

pub(super) fn code_quality(outcome: &CompareOutcome) -> Value {
    let gated = outcome.metrics().filter(|one| one.change.gated);
    let mut issues: Vec<Value> = gated
        .filter_map(|one| {
            let severity = match (one.change.regressed, one.change.inconclusive) {
                (true, _) => "major",
                (false, true) => "info",
                (false, false) => return None,
            };
            let identity = format!("{} {}", one.title(), one.change.metric.key());
            let text = format!("{}: {}", one.title(), one.sentence());
            Some(issue(one.service, severity, &identity, &text))
        })
        .collect();
    let failed = outcome
        .revisions()
        .into_iter()
        .flat_map(|revisions| &revisions.failed);
    issues.extend(failed.map(|failed| {
        let text = format!("{}: not compared: {}", failed.service, failed.reason);
        issue(
            &failed.service,
            "critical",
            &format!("{} failed", failed.service),
            &text,
        )
    }));
    Value::Array(issues)
}

fn issue(service: &str, severity: &str, identity: &str, text: &str) -> Value {
    json!({
        "check_name": "prony",
        "description": text,
        // Merge requests compare the issues of their base and head by it.
        "fingerprint": format!("prony {identity}"),
        "severity": severity,
        "location": { "path": path(service), "lines": { "begin": 1 } },
    })
}

/// The file of the service, relative to the project.
fn path(service: &str) -> String {
    let name = service.split('/').next().unwrap_or_default();
    let checkout = Checkout::find().ok();
    let file = checkout.and_then(|checkout| {
        let file = service_file(&checkout.root, name)?;
        Some(file.strip_prefix(&checkout.root).ok()?.display().to_string())
    });
    file.unwrap_or_else(|| "service.toml".to_owned())
}
