//! What can fail.

use prony_config::PlanError;
use prony_host::HostError;
use prony_records::Fault;
use prony_statistics::StatisticsError;
use prony_store::StoreError;
use std::error::Error;

/// Why a command could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// What was asked for is not possible: whoever asked can mend it.
    #[error("{0}")]
    Input(String),
    /// Something failed on the way.
    #[error("{0}")]
    Failed(String),
    /// The machine failed, not the service.
    #[error("{0}")]
    Infrastructure(String),
    /// Whoever asked has had enough.
    #[error("{0}")]
    Interrupted(String),
    /// A store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Numbers could not be computed.
    #[error(transparent)]
    Statistics(#[from] StatisticsError),
    /// A process could not be started, or the machine not be read.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl BenchError {
    /// Whether whoever asked can mend it.
    pub const fn is_bad_input(&self) -> bool {
        matches!(self, Self::Input(_))
    }

    /// Whose fault it is that a search for a rate has no end.
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Infrastructure(_) | Self::Host(_) => Fault::Infrastructure,
            _ => Fault::Service,
        }
    }

    /// Whether whoever asked ended it.
    pub const fn is_interrupted(&self) -> bool {
        matches!(self, Self::Interrupted(_))
    }
}

/// A file of the checkout that cannot be read is the user's to mend.
impl From<PlanError> for BenchError {
    fn from(error: PlanError) -> Self {
        Self::Input(whole(&error))
    }
}

/// An error with all that it comes from.
pub(crate) fn whole(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

/// Says what failed.
pub(crate) trait Told<T> {
    /// What the user asked for is not possible.
    fn input(self) -> Result<T, BenchError>;

    /// Something failed, in these words.
    fn failed(self, what: impl FnOnce() -> String) -> Result<T, BenchError>;
}

impl<T, E: Error> Told<T> for Result<T, E> {
    fn input(self) -> Result<T, BenchError> {
        self.map_err(|error| BenchError::Input(whole(&error)))
    }

    fn failed(self, what: impl FnOnce() -> String) -> Result<T, BenchError> {
        self.map_err(|error| BenchError::Failed(format!("{}: {}", what(), whole(&error))))
    }
}
