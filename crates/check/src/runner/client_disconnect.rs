//! Cases in which clients leave in the middle of their streams.
//!
//! Nothing may go on for those who have left. Two things of that are seen from outside: the service's CPU time, which falls to
//! nearly nothing once nobody asks it for anything; and that it serves as many others as before, so that what it had for the
//! first ones (threads, descriptors, places in a pool) was given back.

use crate::case_result::Tally;
use crate::judge::{failure, unanswered};
use crate::report::{CaseReport, Failure};
use crate::{CheckRequest, PATIENCE};
use prony_config::contract::{Case, ClientDisconnect, Exchange};
use prony_load::Protocol;
use prony_protocols::client::{BodyFraming, Client, ClientError, Connection, Delivery};
use prony_protocols::protocol::Token;
use prony_protocols::request_values::Parameters;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Gives the CPU time that the service uses from now on in such a window, where that is known.
pub(crate) type CpuTimeFn<'a> = dyn FnMut(Duration) -> Option<Duration> + 'a;

/// How long its CPU time is looked at.
const WINDOW: Duration = Duration::from_secs(1);
/// A service at rest uses at most this part of what it used while it was asked, …
const AT_REST: u32 = 20;
/// … or this part of a CPU: many runtimes look after themselves from time to time.
const OF_A_CPU: u32 = 50;
/// Between two looks at whether the clients are to leave.
const PAUSE: Duration = Duration::from_millis(5);

/// Tries such a case. The second value says whether the service's CPU time was known.
pub(crate) fn left(request: &CheckRequest<'_>, case: &Case, spent: &mut CpuTimeFn<'_>) -> (CaseReport, bool) {
    let trial = Trial {
        client: Client::new(request.target, request.protocol),
        exchanges: &case.exchanges,
        leave: case.leave.expect("invariant: asked for such cases only"),
    };
    let (mut tally, busy) = trial.come_and_leave(spent);
    if tally.failed == 0 {
        let (others, _) = trial.come_and_leave(&mut |_| None);
        tally.merge(others);
    }
    let report = CaseReport {
        name: case.name.clone(),
        exchanges: tally.sent,
        failed: tally.failed,
        failures: tally.failures,
    };
    (report, busy.is_some())
}

struct Trial<'a> {
    client: Result<Client, ClientError>,
    exchanges: &'a [Exchange],
    leave: ClientDisconnect,
}

