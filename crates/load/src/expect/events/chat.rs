//! Answers of language models: streams of chat completions, the protocol that most model servers speak.

use crate::expect::{Mismatch, excerpt};
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// The data of the event that ends such a stream.
const DONE: &[u8] = b"[DONE]";

/// Marks a stream as the answer of a language model, and holds the limits of a good one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chat {
    /// The first token must arrive within this time after the request was due, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_below_ns: Option<u64>,
    /// The mean time per token after the first must be less than this, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpot_below_ns: Option<u64>,
    /// The last token must arrive within this time after the request was due, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e2el_below_ns: Option<u64>,
}

impl Chat {
    /// Whether any limit is set.
    pub const fn has_objective(&self) -> bool {
        self.ttft_below_ns.is_some() || self.tpot_below_ns.is_some() || self.e2el_below_ns.is_some()
    }
}

/// Token counts as reported by the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    #[serde(default)]
    pub prompt_tokens: u64,
    /// Tokens of the answer.
    #[serde(default)]
    pub completion_tokens: u64,
}

/// The state of an answer so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnswerProgress {
    /// `[DONE]` was received.
    pub is_done: bool,
    /// An error was received.
    pub is_error: bool,
    /// The number of tokens, where the server reports it.
    pub usage: Option<Usage>,
}

impl AnswerProgress {
    /// Takes an event; returns whether it contains text.
    pub(super) fn take(&mut self, name: &[u8], data: &[u8]) -> Result<bool, Mismatch> {
        if name == b"error" {
            return Err(self.error(data));
        }
        if data == DONE {
            self.is_done = true;
            return Ok(false);
        }
        let Ok(chunk) = serde_json::from_slice::<Chunk>(data) else {
            let expected = "a chunk of a chat completion as JSON, or [DONE]";
            return Err(Mismatch::new("events", expected, excerpt(data)));
        };
        if chunk.error.0 {
            return Err(self.error(data));
        }
        self.usage = chunk.usage.or(self.usage);
        Ok(chunk.choices.0)
    }

    fn error(&mut self, data: &[u8]) -> Mismatch {
        self.is_error = true;
        Mismatch::new("events: an error in the stream", "tokens", excerpt(data))
    }
}

/// An event of an answer. Parsing it allocates only for text with escapes.
#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Choices,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: NonEmpty,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Option<Delta>,
}

/// The new part of an answer. Reasoning before the answer counts as tokens, too; servers use two names for it.
#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    content: NonEmpty,
    #[serde(default)]
    reasoning_content: NonEmpty,
    #[serde(default)]
    reasoning: NonEmpty,
}

impl Choice {
    fn has_text(&self) -> bool {
        let fills = |delta: &Delta| delta.content.0 || delta.reasoning_content.0 || delta.reasoning.0;
        self.delta.as_ref().is_some_and(fills)
    }
}

/// Whether any choice has text. `null` counts as an empty list.
#[derive(Default)]
struct Choices(bool);

impl<'de> Deserialize<'de> for Choices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ChoicesVisitor;
        impl<'de> Visitor<'de> for ChoicesVisitor {
            type Value = bool;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of choices")
            }

            fn visit_unit<E>(self) -> Result<bool, E> {
                Ok(false)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
                let mut any = false;
                while let Some(choice) = list.next_element::<Choice>()? {
                    any |= choice.has_text();
                }
                Ok(any)
            }
        }
        deserializer.deserialize_any(ChoicesVisitor).map(Self)
    }
}

/// Whether a value is non-empty: `null`, `""`, `[]` and `{}` are empty.
#[derive(Default)]
struct NonEmpty(bool);

impl<'de> Deserialize<'de> for NonEmpty {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EmptinessVisitor;
        impl<'de> Visitor<'de> for EmptinessVisitor {
            type Value = bool;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("any value")
            }

            fn visit_unit<E>(self) -> Result<bool, E> {
                Ok(false)
            }

            fn visit_str<E>(self, text: &str) -> Result<bool, E> {
                Ok(!text.is_empty())
            }

            fn visit_bool<E>(self, value: bool) -> Result<bool, E> {
                Ok(value)
            }

            fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
                Ok(true)
            }

            fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
                Ok(true)
            }

            fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
                Ok(true)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
                let mut any = false;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    any = true;
                }
                Ok(any)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
                let mut any = false;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    any = true;
                }
                Ok(any)
            }
        }
        deserializer.deserialize_any(EmptinessVisitor).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds one event: returns whether it contains text, and the state after it.
    fn parse(data: &str) -> (Result<bool, String>, AnswerProgress) {
        let mut answer = AnswerProgress::default();
        let text = answer.take(b"message", data.as_bytes());
        (text.map_err(|mismatch| mismatch.what), answer)
    }

    #[test]
    fn text_is_what_is_not_empty() {
        for (delta, has_text) in [
            (r#"{"content":"Hi"}"#, true),
            (r#"{"content":"\n"}"#, true),
            (r#"{"role":"assistant","content":""}"#, false),
            (r#"{"role":"assistant","content":null}"#, false),
            (r#"{"role":"assistant"}"#, false),
            (r#"{"content":null,"reasoning_content":"hm"}"#, true),
            (r#"{"reasoning":"hm"}"#, true),
            (r#"{"content":[{"type":"text","text":"a"}]}"#, true),
            (r#"{"content":[]}"#, false),
            ("{}", false),
        ] {
            let chunk = format!(
                r#"{{"id":"c","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}],"usage":null}}"#
            );
            assert_eq!(
                parse(&chunk),
                (Ok(has_text), AnswerProgress::default()),
                "{chunk}"
            );
        }
        let second = r#"{"choices":[{"delta":{}},{"index":1,"delta":{"content":"b"}}]}"#;
        assert_eq!(parse(second).0, Ok(true));
        for none in [r#"{"choices":null}"#, r#"{"choices":[]}"#, "{}"] {
            assert_eq!(parse(none).0, Ok(false), "{none}");
        }
    }

    #[test]
    fn what_was_used_stands_in_an_event_without_text() {
        let (text, answer) =
            parse(r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":12,"total_tokens":19}}"#);
        let usage = Usage {
            prompt_tokens: 7,
            completion_tokens: 12,
        };
        assert_eq!((text, answer.usage), (Ok(false), Some(usage)));
    }

    #[test]
    fn errors_and_invalid_chunks_are_reported() {
        for (name, data, what) in [
            ("error", "out of memory", "events: an error in the stream"),
            (
                "message",
                r#"{"error":{"message":"no room","code":500}}"#,
                "events: an error in the stream",
            ),
            (
                "message",
                r#"{"error":"no room"}"#,
                "events: an error in the stream",
            ),
            ("message", "hello", "events"),
            ("message", r#"{"choices":[{"delta":{"content":"a"}}"#, "events"),
        ] {
            let mut answer = AnswerProgress::default();
            let mismatch = answer.take(name.as_bytes(), data.as_bytes()).expect_err("wrong");
            assert_eq!(mismatch.what, what, "{data}");
            assert_eq!(answer.is_error, what != "events");
            assert!(mismatch.got.contains(&data[..5]), "{mismatch:?}");
        }
        assert_eq!(parse(r#"{"error":null,"choices":[]}"#).0, Ok(false));
        assert!(parse("[DONE]").1.is_done);
    }
}
