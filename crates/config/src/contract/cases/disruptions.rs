//! Cases with a disruption: a backing service goes away and comes back, or clients disconnect in the middle of their streams.

use crate::ConfigError;
use crate::contract::Contract;
use crate::contract::call::Call;
use crate::contract::toml::{CaseToml, Deliver, FileChangeToml, RestartToml};
use crate::format::Spanned;
use crate::format::suggestion::suggest;
use prony_load::DurationText;
use std::time::Duration;

/// A backing service that goes away and comes back with the same data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// Its name in the contract.
    pub backing_service: String,
    pub away: Duration,
    /// The longest time from its return until all calls succeed.
    pub recovers: Duration,
    /// The statuses with which the service may report over HTTP that it is away.
    pub statuses: Vec<u16>,
    /// The longest time until such a reply.
    pub reply_within: Duration,
}

const DEFAULT_AWAY: Duration = Duration::from_secs(1);
const DEFAULT_RECOVERS: Duration = Duration::from_secs(5);
/// `Internal Server Error` and `Service Unavailable`.
const DEFAULT_STATUSES: [u16; 2] = [500, 503];
/// The longest absence of a backing service: its data has no owner after a minute and is removed.
const LONGEST_AWAY: Duration = Duration::from_secs(30);

impl Contract {
    /// Whether the contract has a backing service of this name.
    pub(super) fn verify_backing_service(&self, name: &Spanned<String>) -> Result<(), ConfigError> {
        let all = &self.written.backing_service;
        let known = name.get_ref();
        if all.contains_key(known) {
            return Ok(());
        }
        let help = suggest(all.keys().map(String::as_str), known);
        let message = format!("there is no backing service `{known}`");
        Err(self.file.invalid_with(name.span(), message, help))
    }

    /// Reads the key `restart` of a case.
    pub(super) fn restart(&self, case: &Spanned<CaseToml>) -> Result<Option<Restart>, ConfigError> {
        let written = case.get_ref();
        let Some(restart) = &written.restart else {
            return Ok(None);
        };
        let RestartToml {
            service,
            down,
            recover_within,
            statuses,
            reply_within,
        } = restart.get_ref();
        let name = service.get_ref();
        self.verify_backing_service(service)?;
        if written.deliver != Deliver::Whole {
            let message = "with `restart`, each call has a connection of its own";
            return Err(self
                .file
                .invalid_with(restart.span(), message, "remove `deliver`"));
        }
        let away = down.as_ref().map_or(DEFAULT_AWAY, |down| down.get_ref().0);
        if let Some(down) = down.as_ref().filter(|_| away > LONGEST_AWAY) {
            let message = format!(
                "`down` is {}: give at most {}",
                down.get_ref(),
                DurationText(LONGEST_AWAY)
            );
            return Err(self.invalid(down.span(), message));
        }
        let recovers = recover_within.map_or(DEFAULT_RECOVERS, |time| time.0);
        Ok(Some(Restart {
            backing_service: name.clone(),
            away,
            recovers,
            statuses: if statuses.is_empty() {
                DEFAULT_STATUSES.to_vec()
            } else {
                statuses.clone()
            },
            reply_within: reply_within.map_or(away + recovers, |time| time.0),
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
        let stands_alone = |call: &Call<'_>| {
            let written = &call.written;
            let goes_elsewhere = written.retry_for.is_some() || written.backing_service.is_some();
            !goes_elsewhere && call.captured_names().next().is_none()
        };
        if calls.iter().all(stands_alone) {
            return Ok(());
        }
        let name = case.get_ref().name.get_ref();
        let message =
            format!("case \"{name}\": calls of a case with `restart` are repeated, each on its own");
        let help = "remove `capture`, `retry_for` and `backing_service`";
        Err(self.file.invalid_with(case.get_ref().name.span(), message, help))
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

impl Contract {
    /// Reads the key `disconnect` of a case.
    pub(super) fn disconnect(
        &self,
        case: &Spanned<CaseToml>,
        calls: &[Call<'_>],
    ) -> Result<Option<ClientDisconnect>, ConfigError> {
        let written = case.get_ref();
        let Some(disconnect) = &written.disconnect else {
            return Ok(None);
        };
        let at = |message: &str, help: &str| Err(self.file.invalid_with(disconnect.span(), message, help));
        if written.deliver != Deliver::Whole || written.restart.is_some() {
            return at(
                "with `disconnect`, each client has a connection of its own",
                "remove `deliver` and `restart`",
            );
        }
        let mut streams = calls.iter().filter(|call| call.written.backing_service.is_none());
        if !streams.all(Call::expects_events) {
            return at(
                "clients disconnect in the middle of streams",
                "each call of the case must expect `events`",
            );
        }
        Ok(Some(ClientDisconnect {
            streams: disconnect.get_ref().clients,
            within: disconnect
                .get_ref()
                .within
                .as_ref()
                .map_or(DEFAULT_WITHIN, |time| time.0),
        }))
    }
}

/// A file of known bytes that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The backing service that writes it, by its name in the contract.
    pub backing_service: String,
    /// The version that is written.
    pub version: u32,
}

impl Call<'_> {
    /// Reads the key `change` of a call.
    pub(super) fn file_change(&self) -> Result<Option<FileChange>, ConfigError> {
        let Some(change) = &self.written.change else {
            return Ok(None);
        };
        let FileChangeToml { service, version } = change.get_ref();
        let contract = self.contract();
        let all = &contract.written.backing_service;
        if !all.contains_key(service.get_ref()) {
            let help = suggest(all.keys().map(String::as_str), service.get_ref());
            let message = format!("there is no backing service `{}`", service.get_ref());
            return Err(contract.file.invalid_with(service.span(), message, help));
        }
        Ok(Some(FileChange {
            backing_service: service.get_ref().clone(),
            version: *version,
        }))
    }
}
