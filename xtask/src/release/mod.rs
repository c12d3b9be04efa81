//! Runs docs/RELEASING.md: prints each step, runs its commands, and stops at the first failure.

mod package;

pub(crate) use package::check_packages;

use crate::root;
use anyhow::{Context as _, Result, bail, ensure};
use std::fs;
use xshell::{Shell, cmd};

const PAGE: &str = "docs/RELEASING.md";

/// Run the steps of docs/RELEASING.md, and stop at the first failure
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Start at this step
    #[arg(long, value_name = "N", default_value_t = 1)]
    from: u32,
    /// Run only this step
    #[arg(long, value_name = "N", conflicts_with = "from")]
    only: Option<u32>,
    /// List the steps
    #[arg(long)]
    list: bool,
    /// Print the commands without running them; fails if bash cannot parse them, or if a script or recipe is missing
    #[arg(long, conflicts_with = "list")]
    dry_run: bool,
}

/// A section `## N. Title` of the page, with its `sh` blocks.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    number: u32,
    title: String,
    commands: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let shell = Shell::new()?;
    shell.change_dir(root());
    let mut steps = steps(&fs::read_to_string(root().join(PAGE))?)?;
    steps.retain(|step| {
        arguments
            .only
            .map_or(step.number >= arguments.from, |only| step.number == only)
    });
    ensure!(!steps.is_empty(), "{PAGE} has no such step");
    for step in &steps {
        println!("{}. {}", step.number, step.title);
        if arguments.list {
            continue;
        }
        if arguments.dry_run {
            for line in step.commands.lines() {
                println!("    {line}");
            }
            step.check(&shell)
                .with_context(|| format!("step {}", step.number))?;
            continue;
        }
        let commands = &step.commands;
        cmd!(shell, "bash -exuo pipefail -c {commands}")
            .quiet()
            .run()
            .with_context(|| {
                format!(
                    "step {0} failed: see {PAGE}, then: cargo xtask release --from {0}",
                    step.number
                )
            })?;
    }
    Ok(true)
}

fn steps(page: &str) -> Result<Vec<Step>> {
    let sections = page.split("\n## ").skip(1);
    sections
        .map(|section| {
            let (heading, text) = section.split_once('\n').unwrap_or((section, ""));
            let (number, title) = heading
                .split_once(". ")
                .with_context(|| format!("{PAGE}: `## {heading}` has no number"))?;
            Ok(Step {
                number: number
                    .parse()
                    .with_context(|| format!("{PAGE}: `## {heading}`"))?,
                title: title.to_owned(),
                commands: blocks(text),
            })
        })
        .collect()
}

/// The lines between ```` ```sh ```` and ```` ``` ````.
fn blocks(text: &str) -> String {
    let mut is_inside = false;
    let mut commands = String::new();
    for line in text.lines() {
        match line {
            "```sh" => is_inside = true,
            "```" => is_inside = false,
            _ if is_inside => {
                commands.push_str(line);
                commands.push('\n');
            }
            _ => {}
        }
    }
    commands
}

impl Step {
    /// Fails if the commands cannot be run.
    fn check(&self, shell: &Shell) -> Result<()> {
        let commands = &self.commands;
        cmd!(shell, "bash -nc {commands}")
            .quiet()
            .run()
            .context("bash cannot parse it")?;
        let words: Vec<&str> = commands.split_whitespace().collect();
        for script in words.iter().filter(|word| word.starts_with("scripts/")) {
            ensure!(root().join(script).is_file(), "{script} is missing");
        }
        for pair in words.windows(2) {
            match pair {
                ["make", recipe] => cmd!(shell, "make --dry-run {recipe}")
                    .quiet()
                    .ignore_stdout()
                    .run()
                    .with_context(|| format!("the Makefile has no {recipe}"))?,
                ["xtask", command] if !has_command(command) => bail!("cargo xtask {command} does not exist"),
                _ => {}
            }
        }
        Ok(())
    }
}

fn has_command(name: &str) -> bool {
    <crate::Arguments as clap::CommandFactory>::command()
        .find_subcommand(name)
        .is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_a_section_with_its_commands() {
        let page = "# Releasing\n\nText.\n\n## 1. Look\n\n```sh\ngit status\n```\nMore:\n```sh\nmake test\n```\n\n## 2. Say so\n\nText.\n";
        let step = |number, title: &str, commands: &str| Step {
            number,
            title: title.to_owned(),
            commands: commands.to_owned(),
        };
        assert_eq!(
            steps(page).expect("steps"),
            [step(1, "Look", "git status\nmake test\n"), step(2, "Say so", "")]
        );
        assert!(steps("\n## Look\n").is_err());
    }

    #[test]
    fn every_command_of_the_page_is_there() {
        let page = fs::read_to_string(root().join(PAGE)).expect("the page");
        let shell = Shell::new().expect("a shell");
        shell.change_dir(root());
        for step in steps(&page).expect("steps") {
            step.check(&shell)
                .unwrap_or_else(|error| panic!("step {}: {error:#}", step.number));
        }
    }
}
