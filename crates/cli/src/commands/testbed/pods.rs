//! `prony testbed clean`: lists and removes what runs left behind in the namespace of a testbed.

use crate::checkout::TestbedArgs;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::text::{self, Column};
use anyhow::anyhow;
use prony_kubernetes::{LeftoverObject, RoleSubject, is_label, left, remove};
use serde_json::json;

/// List or remove prony's objects in the namespace of a testbed
#[derive(Debug, clap::Args)]
pub(crate) struct CleanArgs {
    #[command(flatten)]
    testbed: TestbedArgs,
    /// Remove it; without this option it is only listed, because it may belong to a run in progress
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn clean(args: &CleanArgs) -> anyhow::Result<Exit> {
    let file = super::required_testbed(&args.testbed)?;
    let cluster = super::cluster(&file)?;
    let found = left(cluster)?;
    if args.json {
        let output = json!({ "schema": prony_records::SCHEMA, "namespace": cluster.namespace, "removed": args.yes, "found": found });
        print(&output.to_string())?;
    } else {
        print(&text(&found, &cluster.namespace, args.yes))?;
    }
    if args.yes {
        remove(cluster, &found)?;
    }
    Ok(Exit::Fine)
}

const HEADINGS: [Column<'static>; 4] = [
    Column::text("kind", 0),
    Column::text("name", 0),
    Column::text("since", 1),
    Column::text("what", 0),
];

fn text(found: &[LeftoverObject], namespace: &str, is_removed: bool) -> String {
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
    let last = if is_removed {
        "removing it"
    } else {
        "`prony testbed clean --yes` removes it, even if it belongs to a run in progress"
    };
    format!(
        "{}\n{last}",
        text::table(&HEADINGS, &rows.collect::<Vec<_>>(), 0, text::columns())
    )
}

/// Print the role that a testbed of pods needs, for kubectl
#[derive(Debug, clap::Args)]
pub(crate) struct RbacArgs {
    #[command(flatten)]
    testbed: TestbedArgs,
    /// The namespace [default: that of the testbed file]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Bind the role to this user, as the cluster names them
    #[arg(long, value_name = "NAME", conflicts_with_all = ["group", "service_account"])]
    user: Option<String>,
    /// Bind the role to this group of users
    #[arg(long, value_name = "NAME", conflicts_with = "service_account")]
    group: Option<String>,
    /// Bind the role to this service account of the namespace
    #[arg(long, value_name = "NAME", default_value = "prony")]
    service_account: String,
}

pub(crate) fn print_role(args: &RbacArgs) -> anyhow::Result<Exit> {
    let namespace = match &args.namespace {
        Some(namespace) => namespace.clone(),
        None => super::cluster(&super::required_testbed(&args.testbed)?)?
            .namespace
            .clone(),
    };
    if !is_label(&namespace, 63) {
        let text = "is not a name of a namespace → Use lower-case letters, digits and dashes.";
        return Err(bad_input(anyhow!("--namespace: `{namespace}` {text}")));
    }
    let subject = match (&args.user, &args.group) {
        (Some(user), _) => RoleSubject::User(user.clone()),
        (None, Some(group)) => RoleSubject::Group(group.clone()),
        (None, None) => RoleSubject::ServiceAccount(args.service_account.clone()),
    };
    print(prony_kubernetes::role(&namespace, &subject).trim_end())?;
    Ok(Exit::Fine)
}
