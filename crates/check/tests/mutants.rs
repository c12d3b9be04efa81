//! Mutants are servers with one fault each. This module builds and checks them, and compares the failures with those expected.

use crate::toy::{self, Call, FaultMode, ScriptedReply};
use prony_check::{BackingTargets, CheckReport, CheckRequest, check, check_cases, recheck};
use prony_config::contract::{Case, Contract};
use prony_load::{Protocol, Target};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A server with one fault.
pub(crate) struct Mutant {
    /// The fault.
    pub(crate) name: &'static str,
    /// Text that a failure must contain; `*` stands for any text.
    pub(crate) expected: &'static str,
    pub(crate) fault: FaultMode,
    pub(crate) change: Box<Change>,
}

pub(crate) type Change = dyn Fn(&Call, &mut ScriptedReply) + Send + Sync;

/// A server that changes correct replies.
pub(crate) fn wrong_reply(
    name: &'static str,
    expected: &'static str,
    change: impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static,
) -> Mutant {
    Mutant {
        name,
        expected,
        fault: FaultMode::Right,
        change: Box::new(change),
    }
}

/// A server that reads or writes incorrectly.
pub(crate) fn wrong_mode(name: &'static str, expected: &'static str, fault: FaultMode) -> Mutant {
    Mutant {
        name,
        expected,
        fault,
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
        credentials: None,
    }
}

/// Checks the server at an address, and checks it again as after a load.
pub(crate) fn check_and_recheck(
    contract: &Contract,
    address: SocketAddr,
    protocol: Protocol,
) -> Vec<CheckReport> {
    check_and_recheck_at(contract, &target(address), protocol)
}

pub(crate) fn check_and_recheck_at(
    contract: &Contract,
    target: &Target,
    protocol: Protocol,
) -> Vec<CheckReport> {
    let request = request(contract, target, protocol);
    vec![check(&request), recheck(&request)]
}

/// No backing services.
static NO_BACKING: BackingTargets = BackingTargets::new();

pub(crate) const fn request<'a>(
    contract: &'a Contract,
    target: &'a Target,
    protocol: Protocol,
) -> CheckRequest<'a> {
    CheckRequest {
        backing: &NO_BACKING,
        contract,
        target,
        protocol,
        tls: None,
        seed: SEED,
        thorough: false,
        allow_writes: true,
    }
}

/// Seed of the random values of a check.
const SEED: u64 = 11;

/// The failures of these reports, one a line.
pub(crate) fn failures_of(reports: &[CheckReport]) -> String {
    let mut text = String::new();
    for case in reports.iter().flat_map(|report| &report.cases) {
        for failure in &case.failures {
            let _ = writeln!(text, "{}: {failure}", case.name);
        }
    }
    text
}

/// Mutants that are checked at once.
const PARALLEL_MUTANTS: usize = 4;

pub(crate) type CorrectHandler = dyn Fn(&Call) -> ScriptedReply + Send + Sync;

/// Checks the correct server of a contract and every mutant of it.
pub(crate) fn assert_mutants_rejected(
    name: &str,
    correct: impl Fn(&Call) -> ScriptedReply + Send + Sync + 'static,
    mutants: Vec<Mutant>,
) {
    let contract = contract(name);
    let correct: Arc<CorrectHandler> = Arc::new(correct);
    assert_correct_passes(&contract, &correct);
    let check = MutantCheck::of(&contract);
    assert_none_survives(mutants, |mutant| check.survival_in_toy(&correct, mutant));
}

/// Checks the correct server of a contract, which must pass.
pub(crate) fn assert_correct_passes(contract: &Contract, correct: &Arc<CorrectHandler>) {
    let correct = Arc::clone(correct);
    let toy = toy::serve(FaultMode::Right, Arc::new(move |call: &Call| correct(call)));
    let reports = check_and_recheck(contract, toy.address, Protocol::Http1);
    assert_eq!(
        failures_of(&reports),
        "",
        "the correct server of {} must pass",
        contract.name
    );
}

