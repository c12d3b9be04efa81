//! `prony lab rbac`: the rights that a lab in a cluster needs.

use crate::checkout::LabArgs;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use anyhow::anyhow;
use prony_kubernetes::{Subject, is_label};

/// Print the role that a lab of pods needs in its namespace, and its binding: `prony lab rbac | kubectl apply -f -`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    lab: LabArgs,
    /// The namespace [default: that of the lab file]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// For this user, as the cluster knows them
    #[arg(long, value_name = "NAME", conflicts_with_all = ["group", "service_account"])]
    user: Option<String>,
    /// For this group of users
    #[arg(long, value_name = "NAME", conflicts_with = "service_account")]
    group: Option<String>,
    /// For this service account of the namespace
    #[arg(long, value_name = "NAME", default_value = "prony")]
    service_account: String,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let namespace = match &args.namespace {
        Some(namespace) => namespace.clone(),
        None => super::cluster(&super::needed(&args.lab)?)?.namespace.clone(),
    };
    if !is_label(&namespace, 63) {
        let text = "is no name of a namespace: lower-case letters, digits and dashes";
        return Err(bad_input(anyhow!("--namespace: `{namespace}` {text}")));
    }
    let subject = match (&args.user, &args.group) {
        (Some(user), _) => Subject::User(user.clone()),
        (None, Some(group)) => Subject::Group(group.clone()),
        (None, None) => Subject::ServiceAccount(args.service_account.clone()),
    };
    print(prony_kubernetes::role(&namespace, &subject).trim_end())?;
    Ok(Exit::Fine)
}
