//! How much two builds of the same source may differ, because their functions are at other addresses.

use prony_config::{Catalogue, Service};
use prony_records::{Part, RunRecord, ServiceId};

/// The share by which two builds of a service may differ by their code layout alone: the largest of its toolchains. `None` if both
/// sides are the same build or different services, or if no toolchain declares a share.
pub(super) fn code_layout(catalogue: &Catalogue, run: &RunRecord, [base, new]: [&Service; 2]) -> Option<f64> {
    if base.name != new.name || is_one_build(run, [base, new].map(crate::build::id_of)) {
        return None;
    }
    let needed = base.toolchains.iter().chain(&new.toolchains);
    needed
        .filter_map(|needed| catalogue.toolchains.get(&needed.toolchain)?.code_layout)
        .reduce(f64::max)
}

/// Whether everything that decides what a build contains is equal.
fn is_one_build(run: &RunRecord, [base, new]: [ServiceId; 2]) -> bool {
    let fingerprints = run.fingerprints().unwrap_or_default();
    let of = |id: ServiceId| fingerprints.get(&id.to_string());
    match (of(base), of(new)) {
        (Some(base), Some(new)) => base.differences(new, Part::BUILD).is_empty(),
        _ => false,
    }
}
