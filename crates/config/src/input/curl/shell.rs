//! Splits a script as a POSIX shell does, with `$'…'`, here-documents and here-strings. Variables and commands in it are neither
//! filled in nor run.

use super::CurlError;
use super::words::{CommandWords, Script, StandardInput};

type CharIterator<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// The most remarks about a command.
const MOST_GAPS: usize = 20;

/// Splits a script.
pub(super) fn script(text: &str) -> Script {
    let mut reader = ShellReader {
        letters: text.chars().peekable(),
        line: 1,
        word: None,
        is_number: true,
        command: CommandWords::default(),
        redirect: None,
        documents: Vec::new(),
        commands: Vec::new(),
    };
    let result = reader.read();
    let error = result.err().map(|error| (reader.command.line.max(1), error));
    Script {
        commands: reader.commands,
        error,
    }
}

/// The meaning of the word after an operator such as `>`.
enum Redirect {
    /// A file that is written, or a number.
    Output,
    Input,
    HereString,
    HereDocument {
        strips_tabs: bool,
    },
}

struct ShellReader<'a> {
    letters: CharIterator<'a>,
    line: usize,
    word: Option<Vec<u8>>,
    /// Whether the word so far is the number of a file descriptor.
    is_number: bool,
    command: CommandWords,
    redirect: Option<Redirect>,
    /// The last lines of the here-documents that follow the current line.
    documents: Vec<(Vec<u8>, bool)>,
    commands: Vec<CommandWords>,
}

