//! Waiting until a service is ready: it accepts connections, then it answers rightly.

use crate::port_probe::is_listening;
use crate::testbed::Testbed;
use crate::{Cancel, Failure, RunContext};
use prony_check::CheckRequest;
use prony_config::contract::{Case, Delivery};
use prony_host::Process;
use prony_load::Target;
use prony_records::{StartUp, TrialStage};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks at a service that has just been started: the resolution of its start-up time.
const SOON: Duration = Duration::from_millis(1);
/// The same after [`PATIENT_AFTER`]: looking disturbs a service that is slow to start.
const LATER: Duration = Duration::from_millis(10);
const PATIENT_AFTER: Duration = Duration::from_millis(500);

/// A service that answers, but wrongly, is not waited for any longer than this: the check will say what is wrong. A status
/// of 500 and above says that it is not ready yet.
const WRONG: Duration = Duration::from_secs(2);

/// What one look at a service showed.
enum ReadinessProbe {
    /// The condition holds.
    Yes,
    /// Not yet, for this reason.
    NotYet(String),
    /// It answers, but wrongly.
    Wrong(String),
}

/// Waits until the service accepts connections and answers the contract's first request rightly.
pub(crate) fn wait(
    service: &mut dyn Process,
    request: &CheckRequest<'_>,
    limit: Duration,
    bench: &RunContext<'_>,
) -> Result<StartUp, Failure> {
    let mut wait = ReadinessWait {
        service,
        limit,
        cancel: bench.cancel,
        testbed: bench.testbed,
    };
    let listening = wait.until(|| listens(request.target))?;
    let probe = first_case(request);
    let valid = wait.until(|| answers(request, probe.as_ref()))?;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    Ok(StartUp {
        listening_ms: listening.map(ms),
        first_valid_ms: valid.map(ms),
        idle_memory_bytes: wait.service.memory_bytes(),
    })
}

fn listens(target: &Target) -> ReadinessProbe {
    if is_listening(&target.host, target.port) {
        ReadinessProbe::Yes
    } else {
        ReadinessProbe::NotYet(format!("nothing listens on {}:{}", target.host, target.port))
    }
}

fn answers(request: &CheckRequest<'_>, probe: Option<&Case>) -> ReadinessProbe {
    let Some(case) = probe else {
        return ReadinessProbe::Yes;
    };
    let report = prony_check::check_cases(request, vec![case.clone()]);
    let Some(failure) = report.cases.iter().find_map(|case| case.failures.first()) else {
        return ReadinessProbe::Yes;
    };
    let text = format!("it accepts connections, but {failure}");
    let not_ready = match failure.what.as_str() {
        "status" => failure.got.starts_with('5'),
        "reply" | "grpc-status" => true,
        _ => false,
    };
    if not_ready {
        ReadinessProbe::NotYet(text)
    } else {
        ReadinessProbe::Wrong(text)
    }
}

/// The first request of the contract that a good service grants and that disturbs nothing, once.
fn first_case(request: &CheckRequest<'_>) -> Option<Case> {
    let cases = request.contract.cases(request.protocol, request.seed);
    let granted = |case: &Case| {
        let expect = case.exchanges.first().map(|exchange| &exchange.expect);
        expect.is_some_and(|expect| {
            let status = expect
                .status
                .iter()
                .all(|status| matches!(*status, 101 | 200..300));
            status && expect.grpc_status.unwrap_or(0) == 0
        })
    };
    let mut case = cases.into_iter().find(|case| !case.alone && granted(case))?;
    case.exchanges.truncate(1);
    case.exchanges[0].until = None;
    case.exchanges[0].within = None;
    case.delivery = Delivery::InTurn;
    case.thorough = false;
    Some(case)
}

struct ReadinessWait<'a> {
    service: &'a mut dyn Process,
    limit: Duration,
    cancel: &'a Cancel,
    testbed: &'a Testbed,
}

impl ReadinessWait<'_> {
    /// Probes until the condition holds, the service ends, the limit is reached or the run is cancelled. Returns when the condition
    /// held; `None` if the service answers, but will never answer correctly.
    fn until(&mut self, mut look: impl FnMut() -> ReadinessProbe) -> Result<Option<Duration>, Failure> {
        let mut wrong_since: Option<Instant> = None;
        loop {
            let began = Instant::now();
            let refused = match look() {
                ReadinessProbe::Yes => return Ok(Some(self.service.age())),
                ReadinessProbe::Wrong(_) if wrong_since.is_some_and(|since| since.elapsed() > WRONG) => {
                    return Ok(None);
                }
                ReadinessProbe::Wrong(reason) => {
                    wrong_since.get_or_insert(began);
                    reason
                }
                ReadinessProbe::NotYet(reason) => {
                    wrong_since = None;
                    reason
                }
            };
            if let Some(lost) = self.testbed.lost() {
                return Err(Failure::host(TrialStage::Start, &lost));
            }
            if let Some(ending) = self.service.ended() {
                let text = format!("the service {ending}, before it was ready");
                return Err(Failure::service_ended(TrialStage::Start, text));
            }
            if self.cancel.is_now() {
                return Err(Failure::interrupted(TrialStage::Start));
            }
            let age = self.service.age();
            if age > self.limit {
                let text = format!("it was not ready within {:?}: {refused}", self.limit);
                return Err(Failure::new(TrialStage::Start, text));
            }
            let pause = if age < PATIENT_AFTER { SOON } else { LATER };
            thread::sleep(pause.saturating_sub(began.elapsed()));
        }
    }
}
