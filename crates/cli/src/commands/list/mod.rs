//! `prony list`: lists services, contracts, suites and runs.

mod replies;

use crate::checkout::{Checkout, StoreArgs};
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::text;
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
    /// Build and start the services, and show their replies to `hello` side by side; fails if a service logs each request, runs in
    /// a debug mode, or has fewer workers than it was configured with
    #[arg(long)]
    replies: bool,
    /// Print JSON
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
    /// Only services of this class: platform, micro, full, stripped or reference
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
    if (args.replies || args.narrowed.is_asked()) && !matches!(args.what, Some(ListCommand::Services)) {
        return Err(bad_input(anyhow!(
            "`--language`, `--class`, `--contract` and `--replies` apply to services only: use `prony list services`"
        )));
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
        let objects: Vec<Value> = rows.iter().map(|row| object(&headings, row)).collect();
        print(&json!({ "schema": prony_records::SCHEMA, what.word(): objects }).to_string())?;
    } else {
        let texts = rows.iter().map(|row| row.iter().map(text).collect());
        print(&text::table(&headings, texts))?;
    }
    Ok(Exit::Fine)
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
        let parts = counts.map(|(what, number)| {
            let words = what.word();
            let word = if number == 1 {
                words.trim_end_matches('s')
            } else {
                words
            };
            format!("{number} {word}")
        });
        print(&format!(
            "{}\n→ prony list suites, contracts, services or runs",
            parts.join(", ")
        ))?;
    }
    Ok(Exit::Fine)
}

type Table = (Vec<&'static str>, Vec<Vec<Value>>);

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
    let headings = vec![
        "service",
        "variant",
        "language",
        "framework",
        "version",
        "class",
        "contracts",
        "note",
    ];
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
    (headings, rows.collect())
}

fn contracts(catalogue: &Catalogue) -> Table {
    let headings = vec!["contract", "title", "operations", "workloads", "services"];
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
    (headings, rows.collect())
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
    Ok((vec!["suite", "title", "contracts", "profiles", "rounds"], rows))
}

fn runs(store: &StoreArgs) -> anyhow::Result<Table> {
    let headings = vec![
        "run",
        "suite",
        "started_at",
        "ended_at",
        "trials",
        "planned",
        "excluded",
        "label",
        "imported",
    ];
    let path = store.path()?;
    if !path.is_file() {
        return Ok((headings, Vec::new()));
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
    Ok((headings, rows.collect()))
}

fn object(headings: &[&str], row: &[Value]) -> Value {
    headings
        .iter()
        .zip(row)
        .map(|(heading, value)| ((*heading).to_owned(), value.clone()))
        .collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
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
