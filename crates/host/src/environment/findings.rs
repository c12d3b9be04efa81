//! Properties of an environment that cost accuracy, each with its remedy.

use prony_records::{Environment, Finding};

/// Load average above which other programs are using the machine.
const BUSY: f64 = 0.5;
/// Open files that a load with some thousand connections needs.
const FILES: u64 = 8_192;

/// Inputs of the findings that are not part of [`Environment`].
#[derive(Debug)]
pub(super) struct MachineChecks {
    /// Whether control groups can be created.
    pub(super) may_limit: bool,
    /// The CPU quota of the control groups above this process, CPUs.
    pub(super) quota: Option<f64>,
    /// Why the generator cannot use `io_uring`.
    pub(super) lacks_ring: Option<String>,
    pub(super) lacks_proc: bool,
}

/// All findings, the most costly first.
pub(super) fn of(environment: &Environment, beside: &MachineChecks) -> Vec<Finding> {
    let candidates = [
        no_proc(beside),
        few_cores(environment),
        busy(environment),
        governor(environment),
        turbo(environment),
        smt(environment),
        virtual_machine(environment),
        no_groups(environment, beside.may_limit),
        beside.quota.and_then(quota_of),
        no_ring(beside),
        files(environment),
    ];
    candidates.into_iter().flatten().collect()
}

#[expect(clippy::unnecessary_wraps, reason = "each caller answers with an Option")]
fn finding(text: impl Into<String>, remedy: &str) -> Option<Finding> {
    Some(Finding {
        text: text.into(),
        remedy: remedy.to_owned(),
    })
}

fn few_cores(environment: &Environment) -> Option<Finding> {
    match environment.cpu.cores? {
        1 => finding(
            "One core: generator and service always disturb each other.",
            "Use two or more cores; with four the service gets more than one.",
        ),
        2 => finding(
            "Two cores: the service gets one, so its use of several CPUs is not measured.",
            "Use four or more cores to compare services on several CPUs.",
        ),
        _ => None,
    }
}

fn busy(environment: &Environment) -> Option<Finding> {
    let load = environment.load_average.filter(|load| *load > BUSY)?;
    finding(
        format!("Load average {load:.2}: other programs are active."),
        "Stop them, or wait.",
    )
}

fn governor(environment: &Environment) -> Option<Finding> {
    let governor = environment
        .cpu
        .governor
        .as_ref()
        .filter(|governor| *governor != "performance")?;
    finding(
        format!("The CPU frequency governor is `{governor}`: the CPUs change their speed with the load."),
        "sudo cpupower frequency-set -g performance",
    )
}

fn turbo(environment: &Environment) -> Option<Finding> {
    environment.cpu.turbo.filter(|turbo| *turbo)?;
    finding(
        "Turbo is on: the speed of the CPUs depends on heat and on what the other cores do.",
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo (or 0 into cpufreq/boost)",
    )
}

fn smt(environment: &Environment) -> Option<Finding> {
    environment.cpu.smt.filter(|smt| *smt)?;
    finding(
        "SMT is on: two CPUs share a core, and other programs may run on one of them.",
        "echo off | sudo tee /sys/devices/system/cpu/smt/control",
    )
}

fn virtual_machine(environment: &Environment) -> Option<Finding> {
    let kind = environment
        .virtualisation
        .as_ref()
        .filter(|kind| *kind != "none")?;
    finding(
        format!(
            "Virtual machine or container ({kind}): other guests of the same hardware may disturb it unnoticed."
        ),
        "Publish results from bare metal only. Here, trust comparisons within one run more than absolute figures.",
    )
}

fn no_groups(environment: &Environment, may_limit: bool) -> Option<Finding> {
    if may_limit {
        return None;
    }
    let version = environment.cgroup.as_deref().unwrap_or("none");
    finding(
        format!(
            "No control group can be created (version: {version}): CPU and memory limits are not enforced."
        ),
        crate::cgroup::REMEDY,
    )
}

fn quota_of(quota: f64) -> Option<Finding> {
    finding(
        format!(
            "A quota of {quota:.1} CPUs is shared: when it is used up, generator and service stop together."
        ),
        "Give whole CPUs instead of a quota (`--cpuset-cpus` for a container, AllowedCPUs= for a unit).",
    )
}

fn no_ring(beside: &MachineChecks) -> Option<Finding> {
    let reason = beside.lacks_ring.as_ref()?;
    finding(
        format!("io_uring is not available ({reason}): the generator uses epoll, which costs more CPU time."),
        "Use Linux 6.1 or newer; allow it with `sysctl kernel.io_uring_disabled=0`, and in a container with a seccomp profile that permits it.",
    )
}

fn no_proc(beside: &MachineChecks) -> Option<Finding> {
    if !beside.lacks_proc {
        return None;
    }
    finding(
        "/proc is not mounted: other processes are not visible, so services cannot be started, measured or stopped.",
        "mount -t proc proc /proc",
    )
}

fn files(environment: &Environment) -> Option<Finding> {
    let limit = environment.open_files_limit.filter(|limit| *limit < FILES)?;
    finding(
        format!("A process may open only {limit} files: loads with more connections fail."),
        "ulimit -n 65536",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::Cpu;

    const FINE: MachineChecks = MachineChecks {
        may_limit: true,
        quota: None,
        lacks_ring: None,
        lacks_proc: false,
    };

    #[test]
    fn a_quiet_server_has_no_finding() {
        let environment = Environment {
            cpu: Cpu {
                cores: Some(8),
                smt: Some(false),
                governor: Some("performance".to_owned()),
                turbo: Some(false),
                ..Cpu::default()
            },
            load_average: Some(0.01),
            virtualisation: Some("none".to_owned()),
            open_files_limit: Some(65_536),
            ..Environment::default()
        };
        assert_eq!(of(&environment, &FINE), []);
    }

    #[test]
    fn an_unknown_value_is_no_finding() {
        assert_eq!(of(&Environment::default(), &FINE), []);
    }

    #[test]
    fn each_cost_is_named_with_its_remedy() {
        let environment = Environment {
            cpu: Cpu {
                cores: Some(1),
                smt: Some(true),
                governor: Some("powersave".to_owned()),
                turbo: Some(true),
                ..Cpu::default()
            },
            load_average: Some(3.0),
            virtualisation: Some("kvm".to_owned()),
            open_files_limit: Some(1_024),
            ..Environment::default()
        };
        let beside = MachineChecks {
            may_limit: false,
            quota: Some(2.0),
            lacks_ring: Some("Function not implemented".to_owned()),
            lacks_proc: true,
        };
        let findings = of(&environment, &beside);
        assert_eq!(findings.len(), 11);
        assert!(findings.iter().all(|finding| !finding.remedy.is_empty()));
        assert!(
            findings
                .iter()
                .any(|finding| finding.text.contains("`powersave`"))
        );
    }
}
