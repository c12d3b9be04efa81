//! Expectations of streamed replies, built from a contract.

use super::generated::item_text;
use super::{Call, PlaceholderValues};
use crate::ConfigError;
use crate::contract::template::constant;
use crate::contract::toml::{EventToml, EventsToml, TextOrNumber};
use prony_load::events::{Data, Events, ExactStream, MessageRule};
use prony_load::{Part, Template};
use std::ops::Range;
use crate::format::Spanned;

impl Call<'_> {
    /// A stream in which every message is known.
    pub(super) fn events(
        &self,
        written: &Spanned<EventsToml>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Events, ConfigError> {
        let (span, events) = (written.span(), written.get_ref());
        let number = |key: &str, number: &TextOrNumber| {
            let at = |reason: String| self.invalid(span.clone(), format!("`expect.events.{key}`: {reason}"));
            let text = match number {
                TextOrNumber::Number(number) => number.to_string(),
                TextOrNumber::Text(text) => text.clone(),
            };
            let template = filling.fill(&text, str::to_owned).map_err(at)?;
            let known = String::from_utf8_lossy(&constant(&template)).into_owned();
            if template.is_constant() && known.parse::<u32>().is_err() {
                return Err(at(format!("`{known}` is not a whole number")));
            }
            Ok(template)
        };
        let whole = ExactStream {
            count: number("count", &events.count)?,
            each: self.shape("each", &events.each, (&span, filling))?,
            last: match &events.last {
                None => None,
                Some(last) => Some(self.shape("last", last, (&span, filling))?),
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

    fn shape(
        &self,
        key: &str,
        written: &EventToml,
        (span, filling): (&Range<usize>, &PlaceholderValues<'_>),
    ) -> Result<MessageRule, ConfigError> {
        let at = |reason: String| self.invalid(span.clone(), format!("`expect.events.{key}`: {reason}"));
        let text = |text: &Option<String>| {
            let filled = text.as_ref().map(|text| filling.fill(text, str::to_owned));
            filled.transpose().map_err(at)
        };
        if written.message.is_some() {
            return Err(at("`message` is only for gRPC: give `json` or `text`".to_owned()));
        }
        let data = match (&written.json, &written.text) {
            (Some(_), Some(_)) => {
                return Err(at("give either `json` or `text`".to_owned()));
            }
            (Some(json), None) => {
                let json = Spanned::new(span.clone(), json.clone());
                let json = self.json_text("expect.events", &json, filling)?;
                Some(Data::Json(with_formulas(json)))
            }
            (None, given) => text(given)?.map(Data::Text),
        };
        Ok(MessageRule {
            id: text(&written.id)?,
            name: text(&written.event)?,
            data,
        })
    }
}

/// JSON in which the text `"#{= i}"` becomes a number.
fn with_formulas(json: Template) -> Template {
    let parts = json.0.into_iter().map(|part| match part {
        Part::Literal(text) => {
            let text = String::from_utf8_lossy(text.as_slice()).into_owned();
            Part::Literal(item_text(&text).as_str().into())
        }
        value @ Part::Value(_) => value,
    });
    Template(parts.collect())
}
