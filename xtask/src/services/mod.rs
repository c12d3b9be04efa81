//! `cargo xtask services`: which services must be verified, verifies them, and keeps the record in `services/verified`.

use anyhow::Result;

/// What to verify.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Services or variants, such as go-nethttp or rust-axum/default.
    names: Vec<String>,
    /// Every variant of every service.
    #[arg(long)]
    all: bool,
    /// Write the entries of those that passed.
    #[arg(long)]
    update: bool,
    /// What the change under test is compared with.
    #[arg(long, value_name = "REVISION")]
    base: Option<String>,
}

/// Whether all that had to be verified passed.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let _ = (&arguments.names, arguments.all, arguments.update, &arguments.base);
    anyhow::bail!("not written yet")
}