/// The check of many mutants over HTTP/1.1.
pub(crate) struct MutantCheck<'a> {
    contract: &'a Contract,
    /// The same for each mutant: making them takes longer than sending them.
    cases: Vec<Case>,
}

impl<'a> MutantCheck<'a> {
    pub(crate) fn of(contract: &'a Contract) -> Self {
        Self {
            contract,
            cases: contract.cases(Protocol::Http1, SEED),
        }
    }

    /// The check by one of the cases, without others at the same time.
    pub(crate) fn of_case(contract: &'a Contract, name: &str) -> Self {
        let mut check = Self::of(contract);
        check.cases.retain(|case| case.name == name);
        assert_eq!(check.cases.len(), 1, "cases with the name {name}");
        check
    }

    /// See [`survival`].
    pub(crate) fn survival_in_toy(&self, correct: &Arc<CorrectHandler>, mutant: Mutant) -> Option<String> {
        let (correct, change) = (Arc::clone(correct), mutant.change);
        let handler = move |call: &Call| {
            let mut answer = correct(call);
            change(call, &mut answer);
            answer
        };
        let toy = toy::serve(mutant.fault, Arc::new(handler));
        self.survival_at(toy.address, (mutant.name, mutant.expected))
    }

    /// Checks the server at an address, and checks it again only if the first check lacks the expected failure: one of either is enough.
    pub(crate) fn survival_at(&self, address: SocketAddr, (name, expected): (&str, &str)) -> Option<String> {
        let target = target(address);
        let request = request(self.contract, &target, Protocol::Http1);
        let first = if self.cases.iter().any(Case::is_disruptive) {
            check(&request)
        } else {
            check_cases(&request, self.cases.clone())
        };
        let failures = failures_of(std::slice::from_ref(&first));
        survival(name, expected, &failures)?;
        survival(name, expected, &failures_of(&[first, recheck(&request)]))
    }
}

/// Explains that the check did not detect a fault; `None` if a line of its failures matches the expected pattern.
pub(crate) fn survival(name: &str, expected: &str, failures: &str) -> Option<String> {
    if failures.lines().any(|line| matches_pattern(line, expected)) {
        return None;
    }
    let failures: String = failures.chars().take(900).collect();
    Some(format!("{name}: no failure contains `{expected}`:\n{failures}"))
}

/// Whether a text contains the parts of the pattern in their order; `*` separates them.
pub(crate) fn matches_pattern(text: &str, pattern: &str) -> bool {
    let mut rest = Some(text);
    for part in pattern.split('*') {
        rest = rest.and_then(|rest| rest.split_once(part)).map(|(_, rest)| rest);
    }
    rest.is_some()
}

/// Checks servers with these faults. `failures` checks a server with a fault, of which this failure is expected.
pub(crate) fn assert_faults_rejected<F: Copy + std::fmt::Debug + Send>(
    faults: &[(F, &str)],
    failures: impl Fn(F, &str) -> String + Sync,
) {
    assert_none_survives(faults.to_vec(), |(fault, expected)| {
        survival(&format!("{fault:?}"), expected, &failures(fault, expected))
    });
}

/// Checks mutants on several threads. `survival` explains why the check did not detect one.
pub(crate) fn assert_none_survives<M: Send>(mutants: Vec<M>, survival: impl Fn(M) -> Option<String> + Sync) {
    let (waiting, survivors) = (Mutex::new(mutants), Mutex::new(Vec::new()));
    let next = || waiting.lock().expect("no panic").pop();
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL_MUTANTS {
            scope.spawn(|| {
                while let Some(mutant) = next() {
                    let survivor = survival(mutant);
                    survivors.lock().expect("no panic").extend(survivor);
                }
            });
        }
    });
    let survivors = survivors.into_inner().expect("no panic");
    assert!(
        survivors.is_empty(),
        "{} survived:\n{}",
        survivors.len(),
        survivors.join("\n")
    );
}
