//! What must hold behind the server while a load goes on.

use std::fmt;

/// What must hold behind the server while a load goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct During {
    pub(super) name: String,
    pub(super) companion: String,
    pub(super) connections: Most,
}

/// The highest number that is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Most {
    /// This one.
    Number(u64),
    /// The one that the companion gives the service in this variable.
    Variable(String),
}

impl During {
    /// What must hold, in words.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the companion that is watched.
    pub fn companion(&self) -> &str {
        &self.companion
    }

    /// Connections of the service that may be open there at one time.
    pub const fn connections(&self) -> &Most {
        &self.connections
    }
}

impl fmt::Display for Most {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Variable(name) => name.fmt(formatter),
        }
    }
}
