//! Cases in which clients disconnect in the middle of their streams.
//!
//! The service must stop working for clients that have disconnected. Two signs of that are visible from outside. The service's CPU
//! time falls to almost nothing once no client has a request in flight. And it serves as many new clients as before, which
//! requires that the resources of the first ones are released (threads, descriptors, entries of a pool).

use crate::case_client::CaseClient;
use crate::clients::Clients;
use crate::judge::{failure, missing_reply};
use crate::report::{CaseReport, Failure};
use crate::tally::Tally;
use crate::{CheckRequest, TIMEOUT};
use prony_config::contract::{Case, ClientDisconnect, Exchange};
use prony_load::Protocol;
use prony_protocols::client::{BodyFraming, ClientError, Connection, Delivery};
use prony_protocols::protocol::Token;
use prony_protocols::request_values::Parameters;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Measures the CPU time that the service uses in a window of this length, starting now; `None` if it is unknown.
pub(crate) type CpuTimeFn<'a> = dyn FnMut(Duration) -> Option<Duration> + 'a;

/// Length of a measurement of CPU time.
const WINDOW: Duration = Duration::from_secs(1);
/// An idle service uses at most 1/20 of the CPU time that it used for its streams, …
const IDLE_SHARE_OF_BUSY: u32 = 20;
/// … or 1/50 of a CPU: many runtimes do periodic housekeeping.
const IDLE_SHARE_OF_CPU: u32 = 50;
/// Interval at which the clients check whether to disconnect.
const PAUSE: Duration = Duration::from_millis(5);

/// Runs such a case. The second value says whether the service's CPU time was known.
pub(crate) fn run_disconnect_case(
    request: &CheckRequest<'_>,
    case: &Case,
    cpu_time: &mut CpuTimeFn<'_>,
) -> (CaseReport, bool) {
    let (questions, streams): (Vec<&Exchange>, Vec<&Exchange>) =
        (case.exchanges.iter()).partition(|exchange| exchange.backing_service.is_some());
    let disconnect_case = DisconnectCase {
        clients: Clients::of(request),
        exchanges: &streams,
        questions: &questions,
        leave: case.leave.expect("invariant: the case has a disconnect"),
    };
    let (mut tally, busy) = disconnect_case.connect_and_disconnect(cpu_time);
    if tally.failed == 0 {
        let (new_clients, _) = disconnect_case.connect_and_disconnect(&mut |_| None);
        tally.merge(new_clients);
    }
    (tally.into_report(case), busy.is_some())
}

struct DisconnectCase<'a> {
    clients: Clients,
    exchanges: &'a [&'a Exchange],
    /// Requests to backing services, which must be answered as expected after the clients have left.
    questions: &'a [&'a Exchange],
    leave: ClientDisconnect,
}

impl DisconnectCase<'_> {
    /// All clients connect and start their streams. They stay while the service's CPU time is measured, and then disconnect.
    /// After that, the service must become idle.
    fn connect_and_disconnect(&self, cpu_time: &mut CpuTimeFn<'_>) -> (Tally, Option<Duration>) {
        let stages = Stages::default();
        let (started, all_started) = channel();
        let streams = self.leave.streams as usize;
        thread::scope(|scope| {
            for exchange in self.exchanges.iter().copied().cycle().take(streams) {
                let (started, stages) = (started.clone(), &stages);
                scope.spawn(move || match self.start_stream(exchange) {
                    Ok((connection, token)) => {
                        let _ = started.send((exchange, Ok(())));
                        self.read_until_disconnect(connection, token, stages);
                    }
                    Err(error) => drop(started.send((exchange, Err(missing_reply(&error, TIMEOUT))))),
                });
            }
            let mut tally = Tally::default();
            for (exchange, result) in all_started.iter().take(streams) {
                tally.record(exchange, result);
            }
            // If one of them gets no stream, all disconnect.
            let busy = if tally.failed == 0 { cpu_time(WINDOW) } else { None };
            stages.disconnect.store(true, Ordering::SeqCst);
            if tally.failed == 0 {
                let client = CaseClient::with_timeout(&self.clients, TIMEOUT);
                tally.merge(client.ask_backing_services(self.questions.iter().copied()));
            }
            let rest = busy.map(|busy| self.wait_until_idle(busy, cpu_time));
            stages.over.store(true, Ordering::SeqCst);
            if let Some(result) = rest {
                tally.record(self.exchanges[0], result);
            }
            (tally, busy)
        })
    }

    /// Requests a stream, and waits until its first data has arrived.
    fn start_stream(&self, exchange: &Exchange) -> Result<(Connection, Token), ClientError> {
        let client = self.clients.of_exchange(exchange)?;
        let deadline = Instant::now() + TIMEOUT;
        let request = client.prepare(&exchange.request, BodyFraming::Length)?;
        let mut connection = client.connect(deadline)?;
        let token = connection.start(&request, Parameters::new(&[], 0).values(0));
        connection.send(Delivery::Whole, deadline)?;
        connection.first_data(token, deadline)?;
        Ok((connection, token))
    }

    /// Reads a stream until the client disconnects. An HTTP/1.1 client closes its connection. A gRPC client cancels the call and
    /// keeps the connection, so that the end of the call is all that the service can notice.
    fn read_until_disconnect(&self, mut connection: Connection, token: Token, stages: &Stages) {
        Stages::read_until(&stages.disconnect, &mut connection);
        let keeps_connection = self.clients.protocol() == Some(Protocol::Grpc);
        if keeps_connection && connection.cancel(token, Instant::now() + TIMEOUT).is_ok() {
            Stages::read_until(&stages.over, &mut connection);
        }
    }

    /// Waits until the service uses almost no CPU time.
    fn wait_until_idle(&self, busy: Duration, cpu_time: &mut CpuTimeFn<'_>) -> Result<(), Failure> {
        let most = (busy / IDLE_SHARE_OF_BUSY).max(WINDOW / IDLE_SHARE_OF_CPU);
        let until = Instant::now() + self.leave.within;
        loop {
            let Some(used) = cpu_time(WINDOW).filter(|used| *used > most) else {
                return Ok(());
            };
            if Instant::now() >= until {
                let ClientDisconnect { streams, within } = self.leave;
                return Err(failure(
                    &format!("CPU time in {WINDOW:?}, {within:?} after {streams} clients have left"),
                    format!("at most {most:?}, as of a service at rest ({busy:?} before)"),
                    format!("{used:?}"),
                ));
            }
        }
    }
}

