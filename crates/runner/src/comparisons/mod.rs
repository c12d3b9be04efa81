//! Commands that compare two services or two versions of one: each is a plan of its own, measured by a design.

pub mod duet;
mod lines;
pub mod pair;
pub mod regression;

pub use lines::ProgressFn;

use crate::project::{SelectedService, find};
use crate::session::AGAIN;
use prony_config::Catalogue;
use prony_records::{Exclusion, ServiceId, TrialRecord, TrialStage};

/// A service once more under another name: what is compared with itself is in the catalogue twice.
fn again(catalogue: &mut Catalogue, chosen: &SelectedService) -> SelectedService {
    let mut again = find(catalogue, chosen).clone();
    again.variant.push_str(AGAIN);
    again.default = false;
    let id = ServiceId {
        service: again.name.clone(),
        variant: again.variant.clone(),
    };
    catalogue.services.push(again);
    SelectedService { id }
}

/// Why a trial gave nothing, in a sentence.
fn failure(trial: &TrialRecord, excluded: &Exclusion) -> String {
    let reason = &excluded.reason;
    match excluded.stage {
        TrialStage::Toolchain | TrialStage::Build => {
            format!(
                "{} cannot be built: {reason}\n    {}",
                trial.service,
                excluded.log_tail.join("\n    ")
            )
        }
        _ => format!("{}: {reason}", trial.service),
    }
}
