//! `prony list`: what there is to run, and what was run.

use crate::checkout::{Checkout, StoreArgs};
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::table;
use prony_plan::{Catalogue, Suite};
use prony_store::Store;
use serde_json::{Value, json};

/// List services, contracts, suites or runs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to list
    #[arg(value_enum)]
    what: What,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum What {
    /// Every service in every variant
    Services,
    /// What services can be asked to do
    Contracts,
    /// What a run can compare
    Suites,
    /// What was run
    Runs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let (headings, rows) = match args.what {
        What::Services => services(&catalogue()?),
        What::Contracts => contracts(&catalogue()?),
        What::Suites => suites(&catalogue()?)?,
        What::Runs => runs(&args.store)?,
    };
    if args.json {
        let objects: Vec<Value> = rows.iter().map(|row| object(&headings, row)).collect();
        print(&json!({ "schema": 1, args.what.word(): objects }).to_string())?;
    } else {
        let texts = rows.iter().map(|row| row.iter().map(text).collect());
        print(&table::plain(&headings, texts))?;
    }
    Ok(Exit::Fine)
}

type Table = (Vec<&'static str>, Vec<Vec<Value>>);

impl What {
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
    Catalogue::read(&Checkout::find()?.root).map_err(bad_input)
}

fn services(catalogue: &Catalogue) -> Table {
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
    let rows = catalogue.services.iter().map(|service| {
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
    ];
    let path = store.path()?;
    if !path.is_file() {
        return Ok((headings, Vec::new()));
    }
    let rows = Store::open_existing(&path)?.runs()?.into_iter().map(|run| {
        vec![
            json!(run.id),
            json!(run.suite),
            json!(run.started_at),
            json!(run.ended_at),
            json!(run.trials),
            json!(run.planned_trials),
            json!(run.excluded_trials),
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
