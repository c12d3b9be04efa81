//! Cases in which a backing service stops and starts again.
//!
//! While it is down, the service must answer each request with an error status, or hold the request until the backing service is up
//! and then answer it correctly. Afterwards all calls of the case, each on a new connection, must pass at the same time, within the
//! recovery time of the case.

use crate::CheckRequest;
use crate::case_client::CaseClient;
use crate::clients::Clients;
use crate::judge::{failure, judge, missing_reply};
use crate::report::{CaseReport, Failure};
use crate::tally::Tally;
use prony_config::contract::{Case, Exchange, FileChange, Restart};
use prony_load::CapturedValues;
use prony_protocols::client::{ClientError, Reply};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Pause between two requests while the backing service is down, and between attempts afterwards: services log failures.
const PAUSE: Duration = Duration::from_millis(50);
/// Concurrent requests after the restart: more than the connections that a service pools.
const CONCURRENT_REQUESTS: usize = 32;
/// Statuses of gRPC with which a service may report that its backing service is down: `INTERNAL`, `UNAVAILABLE`.
const GRPC_DOWN_STATUSES: [u32; 2] = [13, 14];

/// Stops and starts the backing services of a service under check.
pub trait BackingControl<E> {
    /// Shuts a backing service down cleanly; its data stays.
    fn stop(&mut self, backing_service: &str) -> Result<(), E>;

    /// Starts it again at the same address, with its data, and waits until it is ready.
    fn start(&mut self, backing_service: &str) -> Result<(), E>;

    /// Changes a file.
    fn change(&mut self, change: &FileChange) -> Result<(), E>;
}

/// Runs such a case. The error reports a backing service that did not stop or start.
pub(crate) fn run_restart_case<E>(
    request: &CheckRequest<'_>,
    case: &Case,
    backing: &mut dyn BackingControl<E>,
) -> Result<CaseReport, E> {
    let restart = case.restart.as_ref().expect("invariant: the case has a restart");
    let clients = Clients::of(request);
    let timeout = restart.away + restart.recovers;
    let restart_case = RestartCase {
        client: CaseClient::with_timeout(&clients, timeout),
        client_while_down: CaseClient::with_timeout(&clients, restart.reply_within),
        timeout,
        case,
        restart,
        is_starting: AtomicBool::new(false),
    };
    let tally = restart_case.run(backing)?;
    Ok(tally.into_report(case))
}

/// Runs a case in which files change. The error reports a file that was not changed.
pub(crate) fn run_change_case<E>(
    request: &CheckRequest<'_>,
    case: &Case,
    backing: &mut dyn BackingControl<E>,
) -> Result<CaseReport, E> {
    let clients = Clients::of(request);
    let tally =
        CaseClient::for_case(&clients, case).run_with_changes(case, |change| backing.change(change))?;
    Ok(tally.into_report(case))
}

struct RestartCase<'a> {
    client: CaseClient<'a>,
    client_while_down: CaseClient<'a>,
    timeout: Duration,
    case: &'a Case,
    restart: &'a Restart,
    /// Set just before the backing service starts again.
    is_starting: AtomicBool,
}

/// The result of a request.
enum ProbeResult {
    Right,
    /// The service reports that its backing service is down.
    Refused(Failure),
    Wrong(Failure),
    NoReply(ClientError),
}

