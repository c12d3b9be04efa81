//! Faulty gateways in front of a language model.

mod server;

use crate::{assert_faults_rejected, contract, failures_of, request, target};
use prony_check::{
    BackingControl, BackingTargets, CheckReport, CheckRequest, CheckedService, check, check_beside,
};
use prony_config::contract::FileChange;
use prony_load::Protocol;
use prony_servers::Backend;
use prony_servers::model::ModelSettings;
use server::{Fault, KEY};
use std::net::SocketAddr;
use std::time::Duration;

/// A model that can go away.
struct Model {
    address: SocketAddr,
    running: Option<Backend>,
}

impl Model {
    fn start() -> Self {
        let running = Self::run(0);
        let address = running.url().trim_start_matches("http://").to_owned();
        Self {
            address: address.parse().expect("an address"),
            running: Some(running),
        }
    }

    fn run(port: u16) -> Backend {
        let settings = ModelSettings {
            first: Duration::from_millis(20),
            gap: Duration::from_millis(5),
            key: Some(KEY.to_owned()),
        };
        Backend::model(settings, port).expect("a model")
    }
}

impl BackingControl<String> for Model {
    fn stop(&mut self, backing_service: &str) -> Result<(), String> {
        assert_eq!(backing_service, "model");
        self.running = None;
        Ok(())
    }

    fn start(&mut self, _: &str) -> Result<(), String> {
        self.running = Some(Self::run(self.address.port()));
        Ok(())
    }

    fn change(&mut self, change: &FileChange) -> Result<(), String> {
        Err(format!("the model has no file {change:?}"))
    }
}

/// Checks a gateway with a fault, with the cases in which the model goes away if asked for.
fn checked(fault: Fault, with_restart: bool) -> CheckReport {
    let contract = contract("gateway");
    let mut model = Model::start();
    let gateway = server::serve(model.address, fault);
    let target_of_gateway = target(gateway.address);
    let backing = BackingTargets::from([("model".to_owned(), target(model.address))]);
    let request = CheckRequest {
        backing: &backing,
        ..request(&contract, &target_of_gateway, Protocol::Http1)
    };
    if !with_restart {
        return check(&request);
    }
    let subject = CheckedService {
        backing: &mut model,
        cpu_time: &mut |_| None,
    };
    check_beside(&request, Some(subject)).expect("the model starts again")
}

#[test]
fn the_right_gateway_passes_and_has_all_traits() {
    let report = checked(Fault::None, true);
    let failures = failures_of(std::slice::from_ref(&report));
    assert_eq!(failures, "");
    assert!(report.passed());
    let lacking: Vec<String> = report
        .traits
        .iter()
        .filter(|(_, has)| !**has)
        .map(|(name, _)| name.clone())
        .collect();
    assert_eq!(lacking, Vec::<String>::new());
    assert_eq!(report.traits.len(), 4);
}

#[test]
fn a_trait_that_is_missing_is_no_failure() {
    let report = checked(Fault::LosesErrors, false);
    assert_eq!(report.traits.get("error body unchanged"), Some(&false));
    assert_eq!(report.traits.get("byte-true"), Some(&true));
    let required: Vec<&str> = report
        .cases
        .iter()
        .filter(|case| !case.passed())
        .map(|case| case.name.as_str())
        .collect();
    assert!(
        !required.contains(&"the body of an error comes back"),
        "{required:?}"
    );
}

/// Gateways with a fault each, and the failures that are expected.
const FAULTS: [(Fault, &str); 30] = [
    (Fault::MergesTwo, "event 2: data"),
    (Fault::DropsOne, "event 2: data at choices[0].delta.content"),
    (Fault::DoublesOne, "event 3: data at choices[0].delta.content"),
    (Fault::SwapsTwo, "event 2: data at choices[0].delta.content"),
    (Fault::AltersACharacter, "expected \"w838 2 \", got \"w839 2 \""),
    (Fault::LosesUsage, "event 3: data: not JSON"),
    (Fault::SecondDone, "events: too many"),
    (Fault::NoDone, "events: too few"),
    (
        Fault::BuffersAll,
        "each event comes when it is due*events: not flushed one by one",
    ),
    (
        Fault::Buffers4KiB,
        "each event comes when it is due*events: not flushed one by one",
    ),
    (
        Fault::FlushesEach100Ms,
        "each event comes when it is due*events: not flushed one by one",
    ),
    (Fault::MixesStreams, "event 2: data at id"),
    (
        Fault::KeepsReading,
        "clients that leave are cancelled at the model*open: expected 0, got 64",
    ),
    (
        Fault::Retries503,
        "a model that is down*requests: expected 1, got 3",
    ),
    (
        Fault::Turns429Into500,
        "too many requests*status: expected 429, got 500",
    ),
    (
        Fault::Turns404Into200,
        "an unknown model*status: expected 404, got 200",
    ),
    (Fault::LosesErrors, "/error"),
    (
        Fault::SwallowsCut,
        "an answer that fails or breaks off never looks complete",
    ),
    (
        Fault::SwallowsFailure,
        "an answer that fails or breaks off never looks complete",
    ),
    (
        Fault::CachesByPrompt,
        "the same prompt twice*requests: expected 3, got",
    ),
    (Fault::ForwardsTheKey, "status: expected 200, got 401"),
    (Fault::Truncates64KiB, "odd events*event 2: data"),
    (
        Fault::BreaksUtf8,
        "odd events*event 3: data at choices[0].delta.content",
    ),
    (
        Fault::FixedContentType,
        "header content-type: expected application/json",
    ),
    (Fault::LosesAMember, "bodies[0].top_p: expected 0.5, got nothing"),
    (Fault::RoundsNumbers, "bodies[0].seed"),
    (Fault::SendsTwice, "requests: expected 1, got 2"),
    (
        Fault::WaitsForADeadModel,
        "while backing service `model` is away*no complete reply within 1s",
    ),
    (Fault::NeverRecovers, "after backing service `model` was back"),
    (
        Fault::AnswersFromMemory,
        "while backing service `model` is away*a reply as if it were there",
    ),
];

#[test]
fn every_wrong_gateway_is_rejected() {
    let needs_restart = [
        Fault::WaitsForADeadModel,
        Fault::NeverRecovers,
        Fault::AnswersFromMemory,
    ];
    assert_faults_rejected(&FAULTS, |fault, _| {
        failures_of(&[checked(fault, needs_restart.contains(&fault))])
    });
}
