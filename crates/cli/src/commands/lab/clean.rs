//! `prony lab clean`: what runs left behind in the namespace of a lab.

use crate::checkout::LabArgs;
use crate::exit::Exit;
use crate::output::print;
use crate::table;
use prony_kubernetes::{Left, left, remove};
use serde_json::json;

/// Show what prony has in the namespace of a lab, by its label, and remove it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    lab: LabArgs,
    /// Remove it. Without this it is only shown: it may belong to a run that goes on
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let file = super::needed(&args.lab)?;
    let cluster = super::cluster(&file)?;
    let found = left(cluster)?;
    if args.json {
        let told =
            json!({ "schema": 1, "namespace": cluster.namespace, "removed": args.yes, "found": found });
        print(&told.to_string())?;
    } else {
        print(&text(&found, &cluster.namespace, args.yes))?;
    }
    if args.yes {
        remove(cluster, &found)?;
    }
    Ok(Exit::Fine)
}

fn text(found: &[Left], namespace: &str, goes: bool) -> String {
    if found.is_empty() {
        return format!("nothing of prony is in the namespace {namespace}");
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
        "`prony lab clean --yes` removes it, also where it belongs to a run that goes on"
    };
    format!(
        "{}\n{last}",
        table::plain(&["kind", "name", "since", "what"], rows)
    )
}
