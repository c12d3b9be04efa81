//! `prony testbed rbac`: prints the rights that a testbed in a cluster needs.

use crate::checkout::TestbedArgs;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use anyhow::anyhow;
use prony_kubernetes::{RoleSubject, is_label};

/// Print the role that a testbed of pods needs in its namespace, and its role binding: `prony testbed rbac | kubectl apply -f -`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
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

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let namespace = match &args.namespace {
        Some(namespace) => namespace.clone(),
        None => super::cluster(&super::needed(&args.testbed)?)?.namespace.clone(),
    };
    if !is_label(&namespace, 63) {
        let text = "is not a name of a namespace: use lower-case letters, digits and dashes";
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
