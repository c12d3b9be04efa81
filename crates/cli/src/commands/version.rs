//! `prony version`: the version as JSON, for scripts.

use crate::exit::Exit;

/// Print the version as JSON
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> anyhow::Result<Exit> {
    println!("{}", serde_json::json!({ "prony": env!("CARGO_PKG_VERSION") }));
    Ok(Exit::Fine)
}
