//! The options that `prony duet` and `prony compare` have in common for two services that are measured now.

use crate::option_values::time;
use prony_config::WarmUpChoice;
use prony_load::DurationText;
use prony_runner::{ComparisonPair, ResumeFrom, ResumeOptions, ServiceSelector};
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct PairArgs {
    /// Contract [default: the first in common]
    #[arg(long, value_name = "NAME")]
    contract: Option<String>,
    /// Workload [default: the first]
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Fixed warm-up instead of automatic
    #[arg(long, value_name = "TIME", value_parser = time)]
    warmup: Option<DurationText>,
    /// Continue an interrupted run [default: the latest]
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest")]
    pub(crate) resume: Option<String>,
    /// With --resume: try failed services again
    #[arg(long, requires = "resume")]
    retry_failed: bool,
}

impl PairArgs {
    pub(crate) fn pair<'a>(
        &'a self,
        [first, second]: [&'a ServiceSelector; 2],
        rounds: u32,
        duration: Duration,
    ) -> ComparisonPair<'a> {
        ComparisonPair {
            first,
            second,
            rounds,
            duration,
            contract: self.contract.as_deref(),
            workload: self.workload.as_deref(),
            warm_up: WarmUpChoice::of_length(self.warmup.map(|time| time.0)),
            resume: self.resume.as_deref().map(ResumeFrom::Run),
            resume_options: ResumeOptions {
                retry_failed: self.retry_failed,
                ..ResumeOptions::default()
            },
        }
    }
}
