//! Cases in which clients leave in the middle of their streams.

use crate::contract::call::Call;
use crate::contract::toml::{Deliver, WrittenCase};
use crate::contract::{Contract, ContractError};
use std::time::Duration;
use toml::Spanned;

/// Clients that leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leave {
    /// How many, each in the middle of a stream of its own.
    pub streams: u32,
    /// Longest time until nothing goes on for them.
    pub within: Duration,
}

const WITHIN: Duration = Duration::from_secs(5);
/// Most clients: each has a connection, at both ends.
const MOST: u32 = 1_000;

impl Contract {
    /// What a case says of clients that leave.
    pub(super) fn leave(
        &self,
        case: &Spanned<WrittenCase>,
        calls: &[Call<'_>],
    ) -> Result<Option<Leave>, ContractError> {
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
            return at("each client has a connection of its own: leave `deliver` and `restart` out");
        }
        if !calls.iter().all(Call::expects_events) {
            return at("clients leave in the middle of streams: each call expects `events`");
        }
        Ok(Some(Leave {
            streams: leave.get_ref().streams,
            within: leave.get_ref().within.as_ref().map_or(WITHIN, |time| time.0),
        }))
    }
}
