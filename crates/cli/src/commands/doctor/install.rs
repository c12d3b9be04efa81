//! `prony doctor --install`: brings missing toolchains, each by its own package manager, and looks whether they are there.

use crate::exit::{Exit, bad_input};
use anyhow::{Context as _, anyhow};
use prony_plan::Toolchain;
use prony_trial::probe;
use std::io::{IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

/// Installs; the exit code says whether everything is there now.
pub(super) fn run(missing: &[&Toolchain], yes: bool) -> anyhow::Result<Exit> {
    if missing.is_empty() {
        eprintln!("nothing is missing");
        return Ok(Exit::Fine);
    }
    eprintln!("this will run:");
    if missing.iter().any(|toolchain| uses_apt(toolchain)) {
        eprintln!("  apt-get update");
    }
    for toolchain in missing {
        eprintln!("  {}", toolchain.how_to_install());
    }
    if !yes && !agreed()? {
        eprintln!("nothing was installed");
        return Ok(Exit::Fine);
    }
    if missing.iter().any(|toolchain| uses_apt(toolchain)) {
        apt(&["update", "-qq"])?;
    }
    // One that fails must not keep the others away.
    let failed: Vec<String> = missing
        .iter()
        .filter_map(|toolchain| bring(toolchain).err())
        .collect();
    for reason in &failed {
        eprintln!("prony: {reason}");
    }
    Ok(if failed.is_empty() {
        Exit::Fine
    } else {
        Exit::ObjectiveFailed
    })
}

fn uses_apt(toolchain: &Toolchain) -> bool {
    toolchain.install.is_none() && !toolchain.debian.is_empty()
}

fn agreed() -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(bad_input(anyhow!(
            "nobody to ask: add --yes to install without asking"
        )));
    }
    eprint!("go on? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn bring(toolchain: &Toolchain) -> Result<(), String> {
    let title = &toolchain.title;
    eprintln!("installing {title}");
    let ran = match &toolchain.install {
        Some(command) => shell(command),
        None if toolchain.debian.is_empty() => Err(anyhow!("{}", toolchain.how_to_install())),
        None => {
            let packages = toolchain.debian.iter().map(String::as_str);
            apt(&["install", "-y", "-qq", "--no-install-recommends"]
                .into_iter()
                .chain(packages)
                .collect::<Vec<_>>())
        }
    };
    ran.map_err(|error| format!("cannot install {title}: {error:#}"))?;
    probe(toolchain)
        .map(drop)
        .map_err(|reason| format!("{title} was installed, but still {reason}"))
}

/// apt as root, or through sudo.
fn apt(arguments: &[&str]) -> anyhow::Result<()> {
    let is_root = nix::unistd::geteuid().is_root();
    let mut command = if is_root {
        Command::new("apt-get")
    } else {
        Command::new("sudo")
    };
    if !is_root {
        command.args(["--preserve-env=DEBIAN_FRONTEND", "apt-get"]);
    }
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    told(command, &format!("apt-get {}", arguments.join(" ")))
}

fn shell(line: &str) -> anyhow::Result<()> {
    let mut command = Command::new("sh");
    command.args(["-euc", line]);
    told(command, line)
}

/// What a package manager says goes to standard error: standard output is for results.
fn told(mut command: Command, line: &str) -> anyhow::Result<()> {
    command.stdin(Stdio::null()).stdout(std::io::stderr());
    let status = command
        .status()
        .with_context(|| format!("`{line}` does not start"))?;
    if status.success() {
        Ok(())
    } else {
        Err(anyhow!("`{line}` ended with {status}"))
    }
}
