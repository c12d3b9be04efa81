//! `prony list`: lists services, contracts, suites and runs.

mod changed;
mod replies;

use crate::checkout::{Checkout, StoreArgs};
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::text::{self, Column};
use anyhow::anyhow;
use prony_config::{Catalogue, Plan, PlanOverrides, Service, Suite};
use prony_runner::{Fingerprints, IgnoredFiles};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// List services, contracts, suites or runs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to list [default: the number of each]
    #[arg(value_enum)]
    what: Option<ListCommand>,
    #[command(flatten)]
    narrowed: ServiceFilter,
    /// Only services that differ from this revision, or between two: main..HEAD
    #[arg(long, value_name = "BASE[..HEAD]", conflicts_with_all = ["replies", "language", "class", "contract"])]
    changed: Option<String>,
    /// Start the services and compare their replies to `hello`
    #[arg(long)]
    replies: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Add digests of what decides whether each service passes this suite (for scripts)
    #[arg(
        long,
        hide = true,
        value_name = "SUITE",
        requires = "json",
        conflicts_with = "replies"
    )]
    fingerprints: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Filters for services.
#[derive(Debug, clap::Args)]
struct ServiceFilter {
    /// Only services in this language
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,
    /// Only this class: platform, micro, fullstack, stripped or reference
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    /// Only services that list this contract
    #[arg(long, value_name = "CONTRACT")]
    contract: Option<String>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ListCommand {
    /// Every service in every variant
    Services,
    /// Interfaces that services implement
    Contracts,
    /// Comparisons that a run can make
    Suites,
    /// Stored runs
    Runs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let is_of_services = args.replies || args.changed.is_some() || args.narrowed.is_asked();
    if is_of_services && !matches!(args.what, Some(ListCommand::Services)) {
        return Err(bad_input(anyhow!(
            "`--language`, `--class`, `--contract`, `--changed` and `--replies` apply to services only → Use `prony list services`"
        )));
    }
    if let Some(revisions) = &args.changed {
        return changed::run(revisions, args.json);
    }
    if args.replies {
        let catalogue = catalogue()?;
        return replies::run(&args.narrowed.services(&catalogue)?, &catalogue, args.json);
    }
    if let (Some(suite), Some(ListCommand::Services)) = (&args.fingerprints, args.what) {
        let catalogue = catalogue()?;
        return print_fingerprints(&args.narrowed.services(&catalogue)?, &catalogue, suite);
    }
    let Some(what) = args.what else {
        return overview(args);
    };
    let (headings, rows) = match what {
        ListCommand::Services => services(&args.narrowed.services(&catalogue()?)?),
        ListCommand::Contracts => contracts(&catalogue()?),
        ListCommand::Suites => suites(&catalogue()?)?,
        ListCommand::Runs => runs(&args.store)?,
    };
    if args.json {
        let objects: Vec<Value> = rows.iter().map(|row| object(headings, row)).collect();
        print(&json!({ "schema": prony_records::SCHEMA, what.word(): objects }).to_string())?;
    } else {
        print(&shown((headings, &rows), text::columns()))?;
    }
    Ok(Exit::Fine)
}

fn shown((headings, rows): (&[Heading], &[Vec<Value>]), columns: usize) -> String {
    let headings: Vec<Column<'_>> = headings.iter().map(|(_, column)| *column).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(text).collect()).collect();
    text::table(&headings, &rows, 0, columns)
}

/// Prints how many services, contracts, suites and runs there are, and how to list them.
fn overview(args: &Args) -> anyhow::Result<Exit> {
    let catalogue = catalogue()?;
    let (_, runs) = runs(&args.store)?;
    let names: BTreeSet<&str> = catalogue
        .services
        .iter()
        .map(|service| service.name.as_str())
        .collect();
    let counts = [
        (ListCommand::Suites, catalogue.suites().len()),
        (ListCommand::Contracts, catalogue.contracts.len()),
        (ListCommand::Services, names.len()),
        (ListCommand::Runs, runs.len()),
    ];
    if args.json {
        let numbers = counts.map(|(what, number)| (what.word().to_owned(), json!(number)));
        let mut object: serde_json::Map<String, Value> = numbers.into_iter().collect();
        object.insert("schema".to_owned(), json!(prony_records::SCHEMA));
        print(&Value::Object(object).to_string())?;
    } else {
        let parts =
            counts.map(|(what, number)| text::plural(number as u64, what.word().trim_end_matches('s')));
        print(&format!(
            "{}\n→ prony list suites, contracts, services or runs",
            parts.join(", ")
        ))?;
    }
    Ok(Exit::Fine)
}

/// The key of a value in JSON, and its column in text.
type Heading = (&'static str, Column<'static>);
type Table = (&'static [Heading], Vec<Vec<Value>>);

const SERVICES: [Heading; 8] = [
    ("service", Column::text("service", 0)),
    ("variant", Column::text("variant", 0)),
    ("language", Column::text("language", 4)),
    ("framework", Column::text("framework", 2)),
    ("version", Column::text("version", 3)),
    ("class", Column::text("class", 5)),
    ("contracts", Column::text("contracts", 1)),
    ("note", Column::text("note", 6)),
];
const CONTRACTS: [Heading; 5] = [
    ("contract", Column::text("contract", 0)),
    ("title", Column::text("title", 1)),
    ("operations", Column::text("operations", 3)),
    ("workloads", Column::text("workloads", 2)),
    ("services", Column::number("services", 0)),
];
const SUITES: [Heading; 5] = [
    ("suite", Column::text("suite", 0)),
    ("title", Column::text("title", 1)),
    ("contracts", Column::text("contracts", 2)),
    ("profiles", Column::text("profiles", 3)),
    ("rounds", Column::number("rounds", 0)),
];
/// A narrow terminal loses the times first.
const RUNS: [Heading; 9] = [
    ("run", Column::text("run", 0)),
    ("suite", Column::text("suite", 1)),
    ("started_at", Column::text("started", 7)),
    ("ended_at", Column::text("ended", 8)),
    ("trials", Column::number("trials", 0)),
    ("planned", Column::number("planned", 3)),
    ("excluded", Column::number("excluded", 4)),
    ("label", Column::text("label", 2)),
    ("imported", Column::text("imported", 5)),
];

impl ListCommand {
    const fn word(self) -> &'static str {
        match self {
            Self::Services => "services",
            Self::Contracts => "contracts",
            Self::Suites => "suites",
            Self::Runs => "runs",
        }
    }
}

fn catalogue() -> anyhow::Result<Catalogue> {
    Ok(Checkout::find()?.catalogue()?)
}

impl ServiceFilter {
    const fn is_asked(&self) -> bool {
        self.language.is_some() || self.class.is_some() || self.contract.is_some()
    }