impl RestartCase<'_> {
    fn run<E>(&self, backing: &mut dyn BackingControl<E>) -> Result<Tally, E> {
        let backing_service = &self.restart.backing_service;
        backing.stop(backing_service)?;
        let (while_down, ready) = thread::scope(|scope| {
            let calls = scope.spawn(|| self.probe_while_down());
            thread::sleep(self.restart.away);
            self.is_starting.store(true, Ordering::SeqCst);
            let started = backing.start(backing_service).map(|()| Instant::now());
            let calls = calls
                .join()
                .expect("invariant: the checking client does not panic");
            (calls, started)
        });
        let ready = ready?;
        if while_down.failed > 0 {
            return Ok(while_down);
        }
        let mut tally = self.retry_after_restart(ready + self.restart.recovers);
        tally.sent += while_down.sent;
        Ok(tally)
    }

    /// Sends requests while the backing service is down, one after the other.
    fn probe_while_down(&self) -> Tally {
        let mut tally = Tally::default();
        for exchange in self.case.exchanges.iter().cycle() {
            if self.is_starting.load(Ordering::SeqCst) {
                break;
            }
            let reply = self.client_while_down.reply_on_new_connection(exchange);
            // A reply that arrives once the backing service starts again may be a valid one.
            let result = match self.probe_result(exchange, reply) {
                ProbeResult::Refused(_) => Ok(()),
                ProbeResult::Right if self.is_starting.load(Ordering::SeqCst) => Ok(()),
                ProbeResult::Right => Err(self.not_refused("a reply as if it were there")),
                ProbeResult::Wrong(wrong) => Err(self.not_refused(&format!("{}: {}", wrong.what, wrong.got))),
                ProbeResult::NoReply(error) => {
                    Err(self.not_refused(&missing_reply(&error, self.restart.reply_within).got))
                }
            };
            let failed = result.is_err();
            tally.record(exchange, result);
            if failed {
                break;
            }
            thread::sleep(PAUSE);
        }
        tally
    }

    fn not_refused(&self, got: &str) -> Failure {
        let statuses: Vec<String> = self.restart.statuses.iter().map(u16::to_string).collect();
        let backing_service = &self.restart.backing_service;
        failure(
            &format!("while backing service `{backing_service}` is away"),
            statuses.join(" or "),
            got.to_owned(),
        )
    }

    /// Repeats all calls until all of them pass.
    fn retry_after_restart(&self, until: Instant) -> Tally {
        loop {
            let (tally, has_wrong_reply) = self.send_all_at_once();
            if tally.failed == 0 || has_wrong_reply || Instant::now() >= until {
                return tally;
            }
            thread::sleep(PAUSE);
        }
    }

    /// Sends all calls at once. Also returns whether a reply was wrong in a way that a missing backing service does not excuse.
    fn send_all_at_once(&self) -> (Tally, bool) {
        let mut tally = Tally::default();
        let mut has_wrong_reply = false;
        for chunk in self.case.exchanges.chunks(CONCURRENT_REQUESTS) {
            let all: Vec<ProbeResult> = thread::scope(|scope| {
                let send = |exchange| {
                    scope.spawn(move || {
                        self.probe_result(exchange, self.client.reply_on_new_connection(exchange))
                    })
                };
                let under_way: Vec<_> = chunk.iter().map(send).collect();
                let done = under_way.into_iter().map(thread::ScopedJoinHandle::join);
                done.map(|result| result.expect("invariant: the thread of a request does not panic"))
                    .collect()
            });
            for (exchange, probe) in chunk.iter().zip(all) {
                has_wrong_reply |= matches!(&probe, ProbeResult::Wrong(_));
                let result = match probe {
                    ProbeResult::Right => Ok(()),
                    ProbeResult::Refused(failure) | ProbeResult::Wrong(failure) => {
                        Err(self.not_recovered(failure))
                    }
                    ProbeResult::NoReply(error) => {
                        Err(self.not_recovered(missing_reply(&error, self.timeout)))
                    }
                };
                tally.record(exchange, result);
            }
        }
        (tally, has_wrong_reply)
    }

    fn not_recovered(&self, failure: Failure) -> Failure {
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

    fn probe_result(&self, exchange: &Exchange, reply: Result<Reply, ClientError>) -> ProbeResult {
        let reply = match reply {
            Err(error) => return ProbeResult::NoReply(error),
            Ok(reply) => reply,
        };
        match judge(exchange, &reply, &mut CapturedValues::default()) {
            Ok(()) => ProbeResult::Right,
            Err(mismatch) => {
                let is_refusal = match reply.grpc_status {
                    Some(code) => GRPC_DOWN_STATUSES.contains(&code),
                    None => self.restart.statuses.contains(&reply.status),
                };
                let failure = failure(&mismatch.what, mismatch.expected, mismatch.got);
                if is_refusal {
                    ProbeResult::Refused(failure)
                } else {
                    ProbeResult::Wrong(failure)
                }
            }
        }
    }
}
