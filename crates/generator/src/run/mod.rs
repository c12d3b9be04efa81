//! Runs a job: starts the workers; `coordinator` controls the phases and merges the results of the workers.

mod coordinator;
mod part_builder;

use crate::error::EngineError;
use crate::log::LogWriter;
use crate::os;
use crate::resolve::{ResolvedTarget, reach};
use crate::transport::{Route, Transport, epoll::Epoll, uring::Uring};
use crate::worker::{Backlog, Control, Message, Pool, ProtocolStack, Worker, WorkerChannels};
use crate::workload::PreparedWorkload;
use prony_load::{Job, Load, Partition, Profile, TransportChoice};
use prony_merge::{Part, Tally, assemble};
use prony_protocols::layer::{Layer, PlainTcp};
use prony_protocols::protocol::Protocol;
use prony_protocols::tls::TlsConfig;
use prony_protocols::tls::session::TlsLayer;
use prony_protocols::{grpc::Grpc, http1::Http1, http2::Http2, websocket::WebSocket};
use prony_records::{Command, Event, Recording};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

/// Runs a job from the first connection to the last reply, and assembles its recording.
///
/// `on_event` receives every [`Event::Phase`] and [`Event::Interval`] as it happens. `commands` is polled all the
/// time; it is fine to drop the sender.
pub fn run(
    job: &Job,
    on_event: &mut dyn FnMut(Event),
    commands: &Receiver<Command>,
) -> Result<Recording, EngineError> {
    run_part(job, on_event, commands).map(|part| assemble(job, &part, None))
}

/// The same for one of several workers: returns its part, to be merged with the parts of the others. If the job has a
/// share, `on_event` receives an [`Event::IntervalPart`] instead of each [`Event::Interval`].
pub fn run_part(
    job: &Job,
    on_event: &mut dyn FnMut(Event),
    commands: &Receiver<Command>,
) -> Result<Part, EngineError> {
    check(job)?;
    os::allow_files(u64::from(job.own_connections()), u64::from(job.threads))?;
    let resolved = reach(job)?;
    let shared = Arc::new(job.clone());
    let run = match choose_transport(job, Uring::probe)? {
        TransportKind::Epoll => start_on::<Epoll>(&shared, resolved)?,
        TransportKind::IoUring => start_on::<Uring>(&shared, resolved)?,
    };
    run.carry_on(job, on_event, commands)
}

#[derive(Debug, PartialEq, Eq)]
enum TransportKind {
    Epoll,
    IoUring,
}

/// Connections per thread up to which `io_uring` is cheaper: as many as its ring has buffers. See docs/ENGINE.md.
const MOST_ON_A_RING: u32 = 8_192;

fn choose_transport(job: &Job, probe: impl Fn() -> io::Result<()>) -> Result<TransportKind, EngineError> {
    // The number of users present at once is not known in advance.
    let are_many = !matches!(job.load, Load::Users { .. })
        && job.load.connections().div_ceil(job.all_threads()) > MOST_ON_A_RING;
    match job.transport {
        TransportChoice::Epoll => Ok(TransportKind::Epoll),
        TransportChoice::Auto if are_many || probe().is_err() => Ok(TransportKind::Epoll),
        TransportChoice::Auto => Ok(TransportKind::IoUring),
        TransportChoice::IoUring => match probe() {
            Ok(()) => Ok(TransportKind::IoUring),
            Err(error) => Err(EngineError::NoIoUring(error)),
        },
    }
}

/// Most requests that may be in flight at once: some gigabytes of memory, and far below the limit of slot numbers.
const MOST_IN_FLIGHT: u64 = 1 << 24;

