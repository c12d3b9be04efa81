//! Runs a job: starts the workers; `keeper` keeps the phases and merges what they record.

mod keeper;

use crate::error::EngineError;
use crate::layer::{Layer, Plain};
use crate::protocol::{Protocol, grpc::Grpc, http1::Http1, http2::Http2};
use crate::recorder::Part;
use crate::system;
use crate::tls::{TlsConfig, TlsLayer};
use crate::transport::{Transport, epoll::Epoll, uring::Uring};
use crate::worker::{Control, Lines, Message, Place, Spoken, Worker};
use crate::workload::PreparedWorkload;
use prony_load::{Job, Load, TransportChoice};
use prony_measurement::{Command, Event, Recording};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// Runs a job from the first connection to the last reply.
///
/// `on_event` gets every [`Event::Phase`] and [`Event::Interval`] as it happens. `commands` is looked at all the time; a
/// sender that is gone has nothing more to say.
pub fn run(
    job: &Job,
    on_event: &mut dyn FnMut(Event),
    commands: &Receiver<Command>,
) -> Result<Recording, EngineError> {
    check(job)?;
    let addresses = system::resolve(&job.target.host, job.target.port)?;
    system::allow_files(u64::from(job.load.connections()))?;
    let address = reachable(job, &addresses)?;
    let run = match choose_transport(job.transport)? {
        Chosen::Epoll => start_on::<Epoll>(job, address)?,
        Chosen::IoUring => start_on::<Uring>(job, address)?,
    };
    run.carry_on(job, on_event, commands)
}

enum Chosen {
    Epoll,
    IoUring,
}

fn choose_transport(choice: TransportChoice) -> Result<Chosen, EngineError> {
    match (choice, Uring::probe()) {
        (TransportChoice::Epoll, _) | (TransportChoice::Auto, Err(_)) => Ok(Chosen::Epoll),
        (TransportChoice::Auto | TransportChoice::IoUring, Ok(())) => Ok(Chosen::IoUring),
        (TransportChoice::IoUring, Err(error)) => Err(EngineError::NoIoUring(error)),
    }
}

fn check(job: &Job) -> Result<(), EngineError> {
    let refuse = |text: &str| Err(EngineError::Job(text.to_owned()));
    let (connections, in_flight) = match job.load {
        Load::Closed {
            connections,
            in_flight,
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
        return refuse("a load of no connections or no requests: give at least 1 of each");
    }
    if job.threads == 0 || job.threads > connections {
        return Err(EngineError::Job(format!(
            "{} threads for {connections} connections: each thread needs one of its own",
            job.threads
        )));
    }
    if job.phases.measurement_ns == 0 {
        return refuse("a measurement of no length: give a duration above 0");
    }
    if job.timeout_ns == 0 {
        return refuse("a timeout of 0 leaves no time for any reply");
    }
    Ok(())
}

/// The first address that accepts a connection, so that a service that is down is told at once, and not as a recording
/// full of errors.
fn reachable(job: &Job, addresses: &[SocketAddr]) -> Result<SocketAddr, EngineError> {
    let limit = Duration::from_nanos(job.timeout_ns).max(Duration::from_millis(100));
    let mut last = None;
    for address in addresses {
        match std::net::TcpStream::connect_timeout(address, limit) {
            Ok(_) => return Ok(*address),
            Err(error) => last = Some((address, error)),
        }
    }
    let (address, error) = last.expect("invariant: a resolved name has an address");
    Err(EngineError::Unreachable {
        address: address.to_string(),
        reason: error.to_string(),
    })
}

/// Workers under way.
struct Run {
    control: Arc<Control>,
    messages: Receiver<Message>,
    empties: Vec<Sender<Box<Part>>>,
    threads: Vec<JoinHandle<Result<(), EngineError>>>,
    transport: &'static str,
    address: SocketAddr,
}

/// Starts the workers on a transport, with what the job wants to stand between its bytes and its protocol.
fn start_on<T: Transport + 'static>(job: &Job, address: SocketAddr) -> Result<Run, EngineError> {
    match &job.target.tls {
        None => start_through::<Plain, T>(job, address, &()),
        Some(tls) => {
            let config = TlsConfig::new(tls, job.protocol).map_err(|error| EngineError::Tls(error.0))?;
            start_through::<TlsLayer, T>(job, address, &config)
        }
    }
}

fn start_through<L, T>(job: &Job, address: SocketAddr, layer: &L::Config) -> Result<Run, EngineError>
where
    L: Layer + 'static,
    T: Transport + 'static,
{
    match job.protocol {
        prony_load::Protocol::Http1 => start::<Http1, L, T>(job, address, layer),
        prony_load::Protocol::Http2 => start::<Http2, L, T>(job, address, layer),
        prony_load::Protocol::Grpc => start::<Grpc, L, T>(job, address, layer),
    }
}

fn start<P, L, T>(job: &Job, address: SocketAddr, layer: &L::Config) -> Result<Run, EngineError>
where
    P: Protocol + 'static,
    L: Layer + 'static,
    T: Transport + 'static,
{
    // Once here, so that a bad workload is told before a thread starts.
    PreparedWorkload::<P>::new(job)?;
    let control = Arc::new(Control::new());
    let (to_us, messages) = mpsc::channel();
    let mut run = Run {
        control,
        messages,
        empties: Vec::new(),
        threads: Vec::new(),
        transport: T::NAME,
        address,
    };
    for thread in 0..job.threads {
        let (to_worker, empties) = mpsc::channel();
        let lines = Lines {
            control: Arc::clone(&run.control),
            messages: to_us.clone(),
            empties,
        };
        let (job, layer) = (job.clone(), layer.clone());
        let work = move || work::<P, L, T>(&job, thread, address, layer, lines);
        let spawned = std::thread::Builder::new()
            .name(format!("load-{thread}"))
            .spawn(work);
        run.threads.push(spawned.map_err(|source| EngineError::System {
            what: "starting a thread",
            source,
        })?);
        run.empties.push(to_worker);
    }
    Ok(run)
}

/// What a thread does.
fn work<P: Protocol, L: Layer, T: Transport>(
    job: &Job,
    thread: u32,
    address: SocketAddr,
    layer: L::Config,
    lines: Lines,
) -> Result<(), EngineError> {
    if !job.cpus.is_empty() {
        system::pin(job.cpus[thread as usize % job.cpus.len()])?;
    }
    system::wake_exactly();
    let place = Place {
        thread,
        threads: job.threads,
    };
    let moving = |source| EngineError::System {
        what: "moving bytes",
        source,
    };
    let transport = T::new(address, place.share(job.load.connections())).map_err(moving)?;
    let spoken = Spoken {
        workload: PreparedWorkload::<P>::new(job)?,
        layer,
    };
    Worker::<P, L, T>::new(job, place, transport, spoken, lines)
        .run()
        .map_err(moving)
}
