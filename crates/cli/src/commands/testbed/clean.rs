//! `prony testbed clean`: lists and removes what runs left behind in the namespace of a testbed.

use crate::checkout::TestbedArgs;
use crate::exit::Exit;
use crate::output::print;
use crate::table;
use prony_kubernetes::{LeftoverObject, left, remove};
use serde_json::json;

/// List what prony has in the namespace of a testbed, found by its label, and remove it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    testbed: TestbedArgs,
    /// Remove it; without this option it is only listed, because it may belong to a run in progress
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let file = super::needed(&args.testbed)?;
    let cluster = super::cluster(&file)?;
    let found = left(cluster)?;
    if args.json {
        let told = json!({ "schema": prony_records::SCHEMA, "namespace": cluster.namespace, "removed": args.yes, "found": found });
        print(&told.to_string())?;
    } else {
        print(&text(&found, &cluster.namespace, args.yes))?;
    }
    if args.yes {
        remove(cluster, &found)?;
    }
    Ok(Exit::Fine)
}

fn text(found: &[LeftoverObject], namespace: &str, goes: bool) -> String {
    if found.is_empty() {
        return format!("prony has nothing in the namespace {namespace}");
    }
    let or_dash = |text: &Option<String>| {
        text.clone()
            .filter(|text| !text.is_empty())
            .unwrap_or("—".to_owned())
    };
    let rows = found.iter().map(|one| {
        vec![
            one.kind.to_owned(),
            one.name.clone(),
            or_dash(&one.since),
            or_dash(&one.what),
        ]
    });
    let last = if goes {
        "removing it"
    } else {
        "`prony testbed clean --yes` removes it, even if it belongs to a run in progress"
    };
    format!(
        "{}\n{last}",
        table::plain(&["kind", "name", "since", "what"], rows)
    )
}