impl ShellReader<'_> {
    fn read(&mut self) -> Result<(), CurlError> {
        while let Some(letter) = self.next() {
            match letter {
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => self.end_line(),
                '#' if self.word.is_none() => {
                    while self.letters.next_if(|letter| *letter != '\n').is_some() {}
                }
                '\'' => self.quoted()?,
                '"' => self.double_quoted()?,
                '$' if self.letters.next_if_eq(&'\'').is_some() => self.escaped()?,
                '$' if self.letters.next_if_eq(&'"').is_some() => self.double_quoted()?,
                '$' => self.dollar(),
                '`' => self.backtick(),
                '\\' => self.backslash(),
                '&' => self.ampersand(),
                '|' => {
                    self.letters.next_if(|next| matches!(next, '|' | '&'));
                    self.end_command();
                }
                '<' | '>' => self.redirect(letter),
                ';' => self.end_command(),
                '(' | ')' if self.word.is_none() => self.end_command(),
                other => self.push(other),
            }
        }
        self.end_command();
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.letters.next()?;
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    /// The current word, which begins here if there was none.
    fn word(&mut self) -> &mut Vec<u8> {
        if self.word.is_none() {
            self.is_number = true;
            if self.command.words.is_empty() {
                self.command.line = self.line;
            }
        }
        self.word.get_or_insert_default()
    }

    fn push(&mut self, letter: char) {
        let mut bytes = [0; 4];
        self.word()
            .extend_from_slice(letter.encode_utf8(&mut bytes).as_bytes());
        self.is_number &= letter.is_ascii_digit();
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.redirect.take() {
            None => self.command.words.push(word),
            Some(Redirect::Output) => {}
            Some(Redirect::Input) => {
                let file = String::from_utf8_lossy(&word).into_owned();
                self.command.stdin = Some(StandardInput::File(file));
            }
            Some(Redirect::HereString) => {
                self.command.stdin = Some(StandardInput::Text([word.as_slice(), b"\n"].concat()));
            }
            Some(Redirect::HereDocument { strips_tabs }) => self.documents.push((word, strips_tabs)),
        }
    }

    /// Ends a line, and the command with it. No command begins with `-`: such a line continues the one before it, whose `\` was lost.
    fn end_line(&mut self) {
        self.end_word();
        for (last, strips_tabs) in std::mem::take(&mut self.documents) {
            let text = self.document(&last, strips_tabs);
            self.command.stdin = Some(StandardInput::Text(text));
        }
        if !self.command.words.is_empty() {
            while self.letters.peek().is_some_and(|letter| letter.is_whitespace()) {
                self.next();
            }
            if self.letters.peek() != Some(&'-') {
                self.end_command();
            }
        }
    }

    fn document(&mut self, last: &[u8], strips_tabs: bool) -> Vec<u8> {
        let mut text = Vec::new();
        loop {
            let mut line = String::new();
            let end = loop {
                match self.next() {
                    None | Some('\n') => break self.letters.peek().is_none(),
                    Some(letter) => line.push(letter),
                }
            };
            let line = line.strip_suffix('\r').unwrap_or(&line);
            let line = if strips_tabs {
                line.trim_start_matches('\t')
            } else {
                line
            };
            if line.as_bytes() == last {
                return text;
            }
            text.extend_from_slice(line.as_bytes());
            text.push(b'\n');
            if end {
                return text;
            }
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.redirect = None;
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() {
            self.commands.push(command);
        }
    }

    /// `&` ends a command. Within a word it is rather part of a URL that someone left without quotes.
    fn ampersand(&mut self) {
        let follows = self.letters.peek().copied();
        match follows {
            Some('>') => {
                self.end_word();
                self.next();
                self.redirect('>');
            }
            Some(letter)
                if self.word.is_some() && !letter.is_whitespace() && !matches!(letter, '&' | ';' | '|') =>
            {
                self.push('&');
                self.add_gap("`&` is not in quotes: a shell would end the command there".to_owned());
            }
            _ => {
                self.letters.next_if_eq(&'&');
                self.end_command();
            }
        }
    }

    fn redirect(&mut self, operator: char) {
        if self.is_number {
            self.word = None;
        }
        self.end_word();
        let mut takes = |letter: char| self.letters.next_if_eq(&letter).is_some();
        let redirect = if operator == '>' {
            let _ = takes('>') || takes('|') || takes('&');
            Redirect::Output
        } else if !takes('<') {
            let _ = takes('&') || takes('>');
            Redirect::Input
        } else if takes('<') {
            Redirect::HereString
        } else {
            Redirect::HereDocument {
                strips_tabs: takes('-'),
            }
        };
        self.redirect = Some(redirect);
    }

    fn backslash(&mut self) {
        // Spaces after the last `\` of a line cannot be seen.
        let mut ahead = self.letters.clone();
        while ahead
            .next_if(|letter| matches!(letter, ' ' | '\t' | '\r'))
            .is_some()
        {}
        if ahead.peek() == Some(&'\n') {
            while self.next() != Some('\n') {}
        } else if let Some(letter) = self.next() {
            self.push(letter);
            self.is_number = false;
        }
    }

    /// A command whose output a shell would insert. At the end of a line it continues a line of `PowerShell`.
    fn backtick(&mut self) {
        let mut ahead = self.letters.clone();
        ahead.next_if_eq(&'\r');
        if ahead.peek() == Some(&'\n') {
            while self.next() != Some('\n') {}
            return;
        }
        self.push('`');
        while let Some(letter) = self.next() {
            self.push(letter);
            if letter == '`' {
                break;
            }
        }
        self.add_gap("`…` is a command of a shell, and is sent as it is written".to_owned());
    }

    /// A variable or a command whose value a shell would insert.
    fn dollar(&mut self) {
        self.push('$');
        let mut name = String::new();
        match self.letters.peek() {
            Some('(') => {
                self.enclosed('(', ')');
                name.push_str("(…)");
            }
            Some('{') => name = self.enclosed('{', '}'),
            _ => {
                let mut ahead = self.letters.clone();
                while let Some(letter) =
                    ahead.next_if(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
                {
                    name.push(letter);
                }
            }
        }
        if !name.is_empty() {
            self.add_gap(format!(
                "`${name}` is filled in by a shell, and is sent as it is written here: write its value"
            ));
        }
    }

    /// Takes over a text in nested pairs, with spaces.
    fn enclosed(&mut self, open: char, close: char) -> String {
        let (mut text, mut depth) = (String::new(), 0);
        while let Some(letter) = self.next() {
            self.push(letter);
            text.push(letter);
            depth += usize::from(letter == open);
            depth -= usize::from(letter == close);
            if depth == 0 {
                break;
            }
        }
        text
    }

    fn add_gap(&mut self, gap: String) {
        if self.command.gaps.len() < MOST_GAPS && !self.command.gaps.contains(&gap) {
            self.command.gaps.push(gap);
        }
    }

    fn quoted(&mut self) -> Result<(), CurlError> {
        self.word();
        self.is_number = false;
        loop {
            match self.next().ok_or(CurlError::OpenQuote)? {
                '\'' => return Ok(()),
                letter => self.push(letter),
            }
        }
    }

    fn double_quoted(&mut self) -> Result<(), CurlError> {
        self.word();
        self.is_number = false;
        loop {
            match self.next().ok_or(CurlError::OpenQuote)? {
                '"' => return Ok(()),
                '\\' => match self.next().ok_or(CurlError::OpenQuote)? {
                    '\n' => {}
                    letter @ ('"' | '\\' | '$' | '`') => self.push(letter),
                    letter => {
                        self.push('\\');
                        self.push(letter);
                    }
                },
                '$' => self.dollar(),
                '`' => self.backtick(),
                letter => self.push(letter),
            }
        }
    }

    /// Parses `$'…'` with the escapes of C.
    fn escaped(&mut self) -> Result<(), CurlError> {
        self.word();
        self.is_number = false;
        loop {
            match self.next().ok_or(CurlError::OpenQuote)? {
                '\'' => return Ok(()),
                '\\' => self.escape()?,
                letter => self.push(letter),
            }
        }
    }

    fn escape(&mut self) -> Result<(), CurlError> {
        match self.next().ok_or(CurlError::OpenQuote)? {
            'a' => self.push('\u{7}'),
            'b' => self.push('\u{8}'),
            'e' | 'E' => self.push('\u{1b}'),
            'f' => self.push('\u{c}'),
            'n' => self.push('\n'),
            'r' => self.push('\r'),
            't' => self.push('\t'),
            'v' => self.push('\u{b}'),
            'u' => self.unit(4),
            'U' => self.unit(8),
            'x' => {
                let byte = self.number(2, 16);
                self.word().push(byte as u8);
            }
            digit @ '0'..='7' => {
                let first = digit as u32 - '0' as u32;
                let rest = self.number_after(first, 2, 8);
                self.word().push(rest as u8);
            }
            letter @ ('\\' | '\'' | '"' | '?') => self.push(letter),
            letter => {
                self.push('\\');
                self.push(letter);
            }
        }
        Ok(())
    }

    /// A character by its number. Browsers write one beyond 65535 as the two units of UTF-16.
    fn unit(&mut self, most: usize) {
        let mut code = self.number(most, 16);
        if (0xd800..0xdc00).contains(&code) {
            let mut ahead = self.letters.clone();
            if ahead.next() == Some('\\') && ahead.next() == Some('u') {
                self.letters = ahead;
                let low = self.number(4, 16);
                code = 0x1_0000 + ((code - 0xd800) << 10) + (low & 0x3ff);
            }
        }
        self.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    }

    /// The number of up to `most` digits.
    fn number(&mut self, most: usize, base: u32) -> u32 {
        self.number_after(0, most, base)
    }

    fn number_after(&mut self, first: u32, most: usize, base: u32) -> u32 {
        let mut code = first;
        for _ in 0..most {
            let Some(digit) = self.letters.peek().and_then(|letter| letter.to_digit(base)) else {
                break;
            };
            self.letters.next();
            code = code.wrapping_mul(base).wrapping_add(digit);
        }
        code
    }
}
