//! Drafts of contracts, which are written completely or not at all, and replies of a running server as expectations.

use crate::CommandError;
use crate::error::ErrorContext as _;
use prony_check::{CallReply, CheckRequest, call, check};
use prony_config::ConfigError;
use prony_config::contract::Contract;
use prony_config::format::Diagnostics;
use prony_config::import::{Draft, Omission, Operation, RecordedReply, learn};
use prony_load::{Protocol, Target};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between the two rounds of a recording: values that a server gives in whole seconds then differ.
const APART: Duration = Duration::from_millis(1_100);
/// Seed of the check after a recording.
const SEED: u64 = 1;
/// Cases that send each operation unchanged: if one fails, the server itself is inconsistent.
const AS_WRITTEN: [&str; 2] = ["keep-alive", "many connections"];

/// A temporary folder for a draft until it is valid.
struct StagedDraft {
    root: PathBuf,
    contract: PathBuf,
}

impl Drop for StagedDraft {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// Writes a draft into the folder of the contracts, and reads it back as a contract. Operations that a contract cannot contain are left
/// out of the draft.
fn stage(contracts: &Path, name: &str, draft: &mut Draft) -> Result<(StagedDraft, Contract), CommandError> {
    let error = match write_stage(contracts, name, draft)? {
        (stage, Ok(contract)) => return Ok((stage, contract)),
        (_, Err(error)) => error,
    };
    let mut single = draft.clone();
    let operations = std::mem::take(&mut draft.operations);
    let mut faults = Vec::new();
    find_faults(contracts, name, (&mut single, &operations), &mut faults)?;
    let is_empty = faults.len() == operations.len();
    let mut faults = faults.into_iter().peekable();
    for (place, operation) in operations.into_iter().enumerate() {
        match faults.next_if(|(faulty, _)| *faulty == place) {
            Some((_, reason)) => draft.omitted.push(Omission {
                place: operation.from,
                reason: format!("a contract cannot contain it: {reason}"),
                count: 1,
            }),
            None => draft.operations.push(operation),
        }
    }
    match write_stage(contracts, name, draft)? {
        (stage, Ok(contract)) if !is_empty => Ok((stage, contract)),
        _ => Err(CommandError::Input(format!(
            "the draft is not a valid contract and was not stored ({}): remove the part of {} that it comes from",
            reason_of(&error),
            draft.source
        ))),
    }
}

/// Finds the operations that a contract cannot contain, with their positions and reasons, by halves: most drafts have few.
fn find_faults(
    contracts: &Path,
    name: &str,
    (single, operations): (&mut Draft, &[Operation]),
    faults: &mut Vec<(usize, String)>,
) -> Result<(), CommandError> {
    let mut open = vec![(0, operations.len())];
    while let Some((begin, end)) = open.pop() {
        single.operations = operations[begin..end].to_vec();
        let (_, contract) = write_stage(contracts, name, single)?;
        match contract {
            Ok(_) => {}
            Err(error) if end - begin == 1 => faults.push((begin, reason_of(&error))),
            Err(_) => {
                let middle = begin.midpoint(end);
                open.extend([(middle, end), (begin, middle)]);
            }
        }
    }
    Ok(())
}

/// The error of a contract, without the temporary file that has it.
fn reason_of(error: &ConfigError) -> String {
    match error {
        ConfigError::Files(Diagnostics(found)) => found.first().map_or_else(String::new, |first| {
            let help = first.help.as_deref().map(|help| format!(" ({help})"));
            format!("{}{}", first.message, help.unwrap_or_default())
        }),
        other => other.to_string(),
    }
}

/// Writes a draft into the folder of the contracts, and reads it back as a contract if it is one.
fn write_stage(
    contracts: &Path,
    name: &str,
    draft: &Draft,
) -> Result<(StagedDraft, Result<Contract, ConfigError>), CommandError> {
    let root = contracts.join(format!(".draft-{}", std::process::id()));
    let stage = StagedDraft {
        contract: root.join(name),
        root,
    };
    let _ = std::fs::remove_dir_all(&stage.root);
    let cannot = || format!("cannot write below {}", contracts.display());
    // Until the replies are recorded, the draft has the secrets of its source.
    std::fs::create_dir_all(contracts).failed(cannot)?;
    let mut private = std::fs::DirBuilder::new();
    private.mode(0o700).create(&stage.root).failed(cannot)?;
    std::fs::create_dir(&stage.contract).failed(cannot)?;
    for (file, text) in draft.files(name) {
        std::fs::write(stage.contract.join(file), text).failed(cannot)?;
    }
    let contract = Contract::load(&stage.contract);
    Ok((stage, contract))
}

/// Fails unless the name is valid and unused.
pub fn is_free(contracts: &Path, name: &str) -> Result<(), CommandError> {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if !name.chars().all(plain) || !name.starts_with(|letter: char| letter.is_ascii_lowercase()) {
        return Err(CommandError::Input(format!(
            "`{name}`: a name is lower-case letters, digits and hyphens, as in `pet-shop`"
        )));
    }
    let folder = contracts.join(name);
    if folder.exists() {
        return Err(CommandError::Input(format!(
            "{} exists already: choose another name, or remove it",
            folder.display()
        )));
    }
    Ok(())
}

/// Writes the draft as a contract of the project, without its secrets, and returns its folder. On failure nothing is written.
pub fn write(contracts: &Path, name: &str, draft: &mut Draft) -> Result<PathBuf, CommandError> {
    is_free(contracts, name)?;
    draft.redact();
    let (stage, _) = stage(contracts, name, draft)?;
    let folder = contracts.join(name);
    std::fs::rename(&stage.contract, &folder).failed(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// Sends each request of the draft twice and turns the replies into expectations. Returns remarks about differences between the two
/// replies.
pub fn record(
    contracts: &Path,
    name: &str,
    draft: &mut Draft,
    target: &Target,
) -> Result<Vec<String>, CommandError> {
    let began = Instant::now();
    let (first, second) = {
        let (_staged, contract) = stage(contracts, name, draft)?;
        let first = replies(&contract, draft, target)?;
        std::thread::sleep(APART.saturating_sub(began.elapsed()));
        (first, replies(&contract, draft, target)?)
    };
    let mut remarks = Vec::new();
    draft.schemas.clear();
    for ((operation, first), second) in draft.operations.iter_mut().zip(first).zip(second) {
        let learnt = learn(&recorded(first), &recorded(second), &operation.name);
        operation.remarks.retain(|remark| !remark.contains("is a guess"));
        operation.remarks.push(format!("Recorded from {}.", target.url));
        operation.expect = learnt.expect;
        if let Some(schema) = learnt.schema {
            draft.schemas.insert(operation.name.clone(), schema);
        }
        for difference in learnt.differences {
            operation
                .remarks
                .push(format!("Differs from reply to reply: {difference}."));
            remarks.push(format!("{}: {difference}", operation.name));
        }
    }
    remarks.extend(drop_failing_cases(contracts, name, draft, target)?);
    Ok(remarks)
}

fn replies(contract: &Contract, draft: &Draft, target: &Target) -> Result<Vec<CallReply>, CommandError> {
    let mut replies = Vec::new();
    for operation in &draft.operations {
        let single = contract
            .single(&operation.name, Protocol::Http1, &[], SEED)
            .map_err(|error| CommandError::Input(error.to_string()))?;
        let reply = call(target, Protocol::Http1, &single).map_err(|fault| {
            // A TLS error has its own remedy.
            let hint = if fault.contains("TLS") {
                "."
            } else {
                ": is the server running?"
            };
            CommandError::Failed(format!(
                "{} {} of {}: {fault}{hint} Nothing was written",
                operation.method, operation.path, target.authority
            ))
        })?;
        replies.push(reply);
    }
    Ok(replies)
}

fn recorded(reply: CallReply) -> RecordedReply {
    let is_type = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("content-type");
    RecordedReply {
        status: reply.status,
        media_type: reply.headers.iter().find(is_type).map(|(_, value)| value.clone()),
        body: reply.body,
    }
}

/// Checks the server against the draft and excludes the common cases that it fails. Returns remarks about them.
fn drop_failing_cases(
    contracts: &Path,
    name: &str,
    draft: &mut Draft,
    target: &Target,
) -> Result<Vec<String>, CommandError> {
    let (_staged, contract) = stage(contracts, name, draft)?;
    let report = check(&CheckRequest {
        contract: &contract,
        target,
        protocol: Protocol::Http1,
        seed: SEED,
        thorough: false,
    });
    let mut remarks = Vec::new();
    for case in report.cases.iter().filter(|case| case.failed > 0) {
        let reason = case.failures.first().map(ToString::to_string).unwrap_or_default();
        if AS_WRITTEN.contains(&case.name.as_str()) {
            remarks.push(format!(
                "the case `{}` fails, because the third reply of the server differs from the first two: {reason}",
                case.name
            ));
        } else {
            remarks.push(format!(
                "the case `{}` is left out, because the server fails it: {reason}",
                case.name
            ));
            draft.skip_common_cases.push((case.name.clone(), reason));
        }
    }
    Ok(remarks)
}
