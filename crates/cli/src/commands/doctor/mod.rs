//! `prony doctor`: reports what this machine lacks, what reduces accuracy here, and how to fix both.

mod install;
mod view;

use crate::checkout::Checkout;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::text;
use prony_config::{Catalogue, Plan, PlanOverrides, Requirement, Service, Suite, Toolchain};
use prony_host::{Host as _, Local};
use prony_records::Finding;
use prony_runner::testbed::{Member, Testbed};
use prony_runner::{Builder, Cancel, Folders, InstalledToolchain, lacks_image, probe, system};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use view::DoctorView;

/// Check this machine for missing tools and noise
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only what this suite needs
    suite: Option<String>,
    /// Only what these services need, e.g. 'java-*'; repeatable
    #[arg(long, value_name = "GLOB", conflicts_with = "suite")]
    service: Vec<String>,
    /// Run the project's own commands that look for toolchains
    #[arg(long)]
    run_probes: bool,
    /// List all toolchains and services, not only what is missing
    #[arg(long, conflicts_with = "install")]
    all: bool,
    /// Install what is missing, with apt or into .prony/cache
    #[arg(long)]
    install: bool,
    /// Install without asking; implies --run-probes
    #[arg(long, short, requires = "install")]
    yes: bool,
    /// Print one JSON object
    #[arg(long, conflicts_with = "install")]
    json: bool,
}

/// For each toolchain its version, or why it is missing.
type State = BTreeMap<String, Result<InstalledToolchain, String>>;

/// Services to check, and the state of their toolchains.
struct Diagnosis<'a> {
    catalogue: &'a Catalogue,
    services: Vec<&'a Service>,
    state: State,
    /// Whether commands of the project may run. A project that is only looked at runs nothing.
    runs_probes: bool,
    /// Folder into which prony installs toolchains.
    cache: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let checkout = Checkout::find()?;
    let catalogue = checkout.catalogue()?;
    let cache = std::path::absolute(checkout.state().join("cache"))?;
    let services = selected_services(&catalogue, args)?;
    let runs_probes = args.run_probes || args.yes;
    let state = look(&catalogue, &services, (&cache, runs_probes));
    let patient = Diagnosis {
        catalogue: &catalogue,
        services,
        state,
        runs_probes,
        cache,
    };
    if args.install {
        return install::run(&patient, args.yes);
    }
    let host = Arc::new(Local::new(Vec::new()));
    let findings = host.environment().findings;
    if args.json {
        let folders = Folders::of(&checkout.root, &checkout.state());
        let cancel = Cancel::new();
        let testbed = Testbed::here(Member::new("", host, Vec::new(), folders.logs.clone()));
        let builder = Builder::new(&testbed, &catalogue.toolchains, folders, &cancel);
        print(&as_json(&patient, &builder, &findings).to_string())?;
    } else {
        let view = patient.view(findings, args.all);
        text::show(&view.text(text::columns()))?;
    }
    Ok(Exit::Fine)
}

/// The named services, or those that the suite compares, or all.
fn selected_services<'a>(catalogue: &'a Catalogue, args: &Args) -> anyhow::Result<Vec<&'a Service>> {
    if !args.service.is_empty() {
        let selected: Result<Vec<_>, _> = args
            .service
            .iter()
            .map(|pattern| catalogue.select(pattern))
            .collect();
        return Ok(selected.map_err(bad_input)?.into_iter().flatten().collect());
    }
    let Some(suite) = args.suite.as_deref() else {
        return Ok(catalogue.services.iter().collect());
    };
    let file = catalogue.suite_file(suite).map_err(bad_input)?;
    let suite = Suite::read(&file, None).map_err(bad_input)?;
    let plan = Plan::of(catalogue, &suite, &PlanOverrides::default()).map_err(bad_input)?;
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

fn look(catalogue: &Catalogue, services: &[&Service], (cache, runs_probes): (&Path, bool)) -> State {
    let names: BTreeSet<&str> = services
        .iter()
        .flat_map(|service| needs(catalogue, service))
        .map(|requirement| requirement.toolchain.as_str())
        .collect();
    let known = names
        .into_iter()
        .filter_map(|name| Some((name, catalogue.toolchains.get(name)?)));
    known
        .map(|(name, toolchain)| {
            let found = if toolchain.is_own && !runs_probes {
                Err(format!("{} was not looked for", toolchain.title))
            } else {
                probe(toolchain, cache)
            };
            (name.to_owned(), found)
        })
        .collect()
}

