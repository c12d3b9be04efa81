//! What is generated from the definition of the command line: `prony man` prints manual pages, `prony completions` prints a completion
//! script for a shell.

use crate::exit::{Exit, bad_input};
use crate::output::{print, print_verbatim};
use crate::reporting;
use anyhow::{Context as _, anyhow};
use clap::Command;
use clap_complete::{Shell, generate};
use clap_mangen::{Man, generate_to};
use std::path::PathBuf;

/// Print a manual page
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  prony man run | man -l -
  prony man --out ~/.local/share/man/man1          then `man prony-run` finds it")]
pub(crate) struct ManArgs {
    /// Command whose page is printed [default: prony itself]
    command: Option<String>,
    /// Write the pages of all commands into this folder
    #[arg(long, short, value_name = "FOLDER", conflicts_with = "command")]
    out: Option<PathBuf>,
}

pub(crate) fn man(args: &ManArgs, prony: Command) -> anyhow::Result<Exit> {
    let mut prony = for_manual(prony);
    prony.build();
    if let Some(out) = &args.out {
        let folder = reporting::folder(out)?;
        let failed = || {
            format!(
                "cannot write into {} → Name another folder with --out.",
                folder.display()
            )
        };
        std::fs::create_dir_all(folder).with_context(failed)?;
        generate_to(prony, folder).with_context(failed)?;
        print(&folder.display().to_string())?;
        return Ok(Exit::Fine);
    }
    let command = match &args.command {
        None => &prony,
        Some(name) => prony
            .find_subcommand(name)
            .ok_or_else(|| bad_input(anyhow!("there is no command `{name}`: `prony --help` lists them")))?,
    };
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    print_verbatim(String::from_utf8(page)?.trim_end())?;
    Ok(Exit::Fine)
}

/// Leaves out pages for `prony help COMMAND`, which would repeat those of the commands. A page has every option, also those that
/// are not in the short help: `clap_mangen` would leave out their text.
pub(crate) fn for_manual(command: Command) -> Command {
    command
        .disable_help_subcommand(true)
        .mut_args(|option| option.hide_short_help(false))
        .mut_subcommands(for_manual)
}

/// Generate a shell completion script
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  prony completions bash > ~/.local/share/bash-completion/completions/prony
  prony completions zsh > ~/.zfunc/_prony          (fpath must contain ~/.zfunc)
  prony completions fish > ~/.config/fish/completions/prony.fish")]
pub(crate) struct CompletionsArgs {
    /// Shell that runs the script
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn completions(args: &CompletionsArgs, mut prony: Command) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    generate(args.shell, &mut prony, "prony", &mut script);
    print_verbatim(String::from_utf8(script)?.trim_end())?;
    Ok(Exit::Fine)
}