/// Signals to the clients.
#[derive(Default)]
struct Stages {
    disconnect: AtomicBool,
    /// The service's CPU time was measured: connections that are still open may close.
    over: AtomicBool,
}

impl Stages {
    /// Reads until a stage is reached, on a connection that may end earlier.
    fn read_until(stage: &AtomicBool, connection: &mut Connection) {
        while !stage.load(Ordering::SeqCst) {
            if connection.read_until(Instant::now() + PAUSE).is_err() {
                thread::sleep(PAUSE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_config::contract::{Contract, Delivery};
    use prony_load::{Body, ConnectOptions, Expectation, Request, Target, Template};
    use std::collections::BTreeMap;
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    /// Starts a stream, and waits until the client has disconnected.
    fn serve(mut stream: TcpStream) {
        let mut request = [0; 4096];
        if stream.read(&mut request).is_ok() {
            let _ =
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n");
            while stream.read(&mut request).is_ok_and(|length| length > 0) {}
        }
    }

    /// A service, and the number of clients that have disconnected from it.
    fn service() -> (SocketAddr, Arc<AtomicUsize>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("bound");
        let disconnected = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&disconnected);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let count = Arc::clone(&count);
                thread::spawn(move || {
                    serve(stream);
                    count.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        (address, disconnected)
    }

    fn run_case(cpu_time: &mut CpuTimeFn<'_>) -> (CaseReport, bool) {
        let (address, disconnected) = service();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts/events");
        let contract = Contract::load(&folder).expect("a contract");
        let target = Target {
            url: format!("http://{address}"),
            host: address.ip().to_string(),
            port: address.port(),
            authority: address.to_string(),
            tls: None,
            connect: ConnectOptions::default(),
            credentials: None,
        };
        let request = CheckRequest {
            contract: &contract,
            target: &target,
            protocol: Protocol::Http1,
            tls: None,
            seed: 1,
            thorough: false,
            allow_writes: true,
            backing: &BTreeMap::new(),
        };
        let exchange = Exchange {
            label: "GET /".to_owned(),
            request: Request {
                method: "GET".to_owned(),
                path: Template::literal("/"),
                headers: Vec::new(),
                body: Body::None,
            },
            expect: Expectation::default(),
            script: Vec::new(),
            is_safe: true,
            within: None,
            until: None,
            change: None,
            backing_service: None,
            may_break_off: false,
        };
        let case = Case {
            name: "clients disconnect".to_owned(),
            operations: Vec::new(),
            exchanges: vec![exchange],
            delivery: Delivery::InTurn,
            alone: true,
            thorough: false,
            shows: None,
            restart: None,
            leave: Some(ClientDisconnect {
                streams: 4,
                within: Duration::ZERO,
            }),
        };
        let result = run_disconnect_case(&request, &case, cpu_time);
        // The service may notice the last disconnects only now.
        let until = Instant::now() + Duration::from_secs(20);
        while disconnected.load(Ordering::SeqCst) < 8 && result.0.passed() && Instant::now() < until {
            thread::yield_now();
        }
        assert!(!result.0.passed() || disconnected.load(Ordering::SeqCst) == 8);
        result
    }

    #[test]
    fn a_service_that_becomes_idle_passes() {
        let mut cpu_times = [700, 10].into_iter().map(Duration::from_millis);
        let (report, known) = run_case(&mut |_| cpu_times.next());
        assert!(known && report.passed(), "{report:?}");
        assert_eq!(cpu_times.next(), None, "both windows were measured");
    }

    #[test]
    fn a_service_that_keeps_working_fails() {
        let mut cpu_times = [700, 300].into_iter().map(Duration::from_millis);
        let (report, _) = run_case(&mut |_| cpu_times.next());
        let failure = report
            .failures
            .first()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(
            failure.contains("after 4 clients have left: expected at most 35ms, as of a service at rest (700ms before), got 300ms"),
            "{failure}"
        );
    }

    #[test]
    fn housekeeping_of_a_runtime_counts_as_idle() {
        let mut cpu_times = [60, 19].into_iter().map(Duration::from_millis);
        assert!(run_case(&mut |_| cpu_times.next()).0.passed());
    }

    #[test]
    fn without_cpu_time_only_new_clients_are_checked() {
        let (report, known) = run_case(&mut |_| None);
        assert!(!known && report.passed(), "{report:?}");
    }
}
