//! Cases with a disruption: a backing service goes away and comes back, or clients disconnect in the middle of their streams.

use crate::contract::call::Call;
use crate::format::suggestion::known;
use crate::contract::toml::{CaseToml, Deliver};
use crate::ConfigError;
use crate::contract::Contract;
use std::ops::Range;
use std::time::Duration;
use crate::format::Spanned;

/// A backing service that goes away and comes back with the same data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// Its name in the contract.
    pub backing_service: String,
    pub away: Duration,
    /// The longest time from its return until all calls succeed.
    pub recovers: Duration,
}

const DEFAULT_AWAY: Duration = Duration::from_secs(1);
const DEFAULT_RECOVERS: Duration = Duration::from_secs(5);
/// The longest absence of a backing service: its data has no owner after a minute and is removed.
const LONGEST_AWAY: Duration = Duration::from_secs(30);

impl Contract {
    /// Reads the key `restart` of a case.
    pub(super) fn restart(&self, case: &Spanned<CaseToml>) -> Result<Option<Restart>, ConfigError> {
        let written = case.get_ref();
        let at = |span: Range<usize>, reason: String| {
            Err(self.invalid(span, format!("case `{}`: {reason}", written.name.get_ref())))
        };
        let Some(backing_service) = &written.restart else {
            return match written.away.as_ref().or(written.recovers.as_ref()) {
                None => Ok(None),
                Some(key) => at(
                    key.span(),
                    "`away` and `recovers` need `restart`: name the backing service that goes away"
                        .to_owned(),
                ),
            };
        };
        let name = backing_service.get_ref();
        let all = &self.written.backing_service;
        if !all.contains_key(name) {
            let names = known(all.keys().map(String::as_str));
            return at(backing_service.span(), format!("`restart` is `{name}`: {names}"));
        }
        if written.deliver != Deliver::Whole {
            let reason = "with `restart`, each call has a connection of its own: remove `deliver`";
            return at(backing_service.span(), reason.to_owned());
        }
        let time = |key: &Option<Spanned<_>>, otherwise| {
            key.as_ref()
                .map_or(otherwise, |time: &Spanned<prony_load::DurationText>| {
                    time.get_ref().0
                })
        };
        let away = time(&written.away, DEFAULT_AWAY);
        if away > LONGEST_AWAY {
            return at(
                backing_service.span(),
                format!("`away` may be at most {LONGEST_AWAY:?}"),
            );
        }
        Ok(Some(Restart {
            backing_service: name.clone(),
            away,
            recovers: time(&written.recovers, DEFAULT_RECOVERS),
        }))
    }

    /// The calls of such a case are repeated in any order.
    pub(super) fn verify_restart(
        &self,
        case: &Spanned<CaseToml>,
        calls: &[Call<'_>],
    ) -> Result<(), ConfigError> {
        if self.restart(case)?.is_none() {
            return Ok(());
        }
        let stands_alone =
            |call: &Call<'_>| call.written.until.is_none() && call.taken_names().next().is_none();
        if calls.iter().all(stands_alone) {
            return Ok(());
        }
        let name = case.get_ref().name.get_ref();
        let message = format!(
            "case `{name}`: calls of a case with `restart` are repeated, each on its own: remove `capture` and `until`"
        );
        Err(self.invalid(case.span(), message))
    }
}

/// Clients that disconnect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientDisconnect {
    /// The number of clients, each with a stream of its own.
    pub streams: u32,
    /// The longest time until the service has stopped working for them.
    pub within: Duration,
}

const DEFAULT_WITHIN: Duration = Duration::from_secs(5);
/// Each client uses a connection, at both ends.
const MOST_STREAMS: u32 = 1_000;

impl Contract {
    /// Reads the key `leave` of a case.
    pub(super) fn leave(
        &self,
        case: &Spanned<CaseToml>,
        calls: &[Call<'_>],
    ) -> Result<Option<ClientDisconnect>, ConfigError> {
        let written = case.get_ref();
        let Some(leave) = &written.leave else {
            return Ok(None);
        };
        let at = |reason: &str| {
            let message = format!("case `{}`: `leave`: {reason}", written.name.get_ref());
            Err(self.invalid(leave.span(), message))
        };
        if !(1..=MOST_STREAMS).contains(&leave.get_ref().streams) {
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
            within: leave
                .get_ref()
                .within
                .as_ref()
                .map_or(DEFAULT_WITHIN, |time| time.0),
        }))
    }
}
