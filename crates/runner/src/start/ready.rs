//! Waits until a service is ready: it accepts connections, then it answers correctly.

use crate::testbed::Testbed;
use crate::{Cancel, Failure, RunContext};
use prony_check::CheckRequest;
use prony_config::contract::{Case, Delivery};
use prony_host::Process;
use prony_load::Target;
use prony_records::{StartUp, TrialStage};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};
use std::{io, thread};

/// Interval of probes right after the start: the resolution of the start-up time.
pub(crate) const SOON: Duration = Duration::from_millis(1);
/// Interval of probes after [`PATIENT_AFTER`]: probes disturb a service that starts slowly.
pub(crate) const LATER: Duration = Duration::from_millis(10);
const PATIENT_AFTER: Duration = Duration::from_millis(500);

/// Longest wait for a service that answers, but incorrectly: the check reports what is wrong. A status of 500 or above means that it is
/// not ready yet.
const WRONG: Duration = Duration::from_secs(2);

/// The result of one probe.
enum ReadinessProbe {
    /// The condition holds.
    Yes,
    /// Not yet, for this reason.
    NotYet(String),
    /// It answers, but incorrectly.
    Wrong(String),
}

/// Waits until the service accepts connections and answers the contract's first request correctly, and until it accepts connections on
/// its TLS port, if it has one. `later`: the interval of probes of a service that starts slowly.
pub(crate) fn wait(
    service: &mut dyn Process,
    (request, tls): (CheckRequest<'_>, Option<&Target>),
    (limit, later): (Duration, Duration),
    bench: &RunContext<'_>,
) -> Result<StartUp, Failure> {
    let mut wait = ReadinessWait {
        service,
        limit,
        later,
        cancel: bench.cancel,
        testbed: bench.testbed,
    };
    let request = &request;
    let listening = wait.until(|| probe_port(request.target))?;
    let case = first_case(request);
    let valid = wait.until(|| probe_reply(request, case.as_ref()))?;
    if let Some(target) = tls {
        wait.until(|| probe_port(target))?;
    }
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    Ok(StartUp {
        listening_ms: listening.map(ms),
        first_valid_ms: valid.map(ms),
        idle_memory_bytes: wait.service.memory_bytes(),
        ..StartUp::default()
    })
}

fn probe_port(target: &Target) -> ReadinessProbe {
    if is_listening(&target.host, target.port) {
        ReadinessProbe::Yes
    } else {
        ReadinessProbe::NotYet(format!("nothing listens on {}:{}", target.host, target.port))
    }
}

fn probe_reply(request: &CheckRequest<'_>, case: Option<&Case>) -> ReadinessProbe {
    let Some(case) = case else {
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

/// The first request of the contract that succeeds and has no effect on other cases.
fn first_case(request: &CheckRequest<'_>) -> Option<Case> {
    let cases = request.cases(request.seed);
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
    /// Interval of probes after [`PATIENT_AFTER`].
    later: Duration,
    cancel: &'a Cancel,
    testbed: &'a Testbed,
}

impl ReadinessWait<'_> {
    /// Probes until the condition holds, the service ends, the limit is reached or the run is cancelled. Returns when the condition
    /// held; `None` if the service answers, but will never answer correctly.
    fn until(&mut self, mut probe: impl FnMut() -> ReadinessProbe) -> Result<Option<Duration>, Failure> {
        let mut wrong_since: Option<Instant> = None;
        loop {
            let began = Instant::now();
            let reason = match probe() {
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
                let text = format!("the service {ending} before it was ready");
                return Err(Failure::service_ended(TrialStage::Start, &ending, text));
            }
            if self.cancel.is_now() {
                return Err(Failure::interrupted(TrialStage::Start));
            }
            let age = self.service.age();
            if age > self.limit {
                let text = format!("it was not ready within {:?}: {reason}", self.limit);
                return Err(Failure::new(TrialStage::Start, text));
            }
            let pause = if age < PATIENT_AFTER { SOON } else { self.later };
            thread::sleep(pause.saturating_sub(began.elapsed()));
        }
    }
}

/// Timeout for a port that neither accepts nor rejects connections.
const CONNECT: Duration = Duration::from_secs(1);

pub(crate) fn is_listening(host: &str, port: u16) -> bool {
    let addresses = (host, port).to_socket_addrs();
    let mut addresses = addresses.into_iter().flatten();
    addresses.any(|address| accepts(&address).is_ok_and(|accepts| accepts))
}

/// A connection to a port without a listener can succeed if the kernel assigns the same port to the client: TCP then connects
/// the socket to itself.
fn accepts(address: &SocketAddr) -> io::Result<bool> {
    let stream = TcpStream::connect_timeout(address, CONNECT)?;
    Ok(stream.local_addr()? != stream.peer_addr()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn who_listens_is_heard() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        assert!(is_listening("127.0.0.1", port));
    }

    /// The kernel assigns its ports one after the other, so that one round reaches the port itself.
    #[test]
    fn a_connection_to_itself_is_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        // Connections get the even ports first, listeners the odd ones.
        let port = listener.local_addr().expect("bound").port() & !1;
        drop(listener);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut results = (0..70_000).filter_map(|_| accepts(&address).ok());
        assert_eq!(results.next(), Some(false), "connected, but to itself");
    }
}
