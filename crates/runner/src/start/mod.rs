//! Starts a service.

mod external;
mod ready;

use crate::RunContext;
use crate::TrialPlacement;
use crate::backing::BackingProcesses;
use crate::certificates::ServiceCertificate;
use crate::job::target_of;
use crate::trial::Trial;
use crate::{BuildOutput, ConcurrentSlot, Failure};
use prony_check::{BackingTargets, CheckRequest, DeclaredTls};
use prony_config::contract::Contract;
use prony_config::{Address, Channel, Service, ServiceOrigin};
use prony_host::{HostError, InheritedVariables, Limits, Network, Process, ProcessSpec, Stdio};
use prony_load::Target;
use prony_records::TrialStage;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use external::{external_note, forget_unobserved_start};
pub(crate) use ready::{LATER, SOON, is_listening, wait as wait_until_ready};

/// The parameters of a start.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The service.
    pub service: &'a Service,
    /// Its build.
    pub built: &'a BuildOutput,
    /// The contract, with its environment variables.
    pub contract: &'a Contract,
    /// The address to listen on.
    pub address: &'a Address,
    /// Its limits.
    pub limits: prony_config::Limits,
    /// The network between it and its clients.
    pub network: Option<prony_config::Network>,
}

impl<'a> Start<'a> {
    /// The service of a trial, with the settings of its plan.
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
    /// Its build.
    pub(crate) build: BuildOutput,
    /// The addresses for clients.
    pub targets: ServiceTargets,
    /// Its backing services. They end after the service.
    pub backing_services: BackingProcesses,
}

/// Where clients reach a service.
#[derive(Debug, Clone)]
pub struct ServiceTargets {
    /// Its port: without TLS, unless the service runs already.
    pub clear: Target,
    /// Its TLS port, and its certificates.
    tls: Option<(Target, Arc<ServiceCertificate>)>,
    /// The addresses of its backing services, for cases that ask them.
    backing: BackingTargets,
}

impl ServiceTargets {
    /// The target of a channel.
    pub(crate) fn over(&self, channel: Channel) -> &Target {
        match &self.tls {
            Some((target, _)) if channel.is_tls() => target,
            _ => &self.clear,
        }
    }

    /// The TLS port, if there is one.
    pub(crate) fn tls(&self) -> Option<&Target> {
        self.tls.as_ref().map(|(target, _)| target)
    }

    /// The request for a check of a contract over a channel.
    pub(crate) fn check_request<'a>(
        &'a self,
        service: &'a Service,
        (contract, channel): (&'a Contract, Channel),
        (seed, thorough): (u64, bool),
    ) -> CheckRequest<'a> {
        let certificate = self.tls.as_ref().filter(|_| channel.is_tls());
        CheckRequest {
            contract,
            target: self.over(channel),
            protocol: channel.protocol(),
            tls: certificate.map(|(_, certificate)| DeclaredTls {
                protocols: &service.tls,
                certificates: &certificate.chain,
            }),
            seed,
            thorough,
            allow_writes: service.allows_writes(),
            backing: &self.backing,
        }
    }
}

/// The TLS port of a service that is about to start.
struct TlsPort {
    port: u16,
    certificate: Arc<ServiceCertificate>,
}

impl TlsPort {
    /// `None` if the service has none. `address` is where clients will reach it, if that is known before the start; `taken` is its other port.
    fn of(
        bench: &RunContext<'_>,
        service: &Service,
        (address, taken): (&str, u16),
    ) -> Result<Option<Self>, Failure> {
        if service.tls.is_empty() {
            return Ok(None);
        }
        let certificate = bench.certificates.of_address(address)?;
        loop {
            let port = bench.host().free_port();
            let port = port.map_err(|error| Failure::host(TrialStage::Start, &error))?;
            if port != taken {
                return Ok(Some(Self { port, certificate }));
            }
        }
    }
}

/// Maximum size of a service's log in bytes.
const LOG_BYTES: u64 = 1 << 20;
/// Maximum number of bytes that a service may write to disk; usually it writes none.
const DISK_BYTES: u64 = 1 << 30;
/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
/// Interval of resource samples.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);
/// Attempts to start with another port, if the chosen one was taken before the service bound it.
pub(crate) const PORTS: u32 = 3;
/// Time for a configured port to become free.
const PORT_TIMEOUT: Duration = Duration::from_secs(2);

