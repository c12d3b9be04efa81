//! Drafts of contracts, which are written completely or not at all, and replies of a running server as expectations.

use crate::CommandError;
use crate::error::ErrorContext as _;
use prony_check::{BackingTargets, CallReply, CheckRequest, call, check};
use prony_config::ConfigError;
use prony_config::contract::Contract;
use prony_config::format::Diagnostics;
use prony_config::import::{Draft, InferredExpectation, Omission, Operation, RecordedReply, learn};
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

/// Writes a draft into the folder of the contracts, and reads it back as a contract. Operations that are not valid in a contract are omitted.
fn stage(contracts: &Path, name: &str, draft: &mut Draft) -> Result<(StagedDraft, Contract), CommandError> {
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
    loop {
        let files = draft.files(name);
        for (file, text) in &files {
            std::fs::write(stage.contract.join(file), text).failed(cannot)?;
        }
        let error = match Contract::load(&stage.contract) {
            Ok(contract) => return Ok((stage, contract)),
            Err(error) => error,
        };
        if !omit_invalid(draft, &files["contract.toml"], &error) {
            return Err(CommandError::Input(format!(
                "no contract could be drafted from {}: {}",
                draft.source,
                reasons(&error)
                    .next()
                    .map_or_else(|| error.to_string(), |(_, reason)| reason)
            )));
        }
    }
}

/// The lines of errors in `contract.toml`, and what is wrong there.
fn reasons(error: &ConfigError) -> impl Iterator<Item = (usize, String)> {
    let found = match error {
        ConfigError::Files(Diagnostics(found)) => found.as_slice(),
        _ => &[],
    };
    found.iter().map(|one| {
        let help = one.help.as_deref().map(|help| format!(" ({help})"));
        (one.line, format!("{}{}", one.message, help.unwrap_or_default()))
    })
}

/// Omits the operations that an error is about. `false`: it is about none, or no operation would be left.
fn omit_invalid(draft: &mut Draft, text: &str, error: &ConfigError) -> bool {
    let sections: Vec<(usize, &str)> = (1..)
        .zip(text.lines())
        .filter_map(|(line, text)| Some((line, text.strip_prefix("[operation.")?)))
        .map(|(line, rest)| (line, rest.split([']', '.']).next().unwrap_or_default()))
        .collect();
    let before = draft.operations.len();
    for (line, reason) in reasons(error) {
        let section = sections.partition_point(|(begin, _)| *begin <= line);
        let Some((_, name)) = section.checked_sub(1).map(|place| sections[place]) else {
            continue;
        };
        let place = draft
            .operations
            .iter()
            .position(|operation| operation.name == name);
        if let Some(place) = place {
            let operation = draft.operations.remove(place);
            draft.omitted.push(Omission::new(operation.from, reason));
        }
    }
    !draft.operations.is_empty() && draft.operations.len() < before
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
            "{} exists already → Choose another name, or remove it.",
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

/// Sends each request of the draft twice and turns the replies into expectations. Requests that may write are sent only with
/// `allow_writes`. An operation whose reply is not a success is omitted. Returns remarks about differences between the two replies.
/// `progress` receives the number of requests so far, and of all.
pub fn record(
    contracts: &Path,
    name: &str,
    draft: &mut Draft,
    (target, allow_writes): (&Target, bool),
    progress: &dyn Fn(usize, usize),
) -> Result<Vec<String>, CommandError> {
    let began = Instant::now();
    let (first, second) = {
        let (_staged, contract) = stage(contracts, name, draft)?;
        let count = draft.operations.len();
        let first = replies(&contract, draft, (target, allow_writes), &|done| {
            progress(done, 2 * count);
        })?;
        std::thread::sleep(APART.saturating_sub(began.elapsed()));
        let second = replies(&contract, draft, (target, allow_writes), &|done| {
            progress(count + done, 2 * count);
        })?;
        (first, second)
    };
    let mut remarks = Vec::new();
    let mut unsent = 0;
    let operations = std::mem::take(&mut draft.operations);
    for ((mut operation, first), second) in operations.into_iter().zip(first).zip(second) {
        let (Some(first), Some(second)) = (first, second) else {
            unsent += 1;
            operation
                .remarks
                .push("It was not recorded, since it may change data.".to_owned());
            draft.operations.push(operation);
            continue;
        };
        if let Some(wrong) = [&first, &second]
            .into_iter()
            .find(|reply| !operation.is_success(reply.status))
        {
            let reason = format!(
                "{} replied {}, which is not a success there",
                target.url,
                described(wrong)
            );
            draft.omitted.push(Omission::new(operation.from, reason));
            continue;
        }
        let learnt = learn(&recorded(first), &recorded(second), &operation.name);
        draft.schemas.extend(
            learnt
                .schema
                .clone()
                .map(|schema| (operation.name.clone(), schema)),
        );
        expect(&mut operation, learnt, (&target.url, &mut remarks));
        draft.operations.push(operation);
    }
    if draft.operations.is_empty() {
        let why = draft.omitted.first().map(ToString::to_string).unwrap_or_default();
        return Err(CommandError::Failed(format!(
            "no request got a reply that is a success: {why}. Nothing was written"
        )));
    }
    draft.retain_used_schemas();
    if unsent > 0 {
        remarks.push(format!(
            "{unsent} of the requests may change data and were not sent: --allow-writes sends them as well, where that does no harm"
        ));
    }
    remarks.extend(drop_failing_cases(
        contracts,
        name,
        draft,
        (target, allow_writes),
    )?);
    Ok(remarks)
}

/// Expects what was learnt from two replies.
fn expect(operation: &mut Operation, learnt: InferredExpectation, (url, remarks): (&str, &mut Vec<String>)) {
    operation.remarks.retain(|remark| !remark.contains("is a guess"));
    operation.remarks.push(format!("Recorded from {url}."));
    operation.expect = learnt.expect;
    for difference in learnt.differences {
        remarks.push(format!("{}: {difference}", operation.name));
        operation
            .remarks
            .push(format!("Differs from reply to reply: {difference}."));
    }
}

/// A reply in a few words: its status and the start of its body.
fn described(reply: &CallReply) -> String {
    const LONGEST: usize = 120;
    let body = String::from_utf8_lossy(&reply.body);
    let body = body.split_whitespace().collect::<Vec<_>>().join(" ");
    let begin: String = body.chars().take(LONGEST).collect();
    match begin.len() {
        0 => reply.status.to_string(),
        length if length < body.len() => format!("{} (`{begin}…`)", reply.status),
        _ => format!("{} (`{begin}`)", reply.status),
    }
}

/// The reply to each request; `None` for those that are not sent.
fn replies(
    contract: &Contract,
    draft: &Draft,
    (target, allow_writes): (&Target, bool),
    progress: &dyn Fn(usize),
) -> Result<Vec<Option<CallReply>>, CommandError> {
    let mut replies = Vec::new();
    for operation in &draft.operations {
        progress(replies.len());
        if !allow_writes && !operation.only_reads() {
            replies.push(None);
            continue;
        }
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
        replies.push(Some(reply));
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
    (target, allow_writes): (&Target, bool),
) -> Result<Vec<String>, CommandError> {
    let (_staged, contract) = stage(contracts, name, draft)?;
    let report = check(&CheckRequest {
        contract: &contract,
        target,
        protocol: Protocol::Http1,
        tls: None,
        seed: SEED,
        thorough: false,
        allow_writes,
        backing: &BackingTargets::new(),
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
