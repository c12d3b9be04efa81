//! Describes the server of a repository: a service file, and a contract that is drafted from its replies.

use super::Args;
use super::template::put;
use crate::checkout::Checkout;
use crate::commands::new::next_commands;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::signals;
use crate::text::plural;
use anyhow::anyhow;
use prony_config::guess::{Guess, StartGuess};
use prony_config::project::{SERVICE_FILE, STATE_FOLDER, contract_places, contracts_of, written_name};
use prony_runner::check_services::{CheckScope, Row, check_services};
use prony_runner::{FirstStart, LocalTestbed, first_start, ignored_by_git, repository_name};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The contract until one is drafted.
const PROVISIONAL: &str = "\
# `prony init` has not started the server yet, and will replace this contract.
format = 1

[operation.root]
http = \"GET /\"
expect.status = 200

[workload.root]
mix = [{ operation = \"root\" }]
load = { kind = \"closed\", connections = 16 }
";
/// What git ignores in prony's own folder.
const IGNORED: &str = "\
# prony's own files. The contracts are yours: commit them.
*
!/.gitignore
!/contracts/
!/contracts/**
";
const SEED: u64 = 1;

/// Whether a folder has a service file and a contract that was drafted.
pub(super) fn is_set_up(root: &Path) -> bool {
    let name = written_name(root);
    let contract = name.map(|name| contract_file(root, &name));
    contract.is_some_and(|file| file.is_file() && !is_provisional(&file))
}

/// Writes the service file, unless it is there, starts the server, and drafts its contract.
pub(super) fn describe(root: &Path, guess: Option<&Guess>, args: &Args) -> anyhow::Result<Exit> {
    if is_set_up(root) {
        let name = written_name(root).unwrap_or_default();
        return Err(bad_input(anyhow!(
            "{SERVICE_FILE} and its contract already exist: nothing was changed → `prony check {name}` checks the server; to draft \
             the contract again, remove {}.",
            contracts_of(root).join(&name).display()
        )));
    }
    let file = root.join(SERVICE_FILE);
    let is_kept = file.exists();
    if let (false, Some(guess)) = (is_kept, guess) {
        put(&file, &guess.service_toml(&repository_name(root)))?;
    }
    put_missing(&root.join(STATE_FOLDER).join(".gitignore"), IGNORED)?;
    if let (false, Some(guess)) = (is_kept, guess) {
        show_guess(guess);
        if let StartGuess::Unknown { reason, example } = &guess.start {
            return Err(bad_input(anyhow!(
                "cannot guess the command that starts the server: {}: {reason} → Write `run` into {SERVICE_FILE}, such as `run = \
                 \"{example}\"`. The server listens on HOST and PORT. Then repeat `prony init`.",
                guess.evidence
            )));
        }
    } else {
        eprintln!("{SERVICE_FILE} is kept as it is");
    }
    let name = written_name(root).ok_or_else(|| {
        bad_input(anyhow!(
            "{SERVICE_FILE} has no `name` → Write `name = \"{}\"`.",
            repository_name(root)
        ))
    })?;
    // A project from here on.
    std::fs::create_dir_all(root.join(STATE_FOLDER).join("contracts"))?;
    put_missing(&contract_file(root, &name), PROVISIONAL)?;
    start(
        &Checkout {
            root: root.to_owned(),
        },
        &name,
        args,
    )
}

fn put_missing(path: &Path, text: &str) -> anyhow::Result<()> {
    if path.exists() { Ok(()) } else { put(path, text) }
}

/// The file of the contract: where it is, else where it will be.
fn contract_file(root: &Path, name: &str) -> PathBuf {
    let places = contract_places(root).map(|place| place.join(name).join("contract.toml"));
    let there = places.iter().rev().find(|file| file.is_file()).cloned();
    let [hidden, _] = places;
    there.unwrap_or(hidden)
}

fn is_provisional(contract: &Path) -> bool {
    std::fs::read_to_string(contract).is_ok_and(|text| text == PROVISIONAL)
}

fn show_guess(guess: &Guess) {
    eprintln!("guessed from {}:", guess.evidence);
    for command in &guess.build {
        eprintln!("  build   {command}");
    }
    match &guess.start {
        StartGuess::Run(command) => eprintln!("  run     {command}"),
        StartGuess::Containerfile(file) => eprintln!("  image   {file}"),
        StartGuess::Unknown { .. } => {}
    }
    for remark in &guess.remarks {
        eprintln!("  {remark}");
    }
}

fn start(checkout: &Checkout, name: &str, args: &Args) -> anyhow::Result<Exit> {
    let workbench = LocalTestbed::of(checkout, &signals::listen()?)?;
    let tell = |text: &str| eprintln!("{text}");
    let started = first_start(checkout, (name, args.allow_writes), &workbench, &tell).map_err(|error| {
        if error.is_interrupted() || error.is_bad_input() {
            return anyhow!(error);
        }
        anyhow!(
            "{error}\n→ {SERVICE_FILE} and its contract are written, as guessed. Correct `build` and `run`, and repeat `prony init`."
        )
    })?;
    for line in started
        .remarks
        .iter()
        .cloned()
        .chain(started.draft.omitted_lines())
    {
        eprintln!("{line}");
    }
    let scope = CheckScope {
        first: Some(name),
        second: None,
        channel: None,
        seed: SEED,
        thorough: false,
    };
    // A server that ignores PORT would be awaited in vain.
    let rows = if started.follows_port() {
        check_services(&scope, checkout, &workbench, &tell)?
    } else {
        Vec::new()
    };
    report(checkout, name, (&started, &rows), args.json)
}

fn report(
    checkout: &Checkout,
    name: &str,
    (started, rows): (&FirstStart, &[Row]),
    json: bool,
) -> anyhow::Result<Exit> {
    let root = &checkout.root;
    let passed = !rows.is_empty() && rows.iter().all(Row::passed);
    let folder = started.folder.strip_prefix(root).unwrap_or(&started.folder);
    let files = [
        SERVICE_FILE.to_owned(),
        format!("{STATE_FOLDER}/.gitignore"),
        folder.display().to_string(),
    ];
    let ignored = ignored_by_git(root, &files);
    let problems = problems(name, started, rows, &ignored);
    let exit = if problems.is_empty() {
        Exit::Fine
    } else {
        Exit::ObjectiveFailed
    };
    if json {
        let made = json!({
            "schema": prony_records::SCHEMA,
            "project": root,
            "service": name,
            "contract": name,
            "files": files,
            "port": started.port,
            "source": started.source,
            "operations": operations(started),
            "checked": passed,
            "problems": problems,
            "exit": exit.code(),
        });
        print(&made.to_string())?;
        return Ok(exit);
    }
    let count = plural(started.draft.operations.len() as u64, "operation");
    let mut text = format!("{}\n\n{name}: {count} from {}", files.join(", "), started.source);
    if passed {
        text += ", checked";
    }
    if !started.unrequested.is_empty() {
        let _ = write!(
            text,
            "\nNot requested, since the values of parameters are unknown: {}",
            started.unrequested.join(", ")
        );
    }
    for problem in &problems {
        let _ = write!(text, "\n✗ {problem}");
    }
    let check = format!("prony check {name}");
    let next = next_commands(&[
        (&check, "after each change of service.toml or the contract"),
        (
            "prony compare HEAD",
            "is your change slower than the last commit?",
        ),
        ("prony init --ci github", "write a workflow for pull requests"),
    ]);
    print(&format!("{text}\n\n{next}"))?;
    Ok(exit)
}

fn operations(started: &FirstStart) -> Vec<Value> {
    let all = started.draft.operations.iter();
    all.map(|operation| json!({ "name": operation.name, "method": operation.method, "path": operation.path }))
        .collect()
}

/// What has to be corrected, with how.
fn problems(name: &str, started: &FirstStart, rows: &[Row], ignored: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    if !started.follows_port() {
        problems.push(format!(
            "the server listens on port {}, whatever PORT says, so base and head cannot run at the same time → Let it read the \
             variable PORT, or write `run` so that it gets the port, such as `run = \"exec ./server --port $PORT\"`.",
            started.port
        ));
    }
    if rows.iter().any(Row::failed) {
        problems.push(format!(
            "the server does not pass its contract → `prony check {name}` shows why. Correct the contract, or the server."
        ));
    }
    if !ignored.is_empty() {
        problems.push(format!(
            "git ignores {} → Remove that rule: clones need these files.",
            ignored.join(", ")
        ));
    }
    problems
}