fn check(job: &Job) -> Result<(), EngineError> {
    let refuse = |text: &str| Err(EngineError::Job(text.to_owned()));
    let (connections, in_flight) = match job.load {
        Load::Closed {
            connections,
            in_flight,
            ..
        }
        | Load::Open {
            connections,
            in_flight,
            ..
        } => (connections, in_flight),
        Load::Users {
            requests_per_user,
            max_users,
            ..
        } => (max_users, requests_per_user),
    };
    if connections == 0 || in_flight == 0 {
        return refuse("a load without connections or without requests: give at least 1 of each");
    }
    let slot_count = match job.load {
        Load::Users { .. } => u64::from(connections),
        Load::Closed { .. } | Load::Open { .. } => u64::from(connections) * u64::from(in_flight),
    };
    if slot_count > MOST_IN_FLIGHT {
        return Err(EngineError::Job(format!(
            "{slot_count} requests in flight ({connections} connections with {in_flight} on each) need more memory than a \
             generator should have: give at most {MOST_IN_FLIGHT} in total, with fewer connections (-c) or a smaller \
             --in-flight"
        )));
    }
    let threads = job.all_threads();
    check_rooms(job)?;
    if job.threads == 0 || threads > connections {
        return Err(EngineError::Job(format!(
            "{threads} threads for {connections} connections: each thread needs at least one"
        )));
    }
    if let Some(share) = &job.share
        && share.first_thread.saturating_add(job.threads) > share.of_threads
    {
        return Err(EngineError::Job(format!(
            "a share of {} threads starting at thread {} in a load of {} threads: take the shares of all workers from one plan",
            job.threads, share.first_thread, share.of_threads
        )));
    }
    check_limits(job)?;
    if job.phases.measurement_ns == 0 {
        return refuse("a measurement of length 0: give a duration above 0");
    }
    if job.timeout_ns == 0 {
        return refuse("a timeout of 0 leaves no time for a reply: give a timeout above 0");
    }
    Ok(())
}

/// Checks that rooms are full, that they use WebSocket, and that their members stay.
fn check_rooms(job: &Job) -> Result<(), EngineError> {
    let Some(members) = job.load.members() else {
        return Ok(());
    };
    let refuse = |text: String| Err(EngineError::Job(text));
    let (connections, threads) = (job.load.connections(), job.all_threads());
    if members == 0 || !connections.is_multiple_of(members) {
        return refuse(format!(
            "{connections} connections in rooms of {members}: give whole rooms"
        ));
    }
    let rooms = connections / members;
    if job.threads > 0 && threads > rooms {
        return refuse(format!(
            "{threads} threads for {rooms} rooms: each thread needs at least one"
        ));
    }
    if job.protocol != prony_load::Protocol::WebSocket {
        return refuse("rooms need WebSocket: give a URL with ws:// or wss://".to_owned());
    }
    if job.limits.requests_per_connection.is_some()
        || matches!(job.load, Load::Closed { growth: Some(_), .. })
    {
        return refuse(
            "members of rooms stay for the whole load: leave out options that end or delay connections"
                .to_owned(),
        );
    }
    Ok(())
}

fn check_limits(job: &Job) -> Result<(), EngineError> {
    let refuse = |text: &str| Err(EngineError::Job(text.to_owned()));
    if job.limits.longest_message == Some(0) {
        return refuse("a message limit of 0 bytes: give at least 1");
    }
    if job.limits.requests == Some(0) || job.limits.requests_per_connection == Some(0) {
        return refuse("a limit of 0 requests: give at least 1");
    }
    match &job.load {
        Load::Closed {
            connections,
            growth: Some(growth),
            ..
        } if growth.from > *connections => Err(EngineError::Job(format!(
            "a load that grows from {} to {connections} connections: start with no more than at the end",
            growth.from
        ))),
        Load::Open { arrival, .. } | Load::Users { arrival, .. } if has_no_stage(&arrival.profile) => refuse(
            "a load without stages, or with a stage of length 0: give at least one, with a length above 0",
        ),
        Load::Open { arrival, .. } | Load::Users { arrival, .. } if arrival.profile.is_empty() => {
            refuse("a load whose rate is always 0: give a rate above 0")
        }
        Load::Users { .. } if job.limits.requests.is_some() => refuse(
            "a total number of requests for arriving users: each user has its own number of requests; give a duration",
        ),
        _ => Ok(()),
    }
}

