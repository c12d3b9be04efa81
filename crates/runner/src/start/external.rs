//! An external service, which prony neither starts nor stops.

use super::{SAMPLE_EVERY, Start, StartedService};
use crate::Failure;
use crate::RunContext;
use crate::backing::BackingProcesses;
use crate::secrets;
use prony_config::{ExternalService, Service, ServiceOrigin, UsageSource};
use prony_host::{AttachSpec, AttachTarget, Cpus, Process, UnmonitoredProcess};
use prony_records::{StartUp, TrialStage, Warning, WarningKind};

/// Attaches to an external service. `supervisor_cpus` are the CPUs of the process that reads its resource usage.
pub(super) fn attach(
    bench: &RunContext<'_>,
    start: &Start<'_>,
    there: &ExternalService,
    (backing_services, supervisor_cpus): (BackingProcesses, &Cpus),
) -> Result<StartedService, Failure> {
    secrets::add(|known| known.add_target(&there.target));
    let failed = |text: &str| Err(Failure::new(TrialStage::Start, text));
    if !backing_services.is_empty() {
        return failed(
            "it is an external service, which cannot receive the addresses of the contract's backing services: give it a `run`",
        );
    }
    if start.network.is_some() {
        return failed(
            "it is an external service, which cannot have its own network: remove `[network]` from this suite",
        );
    }
    let attached = there.counted.as_ref().map(attach_target).transpose()?;
    let service: Box<dyn Process> = match attached {
        None => Box::new(UnmonitoredProcess::now()),
        Some(attached) => {
            let spec = AttachSpec {
                name: start.service.label(),
                attached,
                supervisor_cpus: supervisor_cpus.clone(),
                sample_every: SAMPLE_EVERY,
                compiler_threads: start.service.compiler_threads.clone(),
            };
            let attached = bench.host().attach(&spec);
            attached.map_err(|error| Failure::host(TrialStage::Start, &error))?
        }
    };
    Ok(StartedService {
        service,
        build: start.built.clone(),
        targets: super::ServiceTargets {
            clear: (*there.target).clone(),
            tls: None,
            backing: backing_services.targets(),
        },
        backing_services,
    })
}

fn attach_target(counted: &UsageSource) -> Result<AttachTarget, Failure> {
    match counted {
        UsageSource::Pid(pid) => Ok(AttachTarget::Pid(*pid as i32)),
        UsageSource::Cgroup(path) => Ok(AttachTarget::Cgroup(path.clone())),
        UsageSource::PidFile(path) => {
            let failed = |what: String| {
                let text = format!("`pid` is the file {}: {what}", path.display());
                Failure::new(TrialStage::Start, text)
            };
            let text = std::fs::read_to_string(path)
                .map_err(|error| failed(format!("it cannot be read ({error}); is the service running?")))?;
            let pid = text.trim().parse().ok().filter(|pid| *pid > 0);
            pid.map(AttachTarget::Pid)
                .ok_or_else(|| failed("it does not contain a process ID".to_owned()))
        }
    }
}

/// A note about an external service: what is unknown, and which settings do not apply.
pub(crate) fn external_note(service: &Service, limits: prony_config::Limits) -> Option<Warning> {
    let ServiceOrigin::There(there) = &service.reached else {
        return None;
    };
    let not_set = if limits == prony_config::Limits::default() {
        "start and CPUs"
    } else {
        "start, CPUs and limits"
    };
    let text = format!("Already running: {not_set} were not set by prony.");
    let warning = Warning::new(WarningKind::Note, text);
    Some(match there.counted {
        None => warning.advise("For resource use set `pid` or `cgroup`."),
        Some(_) => warning,
    })
}

/// Removes the start-up times of an external service, whose start was not observed.
pub(crate) const fn forget_unobserved_start(service: &Service, measured: &mut StartUp) {
    if let ServiceOrigin::There(_) = service.reached {
        measured.listening_ms = None;
        measured.first_valid_ms = None;
    }
}
