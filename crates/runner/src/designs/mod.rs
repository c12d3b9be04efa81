//! The designs: which trials a plan has, and in which order. Each design is a function of the plan and the results.

pub mod capacity;
mod duet;
mod interleaved;
mod paired;
mod regression;
mod sequence;
mod shared_starts;
mod starts;
#[cfg(test)]
mod testing;

pub use duet::Duet;
pub(crate) use duet::is_reversed;
pub use interleaved::Interleaved;
pub use paired::Paired;
pub use regression::{Judgement, Regression};
pub use sequence::Sequence;
pub use shared_starts::SharedStarts;
pub use starts::MeasuredStarts;

use crate::schedule::Design;
use prony_config::{Plan, Starts};
use prony_statistics::ChangeOptions;
use std::time::Duration;

/// The design that a plan names.
pub fn design_of(plan: &Plan) -> Box<dyn Design + '_> {
    match plan.design {
        prony_config::Design::Sequence if plan.starts == Starts::Shared => Box::new(SharedStarts { plan }),
        prony_config::Design::Sequence => Box::new(Sequence { plan }),
        prony_config::Design::Interleaved { window_ns, cycles } => Box::new(Interleaved {
            plan,
            window: Duration::from_nanos(window_ns),
            cycles,
        }),
        prony_config::Design::Starts => Box::new(MeasuredStarts { plan }),
        prony_config::Design::Paired {
            block_ns,
            repeats,
            held,
        } => Box::new(Paired {
            plan,
            block: Duration::from_nanos(block_ns),
            repeats,
            held,
        }),
        prony_config::Design::Duet => Box::new(Duet { plan, budget: None }),
        prony_config::Design::Regression => Box::new(Regression::new(plan, &options_of(plan), None)),
    }
}

/// How a plan judges a regression.
fn options_of(plan: &Plan) -> ChangeOptions {
    let usual = ChangeOptions::default();
    ChangeOptions {
        confidence: plan.confidence,
        tie_band: plan.tie.unwrap_or(usual.tie_band),
        ..usual
    }
}

#[cfg(test)]
mod tests {
    use prony_config::RankBy;
    use prony_statistics::Metric;

    /// A metric that reports do not have would be replaced by the default silently.
    #[test]
    fn services_can_be_ranked_by_every_metric_of_suites() {
        for metric in RankBy::ALL {
            assert!(Metric::of_key(metric.key()).is_some(), "{}", metric.name());
        }
    }
}
