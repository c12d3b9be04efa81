//! Starting a service and what it needs.

mod external;
mod ready;

use crate::RunContext;
use crate::TrialPlacement;
use crate::backing::BackingProcesses;
use crate::job::target_of;
use crate::trial::Trial;
use crate::{BuildOutput, Failure};
use prony_config::contract::Contract;
use prony_config::{Address, Service, ServiceOrigin};
use prony_host::{HostError, Limits, Network, Process, ProcessSpec, Stdio};
use prony_load::Target;
use prony_records::TrialStage;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use external::{doubt, start_up};
pub(crate) use ready::wait as wait_until_ready;

/// A service that is to be started, and in which frame.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The service.
    pub service: &'a Service,
    /// Where it was built.
    pub built: &'a BuildOutput,
    /// What it is asked for.
    pub contract: &'a Contract,
    /// Where it is to listen.
    pub address: &'a Address,
    /// Its limits.
    pub limits: prony_config::Limits,
    /// The network between it and its clients.
    pub network: Option<prony_config::Network>,
}

impl<'a> Start<'a> {
    /// The service of a trial, in the frame of its plan.
    pub fn of(trial: &Trial<'a>) -> Self {
        Self {
            service: trial.service,
            built: trial.built,
            contract: trial.contract,
            address: &trial.plan.address,
            limits: trial.plan.limits,
            network: trial.plan.network,
        }
    }
}

/// A started service with its address and its backing services.
pub struct StartedService {
    /// The service.
    pub service: Box<dyn Process>,
    /// Where it listens.
    pub target: Target,
    /// Its backing services. They end after the service.
    pub backing_services: BackingProcesses,
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
pub(crate) const PORTS: u32 = 3;
/// Time for a port that the plan names to become free.
const PORT_LEAVES: Duration = Duration::from_secs(2);

/// Starts a service with the backing services that it needs.
pub(crate) fn start_service(
    bench: &RunContext<'_>,
    start: &Start<'_>,
    seat: &TrialPlacement,
    backing_services: BackingProcesses,
) -> Result<StartedService, Failure> {
    let failed = |error: HostError| Failure::host(TrialStage::Start, &error);
    if let ServiceOrigin::There(there) = &start.service.reached {
        let supervisor_cpus = &seat.placement.service.keepers;
        return external::attach(bench, start, there, (backing_services, supervisor_cpus));
    }
    if start.network.is_some() && !backing_services.is_empty() {
        let text = "a service in a network of its own cannot reach its backing services: leave `[network]` out of this suite";
        return Err(Failure::new(TrialStage::Start, text));
    }
    let port = match start.address.port {
        Some(port) => free(bench, start.address, port)?,
        None => bench.host().free_port().map_err(failed)?,
    };
    let spec = spec_of(bench, start, seat, port, &backing_services);
    let service = bench.host().start(&spec).map_err(failed)?;
    let address = service
        .address()
        .unwrap_or_else(|| reached_at(bench, listens_at(bench, start.address)))
        .to_owned();
    Ok(StartedService {
        service,
        target: target_of(&address, port),
        backing_services,
    })
}

/// The address on which services are configured to listen.
fn listens_at<'a>(bench: &RunContext<'a>, address: &'a Address) -> &'a str {
    address.host.as_deref().unwrap_or_else(|| bench.host().address())
}

/// The address at which what listens there is reached from here: all interfaces are reached where the host is.
fn reached_at<'a>(bench: &RunContext<'a>, listens: &'a str) -> &'a str {
    if listens == "0.0.0.0" {
        bench.host().address()
    } else {
        listens
    }
}

/// Waits until a port that the plan names is free: the service of the previous trial may still be closing it.
fn free(bench: &RunContext<'_>, address: &Address, port: u16) -> Result<u16, Failure> {
    // On another host it shows when the service binds it.
    if !bench.testbed.service().is_here() {
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
                return Err(Failure::infrastructure(TrialStage::Start, text));
            }
        }
    }
}

fn spec_of(
    bench: &RunContext<'_>,
    start: &Start<'_>,
    seat: &TrialPlacement,
    port: u16,
    backing_services: &BackingProcesses,
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
    environment.extend(start.contract.environment().clone());
    environment.extend(backing_services.exports());
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
        log: (bench.testbed.service().logs).join(seat.log(&format!("{}-{}", service.name, service.variant))),
        log_bytes: LOG_BYTES,
        grace: GRACE,
        stop_signal: None,
        sample_every: Some(SAMPLE_EVERY),
        cpu_speed_probe: seat.slot.is_some_and(|slot| slot.cpu_speed_probe),
    }
}

/// CPU time that a service uses in a window of this length, starting now; `None` where it cannot be counted.
pub(crate) fn cpu_time(service: &mut dyn Process, window: Duration) -> Option<Duration> {
    service.begin_window().ok()?;
    thread::sleep(window);
    let usage = service.end_window().ok()?;
    usage.resources.cpu_ns.map(Duration::from_nanos)
}
