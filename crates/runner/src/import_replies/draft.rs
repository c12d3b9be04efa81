//! Drafts of contracts, written whole or not at all, and replies of a server that runs as expectations.

use crate::CommandError;
use crate::error::ErrorContext as _;
use prony_check::{CallReply, CheckRequest, call, check};
use prony_config::contract::Contract;
use prony_config::import::{Draft, RecordedReply, learn};
use prony_load::{Protocol, Target};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between the two rounds of a recording: values that a server gives in whole seconds then differ.
const APART: Duration = Duration::from_millis(1_100);
/// Decides the values of the check after a recording.
const SEED: u64 = 1;
/// The case that asks each operation as it stands: what it finds is no matter of taste.
const AS_WRITTEN: [&str; 2] = ["keep-alive", "many connections"];

/// A folder in which a draft stands until it is right.
struct StagedDraft {
    root: PathBuf,
    contract: PathBuf,
}

impl Drop for StagedDraft {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// Writes a draft into the folder of the contracts, and reads it back as a contract.
fn staged(contracts: &Path, name: &str, draft: &Draft) -> Result<(StagedDraft, Contract), CommandError> {
    let root = contracts.join(format!(".draft-{}", std::process::id()));
    let staged = StagedDraft {
        contract: root.join(name),
        root,
    };
    let _ = std::fs::remove_dir_all(&staged.root);
    let cannot = || format!("cannot write below {}", contracts.display());
    std::fs::create_dir_all(&staged.contract).failed(cannot)?;
    for (file, text) in draft.files(name) {
        std::fs::write(staged.contract.join(file), text).failed(cannot)?;
    }
    let contract = Contract::load(&staged.contract).map_err(|error| {
        CommandError::Input(format!(
            "the draft is no contract that prony understands, and was not kept ({error}): take what this is from out of {}",
            draft.source
        ))
    })?;
    Ok((staged, contract))
}

/// The name must be one of a folder, and free.
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
            "{} is there already: choose another name, or remove it",
            folder.display()
        )));
    }
    Ok(())
}

/// Makes the draft a contract of the project; gives its folder. Nothing is there if it fails.
pub fn keep(contracts: &Path, name: &str, draft: &Draft) -> Result<PathBuf, CommandError> {
    is_free(contracts, name)?;
    let (staged, _) = staged(contracts, name, draft)?;
    let folder = contracts.join(name);
    std::fs::rename(&staged.contract, &folder).failed(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Sends each request of the draft twice, and makes of what comes what must come. Gives what differs between the two.
pub fn record(
    contracts: &Path,
    name: &str,
    draft: &mut Draft,
    target: &Target,
) -> Result<Vec<String>, CommandError> {
    let began = Instant::now();
    let (first, second) = {
        let (_staged, contract) = staged(contracts, name, draft)?;
        let first = replies(&contract, draft, target)?;
        std::thread::sleep(APART.saturating_sub(began.elapsed()));
        (first, replies(&contract, draft, target)?)
    };
    let mut told = Vec::new();
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
            told.push(format!("{}: {difference}", operation.name));
        }
    }
    told.extend(tried(contracts, name, draft, target)?);
    Ok(told)
}

fn replies(contract: &Contract, draft: &Draft, target: &Target) -> Result<Vec<CallReply>, CommandError> {
    let mut replies = Vec::new();
    for operation in &draft.operations {
        let single = contract
            .single(&operation.name, Protocol::Http1, &[], SEED)
            .map_err(|error| CommandError::Input(error.to_string()))?;
        let reply = call(target, Protocol::Http1, &single).map_err(|fault| {
            // An error of TLS says what to do itself.
            let asked = if fault.contains("TLS") {
                "."
            } else {
                ": is the server there?"
            };
            CommandError::Failed(format!(
                "{} {} of {}: {fault}{asked} Nothing was written",
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

/// Checks the server against the draft: common cases that it does not pass are left out by name, and told.
fn tried(
    contracts: &Path,
    name: &str,
    draft: &mut Draft,
    target: &Target,
) -> Result<Vec<String>, CommandError> {
    let (_staged, contract) = staged(contracts, name, draft)?;
    let report = check(&CheckRequest {
        contract: &contract,
        target,
        protocol: Protocol::Http1,
        seed: SEED,
        thorough: false,
    });
    let mut told = Vec::new();
    for case in report.cases.iter().filter(|case| case.failed > 0) {
        let reason = case.failures.first().map(ToString::to_string).unwrap_or_default();
        if AS_WRITTEN.contains(&case.name.as_str()) {
            told.push(format!(
                "the case `{}` fails already, for the server answered otherwise a third time: {reason}",
                case.name
            ));
        } else {
            told.push(format!(
                "the case `{}` is left out, for the server fails it: {reason}",
                case.name
            ));
            draft.without.push((case.name.clone(), reason));
        }
    }
    Ok(told)
}
