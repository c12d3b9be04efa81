//! Cases in which a companion goes away and comes back.

use crate::contract::call::Call;
use crate::contract::error::known;
use crate::contract::toml::{Deliver, WrittenCase};
use crate::contract::{Contract, ContractError};
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;

/// A companion that goes away and comes back, with the data that it had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// The contract's word for it.
    pub companion: String,
    /// How long it is away.
    pub away: Duration,
    /// Longest time, when it is there again, until all calls hold.
    pub recovers: Duration,
}

const AWAY: Duration = Duration::from_secs(1);
const RECOVERS: Duration = Duration::from_secs(5);
/// Longest that a companion may be away: its data is nobody's after a minute.
const LONGEST: Duration = Duration::from_secs(30);

impl Contract {
    /// What a case says of a companion that goes away.
    pub(super) fn restart(&self, case: &Spanned<WrittenCase>) -> Result<Option<Restart>, ContractError> {
        let written = case.get_ref();
        let at = |span: Range<usize>, reason: String| {
            Err(self.invalid(span, format!("case `{}`: {reason}", written.name.get_ref())))
        };
        let Some(companion) = &written.restart else {
            return match written.away.as_ref().or(written.recovers.as_ref()) {
                None => Ok(None),
                Some(key) => at(
                    key.span(),
                    "`away` and `recovers` belong to `restart`: name the companion that goes away".to_owned(),
                ),
            };
        };
        let name = companion.get_ref();
        let all = &self.written.companion;
        if !all.contains_key(name) {
            let names = known(all.keys().map(String::as_str));
            return at(companion.span(), format!("`restart` is `{name}`: {names}"));
        }
        if written.deliver != Deliver::Whole {
            let reason =
                "calls meet a companion that goes away each on a connection of its own: leave `deliver` out";
            return at(companion.span(), reason.to_owned());
        }
        let time = |key: &Option<Spanned<_>>, otherwise| {
            key.as_ref()
                .map_or(otherwise, |time: &Spanned<prony_load::WrittenDuration>| {
                    time.get_ref().0
                })
        };
        let away = time(&written.away, AWAY);
        if away > LONGEST {
            return at(companion.span(), format!("`away` is at most {LONGEST:?}"));
        }
        Ok(Some(Restart {
            companion: name.clone(),
            away,
            recovers: time(&written.recovers, RECOVERS),
        }))
    }

    /// Calls of such a case are sent again and again, in any order.
    pub(super) fn verify_restart(
        &self,
        case: &Spanned<WrittenCase>,
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
            "case `{name}`: calls of a case with `restart` are repeated, each alone: leave `take` and `until` out"
        );
        Err(self.invalid(case.span(), message))
    }
}