impl Trial<'_> {
    /// All clients come, wait until their streams have begun and the service's CPU time was looked at, and leave; then the service
    /// must come to rest.
    fn come_and_leave(&self, spent: &mut CpuTimeFn<'_>) -> (Tally, Option<Duration>) {
        let moments = Moments::default();
        let (begun, all_begun) = channel();
        let streams = self.leave.streams as usize;
        thread::scope(|scope| {
            for exchange in self.exchanges.iter().cycle().take(streams) {
                let (begun, moments) = (begun.clone(), &moments);
                scope.spawn(move || match self.begin(exchange) {
                    Ok((connection, token)) => {
                        let _ = begun.send((exchange, Ok(())));
                        self.stay(connection, token, moments);
                    }
                    Err(error) => drop(begun.send((exchange, Err(unanswered(&error, PATIENCE))))),
                });
            }
            let mut tally = Tally::default();
            for (exchange, result) in all_begun.iter().take(streams) {
                tally.record(exchange, result);
            }
            // Where one of them gets no stream, all leave.
            let busy = if tally.failed == 0 { spent(WINDOW) } else { None };
            moments.leave.store(true, Ordering::SeqCst);
            let rest = busy.map(|busy| self.comes_to_rest(busy, spent));
            moments.over.store(true, Ordering::SeqCst);
            if let Some(result) = rest {
                tally.record(&self.exchanges[0], result);
            }
            (tally, busy)
        })
    }

    /// Asks for a stream, and waits until it has begun.
    fn begin(&self, exchange: &Exchange) -> Result<(Connection, Token), ClientError> {
        let client = self.client.as_ref().map_err(Clone::clone)?;
        let deadline = Instant::now() + PATIENCE;
        let request = client.prepare(&exchange.request, BodyFraming::Length)?;
        let mut connection = client.connect(deadline)?;
        let token = connection.start(&request, Parameters::new(&[], 0).values(0));
        connection.send(Delivery::Whole, deadline)?;
        connection.first_data(token, deadline)?;
        Ok((connection, token))
    }

    /// Reads a stream until the client leaves. A connection of HTTP/1.1 ends with its stream; one of gRPC stays, so that nothing
    /// but the call has ended.
    fn stay(&self, mut connection: Connection, token: Token, moments: &Moments) {
        Moments::read_until(&moments.leave, &mut connection);
        let keeps_connection = self
            .client
            .as_ref()
            .is_ok_and(|client| client.protocol() == Protocol::Grpc);
        if keeps_connection && connection.cancel(token, Instant::now() + PATIENCE).is_ok() {
            Moments::read_until(&moments.over, &mut connection);
        }
    }

    /// Waits until the service uses nearly no CPU time.
    fn comes_to_rest(&self, busy: Duration, spent: &mut CpuTimeFn<'_>) -> Result<(), Failure> {
        let most = (busy / AT_REST).max(WINDOW / OF_A_CPU);
        let until = Instant::now() + self.leave.within;
        loop {
            let Some(used) = spent(WINDOW).filter(|used| *used > most) else {
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

/// What has come by now.
#[derive(Default)]
struct Moments {
    /// The clients leave.
    leave: AtomicBool,
    /// The service was looked at.
    over: AtomicBool,
}

impl Moments {
    /// Reads what comes until a moment, on a connection that may end.
    fn read_until(moment: &AtomicBool, connection: &mut Connection) {
        while !moment.load(Ordering::SeqCst) {
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
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    /// Begins a stream, and waits until the client has left.
    fn serve(mut stream: TcpStream) {
        let mut request = [0; 4096];
        if stream.read(&mut request).is_ok() {
            let _ =
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n");
            while stream.read(&mut request).is_ok_and(|length| length > 0) {}
        }
    }

    /// A service, and how many clients have left it by now.
    fn service() -> (SocketAddr, Arc<AtomicUsize>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("bound");
        let left = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&left);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let count = Arc::clone(&count);
                thread::spawn(move || {
                    serve(stream);
                    count.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        (address, left)
    }

    fn tried(spent: &mut CpuTimeFn<'_>) -> (CaseReport, bool) {
        let (address, left_by_now) = service();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts/events");
        let contract = Contract::load(&folder).expect("a contract");
        let target = Target {
            url: format!("http://{address}"),
            host: address.ip().to_string(),
            port: address.port(),
            authority: address.to_string(),
            tls: None,
            connect: ConnectOptions::default(),
        };
        let request = CheckRequest {
            contract: &contract,
            target: &target,
            protocol: Protocol::Http1,
            seed: 1,
            thorough: false,
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
            within: None,
            until: None,
        };
        let case = Case {
            name: "they leave".to_owned(),
            exchanges: vec![exchange],
            delivery: Delivery::InTurn,
            alone: true,
            thorough: false,
            restart: None,
            leave: Some(ClientDisconnect {
                streams: 4,
                within: Duration::ZERO,
            }),
        };
        let found = left(&request, &case, spent);
        // Whoever came has left, at the latest now.
        let until = Instant::now() + Duration::from_secs(20);
        while left_by_now.load(Ordering::SeqCst) < 8 && found.0.passed() && Instant::now() < until {
            thread::yield_now();
        }
        assert!(!found.0.passed() || left_by_now.load(Ordering::SeqCst) == 8);
        found
    }

    #[test]
    fn a_service_that_comes_to_rest_has_noticed() {
        let mut spent = [700, 10].into_iter().map(Duration::from_millis);
        let (report, known) = tried(&mut |_| spent.next());
        assert!(known && report.passed(), "{report:?}");
        assert_eq!(spent.next(), None, "both windows were looked at");
    }

    #[test]
    fn a_service_that_goes_on_has_not() {
        let mut spent = [700, 300].into_iter().map(Duration::from_millis);
        let (report, _) = tried(&mut |_| spent.next());
        let told = report
            .failures
            .first()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(
            told.contains("after 4 clients have left: expected at most 35ms, as of a service at rest (700ms before), got 300ms"),
            "{told}"
        );
    }

    #[test]
    fn what_little_a_runtime_does_for_itself_is_rest() {
        let mut spent = [60, 19].into_iter().map(Duration::from_millis);
        assert!(tried(&mut |_| spent.next()).0.passed());
    }

    #[test]
    fn without_the_time_of_its_cpu_places_alone_are_seen() {
        let (report, known) = tried(&mut |_| None);
        assert!(!known && report.passed(), "{report:?}");
    }
}