    /// The services that match all filters. The error for a filter that matches no service lists the known values.
    fn services<'a>(&self, catalogue: &'a Catalogue) -> anyhow::Result<Vec<&'a Service>> {
        type WordsFn = fn(&Service) -> Vec<String>;
        let mut found: Vec<&Service> = catalogue.services.iter().collect();
        let filters: [(&str, Option<&String>, WordsFn); 3] = [
            ("language", self.language.as_ref(), |service| {
                vec![service.language.clone()]
            }),
            ("class", self.class.as_ref(), |service| {
                vec![service.class.word().to_owned()]
            }),
            ("contract", self.contract.as_ref(), |service| {
                service.contracts.clone()
            }),
        ];
        for (kind, requested, words) in filters {
            let Some(value) = requested else { continue };
            let fits =
                |service: &&Service| words(service).iter().any(|word| word.eq_ignore_ascii_case(value));
            if !catalogue.services.iter().any(|service| fits(&service)) {
                let known: BTreeSet<String> = catalogue.services.iter().flat_map(words).collect();
                let known: Vec<String> = known.into_iter().collect();
                return Err(bad_input(anyhow!(
                    "no service has {kind} `{value}`: known are {}",
                    known.join(", ")
                )));
            }
            found.retain(fits);
        }
        Ok(found)
    }
}

