//! Cases in which a backing service goes away and comes back.

use crate::contract::call::Call;
use crate::contract::error::known;
use crate::contract::toml::{CaseToml, Deliver};
use crate::contract::{Contract, ContractError};
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;

/// A backing service that goes away and comes back with the same data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// Its name in the contract.
    pub backing_service: String,
    pub away: Duration,
    /// The longest time from its return until all calls succeed.
    pub recovers: Duration,
}

const AWAY: Duration = Duration::from_secs(1);
const RECOVERS: Duration = Duration::from_secs(5);
/// The longest absence of a backing service: its data has no owner after a minute and is removed.
const LONGEST: Duration = Duration::from_secs(30);

impl Contract {
    /// Reads the key `restart` of a case.
    pub(super) fn restart(&self, case: &Spanned<CaseToml>) -> Result<Option<Restart>, ContractError> {
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
        let away = time(&written.away, AWAY);
        if away > LONGEST {
            return at(
                backing_service.span(),
                format!("`away` may be at most {LONGEST:?}"),
            );
        }
        Ok(Some(Restart {
            backing_service: name.clone(),
            away,
            recovers: time(&written.recovers, RECOVERS),
        }))
    }

    /// The calls of such a case are repeated in any order.
    pub(super) fn verify_restart(
        &self,
        case: &Spanned<CaseToml>,
        calls: &[Call<'_>],
    ) -> Result<(), ContractError> {
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
