//! Errors of commands.

use prony_config::ConfigError;
use prony_config::format::Diagnostics;
use prony_host::HostError;
use prony_records::Fault;
use prony_statistics::StatisticsError;
use prony_store::StoreError;
use std::error::Error;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The input is wrong; the user can correct it.
    #[error("{0}")]
    Input(String),
    /// Files of the project are wrong; the user can correct them.
    #[error("{0}")]
    Files(Diagnostics),
    /// An operation failed.
    #[error("{0}")]
    Failed(String),
    /// The machine failed, not the service.
    #[error("{0}")]
    Infrastructure(String),
    /// The user cancelled the command.
    #[error("{0}")]
    Interrupted(String),
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A figure could not be computed.
    #[error(transparent)]
    Statistics(#[from] StatisticsError),
    /// A process could not be started, or information about the machine could not be read.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl CommandError {
    /// Whether the user can correct the input.
    pub const fn is_bad_input(&self) -> bool {
        matches!(self, Self::Input(_) | Self::Files(_))
    }

    /// Whether the service or the infrastructure is at fault if a search for a rate fails.
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Infrastructure(_) | Self::Host(_) => Fault::Infrastructure,
            _ => Fault::Service,
        }
    }

    /// Whether the user cancelled the command.
    pub const fn is_interrupted(&self) -> bool {
        matches!(self, Self::Interrupted(_))
    }
}

/// The user can correct a file of the checkout that cannot be read.
impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Files(found) => Self::Files(found),
            other => Self::Input(whole(&other)),
        }
    }
}

/// The text of an error with all its causes.
pub(crate) fn whole(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

/// Converts errors and adds what failed.
pub(crate) trait ErrorContext<T> {
    /// The input is wrong.
    fn input(self) -> Result<T, CommandError>;

    /// An operation failed; `what` describes it.
    fn failed(self, what: impl FnOnce() -> String) -> Result<T, CommandError>;
}

impl<T, E: Error + 'static> ErrorContext<T> for Result<T, E> {
    fn input(self) -> Result<T, CommandError> {
        self.map_err(|error| match (&error as &dyn Error).downcast_ref() {
            Some(ConfigError::Files(found)) => CommandError::Files(found.clone()),
            _ => CommandError::Input(whole(&error)),
        })
    }

    fn failed(self, what: impl FnOnce() -> String) -> Result<T, CommandError> {
        self.map_err(|error| CommandError::Failed(format!("{}: {}", what(), whole(&error))))
    }
}
