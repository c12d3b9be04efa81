//! Assigns CPUs to roles: a function of the topology alone.

use super::{Core, Topology};
use crate::Cpus;
use prony_records::{Warning, WarningKind};

/// Requirements of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuDemand {
    /// Whether the trial has backing services.
    pub backing_service: bool,
    /// Maximum number of CPUs of the service; `None`: all that remain.
    pub service_cpus: Option<usize>,
}

/// The CPUs of each role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Split {
    pub service: Cpus,
    /// CPUs of the generator and of all processes of prony itself.
    pub generator: Cpus,
    pub backing_service: Option<Cpus>,
    /// Deviations from the ideal assignment.
    pub warnings: Vec<Warning>,
}

impl Topology {
    /// Splits the CPUs into disjoint sets if there are enough of them. CPUs of one core stay together, since they share its
    /// execution units. The generator gets a third of the cores, at least one: it needs less CPU per request than any service,
    /// but a saturated generator spoils the measurement. The backing services get an eighth, rounded up, if there are at least
    /// three cores; with fewer they share the CPUs of the generator.
    ///
    /// No role spans two NUMA nodes: the service gets a node of its own, generator and backing services get another. If no other
    /// node is at least half as large, all share the largest.
    pub fn split(&self, wants: CpuDemand) -> Split {
        match self.cores.as_slice() {
            // The CPUs are unknown: nothing is pinned, and backing services exist if requested.
            [] => Split {
                backing_service: wants.backing_service.then(Cpus::default),
                ..Split::default()
            },
            [core] => one_core(core, wants),
            cores => many_cores(&Parts::of(cores, wants.backing_service), wants),
        }
    }
}

fn one_core(core: &Core, wants: CpuDemand) -> Split {
    let (generator, service) = match core.cpus.as_slice() {
        [_, _, ..] => core.cpus.split_at(1),
        all => (all, all),
    };
    let shared = if core.cpus.len() > 1 {
        "run on two CPUs of one core"
    } else {
        "share the only CPU"
    };
    let text = format!("Generator and service {shared}; numbers describe both.");
    let generator = Cpus::from(generator.to_vec());
    Split {
        service: Cpus::from(service.to_vec()),
        backing_service: wants.backing_service.then(|| generator.clone()),
        generator,
        warnings: vec![Warning::new(WarningKind::SharedCpus, text).advise("Use two or more cores.")],
    }
}

/// The cores of each role.
struct Parts<'a> {
    generator: &'a [Core],
    /// Empty: backing services share the CPUs of the generator.
    backing_service: &'a [Core],
    service: &'a [Core],
}

impl<'a> Parts<'a> {
    /// `cores` is sorted by node.
    fn of(cores: &'a [Core], backing_service: bool) -> Self {
        let nodes: Vec<&[Core]> = cores.chunk_by(|one, next| one.node == next.node).collect();
        // The last node of equally large ones: interrupts and housekeeping prefer the first CPUs.
        let largest = (0..nodes.len())
            .max_by_key(|&node| nodes[node].len())
            .unwrap_or(0);
        let others = nodes.iter().enumerate().filter(|(node, _)| *node != largest);
        let service = nodes[largest];
        match others
            .map(|(_, cores)| *cores)
            .rev()
            .max_by_key(|cores| cores.len())
        {
            Some(others) if 2 * others.len() >= service.len() => {
                Self::separate_nodes(service, others, backing_service)
            }
            _ => Self::within(service, backing_service),
        }
    }

    /// All roles in one node.
    fn within(cores: &'a [Core], backing_service: bool) -> Self {
        // A third, rounded to the nearest integer.
        let (generator, rest) = cores.split_at((cores.len() + 1) / 3);
        let eighth = if backing_service && cores.len() >= 3 {
            cores.len().div_ceil(8)
        } else {
            0
        };
        let (backing_service, service) = rest.split_at(eighth);
        Self {
            generator,
            backing_service,
            service,
        }
    }

    /// The service in a node of its own, the generator and the backing service in another one.
    fn separate_nodes(service: &'a [Core], others: &'a [Core], backing_service: bool) -> Self {
        let eighth = if backing_service && others.len() >= 2 {
            others.len().div_ceil(8)
        } else {
            0
        };
        let (backing_service, rest) = others.split_at(eighth);
        let half = service.len().div_ceil(2).min(rest.len());
        Self {
            generator: &rest[..half],
            backing_service,
            service,
        }
    }
}

fn many_cores(parts: &Parts<'_>, wants: CpuDemand) -> Split {
    let mut warnings = Vec::new();
    let generator = set(parts.generator);
    let mut service = set(parts.service);
    if let Some(most) = wants.service_cpus {
        let last = service.len().saturating_sub(most.max(1));
        service = service.as_slice()[last..].iter().copied().collect();
    }
    let own_backing_service = !parts.backing_service.is_empty();
    let backing_service = wants.backing_service.then(|| {
        if own_backing_service {
            set(parts.backing_service)
        } else {
            generator.clone()
        }
    });
    if wants.backing_service && !own_backing_service {
        let text = "Backing services and generator share CPUs.";
        warnings.push(Warning::new(WarningKind::SharedCpus, text).advise("Use three or more cores."));
    }
    Split {
        service,
        generator,
        backing_service,
        warnings,
    }
}

fn set(cores: &[Core]) -> Cpus {
    cores.iter().flat_map(|core| core.cpus.iter().copied()).collect()
}
