//! `prony doctor`: what this machine lacks, what costs accuracy here, and how to mend both.

mod install;

use crate::checkout::Checkout;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::table;
use prony_host::{Host as _, Local};
use prony_measurement::Finding;
use prony_plan::{Catalogue, Plan, Service, Suite, Toolchain, Wishes};
use prony_trial::{Found, probe};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Say what this machine lacks for the services, and what costs accuracy here
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only what this suite needs
    suite: Option<String>,
    /// Install what is missing: apt as root or through sudo, everything else by package name
    #[arg(long)]
    install: bool,
    /// Install without asking
    #[arg(long, short, requires = "install")]
    yes: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "install")]
    json: bool,
}

/// What the machine has of each toolchain: the version, or what is missing.
type State = BTreeMap<String, Result<Found, String>>;

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let catalogue = Catalogue::read(&Checkout::find()?.root).map_err(bad_input)?;
    let services = concerned(&catalogue, args.suite.as_deref())?;
    let state = look(&catalogue, &services);
    if args.install {
        return install::run(&missing(&catalogue, &services, &state), args.yes);
    }
    let findings = Local::new(Vec::new()).environment().findings;
    if args.json {
        print(&as_json(&services, &state, &findings).to_string())?;
    } else {
        print(&as_text(&catalogue, &services, &state, &findings))?;
    }
    Ok(Exit::Fine)
}

/// The services that a suite compares; all without one.
fn concerned<'a>(catalogue: &'a Catalogue, suite: Option<&str>) -> anyhow::Result<Vec<&'a Service>> {
    let Some(suite) = suite else {
        return Ok(catalogue.services.iter().collect());
    };
    let file = catalogue.suite_file(suite).map_err(bad_input)?;
    let suite = Suite::read(&file, None).map_err(bad_input)?;
    let plan = Plan::of(catalogue, &suite, &Wishes::default()).map_err(bad_input)?;
    let wanted: BTreeSet<String> = plan
        .entries
        .iter()
        .map(|entry| format!("{}/{}", entry.service, entry.variant))
        .collect();
    Ok(catalogue
        .services
        .iter()
        .filter(|service| wanted.contains(&service.label()))
        .collect())
}

fn look(catalogue: &Catalogue, services: &[&Service]) -> State {
    let names: BTreeSet<&String> = services
        .iter()
        .flat_map(|service| &service.toolchains)
        .map(|requirement| &requirement.toolchain)
        .collect();
    let known = names
        .into_iter()
        .filter_map(|name| Some((name, catalogue.toolchains.get(name)?)));
    known
        .map(|(name, toolchain)| (name.clone(), probe(toolchain)))
        .collect()
}

/// What a service lacks, in words; empty: nothing.
fn lacks(service: &Service, state: &State) -> Vec<String> {
    service
        .toolchains
        .iter()
        .filter_map(
            |requirement| match (state.get(&requirement.toolchain)?, &requirement.minimum) {
                (Err(reason), _) => Some(reason.clone()),
                (Ok(found), Some(minimum)) if found.version < *minimum => Some(format!(
                    "{} is {}, it needs {minimum}",
                    requirement.toolchain, found.version
                )),
                _ => None,
            },
        )
        .collect()
}

/// The toolchains that some service lacks.
fn missing<'a>(catalogue: &'a Catalogue, services: &[&Service], state: &State) -> Vec<&'a Toolchain> {
    let needed = services.iter().flat_map(|service| &service.toolchains);
    let lacking =
        needed.filter(
            |requirement| match (state.get(&requirement.toolchain), &requirement.minimum) {
                (Some(Ok(found)), Some(minimum)) => found.version < *minimum,
                (Some(Ok(_)), None) | (None, _) => false,
                (Some(Err(_)), _) => true,
            },
        );
    let names: BTreeSet<&str> = lacking
        .map(|requirement| requirement.toolchain.as_str())
        .collect();
    names
        .into_iter()
        .filter_map(|name| catalogue.toolchains.get(name))
        .collect()
}

/// `ready`, `missing` with what, or that its build may not reach what it needs.
fn verdict(service: &Service, state: &State) -> String {
    let lacking = lacks(service, state);
    match (lacking.is_empty(), &service.unavailable_hint) {
        (false, _) => format!("missing: {}", lacking.join("; ")),
        (true, Some(hint)) => format!("may be out of reach: {hint}"),
        (true, None) => "ready".to_owned(),
    }
}

fn as_json(services: &[&Service], state: &State, findings: &[Finding]) -> Value {
    let toolchains: Vec<Value> = state
        .iter()
        .map(|(name, found)| match found {
            Ok(found) => json!({ "toolchain": name, "version": found.version.to_string(), "missing": null }),
            Err(reason) => json!({ "toolchain": name, "version": null, "missing": reason }),
        })
        .collect();
    let rows: Vec<Value> = services
        .iter()
        .map(|service| {
            let (lacking, hint) = (lacks(service, state), &service.unavailable_hint);
            json!({ "service": service.name, "variant": service.variant, "ready": lacking.is_empty(),
                    "missing": lacking, "unavailable_hint": hint })
        })
        .collect();
    json!({ "schema": 1, "toolchains": toolchains, "services": rows, "findings": findings })
}

fn as_text(catalogue: &Catalogue, services: &[&Service], state: &State, findings: &[Finding]) -> String {
    let tools = state.iter().map(|(name, found)| {
        let toolchain = &catalogue.toolchains[name];
        match found {
            Ok(found) => vec![toolchain.title.clone(), found.version.to_string()],
            Err(_) => vec![
                toolchain.title.clone(),
                format!("missing: {}", toolchain.how_to_install()),
            ],
        }
    });
    let rows = services
        .iter()
        .map(|service| vec![service.label(), verdict(service, state)]);
    let mut parts = vec![
        table::plain(&["toolchain", "here"], tools),
        table::plain(&["service", "state"], rows),
    ];
    let lacking = missing(catalogue, services, state);
    if !lacking.is_empty() {
        parts.push(format!(
            "`prony doctor --install` brings the {} missing toolchain(s)",
            lacking.len()
        ));
    }
    parts.push(if findings.is_empty() {
        "This machine has nothing that costs accuracy.".to_owned()
    } else {
        let lines = findings
            .iter()
            .map(|finding| format!("- {}\n  → {}", finding.text, finding.remedy));
        format!(
            "What costs accuracy on this machine:\n{}",
            lines.collect::<Vec<_>>().join("\n")
        )
    });
    parts.join("\n\n")
}
