//! Options for loads on language models.

use std::path::PathBuf;

/// Language models
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Language models")]
pub(crate) struct LlmArgs {
    // `help` instead of a doc comment, in which clippy wants backticks around a name with `_`.
    #[arg(
        long,
        help = "Load an OpenAI-compatible API; key: PRONY_API_KEY",
        conflicts_with_all = ["grpc", "method", "body", "form", "expect", "feeds", "data", "decode", "events", "for_time", "expect_event"],
        hide_short_help = true
    )]
    pub(crate) llm: bool,
    /// Model [default: the server's only one]
    #[arg(long, value_name = "NAME", requires = "llm", hide_short_help = true)]
    pub(crate) model: Option<String>,
    /// Send this prompt, or @FILE
    #[arg(long, value_name = "TEXT|@FILE", requires = "llm", conflicts_with_all = ["prompts", "prompt_words"], hide_short_help = true)]
    pub(crate) prompt: Option<String>,
    // `help` instead of a doc comment, in which `[…]` would be read as a link.
    #[arg(
        long,
        help = "Send prompts from a JSON Lines file",
        value_name = "FILE",
        requires = "llm",
        conflicts_with = "prompt_words",
        hide_short_help = true
    )]
    pub(crate) prompts: Option<PathBuf>,
    /// Generate different prompts of N or A:B words [default: 100]
    #[arg(long, value_name = "N|A:B", requires = "llm", hide_short_help = true)]
    pub(crate) prompt_words: Option<PromptLength>,
    /// Maximum tokens per answer
    #[arg(long, value_name = "N", requires = "llm", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_tokens: Option<u32>,
}

/// A number of words, or a range from which it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PromptLength {
    pub(crate) low: usize,
    pub(crate) high: usize,
}

/// Maximum number of words in a prompt.
const MOST_WORDS: usize = 1_000_000;

impl Default for PromptLength {
    fn default() -> Self {
        Self { low: 100, high: 100 }
    }
}

impl std::fmt::Display for PromptLength {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.low == self.high {
            write!(formatter, "{}", self.low)
        } else {
            write!(formatter, "{} to {}", self.low, self.high)
        }
    }
}

impl std::str::FromStr for PromptLength {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let number = text.parse::<usize>().ok();
            number
                .filter(|number| (1..=MOST_WORDS).contains(number))
                .ok_or_else(|| format!("`{text}` is not a number of words from 1 to {MOST_WORDS}"))
        };
        let (low, high) = text.split_once(':').unwrap_or((text, text));
        let (low, high) = (number(low)?, number(high)?);
        if low > high {
            return Err("write it as N, or as A:B with A not larger than B".to_owned());
        }
        Ok(Self { low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_a_number_or_a_range() {
        assert_eq!("50".parse(), Ok(PromptLength { low: 50, high: 50 }));
        assert_eq!("50:200".parse(), Ok(PromptLength { low: 50, high: 200 }));
        for wrong in ["", "0", "a", "1:", ":1", "2:1", "1:2:3", "-1", "1000001"] {
            assert!(wrong.parse::<PromptLength>().is_err(), "{wrong}");
        }
    }
}
