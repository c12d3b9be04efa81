//! `prony doctor --install`: installs missing toolchains, each with its own package manager, and checks that they work.

use super::{Diagnosis, MissingToolchain, look, own_commands, view};
use crate::exit::{Exit, bad_input};
use crate::text;
use anyhow::{Context as _, anyhow};
use prony_config::{System, Toolchain};
use prony_runner::{probe, system};
use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// Installs the missing toolchains; the exit code says whether all are available now.
pub(super) fn run(patient: &Diagnosis<'_>, yes: bool) -> anyhow::Result<Exit> {
    let not_probed = patient.not_probed();
    if !not_probed.is_empty() {
        return Err(bad_input(anyhow!(
            "{}\nRead them, then add --run-probes",
            own_commands(&not_probed)
        )));
    }
    let lacking = patient.lacking();
    if lacking.is_empty() {
        eprintln!("nothing is missing");
        return Ok(Exit::Fine);
    }
    let wanted = with_their_needs(patient, &lacking);
    let has_packages = wanted.iter().any(|toolchain| packages(toolchain).is_some());
    eprintln!("this will run:");
    for toolchain in &wanted {
        eprintln!("  {}", toolchain.how_to_install(system()));
    }
    if !yes && !ask_to_continue()? {
        eprintln!("nothing was installed");
        return Ok(Exit::Fine);
    }
    // One failure must not prevent the other installations.
    let mut failed: Vec<String> = Vec::new();
    if let Some(system) = system().filter(|_| has_packages) {
        failed.extend(refresh(system).err().map(|error| format!("{error:#}")));
    }
    for toolchain in &wanted {
        failed.extend(bring(toolchain, &patient.cache).err());
    }
    for reason in &failed {
        eprintln!("prony: {reason}");
    }
    let now = Diagnosis {
        catalogue: patient.catalogue,
        services: patient.services.clone(),
        state: look(
            patient.catalogue,
            &patient.services,
            (&patient.cache, patient.runs_probes),
        ),
        runs_probes: patient.runs_probes,
        cache: patient.cache.clone(),
    };
    eprintln!("\n{}", view::toolchains(&now.toolchains(), text::columns()));
    Ok(if now.lacking().is_empty() {
        Exit::Fine
    } else {
        Exit::ObjectiveFailed
    })
}

/// The missing toolchains, each after those that its own installation needs.
fn with_their_needs<'a>(patient: &Diagnosis<'a>, lacking: &[MissingToolchain<'a>]) -> Vec<&'a Toolchain> {
    let mut visited = BTreeSet::new();
    let mut ordered = Vec::new();
    for one in lacking {
        add(patient, one.toolchain, &mut visited, &mut ordered);
    }
    let absent = |toolchain: &Toolchain| {
        lacking.iter().any(|one| one.toolchain.name == toolchain.name)
            || probe(toolchain, &patient.cache).is_err()
    };
    ordered.retain(|toolchain| absent(toolchain));
    ordered
}

fn add<'a>(
    patient: &Diagnosis<'a>,
    toolchain: &'a Toolchain,
    visited: &mut BTreeSet<&'a str>,
    ordered: &mut Vec<&'a Toolchain>,
) {
    if !visited.insert(&toolchain.name) {
        return;
    }
    for need in &toolchain.needs {
        if let Some(need) = patient.catalogue.toolchains.get(need) {
            add(patient, need, visited, ordered);
        }
    }
    ordered.push(toolchain);
}

/// The packages of this distribution that it comes from, and the distribution.
fn packages(toolchain: &Toolchain) -> Option<(System, &[String])> {
    let system = system().filter(|_| toolchain.install.is_none())?;
    Some((system, toolchain.packages.get(&system)?.as_slice()))
}

fn ask_to_continue() -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(bad_input(anyhow!(
            "standard input is not a terminal, so prony cannot ask → Add --yes to install without asking."
        )));
    }
    eprint!("continue? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn bring(toolchain: &Toolchain, cache: &Path) -> Result<(), String> {
    let title = &toolchain.title;
    eprintln!("installing {title}");
    let ran = match (&toolchain.install, packages(toolchain)) {
        (Some(command), _) => shell(command, cache),
        (None, Some((system, packages))) => install_packages(system, packages).map_err(|error| {
            anyhow!(
                "{error:#}; to install it by hand: {}",
                toolchain.how_to_install(Some(system))
            )
        }),
        (None, None) => Err(anyhow!("{}", toolchain.how_to_install(system()))),
    };
    ran.map_err(|error| format!("cannot install {title}: {error:#}"))?;
    probe(toolchain, cache)
        .map(drop)
        .map_err(|reason| format!("{title} was installed, but the check still fails: {reason}"))
}

fn install_packages(system: System, packages: &[String]) -> anyhow::Result<()> {
    let packages = packages.iter().map(String::as_str);
    let arguments: Vec<&str> = system
        .install_arguments()
        .iter()
        .copied()
        .chain(packages)
        .collect();
    as_root(system.manager(), &arguments)
}

fn refresh(system: System) -> anyhow::Result<()> {
    match system.refresh() {
        [] => Ok(()),
        arguments => as_root(system.manager(), arguments),
    }
}

/// Runs a package manager as root, or through sudo.
fn as_root(manager: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let is_root = nix::unistd::geteuid().is_root();
    let mut command = if is_root {
        Command::new(manager)
    } else {
        let mut command = Command::new("sudo");
        command.args(["--preserve-env=DEBIAN_FRONTEND", manager]);
        command
    };
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    let line = format!("{manager} {}", arguments.join(" "));
    run_command(command, &line).map_err(|error| {
        if is_root {
            error
        } else {
            anyhow!("{error:#}: {manager} needs root → Run prony as root, or install sudo.")
        }
    })
}

fn shell(line: &str, cache: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(cache.join("toolchains"))
        .with_context(|| format!("cannot create {}", cache.join("toolchains").display()))?;
    let mut command = Command::new("sh");
    command
        .args(["-euc", line])
        .env("PRONY_CACHE", cache)
        .env("PIP_CACHE_DIR", cache.join("pip"))
        .env("npm_config_cache", cache.join("npm"))
        .env("PRONY_M2", cache.join("m2"));
    run_command(command, line)
}

/// Runs a command with its output on standard error, because standard output is for results.
fn run_command(mut command: Command, line: &str) -> anyhow::Result<()> {
    command.stdin(Stdio::null()).stdout(std::io::stderr());
    let status = command
        .status()
        .with_context(|| format!("cannot start `{line}`"))?;
    if status.success() {
        Ok(())
    } else {
        Err(anyhow!("`{line}` failed: {status}"))
    }
}
