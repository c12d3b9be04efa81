//! Counts of language model answers.

use prony_load::events::{Chat, Usage};
use prony_records::Histogram;
use serde::{Deserialize, Serialize};

/// Counts of language model answers. Everything except [`LlmWindow`] covers the requests that belong to the phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LlmTally {
    /// Answers that ended well or were cut by the end of the load.
    pub answers: u64,
    /// The part of `answers` without a single token.
    pub empty: u64,
    /// Answers that contain an error of the server.
    pub errors: u64,
    /// Answers that met the objective of streams, if there is one.
    pub good: u64,
    /// Answers whose first token arrived too late for the objective, or never.
    pub late: u64,
    /// Answers whose tokens arrived too slowly for the objective.
    pub slow: u64,
    /// Answers whose last token arrived too late for the objective.
    #[serde(default)]
    pub long: u64,
    /// Time from when a request was due to its first token.
    pub ttft: Histogram,
    /// Mean time from one token of an answer to the next, by the server's token count if it reports one, else by events with
    /// text.
    pub tpot: Histogram,
    /// Mean time from one token to the next, by events with text.
    pub tpot_by_events: Histogram,
    /// Mean time from one token to the next, by the server's count, for answers that have one.
    pub tpot_by_usage: Histogram,
    /// Counts of the answers that ended during the phase.
    pub window: LlmWindow,
}

/// Counts of the answers that ended during a phase, whatever phase their requests belong to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmWindow {
    /// Answers that met the objective of streams.
    pub good: u64,
    /// Answers with a token count from the server.
    pub counted: u64,
    /// Prompt tokens of these answers, by the server's count.
    pub prompt_tokens: u64,
    /// Output tokens of these answers, by the server's count.
    pub completion_tokens: u64,
}

impl LlmWindow {
    /// Saturating, since a server may report any number.
    const fn add(&mut self, prompt_tokens: u64, completion_tokens: u64) {
        self.prompt_tokens = self.prompt_tokens.saturating_add(prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(completion_tokens);
    }
}

/// An answer that ended well or was cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LlmAnswer {
    /// Time from when its request was due to its first token, ns, or to its end if there was no token.
    pub first_ns: u64,
    /// Time from its first token to its last, ns.
    pub lasted_ns: u64,
    /// Number of events with text.
    pub events: u32,
    /// Token counts, if the server reported them.
    pub usage: Option<Usage>,
    /// Whether the end of the load cut it.
    pub is_cut: bool,
}

impl LlmAnswer {
    /// The mean time from one of `tokens` tokens to the next, ns; `None` for a single one.
    fn mean_of(&self, tokens: u64) -> Option<u64> {
        self.lasted_ns.checked_div(tokens.saturating_sub(1))
    }

    fn tpot_by_events(&self) -> Option<u64> {
        self.mean_of(self.events.into())
    }

    fn tpot_by_usage(&self) -> Option<u64> {
        self.mean_of(self.usage?.completion_tokens)
    }

    fn tpot(&self) -> Option<u64> {
        self.tpot_by_usage().or_else(|| self.tpot_by_events())
    }

    /// Whether its first token arrived too late. For an answer that was cut before its first token this is unknown, unless the
    /// limit had already passed.
    fn is_late(&self, chat: &Chat) -> bool {
        let is_over = chat.ttft_below_ns.is_some_and(|below| self.first_ns >= below);
        let never_came = self.events == 0 && !self.is_cut && chat.has_objective();
        is_over || never_came
    }

    /// Whether its tokens followed each other too slowly.
    fn is_slow(&self, chat: &Chat) -> bool {
        let (Some(below), Some(tpot)) = (chat.tpot_below_ns, self.tpot()) else {
            return false;
        };
        tpot >= below
    }

    /// Whether its last token arrived too late.
    fn is_long(&self, chat: &Chat) -> bool {
        let took = self.first_ns.saturating_add(self.lasted_ns);
        chat.e2el_below_ns.is_some_and(|below| took >= below)
    }
}

impl LlmTally {
    /// Records a first token, `ns` after its request was due.
    pub fn first_token(&mut self, ns: u64) {
        self.ttft.record(ns);
    }