fn services(services: &[&Service]) -> Table {
    let rows = services.iter().map(|service| {
        vec![
            json!(service.name),
            json!(service.variant),
            json!(service.language),
            json!(service.framework),
            json!(service.version),
            json!(service.class.word()),
            json!(service.contracts),
            json!(service.note),
        ]
    });
    (&SERVICES, rows.collect())
}

fn contracts(catalogue: &Catalogue) -> Table {
    let rows = catalogue.contracts.values().map(|contract| {
        let operations: Vec<String> = contract
            .operations()
            .into_iter()
            .map(|operation| operation.name)
            .collect();
        let workloads: Vec<String> = contract.workloads().into_iter().map(|(name, _)| name).collect();
        let offered = catalogue
            .services
            .iter()
            .filter(|service| service.contracts.contains(&contract.name))
            .count();
        vec![
            json!(contract.name),
            json!(contract.title),
            json!(operations),
            json!(workloads),
            json!(offered),
        ]
    });
    (&CONTRACTS, rows.collect())
}

fn suites(catalogue: &Catalogue) -> anyhow::Result<Table> {
    let mut rows = Vec::new();
    for (name, path) in catalogue.suites() {
        let suite = Suite::read(&path, None).map_err(bad_input)?;
        let mut compared: Vec<&str> = suite.groups.iter().map(|group| group.contract.as_str()).collect();
        compared.dedup();
        rows.push(vec![
            json!(name),
            json!(suite.title),
            json!(compared),
            json!(suite.profiles),
            json!(suite.rounds),
        ]);
    }
    Ok((&SUITES, rows))
}

fn runs(store: &StoreArgs) -> anyhow::Result<Table> {
    let path = store.path()?;
    if !path.is_file() {
        return Ok((&RUNS, Vec::new()));
    }
    let rows = store.open_existing()?.runs()?.into_iter().map(|run| {
        vec![
            json!(run.id),
            json!(run.suite),
            json!(run.started_at),
            json!(run.ended_at),
            json!(run.trials),
            json!(run.planned_trials),
            json!(run.excluded_trials),
            json!(run.label),
            json!(run.imported),
        ]
    });
    Ok((&RUNS, rows.collect()))
}

fn object(headings: &[Heading], row: &[Value]) -> Value {
    headings
        .iter()
        .zip(row)
        .map(|((key, _), value)| ((*key).to_owned(), value.clone()))
        .collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// `--json --fingerprints SUITE`: prints digests of what decides whether each service passes a suite.
fn print_fingerprints(services: &[&Service], catalogue: &Catalogue, suite: &str) -> anyhow::Result<Exit> {
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
            "fingerprint": fingerprints.for_ledger(service),
        })
    };
    let rows: Vec<Value> = services.iter().map(row).collect();
    print(&json!({ "schema": prony_records::SCHEMA, "services": rows }).to_string())?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_list_of_runs_loses_the_times_first() {
        let run = |name: &str, label: Value| {
            vec![
                json!(name),
                json!("quick"),
                json!("2026-11-24T22:57:45Z"),
                json!("2026-11-24T23:02:15Z"),
                json!(50),
                json!(50),
                json!(1),
                label,
                json!(false),
            ]
        };
        let rows = [
            run(
                "2026-11-24T22-57-45-regression-of-node-mine",
                json!("before the change"),
            ),
            run("2026-11-25T08-30-00-quick", Value::Null),
        ];
        let at = |columns: usize| format!("{columns} columns:\n{}", shown((&RUNS, &rows), columns));
        insta::assert_snapshot!([60, 80, 120].map(at).join("\n\n"));
    }
}
