//! Prompts for language models: read from a file, or generated.

use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use serde_json::{Value, json};

/// Prompts, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompts {
    /// The messages of each prompt in JSON: `[{"content":"…","role":"user"}]`.
    pub messages: Vec<String>,
    /// The number of words of each prompt.
    pub words: Vec<usize>,
}

/// Why a file of prompts cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptsError {
    /// It has no line.
    #[error("it contains no prompt: write one per line, as JSON")]
    Empty,
    /// A line that is not a prompt.
    #[error(
        "line {line}: {reason}; write a text in quotes, {{\"prompt\": \"…\"}} or {{\"messages\": [{{\"role\": \"user\", \"content\": \"…\"}}]}}"
    )]
    Line {
        /// The line number, from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
}

/// Parses JSON Lines with one prompt per line: a string, an object with a `prompt`, or one with `messages`.
pub fn parse(text: &str) -> Result<Prompts, PromptsError> {
    let mut prompts = Prompts {
        messages: Vec::new(),
        words: Vec::new(),
    };
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        let wrong = |reason: String| PromptsError::Line { line, reason };
        let value: Value =
            serde_json::from_str(text).map_err(|error| wrong(format!("it is not JSON ({error})")))?;
        let messages = messages(value).ok_or_else(|| wrong("it contains no prompt".to_owned()))?;
        prompts.words.push(words(&messages));
        prompts.messages.push(messages.to_string());
    }
    if prompts.messages.is_empty() {
        return Err(PromptsError::Empty);
    }
    Ok(prompts)
}

/// The messages of a prompt that is a single text.
pub fn message_of(text: &str) -> Value {
    json!([{ "role": "user", "content": text }])
}

fn messages(line: Value) -> Option<Value> {
    match line {
        Value::String(text) => Some(message_of(&text)),
        Value::Object(mut object) => match (object.remove("messages"), object.remove("prompt")) {
            (Some(Value::Array(list)), _) if !list.is_empty() => Some(Value::Array(list)),
            (None, Some(Value::String(text))) => Some(message_of(&text)),
            _ => None,
        },
        _ => None,
    }
}

/// The number of words in all contents.
fn words(messages: &Value) -> usize {
    let all = messages.as_array().into_iter().flatten();
    all.filter_map(|message| message["content"].as_str())
        .map(|content| content.split_whitespace().count())
        .sum()
}

/// Largest number of generated texts.
const MADE: usize = 1_024;
/// Largest total size of generated texts, bytes.
const MOST_BYTES: usize = 16 << 20;
/// The seed of generated texts: the part that differs between loads is put in front of them.
const SEED: u64 = 1;

/// Generates texts with a random number of words from `low..=high`, the same texts each time. Put a different word in
/// front of each request: servers may cache common prefixes.
pub fn made(low: usize, high: usize) -> Vec<String> {
    let mut random = SmallRng::seed_from_u64(SEED);
    let mut texts = Vec::new();
    let mut bytes = 0;
    while texts.len() < MADE && bytes < MOST_BYTES {
        let count = random.random_range(low..=high);
        let words: Vec<&str> = (0..count)
            .map(|_| WORDS[random.random_range(0..WORDS.len())])
            .collect();
        let text = words.join(" ");
        bytes += text.len();
        texts.push(text);
    }
    texts
}

/// Words that are a single token for most models.
#[rustfmt::skip]
const WORDS: [&str; 120] = [
    "about", "after", "again", "air", "all", "also", "and", "animal", "answer", "apple", "area", "ask", "away", "back", "bank",
    "before", "better", "between", "bird", "black", "blue", "boat", "book", "both", "bread", "bring", "build", "call", "can", "car",
    "chair", "change", "child", "city", "clear", "close", "cloud", "cold", "come", "cook", "corner", "country", "cut", "dark", "day",
    "deep", "door", "down", "draw", "dream", "drive", "early", "earth", "easy", "eat", "end", "even", "every", "eye", "face",
    "fall", "far", "farm", "fast", "field", "find", "fire", "first", "fish", "floor", "follow", "food", "forest", "form", "free",
    "friend", "front", "garden", "give", "glass", "good", "grass", "green", "ground", "grow", "hand", "hard", "hear", "heart", "help",
    "high", "hill", "home", "horse", "house", "idea", "island", "keep", "kind", "land", "language", "late", "learn", "letter", "light",
    "line", "listen", "long", "machine", "make", "many", "market", "mind", "moon", "morning", "mountain", "move", "music", "name", "night",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_a_text_or_messages() {
        let text = "\"Why is \\\"it\\\" so?\"\n\n{\"prompt\": \"one two\", \"id\": 7}\n\
                    {\"messages\": [{\"role\": \"system\", \"content\": \"be brief\"}, {\"role\": \"user\", \"content\": \"a\\nb c\"}]}\n";
        let prompts = parse(text).expect("prompts");
        assert_eq!(prompts.words, [4, 2, 5]);
        let first: Value = serde_json::from_str(&prompts.messages[0]).expect("JSON");
        assert_eq!(first[0]["content"], "Why is \"it\" so?");
        assert_eq!(first[0]["role"], "user");
        let last: Value = serde_json::from_str(&prompts.messages[2]).expect("JSON");
        assert_eq!(last[0]["role"], "system");
        assert!(prompts.messages.iter().all(|one| !one.contains('\n')));
    }

    #[test]
    fn an_invalid_prompt_is_an_error_with_its_line() {
        for (text, part) in [
            ("", "no prompt: write"),
            ("\"a\"\nwhat", "line 2: it is not JSON"),
            ("{\"text\": \"a\"}", "line 1: it contains no prompt"),
            ("{\"messages\": []}", "line 1"),
            ("7", "line 1"),
        ] {
            let error = parse(text).expect_err("wrong").to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn generated_texts_have_the_requested_number_of_words() {
        let texts = made(3, 9);
        let count = |text: &String| text.split_whitespace().count();
        assert_eq!(texts.iter().map(count).min(), Some(3));
        assert_eq!(texts.iter().map(count).max(), Some(9));
        assert_eq!((texts.len(), &texts), (MADE, &made(3, 9)));
        assert_eq!(made(0, 0), vec![String::new(); MADE]);
        let long = made(100_000, 100_000);
        assert!(long.len() > 16 && long.iter().map(String::len).sum::<usize>() < 2 * MOST_BYTES);
    }
}
