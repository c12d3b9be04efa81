//! `prony completions`: prints a completion script for a shell.

use crate::exit::Exit;
use crate::output::print;
use clap::Command;
use clap_complete::{Shell, generate};

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  prony completions bash > ~/.local/share/bash-completion/completions/prony
  prony completions zsh > ~/.zfunc/_prony          (fpath must contain ~/.zfunc)
  prony completions fish > ~/.config/fish/completions/prony.fish")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args, mut prony: Command) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    generate(args.shell, &mut prony, "prony", &mut script);
    print(String::from_utf8(script)?.trim_end())?;
    Ok(Exit::Fine)
}
