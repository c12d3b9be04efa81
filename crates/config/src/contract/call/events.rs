//! Expectations of streamed replies, built from a contract.

use super::{Call, Context, PlaceholderValues};
use crate::ConfigError;
use crate::contract::toml::{EventToml, EventsToml, OneOrMany, TextOrNumber};
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
        let rules = |written: Option<&OneOrMany<EventToml>>| -> Result<Vec<MessageRule>, ConfigError> {
            let several = written.map_or(&[][..], |OneOrMany(several)| several);
            several
                .iter()
                .map(|written| self.message_rule(written, filling))
                .collect()
        };
        let mut closing = rules(events.last.as_ref())?;
        let last = closing.pop();
        let whole = ExactStream {
            count: number("count", &events.count)?,
            each: self.message_rule(&events.each, filling)?,
            first: rules(events.first.as_ref())?,
            closing,
            last,
            gap_us: match &events.gap_us {
                None => None,
                Some(gap) => Some(number("gap_us", gap)?),
            },
            flushed: events.flushed,
            separate: events.separate,
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
        let data = match (&written.json, &written.json_contains, &written.text) {
            (Some(json), _, Some(_)) | (Some(json), Some(_), _) | (_, Some(json), Some(_)) => {
                let text = "`json`, `json_contains` and `text`: an event has one of them";
                return Err(self.invalid(json.span(), text));
            }
            (Some(json), None, None) => Some(Data::Json(filling.json(json, true)?)),
            (None, Some(json), None) => Some(Data::JsonContains(filling.json(json, true)?)),
            (None, None, given) => text(given)?.map(Data::Text),
        };
        Ok(MessageRule {
            id: text(&written.id)?,
            name: text(&written.event)?,
            data,
        })
    }
}
