//! `prony list services --json --fingerprints SUITE`: prints digests of what decides whether each service passes a suite.

use crate::exit::{Exit, bad_input};
use crate::output::print;
use prony_config::{Catalogue, Plan, PlanOverrides, Service, Suite};
use prony_runner::{Fingerprints, IgnoredFiles};
use serde_json::{Value, json};

pub(super) fn run(services: &[&Service], catalogue: &Catalogue, suite: &str) -> anyhow::Result<Exit> {
    let file = catalogue.suite_file(suite).map_err(bad_input)?;
    let suite = Suite::read(&file, None).map_err(bad_input)?;
    let plan = Plan::of(catalogue, &suite, &PlanOverrides::default()).map_err(bad_input)?;
    let ignored = IgnoredFiles::of(&catalogue.root);
    let fingerprints = Fingerprints::new(catalogue, &plan, &ignored);
    let row = |service: &&Service| {
        let own = |service_of: &str, variant: &str| service_of == service.name && variant == service.variant;
        let entries = plan.entries.iter();
        json!({
            "service": service.name,
            "variant": service.variant,
            "unavailable_hint": service.unavailable_hint,
            "trials": entries.filter(|entry| own(&entry.service, &entry.variant)).count(),
            "fingerprint": fingerprints.of(service),
        })
    };
    let rows: Vec<Value> = services.iter().map(row).collect();
    print(&json!({ "schema": prony_records::SCHEMA, "services": rows }).to_string())?;
    Ok(Exit::Fine)
}
