//! The parts of a source in Rust or TypeScript: code on the one hand, comments and string literals on the other.

/// The comments and string literals of a source, each on its own line of the result; the rest is blank.
pub(crate) fn prose_of(source: &str) -> String {
    blank_except(source, |is_prose| is_prose)
}

/// The code of a source without its comments and string literals, which are blank in the result; what delimits them stays.
pub(crate) fn code_of(source: &str) -> String {
    blank_except(source, |is_prose| !is_prose)
}

/// Blanks all characters but those that `keep` selects, which stay in place. Its argument: whether the character is prose.
fn blank_except(source: &str, keep: impl Fn(bool) -> bool) -> String {
    let characters: Vec<char> = source.chars().collect();
    let mut text = String::with_capacity(source.len());
    let mut state = State::Code;
    let mut at = 0;
    while at < characters.len() {
        let (next, length, is_prose) = state.after(&characters, at);
        for character in &characters[at..at + length] {
            text.push(if keep(is_prose) || *character == '\n' {
                *character
            } else {
                ' '
            });
        }
        (state, at) = (next, at + length);
    }
    text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Code,
    LineComment,
    BlockComment,
    Text,
    /// A raw string, which ends with a quote and this number of `#`.
    RawText(usize),
}

impl State {
    /// The state after the next characters, how many of them there are, and whether they are prose.
    fn after(self, characters: &[char], at: usize) -> (Self, usize, bool) {
        let begins = |text: &str| text.chars().eq(characters[at..].iter().copied().take(text.len()));
        match self {
            Self::Code if begins("//") => (Self::LineComment, 2, false),
            Self::Code if begins("/*") => (Self::BlockComment, 2, false),
            Self::Code if begins("'\"'") => (Self::Code, 3, false),
            Self::Code if begins("r#") => {
                let hashes = characters[at + 1..]
                    .iter()
                    .take_while(|character| **character == '#')
                    .count();
                match characters.get(at + 1 + hashes) {
                    Some('"') => (Self::RawText(hashes), hashes + 2, false),
                    _ => (Self::Code, 1, false),
                }
            }
            Self::Code if begins("\"") => (Self::Text, 1, false),
            Self::Code => (Self::Code, 1, false),
            Self::LineComment if begins("\n") => (Self::Code, 1, false),
            Self::BlockComment if begins("*/") => (Self::Code, 2, false),
            Self::Text if begins("\\") => (Self::Text, 2.min(characters.len() - at), false),
            Self::Text if begins("\"") => (Self::Code, 1, false),
            Self::RawText(hashes) if begins(&format!("\"{}", "#".repeat(hashes))) => {
                (Self::Code, hashes + 1, false)
            }
            state => (state, 1, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{code_of, prose_of};

    #[test]
    fn comments_and_texts_are_prose_and_code_is_not() {
        let source =
            "let nobody = '\"'; // nobody\n/* whoever */ fn beside() { say(\"so \\\"many\\\" so many\"); }\n";
        let prose = prose_of(source);
        let words: Vec<&str> = prose.split_whitespace().collect();
        assert_eq!(words, ["nobody", "whoever", "so", "many", "so", "many"]);
    }

    #[test]
    fn code_has_no_texts() {
        let code = code_of("use a::b; // use c\nlet d = \"use e {\";");
        assert_eq!(
            code.split_whitespace().collect::<Vec<_>>().join(" "),
            "use a::b; // let d = \" \";"
        );
    }
}
