//! Splits a script as `cmd.exe` does, and the words as the C library of Windows does: browsers on Windows copy requests in this form.

use super::CurlError;
use super::words::{CommandWords, Script};

type CharIterator<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Whether a script is one of `cmd.exe`: its first special character outside quotes is a `^` before a quote or at the end of a line.
pub(super) fn is_cmd(text: &str) -> bool {
    let mut letters = text.chars().peekable();
    let mut is_quoted = false;
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' if is_quoted => drop(letters.next()),
            '\'' | '\\' if !is_quoted => return false,
            '^' if !is_quoted => return matches!(letters.peek(), Some('"' | '\r' | '\n') | None),
            _ => {}
        }
    }
    false
}

/// Splits a script.
pub(super) fn script(text: &str) -> Script {
    let mut script = Script::default();
    let mut reader = CmdReader {
        letters: text.chars().peekable(),
        line: 1,
    };
    loop {
        reader.skip_space();
        if reader.letters.peek().is_none() {
            return script;
        }
        let line = reader.line;
        match words(&reader.command()) {
            Ok(words) if words.is_empty() => {}
            Ok(words) => script.commands.push(CommandWords {
                line,
                words,
                ..CommandWords::default()
            }),
            Err(error) => {
                script.error = Some((line, error));
                return script;
            }
        }
    }
}

struct CmdReader<'a> {
    letters: CharIterator<'a>,
    line: usize,
}

impl CmdReader<'_> {
    fn next(&mut self) -> Option<char> {
        let letter = self.letters.next()?;
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    /// A command without its carets. Quotes are left to the program. No command begins with `-`: such a line continues the one before
    /// it, whose `^` was lost.
    fn command(&mut self) -> String {
        let (mut command, mut is_quoted) = (String::new(), false);
        while let Some(letter) = self.next() {
            match letter {
                '"' => {
                    is_quoted = !is_quoted;
                    command.push('"');
                }
                letter if is_quoted => command.push(letter),
                '^' => self.caret(&mut command),
                '\r' => {}
                '\n' => {
                    self.skip_space();
                    if self.letters.peek() != Some(&'-') {
                        break;
                    }
                    command.push(' ');
                }
                '&' if self.is_within_word(&command) => command.push('&'),
                '&' | '|' => break,
                '<' | '>' => self.skip_file(),
                other => command.push(other),
            }
        }
        command
    }

    /// The character after a caret is text. After an end of line, which is left out, the next one is.
    fn caret(&mut self, command: &mut String) {
        self.letters.next_if_eq(&'\r');
        match self.next() {
            Some('\n') => {
                self.letters.next_if_eq(&'\r');
                if self.letters.peek() == Some(&'\n') {
                    self.next();
                    command.push('\n');
                }
            }
            Some(letter) => command.push(letter),
            None => {}
        }
    }

    fn skip_space(&mut self) {
        while self.letters.peek().is_some_and(|letter| letter.is_whitespace()) {
            self.next();
        }
    }

    /// Whether an `&` is rather part of a URL without quotes.
    fn is_within_word(&mut self, command: &str) -> bool {
        let follows = self.letters.peek();
        command.ends_with(|letter: char| !letter.is_whitespace())
            && follows.is_some_and(|letter| !letter.is_whitespace() && !matches!(letter, '&' | '|'))
    }

    /// Skips the file of a redirection.
    fn skip_file(&mut self) {
        while self
            .letters
            .next_if(|letter| matches!(letter, '>' | '&' | ' '))
            .is_some()
        {}
        while self.letters.next_if(|letter| !letter.is_whitespace()).is_some() {}
    }
}

/// The arguments of a program, which splits its command line itself.
fn words(command: &str) -> Result<Vec<Vec<u8>>, CurlError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    let mut letters = command.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' if !is_quoted => words.extend(word.take().map(String::into_bytes)),
            '\\' => {
                let mut count = 1;
                while letters.next_if_eq(&'\\').is_some() {
                    count += 1;
                }
                let word = word.get_or_insert_default();
                if letters.peek() == Some(&'"') {
                    word.extend(std::iter::repeat_n('\\', count / 2));
                    if count % 2 == 1 {
                        letters.next();
                        word.push('"');
                    }
                } else {
                    word.extend(std::iter::repeat_n('\\', count));
                }
            }
            '"' if is_quoted && letters.next_if_eq(&'"').is_some() => word.get_or_insert_default().push('"'),
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    if is_quoted {
        return Err(CurlError::OpenQuote);
    }
    words.extend(word.map(String::into_bytes));
    Ok(words)
}
