//! Cases in which a backing service goes away and comes back.
//!
//! While it is away each request must be answered with a status that says so, or wait until it is back and be answered rightly.
//! Then all calls of the case must hold at once, on connections of their own, within the time that the case gives.

use crate::case_result::Tally;
use crate::client::Client;
use crate::exchange::{Answer, Fault, failure, judge, unanswered};
use crate::report::{CaseReport, Failure};
use crate::stream::Endpoint;
use crate::{CheckRequest, block_on};
use prony_config::contract::{Case, Exchange, Restart};
use prony_load::Bag;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

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
    let endpoint = Endpoint::new(request.target, request.protocol);
    let patience = restart.away + restart.recovers;
    let trial = Trial {
        client: Client::patient(endpoint, request.protocol, patience),
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
    client: Client,
    case: &'a Case,
    restart: &'a Restart,
    /// Whether the backing service is about to be there again.
    back: AtomicBool,
}

/// What came of a request.
enum Seen {
    Right,
    /// The service says that it cannot.
    Refused(Failure),
    Wrong(Failure),
    Nothing(Fault),
}

impl Trial<'_> {
    fn run<E>(&self, beside: &mut dyn BackingControl<E>) -> Result<Tally, E> {
        let backing_service = &self.restart.backing_service;
        beside.stop(backing_service)?;
        let (meanwhile, ready) = thread::scope(|scope| {
            let calls = scope.spawn(|| block_on(self.meanwhile()));
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
        let mut tally = block_on(self.afterwards(ready + self.restart.recovers));
        tally.sent += meanwhile.sent;
        Ok(tally)
    }

    /// Requests while the backing service is away, one after the other.
    async fn meanwhile(&self) -> Tally {
        let mut tally = Tally::default();
        for exchange in self.case.exchanges.iter().cycle() {
            if self.back.load(Ordering::SeqCst) {
                break;
            }
            let answer = self.client.once_alone(exchange).await;
            // What comes when it is there again may be right.
            let result = match seen(exchange, answer) {
                Seen::Refused(_) => Ok(()),
                Seen::Right if self.back.load(Ordering::SeqCst) => Ok(()),
                Seen::Right => Err(self.away("a reply as if it were there")),
                Seen::Wrong(wrong) => Err(self.away(&format!("{}: {}", wrong.what, wrong.got))),
                Seen::Nothing(fault) => Err(self.away(&fault.to_string())),
            };
            let wrong = result.is_err();
            tally.record(exchange, result);
            if wrong {
                break;
            }
            tokio::time::sleep(PAUSE).await;
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
    async fn afterwards(&self, until: Instant) -> Tally {
        loop {
            let (tally, hopeless) = self.all_at_once().await;
            if tally.failed == 0 || hopeless || Instant::now() >= until {
                return tally;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Whether they hold, and whether one was answered in a way that a service without its backing service must not answer either.
    async fn all_at_once(&self) -> (Tally, bool) {
        let mut tally = Tally::default();
        let mut hopeless = false;
        for some in self.case.exchanges.chunks(AT_ONCE) {
            let mut under_way = JoinSet::new();
            for exchange in some.iter().cloned() {
                let client = self.client.clone();
                under_way.spawn(async move {
                    let answer = client.once_alone(&exchange).await;
                    (seen(&exchange, answer), exchange)
                });
            }
            while let Some(done) = under_way.join_next().await {
                let (seen, exchange) = done.expect("invariant: a request does not panic");
                hopeless |= matches!(&seen, Seen::Wrong(_));
                let result = match seen {
                    Seen::Right => Ok(()),
                    Seen::Refused(failure) | Seen::Wrong(failure) => Err(self.back(failure)),
                    Seen::Nothing(fault) => Err(self.back(unanswered(&fault))),
                };
                tally.record(&exchange, result);
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

fn seen(exchange: &Exchange, answer: Result<Answer, Fault>) -> Seen {
    let answer = match answer {
        Err(fault) => return Seen::Nothing(fault),
        Ok(answer) => answer,
    };
    match judge(exchange, &answer, &mut Bag::default()) {
        Ok(()) => Seen::Right,
        Err(mismatch) => {
            let refused = match answer.grpc_status {
                Some(code) => GRPC_REFUSALS.contains(&code),
                None => REFUSALS.contains(&answer.status),
            };
            let failure = failure(&mismatch.what, mismatch.expected, mismatch.got);
            if refused {
                Seen::Refused(failure)
            } else {
                Seen::Wrong(failure)
            }
        }
    }
}
