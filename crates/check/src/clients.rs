//! The clients of a check: of the service, and of the backing services that cases ask.

use super::CheckRequest;
use prony_config::contract::Exchange;
use prony_load::{Protocol, Target};
use prony_protocols::client::{Client, ClientError};
use std::collections::BTreeMap;

/// The addresses of backing services by their names in the contract.
pub type BackingTargets = BTreeMap<String, Target>;

pub(super) struct Clients {
    service: Result<Client, ClientError>,
    backing: BTreeMap<String, Result<Client, ClientError>>,
}

impl Clients {
    pub(super) fn of(request: &CheckRequest<'_>) -> Self {
        Self::with(request.target, request.protocol, request.backing)
    }

    /// The client of a service alone.
    pub(super) fn service(target: &Target, protocol: Protocol) -> Self {
        Self::with(target, protocol, &BackingTargets::new())
    }

    fn with(target: &Target, protocol: Protocol, backing: &BackingTargets) -> Self {
        // Connections of one client share their TLS sessions.
        let backing = backing
            .iter()
            .map(|(name, target)| (name.clone(), Client::new(target, Protocol::Http1)));
        Self {
            service: Client::new(target, protocol),
            backing: backing.collect(),
        }
    }

    pub(super) fn protocol(&self) -> Option<Protocol> {
        self.service.as_ref().ok().map(Client::protocol)
    }

    /// The client of the server that receives an exchange.
    pub(super) fn of_exchange(&self, exchange: &Exchange) -> Result<&Client, ClientError> {
        let client = match &exchange.backing_service {
            None => &self.service,
            Some(name) => self
                .backing
                .get(name)
                .ok_or_else(|| ClientError::from("prony did not start this backing service"))?,
        };
        client.as_ref().map_err(Clone::clone)
    }
}
