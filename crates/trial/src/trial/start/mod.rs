//! Starting a service and what it needs.

mod there;

use super::job::target_of;
use super::{Bench, Seat, Trial};
use crate::reach::is_listening;
use crate::{Built, Failure};
use prony_contract::Contract;
use prony_host::{HostError, Limits, Network, Process, ProcessSpec, Stdio};
use prony_lab::Spent;
use prony_load::Target;
use prony_measurement::Stage;
use prony_plan::{Address, Reached, Service};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

pub(super) use there::{doubt, start_up};

/// A service that is to be started, and in which frame.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The service.
    pub service: &'a Service,
    /// Where it was built.
    pub built: &'a Built,
    /// Where it is to listen.
    pub address: &'a Address,
    /// Its limits.
    pub limits: prony_plan::Limits,
    /// The network between it and whoever asks it.
    pub network: Option<prony_plan::Network>,
}

impl<'a> Start<'a> {
    /// The service of a trial, in the frame of its plan.
    pub fn of(trial: &Trial<'a>) -> Self {
        Self {
            service: trial.service,
            built: trial.built,
            address: &trial.plan.address,
            limits: trial.plan.limits,
            network: trial.plan.network,
        }
    }
}

/// A started service, where it is reached, and its backend.
pub struct Subject {
    /// The service.
    pub service: Box<dyn Process>,
    /// Where it listens.
    pub target: Target,
    /// Its backend.
    pub backend: Option<Backend>,
}

/// A started backend.
pub struct Backend {
    /// The process.
    pub process: Box<dyn Process>,
    /// Where it listens.
    pub url: String,
    /// Whether it is on the host of the service.
    beside: bool,
}

impl Backend {
    /// What it used since its window began; `None` where nobody counted.
    pub(super) fn end_window(&mut self) -> Option<Spent> {
        Some(Spent::of(self.process.end_window().ok()?, self.beside))
    }
}

/// Most bytes of a service's log.
const LOG_BYTES: u64 = 1 << 20;
/// Most bytes that a service may write to disk: it has no reason to write any.
const DISK_BYTES: u64 = 1 << 30;
/// Time between TERM and KILL.
const GRACE: Duration = Duration::from_secs(5);
/// Time between two samples.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);
/// Tries with another port when the one that was free is taken by the time the process binds it.
pub(super) const PORTS: u32 = 3;
/// Time for a port that the plan names to become free.
const PORT_LEAVES: Duration = Duration::from_secs(2);
/// Time for the backend to listen.
const BACKEND_READY: Duration = Duration::from_secs(10);

/// Starts a service with the backend that it needs.
pub(crate) fn start_service(
    bench: &Bench<'_>,
    start: &Start<'_>,
    seat: &Seat,
    backend: Option<Backend>,
) -> Result<Subject, Failure> {
    let failed = |error: HostError| Failure::host(Stage::Start, &error);
    if let Reached::There(there) = &start.service.reached {
        let supervisor_cpus = &seat.placement.service.keepers;
        return there::attach(bench, start, there, (backend.as_ref(), supervisor_cpus));
    }
    if start.network.is_some() && backend.is_some() {
        let text =
            "a service in a network of its own cannot reach its backend: leave `[network]` out of this suite";
        return Err(Failure::new(Stage::Start, text));
    }
    let port = match start.address.port {
        Some(port) => free(bench, start.address, port)?,
        None => bench.host().free_port().map_err(failed)?,
    };
    let spec = spec_of(bench, start, seat, port, backend.as_ref());
    let service = bench.host().start(&spec).map_err(failed)?;
    let address = service
        .address()
        .unwrap_or_else(|| reached_at(bench, listens_at(bench, start.address)))
        .to_owned();
    Ok(Subject {
        service,
        target: target_of(&address, port),
        backend,
    })
}

/// The address that services are told to listen on.
fn listens_at<'a>(bench: &Bench<'a>, address: &'a Address) -> &'a str {
    address.host.as_deref().unwrap_or_else(|| bench.host().address())
}

/// The address at which what listens there is reached from here: all interfaces are reached where the host is.
fn reached_at<'a>(bench: &Bench<'a>, listens: &'a str) -> &'a str {
    if listens == "0.0.0.0" {
        bench.host().address()
    } else {
        listens
    }
}

/// A port that the plan names must be nobody's. The service of the trial before may still be leaving it.
fn free(bench: &Bench<'_>, address: &Address, port: u16) -> Result<u16, Failure> {
    // On another host it shows when the service binds it.
    if !bench.lab.service().is_here() {
        return Ok(port);
    }
    let address = (listens_at(bench, address), port);
    let began = Instant::now();
    loop {
        match TcpListener::bind(address) {
            Ok(_) => return Ok(port),
            Err(_) if began.elapsed() < PORT_LEAVES => thread::sleep(Duration::from_millis(10)),
            Err(error) => {
                let text = format!(
                    "port {port} of {} cannot be listened on ({error}): end what has it, or name another one in `[address]` or PRONY_PORT",
                    address.0
                );
                return Err(Failure::lab(Stage::Start, text));
            }
        }
    }
}