    /// Records the end of an answer. `in_phase`: its request belongs to the phase; `in_window`: the phase is in progress.
    pub fn end(&mut self, answer: &LlmAnswer, chat: &Chat, (in_phase, in_window): (bool, bool)) {
        let (is_late, is_slow, is_long) = (answer.is_late(chat), answer.is_slow(chat), answer.is_long(chat));
        let is_good = chat.has_objective() && !is_late && !is_slow && !is_long;
        if in_window {
            let window = &mut self.window;
            window.good += u64::from(is_good);
            if let Some(usage) = answer.usage {
                window.counted += 1;
                window.add(usage.prompt_tokens, usage.completion_tokens);
            }
        }
        if !in_phase {
            return;
        }
        self.answers += 1;
        self.empty += u64::from(answer.events == 0);
        self.good += u64::from(is_good);
        self.late += u64::from(is_late);
        self.slow += u64::from(is_slow);
        self.long += u64::from(is_long);
        for (times, tpot) in [
            (&mut self.tpot, answer.tpot()),
            (&mut self.tpot_by_events, answer.tpot_by_events()),
            (&mut self.tpot_by_usage, answer.tpot_by_usage()),
        ] {
            if let Some(ns) = tpot {
                times.record(ns);
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.answers += other.answers;
        self.empty += other.empty;
        self.errors += other.errors;
        self.good += other.good;
        self.late += other.late;
        self.slow += other.slow;
        self.long += other.long;
        self.ttft.merge(&other.ttft);
        self.tpot.merge(&other.tpot);
        self.tpot_by_events.merge(&other.tpot_by_events);
        self.tpot_by_usage.merge(&other.tpot_by_usage);
        self.window.good += other.window.good;
        self.window.counted += other.window.counted;
        let theirs = &other.window;
        self.window.add(theirs.prompt_tokens, theirs.completion_tokens);
    }

    pub(super) fn clear(&mut self) {
        (self.answers, self.empty, self.errors) = (0, 0, 0);
        (self.good, self.late, self.slow, self.long) = (0, 0, 0, 0);
        for times in [
            &mut self.ttft,
            &mut self.tpot,
            &mut self.tpot_by_events,
            &mut self.tpot_by_usage,
        ] {
            times.clear();
        }
        self.window = LlmWindow::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const BOTH: Chat = Chat {
        ttft_below_ns: Some(500 * MS),
        tpot_below_ns: Some(50 * MS),
        e2el_below_ns: None,
    };

    fn answer(first_ms: u64, lasted_ms: u64, events: u32, tokens: Option<u64>) -> LlmAnswer {
        LlmAnswer {
            first_ns: first_ms * MS,
            lasted_ns: lasted_ms * MS,
            events,
            usage: tokens.map(|completion_tokens| Usage {
                prompt_tokens: 3,
                completion_tokens,
            }),
            is_cut: false,
        }
    }

    #[test]
    fn a_stream_is_good_by_its_first_token_and_by_the_mean_between_its_tokens() {
        let cut = |answer: LlmAnswer| LlmAnswer {
            is_cut: true,
            ..answer
        };
        for (answer, expected) in [
            // 11 tokens in 400 ms: 40 ms from one to the next.
            (answer(499, 400, 11, None), (1, 0, 0)),
            (answer(500, 400, 11, None), (0, 1, 0)),
            (answer(1, 500, 11, None), (0, 0, 1)),
            (answer(900, 900, 11, None), (0, 1, 1)),
            // Two tokens per event: the server's count takes precedence.
            (answer(1, 800, 11, Some(21)), (1, 0, 0)),
            (answer(1, 1_000, 11, Some(21)), (0, 0, 1)),
            // A single token has no gap.
            (answer(1, 0, 1, Some(1)), (1, 0, 0)),
            // No token at all.
            (answer(20, 0, 0, None), (0, 1, 0)),
            (cut(answer(20, 0, 0, None)), (1, 0, 0)),
            (cut(answer(600, 0, 0, None)), (0, 1, 0)),
        ] {
            let mut tally = LlmTally::default();
            tally.end(&answer, &BOTH, (true, true));
            assert_eq!((tally.good, tally.late, tally.slow), expected, "{answer:?}");
            assert_eq!(tally.window.good, expected.0);
            tally.clear();
            tally.end(&answer, &Chat::default(), (true, true));
            assert_eq!((tally.good, tally.late, tally.slow), (0, 0, 0));
            assert_eq!(tally.answers, 1);
        }
    }

    #[test]
    fn an_answer_is_long_by_its_last_token() {
        let chat = Chat {
            e2el_below_ns: Some(900 * MS),
            ..Chat::default()
        };
        for (answer, expected) in [
            (answer(499, 400, 11, None), (1, 0)),
            (answer(500, 400, 11, None), (0, 1)),
            (answer(900, 0, 1, None), (0, 1)),
        ] {
            let mut tally = LlmTally::default();
            tally.end(&answer, &chat, (true, true));
            assert_eq!((tally.good, tally.long), expected, "{answer:?}");
        }
    }

    #[test]
    fn both_counts_of_tokens_have_their_own_mean() {
        let mut tally = LlmTally::default();
        tally.end(&answer(1, 100, 11, Some(51)), &BOTH, (true, true));
        tally.end(&answer(1, 100, 11, None), &BOTH, (true, false));
        let max = |times: &Histogram| times.summary().map(|times| times.max / MS);
        assert_eq!(max(&tally.tpot_by_events), Some(10));
        assert_eq!(max(&tally.tpot_by_usage), Some(2));
        assert_eq!((tally.tpot.len(), tally.tpot_by_usage.len()), (2, 1));
        let window = tally.window;
        assert_eq!(
            (window.counted, window.prompt_tokens, window.completion_tokens),
            (1, 3, 51)
        );
        // An answer outside the phase only counts in the window.
        tally.end(&answer(1, 100, 11, Some(9)), &BOTH, (false, true));
        assert_eq!((tally.answers, tally.window.counted), (2, 2));
    }
}
