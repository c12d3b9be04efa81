//! Conditions that must hold in the backing service during a load.

use std::fmt;

/// A condition that must hold in the backing service during a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadInvariant {
    pub(super) name: String,
    pub(super) backing_service: String,
    pub(super) connections: UpperLimit,
}

/// The highest allowed number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpperLimit {
    Number(u64),
    /// The value of this variable, which the backing service exports to the service.
    Variable(String),
}

impl LoadInvariant {
    /// A description of the condition.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the monitored backing service.
    pub fn backing_service(&self) -> &str {
        &self.backing_service
    }

    /// The limit of connections that the service may have open at the same time.
    pub const fn connections(&self) -> &UpperLimit {
        &self.connections
    }
}

impl fmt::Display for UpperLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Variable(name) => name.fmt(formatter),
        }
    }
}