/// Toolchains of a service and of the backing services of its contracts.
fn needs<'a>(catalogue: &'a Catalogue, service: &'a Service) -> impl Iterator<Item = &'a Requirement> {
    let contracts = service.contracts.iter();
    let contracts = contracts.filter_map(|name| catalogue.contracts.get(name));
    let of_backing_services =
        contracts.flat_map(|contract| catalogue.toolchains_of_backing_services(contract));
    service.toolchains.iter().chain(of_backing_services)
}

/// What a service lacks; empty if it lacks nothing.
fn lacks(service: &Service, state: &State) -> Vec<String> {
    service
        .toolchains
        .iter()
        .filter_map(
            |requirement| match (state.get(&requirement.toolchain)?, &requirement.minimum) {
                (Err(reason), _) => Some(reason.clone()),
                (Ok(found), Some(minimum)) if found.version < *minimum => Some(format!(
                    "{} is {}, but {minimum} is needed",
                    requirement.toolchain, found.version
                )),
                _ => None,
            },
        )
        .chain(lacks_image(service))
        .collect()
}

/// A toolchain that some service lacks, and how to install it.
struct MissingToolchain<'a> {
    toolchain: &'a Toolchain,
    remedy: String,
}

impl<'a> Diagnosis<'a> {
    /// The toolchains that were not looked for, because the project brings the commands for that.
    fn not_probed(&self) -> Vec<&'a Toolchain> {
        let known = self
            .state
            .keys()
            .filter_map(|name| self.catalogue.toolchains.get(name));
        known
            .filter(|toolchain| toolchain.is_own && !self.runs_probes)
            .collect()
    }

    /// The toolchains that some service lacks, sorted by name.
    fn lacking(&self) -> Vec<MissingToolchain<'a>> {
        let mut lacking: BTreeMap<&str, MissingToolchain<'a>> = BTreeMap::new();
        let services = self.services.iter();
        for requirement in services.flat_map(|service| needs(self.catalogue, service)) {
            let name = requirement.toolchain.as_str();
            let Some(toolchain) = self.catalogue.toolchains.get(name) else {
                continue;
            };
            if toolchain.is_own && !self.runs_probes {
                continue;
            }
            let remedy = match (self.state.get(name), &requirement.minimum) {
                (Some(Ok(found)), Some(minimum)) if found.version < *minimum => {
                    toolchain.how_to_renew(minimum)
                }
                (Some(Err(_)), _) => toolchain.how_to_install(system()),
                _ => continue,
            };
            lacking.insert(name, MissingToolchain { toolchain, remedy });
        }
        lacking.into_values().collect()
    }

    /// The number of services that can run here in at least one variant: `62 of 99 services can run here; 14 toolchains are missing`.
    fn headline(&self) -> String {
        let names = |services: &mut dyn Iterator<Item = &&Service>| {
            let names: BTreeSet<String> = services.map(|service| service.name.clone()).collect();
            names.len()
        };
        let all = names(&mut self.services.iter());
        let mut ready = self
            .services
            .iter()
            .filter(|service| lacks(service, &self.state).is_empty());
        let ready = names(&mut ready);
        let services = if all == 1 { "service" } else { "services" };
        let missing = match self.lacking().len() {
            0 => String::new(),
            1 => "; 1 toolchain is missing".to_owned(),
            many => format!("; {many} toolchains are missing"),
        };
        format!("{ready} of {all} {services} can run here{missing}")
    }

    /// What a person sees; with `all` also what is not missing.
    fn view(&self, findings: Vec<Finding>, all: bool) -> DoctorView {
        let lacking = self.lacking();
        let missing = lacking.iter().map(|lacking| {
            let name = &lacking.toolchain.name;
            let needs_it = |service: &&&Service| {
                let mut needed = needs(self.catalogue, service);
                needed.any(|requirement| requirement.toolchain == *name)
            };
            let services = self.services.iter().filter(needs_it);
            let services: BTreeSet<&str> = services.map(|service| service.name.as_str()).collect();
            vec![
                lacking.toolchain.title.clone(),
                services.len().to_string(),
                lacking.remedy.clone(),
            ]
        });
        let not_probed = self.not_probed();
        DoctorView {
            headline: self.headline(),
            findings,
            missing: missing.collect(),
            toolchains: if all { self.toolchains() } else { Vec::new() },
            services: if all { self.states() } else { self.without_image() },
            own_commands: (!not_probed.is_empty()).then(|| own_commands(&not_probed)),
        }
    }

    /// The toolchains with their versions, or why they are missing.
    fn toolchains(&self) -> Vec<Vec<String>> {
        let rows = self.state.iter().map(|(name, found)| {
            let toolchain = &self.catalogue.toolchains[name];
            let here = match found {
                Ok(found) => found.version.to_string(),
                Err(reason) => without_title(reason, toolchain),
            };
            vec![toolchain.title.clone(), here]
        });
        rows.collect()
    }

    /// The services whose image is missing, with the command that gets it: `--install` installs toolchains only.
    fn without_image(&self) -> Vec<Vec<String>> {
        let services = self.services.iter();
        services
            .filter_map(|service| {
                Some(vec![
                    service.label(),
                    format!("missing: {}", lacks_image(service)?),
                ])
            })
            .collect()
    }

    /// Each service, and whether it can run here.
    fn states(&self) -> Vec<Vec<String>> {
        let services = self.services.iter();
        services
            .map(|service| vec![service.label(), verdict(service, &self.state)])
            .collect()
    }
}

