//! A service that runs already: it is asked and looked at, and nothing else.

use super::{SAMPLE_EVERY, Start, StartedService};
use crate::Failure;
use crate::RunContext;
use crate::backing::BackingProcesses;
use prony_config::{ExternalService, Service, ServiceOrigin, UsageSource};
use prony_host::{AttachSpec, AttachTarget, Cpus, Process, UnmonitoredProcess};
use prony_records::{StartUp, TrialStage, Warning, WarningKind};

/// The service, with what is known of its process. `supervisor_cpus`: where its resources are read.
pub(super) fn attach(
    bench: &RunContext<'_>,
    start: &Start<'_>,
    there: &ExternalService,
    (backing_services, supervisor_cpus): (BackingProcesses, &Cpus),
) -> Result<StartedService, Failure> {
    let refused = |text: &str| Err(Failure::new(TrialStage::Start, text));
    if !backing_services.is_empty() {
        return refused(
            "it runs already, and cannot be told where the backing services of this contract are: give it a `run`",
        );
    }
    if start.network.is_some() {
        return refused(
            "it runs already, and gets no network of its own: leave `[network]` out of this suite",
        );
    }
    let attached = there.counted.as_ref().map(attached).transpose()?;
    let service: Box<dyn Process> = match attached {
        None => Box::new(UnmonitoredProcess::now()),
        Some(attached) => {
            let spec = AttachSpec {
                name: start.service.label(),
                attached,
                supervisor_cpus: supervisor_cpus.clone(),
                sample_every: SAMPLE_EVERY,
            };
            let attached = bench.host().attach(&spec);
            attached.map_err(|error| Failure::host(TrialStage::Start, &error))?
        }
    };
    Ok(StartedService {
        service,
        target: (*there.target).clone(),
        backing_services,
    })
}

fn attached(counted: &UsageSource) -> Result<AttachTarget, Failure> {
    match counted {
        UsageSource::Pid(pid) => Ok(AttachTarget::Pid(*pid as i32)),
        UsageSource::Cgroup(path) => Ok(AttachTarget::Cgroup(path.clone())),
        UsageSource::PidFile(path) => {
            let refused = |what: String| {
                let text = format!("`pid` is the file {}: {what}", path.display());
                Failure::new(TrialStage::Start, text)
            };
            let text = std::fs::read_to_string(path)
                .map_err(|error| refused(format!("it cannot be read ({error}); is the service running?")))?;
            let pid = text.trim().parse().ok().filter(|pid| *pid > 0);
            pid.map(AttachTarget::Pid)
                .ok_or_else(|| refused("there is no process id in it".to_owned()))
        }
    }
}

/// What is not known of a service that runs already, and what is not in force for it.
pub(crate) fn doubt(service: &Service, limits: prony_config::Limits) -> Option<Warning> {
    let ServiceOrigin::There(there) = &service.reached else {
        return None;
    };
    let mut text = "it ran already: prony chose neither its start nor its CPUs".to_owned();
    if limits != prony_config::Limits::default() {
        text.push_str(", and the limits of this suite are not in force");
    }
    if there.counted.is_none() {
        text.push_str("; its resources are not known: give its `pid` or `cgroup`");
    }
    Some(Warning::new(WarningKind::Note, text))
}

/// Start-up times; none for an external service, whose start was not observed.
pub(crate) fn start_up(service: &Service, seen: StartUp) -> StartUp {
    match service.reached {
        ServiceOrigin::Run(_) | ServiceOrigin::Image(_) => seen,
        ServiceOrigin::There(_) => StartUp {
            listening_ms: None,
            first_valid_ms: None,
            ..seen
        },
    }
}
