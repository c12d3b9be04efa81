//! Assigns CPUs to roles: a function of the topology alone.

use super::{Core, Topology};
use crate::Cpus;
use prony_records::{Warning, WarningKind};

/// Requirements of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wants {
    /// Whether the trial has backing services.
    pub companion: bool,
    /// Maximum number of CPUs of the service; `None`: all that remain.
    pub service_cpus: Option<usize>,
}

/// The CPUs of each role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Split {
    pub service: Cpus,
    /// CPUs of the generator and of all processes of prony itself.
    pub generator: Cpus,
    pub companion: Option<Cpus>,
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
    pub fn split(&self, wants: Wants) -> Split {
        match self.cores.as_slice() {
            // The CPUs are unknown: nothing is pinned, and backing services exist if requested.
            [] => Split {
                companion: wants.companion.then(Cpus::default),
                ..Split::default()
            },
            [core] => one_core(core, wants),
            cores => many_cores(&Parts::of(cores, wants.companion), wants),
        }
    }
}

fn one_core(core: &Core, wants: Wants) -> Split {
    let (generator, service) = match core.cpus.as_slice() {
        [_, _, ..] => core.cpus.split_at(1),
        all => (all, all),
    };
    let shared = if core.cpus.len() > 1 {
        "generator and service run on two CPUs of one core, which share its execution units"
    } else {
        "generator and service share the only CPU"
    };
    let text = format!("{shared}: the figures include both; use a machine with two cores or more");
    let generator = Cpus::from(generator.to_vec());
    Split {
        service: Cpus::from(service.to_vec()),
        companion: wants.companion.then(|| generator.clone()),
        generator,
        warnings: vec![Warning::new(WarningKind::SharedCpus, text)],
    }
}

/// The cores of each role.
struct Parts<'a> {
    generator: &'a [Core],
    /// Empty: backing services share the CPUs of the generator.
    companion: &'a [Core],
    service: &'a [Core],
}

impl<'a> Parts<'a> {
    /// `cores` is sorted by node.
    fn of(cores: &'a [Core], companion: bool) -> Self {
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
            Some(beside) if 2 * beside.len() >= service.len() => Self::beside(service, beside, companion),
            _ => Self::within(service, companion),
        }
    }

    /// All roles in one node.
    fn within(cores: &'a [Core], companion: bool) -> Self {
        // A third, rounded to the nearest integer.
        let (generator, rest) = cores.split_at((cores.len() + 1) / 3);
        let eighth = if companion && cores.len() >= 3 {
            cores.len().div_ceil(8)
        } else {
            0
        };
        let (companion, service) = rest.split_at(eighth);
        Self {
            generator,
            companion,
            service,
        }
    }

    /// The service in its own node.
    fn beside(service: &'a [Core], beside: &'a [Core], companion: bool) -> Self {
        let eighth = if companion && beside.len() >= 2 {
            beside.len().div_ceil(8)
        } else {
            0
        };
        let (companion, rest) = beside.split_at(eighth);
        let half = service.len().div_ceil(2).min(rest.len());
        Self {
            generator: &rest[..half],
            companion,
            service,
        }
    }
}

fn many_cores(parts: &Parts<'_>, wants: Wants) -> Split {
    let mut warnings = Vec::new();
    let generator = set(parts.generator);
    let mut service = set(parts.service);
    if let Some(most) = wants.service_cpus {
        let last = service.len().saturating_sub(most.max(1));
        service = service.as_slice()[last..].iter().copied().collect();
    }
    let own_companion = !parts.companion.is_empty();
    let companion = wants.companion.then(|| {
        if own_companion {
            set(parts.companion)
        } else {
            generator.clone()
        }
    });
    if wants.companion && !own_companion {
        let text = "backing services and generator share their CPUs: there are too few cores for both";
        warnings.push(Warning::new(WarningKind::SharedCpus, text));
    }
    Split {
        service,
        generator,
        companion,
        warnings,
    }
}

fn set(cores: &[Core]) -> Cpus {
    cores.iter().flat_map(|core| core.cpus.iter().copied()).collect()
}