/// Names the commands of a project, which a reader has to judge before they run.
fn own_commands(toolchains: &[&Toolchain]) -> String {
    let commands = toolchains.iter().flat_map(|toolchain| toolchain.commands());
    // A command must not hide itself from the terminal.
    let lines = commands.map(|command| format!("\n  {}", command.trim().escape_debug()));
    format!(
        "services/toolchains.toml of this project brings its own commands, which were not run:{}",
        lines.collect::<String>()
    )
}

/// Removes the title of the toolchain, which is in the column before.
fn without_title(reason: &str, toolchain: &Toolchain) -> String {
    match reason.strip_prefix(&toolchain.title).map(str::trim) {
        Some("is not installed on this machine") => "missing".to_owned(),
        Some(rest) => rest.to_owned(),
        None => reason.to_owned(),
    }
}

/// `ready`, `missing` with the reasons, or a hint that the build may not reach what it downloads.
fn verdict(service: &Service, state: &State) -> String {
    let lacking = lacks(service, state);
    match (lacking.is_empty(), &service.unavailable_hint) {
        (false, _) => format!("missing: {}", lacking.join("; ")),
        (true, Some(hint)) => format!("may be unavailable: {hint}"),
        (true, None) => "ready".to_owned(),
    }
}

fn as_json(patient: &Diagnosis<'_>, builder: &Builder<'_>, findings: &[Finding]) -> Value {
    let toolchains: Vec<Value> = patient
        .state
        .iter()
        .map(|(name, found)| match found {
            Ok(found) => json!({ "toolchain": name, "version": found.version.to_string(), "missing": null }),
            Err(reason) => json!({ "toolchain": name, "version": null, "missing": reason }),
        })
        .collect();
    let rows: Vec<Value> = patient
        .services
        .iter()
        .map(|service| {
            let (lacking, hint) = (lacks(service, &patient.state), &service.unavailable_hint);
            // A digest that differs between builds; scripts read it.
            let is_probed = |requirement: &Requirement| {
                let toolchain = patient.catalogue.toolchains.get(&requirement.toolchain);
                patient.runs_probes || toolchain.is_none_or(|toolchain| !toolchain.is_own)
            };
            let build = service
                .toolchains
                .iter()
                .all(is_probed)
                .then(|| builder.digest(service))
                .flatten();
            json!({ "service": service.name, "variant": service.variant, "ready": lacking.is_empty(),
                    "missing": lacking, "unavailable_hint": hint, "build": build })
        })
        .collect();
    json!({ "schema": prony_records::SCHEMA, "toolchains": toolchains, "services": rows, "findings": findings })
}
