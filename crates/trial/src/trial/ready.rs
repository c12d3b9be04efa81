//! Waiting until a service is ready: it accepts connections, then it answers rightly.

use crate::check::{self, CheckRequest};
use crate::{Cancel, Failure};
use prony_contract::{Case, Delivery};
use prony_host::Process;
use prony_load::Target;
use prony_measurement::{Stage, StartUp};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks at a service that has just been started: the resolution of its start-up time.
const SOON: Duration = Duration::from_millis(1);
/// The same after [`PATIENT_AFTER`]: looking disturbs a service that is slow to start.
const LATER: Duration = Duration::from_millis(10);
const PATIENT_AFTER: Duration = Duration::from_millis(500);
/// Longest wait for a connection of a port that neither accepts nor refuses.
const CONNECT: Duration = Duration::from_secs(1);

/// Waits until the service accepts connections and answers the contract's first request rightly. Any other answer (a 503
/// while it starts, say) is not ready yet.
pub fn wait(
    service: &mut dyn Process,
    request: &CheckRequest<'_>,
    limit: Duration,
    cancel: &Cancel,
) -> Result<StartUp, Failure> {
    let mut wait = Wait {
        service,
        limit,
        cancel,
        refused: None,
    };
    let target = request.target;
    wait.until(|| {
        if listens(target) {
            Ok(())
        } else {
            Err(nobody_listens(target))
        }
    })?;
    let listening = wait.service.age();
    let probe = first_case(request);
    wait.until(|| match &probe {
        Some(case) => {
            let report = check::run(request, vec![case.clone()]);
            report.first_failure().map_or(Ok(()), |failure| {
                Err(format!("it accepts connections, but {failure}"))
            })
        }
        None => Ok(()),
    })?;
    let first_valid = wait.service.age();
    Ok(StartUp {
        listening_ms: Some(listening.as_secs_f64() * 1e3),
        first_valid_ms: Some(first_valid.as_secs_f64() * 1e3),
        idle_memory_bytes: wait.service.memory_bytes(),
    })
}

fn nobody_listens(target: &Target) -> String {
    format!("nothing listens on {}:{}", target.host, target.port)
}

/// The first request of the contract that disturbs nothing, once.
fn first_case(request: &CheckRequest<'_>) -> Option<Case> {
    let cases = request.contract.cases(request.protocol, request.seed);
    let mut case = cases
        .into_iter()
        .find(|case| !case.alone && !case.exchanges.is_empty())?;
    case.exchanges.truncate(1);
    case.exchanges[0].until = None;
    case.exchanges[0].within = None;
    case.delivery = Delivery::InTurn;
    case.thorough = false;
    Some(case)
}

fn listens(target: &Target) -> bool {
    let addresses = (target.host.as_str(), target.port).to_socket_addrs();
    addresses
        .into_iter()
        .flatten()
        .any(|address| TcpStream::connect_timeout(&address, CONNECT).is_ok())
}

struct Wait<'a> {
    service: &'a mut dyn Process,
    limit: Duration,
    cancel: &'a Cancel,
    refused: Option<String>,
}

impl Wait<'_> {
    /// Tries until it is so, the service ends, the limit is reached, or the user has had enough.
    fn until(&mut self, mut attempt: impl FnMut() -> Result<(), String>) -> Result<(), Failure> {
        loop {
            let began = Instant::now();
            match attempt() {
                Ok(()) => return Ok(()),
                Err(reason) => self.refused = Some(reason),
            }
            if let Some(ending) = self.service.ended() {
                return Err(Failure::new(
                    Stage::Start,
                    format!("the service {ending}, before it was ready"),
                ));
            }
            if self.cancel.is_now() {
                return Err(Failure::interrupted(Stage::Start));
            }
            let age = self.service.age();
            if age > self.limit {
                let reason = self.refused.take().unwrap_or_default();
                let text = format!("it was not ready within {:?}: {reason}", self.limit);
                return Err(Failure::new(Stage::Start, text));
            }
            let pause = if age < PATIENT_AFTER { SOON } else { LATER };
            thread::sleep(pause.saturating_sub(began.elapsed()));
        }
    }
}
