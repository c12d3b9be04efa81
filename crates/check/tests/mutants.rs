//! What all mutants have in common: how one is made, how it is checked, and what must be reported of it.

use crate::toy::{self, Call, FaultMode, ScriptedReply};
use prony_check::{CheckReport, CheckRequest, check, recheck};
use prony_config::contract::Contract;
use prony_load::{Protocol, Target};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// One way to be wrong.
pub(crate) struct Mutant {
    /// What is wrong.
    pub(crate) name: &'static str,
    /// What the check must say of it.
    pub(crate) told: &'static str,
    pub(crate) habit: FaultMode,
    pub(crate) change: Box<Change>,
}

pub(crate) type Change = dyn Fn(&Call, &mut ScriptedReply) + Send + Sync;

/// A server whose right answers are changed.
pub(crate) fn answers(
    name: &'static str,
    told: &'static str,
    change: impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static,
) -> Mutant {
    Mutant {
        name,
        told,
        habit: FaultMode::Right,
        change: Box::new(change),
    }
}

/// A server that reads or writes wrongly.
pub(crate) fn habit(name: &'static str, told: &'static str, habit: FaultMode) -> Mutant {
    Mutant {
        name,
        told,
        habit,
        change: Box::new(|_, _| {}),
    }
}

pub(crate) fn contract(name: &str) -> Contract {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../contracts")
        .join(name);
    Contract::load(&folder).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn target(address: SocketAddr) -> Target {
    Target {
        url: format!("http://{address}"),
        host: address.ip().to_string(),
        port: address.port(),
        authority: address.to_string(),
        tls: None,
        connect: prony_load::ConnectOptions::default(),
    }
}

/// Checks what listens at an address, before and after a load that does not take place here.
pub(crate) fn checked(contract: &Contract, address: SocketAddr, protocol: Protocol) -> Vec<CheckReport> {
    checked_at(contract, &target(address), protocol)
}

/// The same of what listens at a target.
pub(crate) fn checked_at(contract: &Contract, target: &Target, protocol: Protocol) -> Vec<CheckReport> {
    let request = request(contract, target, protocol);
    vec![check(&request), recheck(&request)]
}

/// What is asked of a server.
pub(crate) const fn request<'a>(
    contract: &'a Contract,
    target: &'a Target,
    protocol: Protocol,
) -> CheckRequest<'a> {
    CheckRequest {
        contract,
        target,
        protocol,
        seed: 11,
        thorough: false,
    }
}

/// Everything that reports say of failures.
pub(crate) fn told(reports: &[CheckReport]) -> String {
    let mut text = String::new();
    for case in reports.iter().flat_map(|report| &report.cases) {
        for failure in &case.failures {
            let _ = writeln!(text, "{}: {failure}", case.name);
        }
    }
    text
}

/// Mutants at once.
pub(crate) const AT_ONCE: usize = 4;

/// Checks the right twin and every mutant of a contract; fails with the list of those that were not caught.
pub(crate) fn try_all(
    name: &str,
    right: impl Fn(&Call) -> ScriptedReply + Send + Sync + 'static,
    mutants: Vec<Mutant>,
) {
    let contract = contract(name);
    let right: Arc<CorrectHandler> = Arc::new(right);
    twin_passes(&contract, &right);
    let waiting = Mutex::new(mutants);
    side_by_side(|| {
        let mutant = waiting.lock().expect("no panic").pop()?;
        Some(survives(&contract, &right, mutant))
    });
}

pub(crate) type CorrectHandler = dyn Fn(&Call) -> ScriptedReply + Send + Sync;

/// The right server must pass.
pub(crate) fn twin_passes(contract: &Contract, right: &Arc<CorrectHandler>) {
    let right = Arc::clone(right);
    let twin = toy::serve(FaultMode::Right, Arc::new(move |call: &Call| right(call)));
    let reports = checked(contract, twin.address, Protocol::Http1);
    assert_eq!(
        told(&reports),
        "",
        "the right twin of {} must pass",
        contract.name
    );
}

/// Checks a mutant; what is wrong with the check where it does not name the fault.
pub(crate) fn survives(contract: &Contract, right: &Arc<CorrectHandler>, mutant: Mutant) -> Option<String> {
    let all = |address| checked(contract, address, Protocol::Http1);
    survives_what(all, right, mutant)
}

/// The same with other checks.
pub(crate) fn survives_what(
    checks: impl Fn(SocketAddr) -> Vec<CheckReport>,
    right: &Arc<CorrectHandler>,
    mutant: Mutant,
) -> Option<String> {
    let (right, change) = (Arc::clone(right), mutant.change);
    let handler = move |call: &Call| {
        let mut answer = right(call);
        change(call, &mut answer);
        answer
    };
    let toy = toy::serve(mutant.habit, Arc::new(handler));
    let said = told(&checks(toy.address));
    if said.lines().any(|line| is_told(line, mutant.told)) {
        return None;
    }
    let said: Vec<String> = said
        .lines()
        .take(6)
        .map(|line| line.chars().take(150).collect())
        .collect();
    Some(format!(
        "{}: nothing says `{}`; said was:\n{}",
        mutant.name,
        mutant.told,
        said.join("\n")
    ))
}

/// Whether a line says this; `*` stands for anything.
pub(crate) fn is_told(line: &str, told: &str) -> bool {
    let mut rest = Some(line);
    for part in told.split('*') {
        rest = rest.and_then(|rest| rest.split_once(part)).map(|(_, rest)| rest);
    }
    rest.is_some()
}

/// Checks a server with each of these faults; `said` is what the check says of it, asked for these words. Fails with all of which it
/// does not say the words that stand beside them.
pub(crate) fn each_is_told<F: Copy + std::fmt::Debug + Send>(
    mutants: &[(F, &str)],
    said: impl Fn(F, &str) -> String + Sync,
) {
    let waiting = Mutex::new(mutants.to_vec());
    side_by_side(|| {
        let (fault, words) = waiting.lock().expect("no panic").pop()?;
        let said = said(fault, words);
        if said.lines().any(|line| is_told(line, words)) {
            return Some(None);
        }
        let said: String = said.chars().take(1_500).collect();
        Some(Some(format!(
            "{fault:?}: nothing says `{words}`; said was:\n{said}"
        )))
    });
}

/// Calls `next` on several threads until it has nothing more; fails with all that it complained of.
pub(crate) fn side_by_side(next: impl Fn() -> Option<Option<String>> + Sync) {
    let complaints = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(complaint) = next() {
                    complaints.lock().expect("no panic").extend(complaint);
                }
            });
        }
    });
    let complaints = complaints.into_inner().expect("no panic");
    assert!(
        complaints.is_empty(),
        "{} survived:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}