/// Starts a service with the backing services that it needs.
pub(crate) fn start_service(
    bench: &RunContext<'_>,
    start: &Start<'_>,
    trial_placement: &TrialPlacement,
    backing_services: BackingProcesses,
) -> Result<StartedService, Failure> {
    let failed = |error: HostError| Failure::host(TrialStage::Start, &error);
    if let ServiceOrigin::There(there) = &start.service.reached {
        let supervisor_cpus = &trial_placement.placement.service.keepers;
        return external::attach(bench, start, there, (backing_services, supervisor_cpus));
    }
    if start.network.is_some() && !backing_services.is_empty() {
        let text = "a service in a network of its own cannot reach its backing services: remove `[network]` from this suite";
        return Err(Failure::new(TrialStage::Start, text));
    }
    let port = match start.address.port {
        Some(first) => wait_for_port(bench, start.address, port_of(first, trial_placement.slot))?,
        None => bench.host().free_port().map_err(failed)?,
    };
    let address = connect_address(bench, listen_address(bench, start.address));
    let tls = TlsPort::of(bench, start.service, (address, port))?;
    let mut spec = spec_of(bench, start, trial_placement, port, &backing_services);
    if let Some(tls) = &tls {
        spec.environment
            .insert("TLS_PORT".to_owned(), tls.port.to_string());
        spec.files
            .insert("TLS_CERT".to_owned(), tls.certificate.chain.clone());
        spec.files
            .insert("TLS_KEY".to_owned(), tls.certificate.key.clone());
    }
    let service = bench.host().start(&spec).map_err(failed)?;
    let address = service.address().unwrap_or(address).to_owned();
    let targets = ServiceTargets {
        clear: target_of(&address, port),
        tls: tls.map(|tls| (tls.certificate.target(&address, tls.port), tls.certificate)),
        backing: backing_services.targets(),
    };
    Ok(StartedService {
        service,
        build: start.built.clone(),
        targets,
        backing_services,
    })
}

/// The address on which services are configured to listen.
fn listen_address<'a>(bench: &RunContext<'a>, address: &'a Address) -> &'a str {
    address.host.as_deref().unwrap_or_else(|| bench.host().address())
}

/// The address for clients of a service that listens on `listens`. For all interfaces this is the address of the host.
fn connect_address<'a>(bench: &RunContext<'a>, listens: &'a str) -> &'a str {
    if listens == "0.0.0.0" {
        bench.host().address()
    } else {
        listens
    }
}

/// The port of a service: services that are up at once have the planned one and those after it.
fn port_of(first: u16, slot: Option<ConcurrentSlot>) -> u16 {
    first.saturating_add(slot.map_or(0, |slot| slot.number as u16))
}

/// Waits until a port that the plan names is free: the service of the previous trial may still be closing it.
fn wait_for_port(bench: &RunContext<'_>, address: &Address, port: u16) -> Result<u16, Failure> {
    // On another host a taken port is noticed when the service binds it.
    if !bench.testbed.service().is_here() {
        return Ok(port);
    }
    let address = (listen_address(bench, address), port);
    let began = Instant::now();
    loop {
        match TcpListener::bind(address) {
            Ok(_) => return Ok(port),
            Err(_) if began.elapsed() < PORT_TIMEOUT => thread::sleep(Duration::from_millis(10)),
            Err(error) => {
                let text = format!(
                    "port {port} of {} cannot be listened on ({error}): end the program that uses it, or choose another port in `[address]` or PRONY_PORT",
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
    trial_placement: &TrialPlacement,
    port: u16,
    backing_services: &BackingProcesses,
) -> ProcessSpec {
    let (service, placement) = (start.service, &trial_placement.placement);
    let workers = start
        .limits
        .cpus
        .map_or(usize::MAX, |cpus| cpus.ceil() as usize)
        .min(placement.service.cpus.len())
        .max(1);
    // An image has its own toolchains.
    let mut environment = match &start.built.container {
        None => start.built.environment.clone(),
        Some(_) => BTreeMap::new(),
    };
    environment.extend(service.env.clone());
    // In its own network only the generator can reach it.
    let listen = if start.network.is_some() {
        "0.0.0.0"
    } else {
        listen_address(bench, start.address)
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
        inherited: match &start.built.container {
            None => InheritedVariables::of_services(&service.pass),
            Some(_) => InheritedVariables::Named(service.pass.clone()),
        },
        fresh_folder: start.built.container.is_none(),
        empty_home: true,
        environment,
        cpus: placement.service.cpus.clone(),
        batch_policy: placement.service.batch_policy,
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
        log: (bench.testbed.service().logs)
            .join(trial_placement.log(&format!("{}-{}", service.name, service.variant))),
        log_bytes: LOG_BYTES,
        grace: GRACE,
        files: BTreeMap::new(),
        stop_signal: None,
        sample_every: Some(SAMPLE_EVERY),
        compiler_threads: service.compiler_threads.clone(),
        cpu_speed_probe: trial_placement.slot.is_some_and(|slot| slot.cpu_speed_probe),
    }
}

/// CPU time that a service uses in a window of this length, starting now; `None` if it cannot be measured.
pub(crate) fn cpu_time(service: &mut dyn Process, window: Duration) -> Option<Duration> {
    service.begin_window().ok()?;
    thread::sleep(window);
    let usage = service.end_window().ok()?;
    usage.resources.cpu_ns.map(Duration::from_nanos)
}
