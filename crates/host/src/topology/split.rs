//! Who gets which CPUs: a function of the topology alone.

use super::{Core, Topology};
use crate::Cpus;
use prony_measurement::{Warning, WarningKind};
use serde::{Deserialize, Serialize};

/// What a trial wants of the CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wants {
    /// Whether there is a backend beside the service.
    pub backend: bool,
    /// Most CPUs of the service; `None`: what is left.
    pub service_cpus: Option<usize>,
}

/// Who gets which CPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// The service's.
    pub service: Cpus,
    /// The generator's; everything of prony's own runs there, too.
    pub generator: Cpus,
    /// The backend's.
    pub backend: Option<Cpus>,
    /// What is not as it should be.
    pub warnings: Vec<Warning>,
}

impl Topology {
    /// Splits the CPUs into disjoint sets where there are enough of them. CPUs of one core stay together, since they
    /// share its execution units. The generator gets a third of the cores, at least one: it needs less CPU per request than
    /// any service, but one that runs short spoils the measurement. The backend gets an eighth, rounded up, where there are
    /// three cores or more; with fewer it runs beside the generator.
    pub fn split(&self, wants: Wants) -> Split {
        match self.cores.as_slice() {
            [] => Split::default(),
            [core] => one_core(core, wants),
            cores => many_cores(cores, wants),
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
    let text = format!("{shared}: the figures are of both together; use a machine with two cores or more");
    let generator = Cpus::from(generator.to_vec());
    Split {
        service: Cpus::from(service.to_vec()),
        backend: wants.backend.then(|| generator.clone()),
        generator,
        warnings: vec![Warning::new(WarningKind::SharedCpus, text)],
    }
}

fn many_cores(cores: &[Core], wants: Wants) -> Split {
    // The nearest whole number to a third.
    let low = (cores.len() + 1) / 3;
    let mut warnings = Vec::new();
    let own_backend = wants.backend && cores.len() >= 3;
    let backend = if own_backend { cores.len().div_ceil(8) } else { 0 };
    let generator = set(&cores[..low]);
    // Interrupts and housekeeping prefer the first CPUs, so the service gets the last ones.
    let mut service = set(&cores[low + backend..]);
    if let Some(most) = wants.service_cpus {
        let last = service.len().saturating_sub(most.max(1));
        service = service.as_slice()[last..].iter().copied().collect();
    }
    let backend = wants.backend.then(|| {
        if own_backend {
            set(&cores[low..low + backend])
        } else {
            generator.clone()
        }
    });
    if wants.backend && !own_backend {
        let text = "backend and generator share their CPUs: there are only two cores";
        warnings.push(Warning::new(WarningKind::SharedCpus, text));
    }
    Split {
        service,
        generator,
        backend,
        warnings,
    }
}

fn set(cores: &[Core]) -> Cpus {
    cores.iter().flat_map(|core| core.cpus.iter().copied()).collect()
}
