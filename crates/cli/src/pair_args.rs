//! The options that `prony duet` and `prony compare` have in common for two services that are measured now.

use prony_config::WarmUpChoice;
use prony_load::DurationText;
use prony_runner::{ComparisonPair, ResumeOptions, ServiceSelector};
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct PairArgs {
    /// The contract [default: the first that both implement]
    #[arg(long, value_name = "NAME")]
    contract: Option<String>,
    /// The workload of the contract [default: its first]
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Fixed length of each warm-up, instead of waiting until a service is warm
    #[arg(long, value_name = "TIME")]
    warmup: Option<DurationText>,
    /// Continue a run that was stopped early, with the same services and options: its name, or the latest run if no name is given
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest")]
    resume: Option<String>,
    /// With --resume: try services again that failed by their own error in an earlier part of the run
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
            resume: self.resume.as_deref(),
            resume_options: ResumeOptions {
                retry_failed: self.retry_failed,
                ..ResumeOptions::default()
            },
        }
    }
}