fn spec_of(
    bench: &Bench<'_>,
    start: &Start<'_>,
    seat: &Seat,
    port: u16,
    backend: Option<&Backend>,
) -> ProcessSpec {
    let (service, placement) = (start.service, &seat.placement);
    let workers = start
        .limits
        .cpus
        .map_or(usize::MAX, |cpus| cpus.ceil() as usize)
        .min(placement.service.cpus.len())
        .max(1);
    // An image has its own tools.
    let mut environment = match &start.built.container {
        None => start.built.environment.clone(),
        Some(_) => BTreeMap::new(),
    };
    environment.extend(service.env.clone());
    // In a network of its own every address is reached by the generator alone.
    let listen = if start.network.is_some() {
        "0.0.0.0"
    } else {
        listens_at(bench, start.address)
    };
    environment.insert("HOST".to_owned(), listen.to_owned());
    environment.insert("PORT".to_owned(), port.to_string());
    environment.insert("WORKERS".to_owned(), workers.to_string());
    if let Some(backend) = backend {
        environment.insert("BACKEND_URL".to_owned(), backend.url.clone());
    }
    ProcessSpec {
        name: service.label(),
        command: match service.reached.command() {
            Some(command) => vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()],
            None => Vec::new(),
        },
        container: start.built.container.clone(),
        folder: start.built.folder.clone(),
        environment,
        cpus: placement.service.cpus.clone(),
        supervisor_cpus: placement.service.keepers.clone(),
        limits: Limits {
            cpus: start.limits.cpus,
            memory_bytes: start.limits.memory_bytes,
            files: None,
            disk_bytes: Some(DISK_BYTES),
        },
        isolation: bench.options.isolation,
        network: start.network.map(|network| Network {
            delay: Duration::from_nanos(network.delay_ns),
            rate_bits_per_s: network.rate_bits_per_s,
        }),
        stdio: Stdio::Logged,
        log: (bench.lab.service().logs).join(seat.log(&format!("{}-{}", service.name, service.variant))),
        log_bytes: LOG_BYTES,
        grace: GRACE,
        sample_every: Some(SAMPLE_EVERY),
    }
}

/// Starts the backend that a contract needs and waits until it listens.
pub(crate) fn start_backend(
    bench: &Bench<'_>,
    contract: &Contract,
    seat: &Seat,
) -> Result<Option<Backend>, Failure> {
    let Some(wanted) = &contract.backend else {
        return Ok(None);
    };
    let mut last = Failure::lab(Stage::Start, "the backend did not start");
    for _ in 0..PORTS {
        match try_backend(bench, wanted.delay, seat) {
            Ok(backend) => return Ok(Some(backend)),
            Err(failure) if failure.interrupted => return Err(failure),
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

fn try_backend(bench: &Bench<'_>, delay: Duration, seat: &Seat) -> Result<Backend, Failure> {
    let failed = |error: HostError| Failure::host(Stage::Start, &error);
    let place = seat.placement.companion.clone().unwrap_or_default();
    let (address, cpus, there) = (place.address.as_str(), place.cpus, bench.lab.companion());
    let port = there.host.free_port().map_err(failed)?;
    let told = [
        format!("--host={address}"),
        format!("--port={port}"),
        format!("--delay={}ms", delay.as_millis()),
        format!("--workers={}", cpus.len().max(1)),
    ];
    let spec = ProcessSpec {
        name: "the backend".to_owned(),
        command: there.prony(&["backend"]).into_iter().chain(told).collect(),
        container: None,
        folder: there.logs.clone(),
        environment: BTreeMap::new(),
        cpus,
        supervisor_cpus: place.keepers,
        limits: Limits::default(),
        isolation: prony_host::Isolation::WherePossible,
        network: None,
        stdio: Stdio::Logged,
        log: there.logs.join(seat.log("backend")),
        log_bytes: LOG_BYTES,
        grace: GRACE,
        sample_every: None,
    };
    let mut process = there.host.start(&spec).map_err(failed)?;
    let began = Instant::now();
    while !is_listening(address, port) {
        if bench.cancel.is_now() {
            return Err(Failure::interrupted(Stage::Start));
        }
        if let Some(ending) = process.ended() {
            let last = process.log_tail(3).join(" | ");
            return Err(Failure::lab(
                Stage::Start,
                format!("the backend {ending}: {last}"),
            ));
        }
        if began.elapsed() > BACKEND_READY {
            let text = format!("the backend did not listen within {BACKEND_READY:?}");
            return Err(Failure::lab(Stage::Start, text));
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(Backend {
        process,
        beside: place.host == seat.placement.service.host,
        url: format!("http://{address}:{port}"),
    })
}
