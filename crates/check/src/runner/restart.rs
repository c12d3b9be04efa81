//! Cases in which a backing service goes away and comes back.
//!
//! While it is away each request must be answered with a status that says so, or wait until it is back and be answered rightly.
//! Then all calls of the case must hold at once, on connections of their own, within the time that the case gives.

use crate::CheckRequest;
use crate::case_client::CaseClient;
use crate::case_result::Tally;
use crate::judge::{failure, judge, unanswered};
use crate::report::{CaseReport, Failure};
use prony_config::contract::{Case, Exchange, Restart};
use prony_load::CapturedValues;
use prony_protocols::client::{Client, ClientError, Reply};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Pause between two requests while the backing service is away, and between two tries afterwards: services log what fails.
const PAUSE: Duration = Duration::from_millis(50);
/// Requests at once when it is back: more than the connections that a service keeps.
const AT_ONCE: usize = 32;
/// What a service says that lacks its backing service.
const REFUSALS: [u16; 2] = [500, 503];
/// The same over gRPC: `INTERNAL`, `UNAVAILABLE`.
const GRPC_REFUSALS: [u32; 2] = [13, 14];

/// Stops and starts the backing services of a service under check. `E` is what may fail in that.
pub trait BackingControl<E> {
    /// Ends a backing service in order; its data stays.
    fn stop(&mut self, backing_service: &str) -> Result<(), E>;

    /// Starts it again where it was, with its data, and waits until it is ready.
    fn start(&mut self, backing_service: &str) -> Result<(), E>;
}

/// Tries such a case. The error says what failed other than the service.
pub(crate) fn restarted<E>(
    request: &CheckRequest<'_>,
    case: &Case,
    beside: &mut dyn BackingControl<E>,
) -> Result<CaseReport, E> {
    let restart = case
        .restart
        .as_ref()
        .expect("invariant: asked for such cases only");
    let client = Client::new(request.target, request.protocol);
    let patience = restart.away + restart.recovers;
    let trial = Trial {
        client: CaseClient::patient(&client, patience),
        patience,
        case,
        restart,
        back: AtomicBool::new(false),
    };
    let tally = trial.run(beside)?;
    Ok(CaseReport {
        name: case.name.clone(),
        exchanges: tally.sent,
        failed: tally.failed,
        failures: tally.failures,
    })
}

struct Trial<'a> {
    client: CaseClient<'a>,
    patience: Duration,
    case: &'a Case,
    restart: &'a Restart,
    /// Whether the backing service is about to be there again.
    back: AtomicBool,
}

/// What came of a request.
enum ProbeResult {
    Right,
    /// The service says that it cannot.
    Refused(Failure),
    Wrong(Failure),
    Nothing(ClientError),
}

impl Trial<'_> {
    fn run<E>(&self, beside: &mut dyn BackingControl<E>) -> Result<Tally, E> {
        let backing_service = &self.restart.backing_service;
        beside.stop(backing_service)?;
        let (meanwhile, ready) = thread::scope(|scope| {
            let calls = scope.spawn(|| self.meanwhile());
            thread::sleep(self.restart.away);
            self.back.store(true, Ordering::SeqCst);
            let started = beside.start(backing_service).map(|()| Instant::now());
            let calls = calls
                .join()
                .expect("invariant: the checking client does not panic");
            (calls, started)
        });
        let ready = ready?;
        if meanwhile.failed > 0 {
            return Ok(meanwhile);
        }
        let mut tally = self.afterwards(ready + self.restart.recovers);
        tally.sent += meanwhile.sent;
        Ok(tally)
    }

    /// Requests while the backing service is away, one after the other.
    fn meanwhile(&self) -> Tally {
        let mut tally = Tally::default();
        for exchange in self.case.exchanges.iter().cycle() {
            if self.back.load(Ordering::SeqCst) {
                break;
            }
            let answer = self.client.once_alone(exchange);
            // What comes when it is there again may be right.
            let result = match seen(exchange, answer) {
                ProbeResult::Refused(_) => Ok(()),
                ProbeResult::Right if self.back.load(Ordering::SeqCst) => Ok(()),
                ProbeResult::Right => Err(self.away("a reply as if it were there")),
                ProbeResult::Wrong(wrong) => Err(self.away(&format!("{}: {}", wrong.what, wrong.got))),
                ProbeResult::Nothing(error) => Err(self.away(&unanswered(&error, self.patience).got)),
            };
            let wrong = result.is_err();
            tally.record(exchange, result);
            if wrong {
                break;
            }
            thread::sleep(PAUSE);
        }
        tally
    }

    fn away(&self, got: &str) -> Failure {
        let [one, other] = REFUSALS;
        let backing_service = &self.restart.backing_service;
        failure(
            &format!("while backing service `{backing_service}` is away"),
            format!("{one} or {other}"),
            got.to_owned(),
        )
    }

    /// All calls at once, again and again until all hold.
    fn afterwards(&self, until: Instant) -> Tally {
        loop {
            let (tally, hopeless) = self.all_at_once();
            if tally.failed == 0 || hopeless || Instant::now() >= until {
                return tally;
            }
            thread::sleep(PAUSE);
        }
    }

    /// Whether they hold, and whether one was answered in a way that a service without its backing service must not answer either.
    fn all_at_once(&self) -> (Tally, bool) {
        let mut tally = Tally::default();
        let mut hopeless = false;
        for some in self.case.exchanges.chunks(AT_ONCE) {
            let all: Vec<ProbeResult> = thread::scope(|scope| {
                let ask = |exchange| scope.spawn(move || seen(exchange, self.client.once_alone(exchange)));
                let under_way: Vec<_> = some.iter().map(ask).collect();
                let done = under_way.into_iter().map(thread::ScopedJoinHandle::join);
                done.map(|seen| seen.expect("invariant: a request does not panic"))
                    .collect()
            });
            for (exchange, seen) in some.iter().zip(all) {
                hopeless |= matches!(&seen, ProbeResult::Wrong(_));
                let result = match seen {
                    ProbeResult::Right => Ok(()),
                    ProbeResult::Refused(failure) | ProbeResult::Wrong(failure) => Err(self.back(failure)),
                    ProbeResult::Nothing(error) => Err(self.back(unanswered(&error, self.patience))),
                };
                tally.record(exchange, result);
            }
        }
        (tally, hopeless)
    }

    fn back(&self, failure: Failure) -> Failure {
        let Restart {
            backing_service,
            recovers,
            ..
        } = self.restart;
        Failure {
            what: format!(
                "within {recovers:?} after backing service `{backing_service}` was back: {}",
                failure.what
            ),
            ..failure
        }
    }
}

fn seen(exchange: &Exchange, reply: Result<Reply, ClientError>) -> ProbeResult {
    let reply = match reply {
        Err(error) => return ProbeResult::Nothing(error),
        Ok(reply) => reply,
    };
    match judge(exchange, &reply, &mut CapturedValues::default()) {
        Ok(()) => ProbeResult::Right,
        Err(mismatch) => {
            let refused = match reply.grpc_status {
                Some(code) => GRPC_REFUSALS.contains(&code),
                None => REFUSALS.contains(&reply.status),
            };
            let failure = failure(&mismatch.what, mismatch.expected, mismatch.got);
            if refused {
                ProbeResult::Refused(failure)
            } else {
                ProbeResult::Wrong(failure)
            }
        }
    }
}
