//! Cases in which clients disconnect in the middle of their streams.

use crate::contract::call::Call;
use crate::contract::toml::{CaseToml, Deliver};
use crate::contract::{Contract, ContractError};
use std::time::Duration;
use toml::Spanned;

/// Clients that disconnect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientDisconnect {
    /// The number of clients, each with a stream of its own.
    pub streams: u32,
    /// The longest time until the service has stopped working for them.
    pub within: Duration,
}

const WITHIN: Duration = Duration::from_secs(5);
/// Each client uses a connection, at both ends.
const MOST: u32 = 1_000;

impl Contract {
    /// Reads the key `leave` of a case.
    pub(super) fn leave(
        &self,
        case: &Spanned<CaseToml>,
        calls: &[Call<'_>],
    ) -> Result<Option<ClientDisconnect>, ContractError> {
        let written = case.get_ref();
        let Some(leave) = &written.leave else {
            return Ok(None);
        };
        let at = |reason: &str| {
            let message = format!("case `{}`: `leave`: {reason}", written.name.get_ref());
            Err(self.invalid(leave.span(), message))
        };
        if !(1..=MOST).contains(&leave.get_ref().streams) {
            return at("`streams` is 1 to 1000");
        }
        if written.deliver != Deliver::Whole || written.restart.is_some() {
            return at("each client has a connection of its own: remove `deliver` and `restart`");
        }
        if !calls.iter().all(Call::expects_events) {
            return at("clients leave in the middle of streams: each call must expect `events`");
        }
        Ok(Some(ClientDisconnect {
            streams: leave.get_ref().streams,
            within: leave.get_ref().within.as_ref().map_or(WITHIN, |time| time.0),
        }))
    }
}