fn has_no_stage(profile: &Profile) -> bool {
    matches!(profile, Profile::Stages { stages } if stages.is_empty() || stages.iter().any(|stage| stage.for_ns == 0))
}

/// Running workers.
struct Run {
    control: Arc<Control>,
    messages: Receiver<Message>,
    empties: Vec<Sender<Box<Tally>>>,
    threads: Vec<JoinHandle<Result<(), EngineError>>>,
    transport: &'static str,
    resolved: ResolvedTarget,
    log: Option<LogWriter>,
}

/// Starts the workers on a transport, with the layer (plain or TLS) that the job needs between bytes and protocol.
fn start_on<T: Transport + 'static>(job: &Arc<Job>, resolved: ResolvedTarget) -> Result<Run, EngineError> {
    match &job.target.tls {
        None => start_through::<PlainTcp, T>(job, resolved, &()),
        Some(tls) => {
            let config = TlsConfig::new(tls, job.protocol).map_err(|error| EngineError::Tls(error.0))?;
            let config = config.to(&job.target);
            start_through::<TlsLayer, T>(job, resolved, &config)
        }
    }
}

fn start_through<L, T>(
    job: &Arc<Job>,
    resolved: ResolvedTarget,
    layer: &L::Config,
) -> Result<Run, EngineError>
where
    L: Layer + 'static,
    T: Transport + 'static,
{
    match job.protocol {
        prony_load::Protocol::Http1 => start::<Http1, L, T>(job, resolved, layer),
        prony_load::Protocol::Http2 => start::<Http2, L, T>(job, resolved, layer),
        prony_load::Protocol::Grpc => start::<Grpc, L, T>(job, resolved, layer),
        prony_load::Protocol::WebSocket => start::<WebSocket, L, T>(job, resolved, layer),
    }
}

fn start<P, L, T>(job: &Arc<Job>, resolved: ResolvedTarget, layer: &L::Config) -> Result<Run, EngineError>
where
    P: Protocol + 'static,
    L: Layer + 'static,
    T: Transport + 'static,
{
    // Prepared once for all threads and before the first one starts, so that an invalid workload is reported.
    let workload = Arc::new(PreparedWorkload::<P>::new(job)?);
    let pool = job.limits.requests.map(|requests| {
        let arrivals = requests.div_ceil(workload.order.length());
        Arc::new(match &job.share {
            Some(_) => Pool::divided(arrivals),
            None => Pool::new(arrivals, job.threads),
        })
    });
    let backlog = Backlog::of(job).map_err(|source| EngineError::System {
        what: "creating the wake-up files of threads",
        source,
    })?;
    let control = Arc::new(Control::new(pool));
    let (to_coordinator, messages) = mpsc::channel();
    let mut run = Run {
        control,
        messages,
        empties: Vec::new(),
        threads: Vec::new(),
        transport: T::NAME,
        resolved,
        log: LogWriter::start(job)?,
    };
    // Connections of all earlier threads, across workers.
    let mut begin = job.connections_before();
    for thread in 0..job.threads {
        let (to_worker, empties) = mpsc::channel();
        let lines = WorkerChannels {
            control: Arc::clone(&run.control),
            messages: to_coordinator.clone(),
            empties,
            log: run
                .log
                .as_ref()
                .map(|log| log.book(job.partition(thread).thread())),
            backlog: backlog.clone(),
        };
        let stack = ProtocolStack {
            workload: Arc::clone(&workload),
            layer: layer.clone(),
        };
        let partition = job.partition(thread);
        let route = run.resolved.route.from(begin as usize);
        begin += partition.connections();
        let job = Arc::clone(job);
        let body = move || run_worker::<P, L, T>(&job, (thread, partition), &route, stack, lines);
        let spawned = std::thread::Builder::new()
            .name(format!("load-{thread}"))
            .spawn(body);
        run.threads.push(spawned.map_err(|source| EngineError::System {
            what: "starting a thread",
            source,
        })?);
        run.empties.push(to_worker);
    }
    Ok(run)
}

