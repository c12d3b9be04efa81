//! Expectations of streamed replies, built from a contract.

use super::{Call, Context, PlaceholderValues};
use crate::ConfigError;
use crate::contract::toml::{EventToml, EventsToml, TextOrNumber};
use crate::format::Spanned;
use prony_load::events::{Data, Events, ExactStream, MessageRule};

impl Call<'_> {
    /// A stream in which every message is known.
    pub(super) fn events(
        &self,
        written: &Spanned<EventsToml>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Events, ConfigError> {
        let events = written.get_ref();
        let number = |key: &str, number: &Spanned<TextOrNumber>| self.whole_number(key, number, filling);
        let whole = ExactStream {
            count: number("count", &events.count)?,
            each: self.message_rule(&events.each, filling)?,
            last: match &events.last {
                None => None,
                Some(last) => Some(self.message_rule(last, filling)?),
            },
            gap_us: match &events.gap_us {
                None => None,
                Some(gap) => Some(number("gap_us", gap)?),
            },
            flushed: events.flushed,
        };
        Ok(Events {
            whole: Some(whole),
            ..Events::default()
        })
    }

    fn message_rule(
        &self,
        written: &EventToml,
        filling: &PlaceholderValues<'_>,
    ) -> Result<MessageRule, ConfigError> {
        let text = |text: &Option<Spanned<String>>| {
            let filled = text.as_ref().map(|text| filling.fill_item(text, Context::Text));
            filled.transpose()
        };
        if let Some(message) = &written.message {
            let text = "`message` is only for gRPC: give `json` or `text`";
            return Err(self.invalid(message.span(), text));
        }
        let data = match (&written.json, &written.text) {
            (Some(json), Some(_)) => {
                let text = "`json` and `text`: an event has one of them";
                return Err(self.invalid(json.span(), text));
            }
            (Some(json), None) => Some(Data::Json(filling.json(json, true)?)),
            (None, given) => text(given)?.map(Data::Text),
        };
        Ok(MessageRule {
            id: text(&written.id)?,
            name: text(&written.event)?,
            data,
        })
    }
}