/// The body of a worker thread.
fn run_worker<P: Protocol, L: Layer, T: Transport>(
    job: &Job,
    (thread, partition): (u32, Partition),
    route: &Route,
    stack: ProtocolStack<P, L>,
    lines: WorkerChannels,
) -> Result<(), EngineError> {
    if !job.cpus.is_empty() {
        os::pin(job.cpus[thread as usize % job.cpus.len()])?;
    }
    os::wake_exactly();
    let moving = |source| EngineError::System {
        what: "running the transport",
        source,
    };
    Worker::<P, L, T>::new(job, (thread, partition), route, stack, lines)
        .and_then(Worker::run)
        .map_err(moving)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use prony_load::{
        Body, Check, ConnectOptions, Expectation, Limits, Operation, PhaseDurations, Request, Target,
        Template, WarmUp, Workload,
    };

    pub(crate) fn job(transport: TransportChoice, connections: u32, threads: u32) -> Job {
        let request = Request {
            method: "GET".into(),
            path: Template::literal("/"),
            headers: Vec::new(),
            body: Body::None,
        };
        Job {
            target: Target {
                url: "http://a/".into(),
                host: "a".into(),
                port: 80,
                authority: "a".into(),
                tls: None,
                connect: ConnectOptions::default(),
                credentials: None,
            },
            protocol: prony_load::Protocol::Http1,
            load: Load::closed(connections, 1),
            workload: Workload::of(Operation {
                name: "a".into(),
                request,
                expect: Expectation::default(),
            }),
            phases: PhaseDurations {
                warm_up: WarmUp::FixedNs(0),
                measurement_ns: 1,
                drain_ns: 1,
            },
            timeout_ns: 1,
            check: Check { share: 1.0, keep: 1 },
            threads,
            cpus: Vec::new(),
            transport,
            interval_ns: 1,
            seed: 1,
            limits: Limits::default(),
            log: None,
            share: None,
            count_replies: false,
        }
    }

    #[test]
    fn more_in_flight_than_any_machine_has_memory_for_is_refused() {
        let load = |connections, in_flight| {
            let mut job = job(TransportChoice::Auto, 1, 1);
            job.load = Load::closed(connections, in_flight);
            check(&job).map_err(|error| error.to_string())
        };
        for (connections, in_flight) in [(1, u32::MAX), (3, 2_000_000_000), (u32::MAX, u32::MAX)] {
            let error = load(connections, in_flight).expect_err("too many");
            assert!(
                error.contains("--in-flight") && error.contains("16777216"),
                "{error}"
            );
        }
        assert_eq!(load(1 << 12, 1 << 12), Ok(()));
        assert!(load(1 << 12, (1 << 12) + 1).is_err());
    }

    #[test]
    fn many_connections_of_a_thread_are_polled_unless_a_ring_is_asked_for() {
        let (there, none) = (|| Ok(()), || Err(io::Error::other("forbidden")));
        let auto = |connections, threads| job(TransportChoice::Auto, connections, threads);
        let chosen = |job: &Job| choose_transport(job, there).expect("a transport");
        assert_eq!(chosen(&auto(8_192, 1)), TransportKind::IoUring);
        assert_eq!(chosen(&auto(8_193, 1)), TransportKind::Epoll);
        assert_eq!(chosen(&auto(10_000, 2)), TransportKind::IoUring);
        assert_eq!(
            chosen(&job(TransportChoice::IoUring, 10_000, 1)),
            TransportKind::IoUring
        );
        assert_eq!(chosen(&job(TransportChoice::Epoll, 1, 1)), TransportKind::Epoll);
        assert_eq!(
            choose_transport(&auto(1, 1), none).expect("epoll"),
            TransportKind::Epoll
        );
        let requested = choose_transport(&job(TransportChoice::IoUring, 1, 1), none);
        assert!(
            matches!(requested, Err(EngineError::NoIoUring(_))),
            "{requested:?}"
        );
    }
}
