//! An error in a file: where it is, what is wrong, and what to do.

use serde::Serialize;
use std::fmt::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use unicode_width::UnicodeWidthStr as _;

/// The largest number of errors that are printed.
const MOST_PRINTED: usize = 20;

/// An error in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The column after the marked text.
    pub end_column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do, if the message does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The line, without its end.
    #[serde(skip)]
    text: String,
}

impl Diagnostic {
    /// An error at a range of bytes of a file's text. A range of several lines is marked on its first line. The range `0..0` is the
    /// whole file, of which no line is shown.
    pub(crate) fn new(
        path: &Path,
        text: &str,
        span: &Range<usize>,
        message: impl Into<String>,
        help: Option<String>,
    ) -> Self {
        let start = floor(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line = text[line_start..line_end].trim_end_matches('\r');
        // An error may be in the carriage returns at the end of the line.
        let end = floor(text, span.end).clamp(start, (line_start + line.len()).max(start));
        let marked = text[start..end].trim_end().chars().count().max(1);
        let column = text[line_start..start].chars().count() + 1;
        Self {
            path: path.to_owned(),
            line: text[..start].matches('\n').count() + 1,
            column,
            end_column: column + marked,
            message: message.into(),
            help,
            text: if *span == (0..0) {
                String::new()
            } else {
                line.to_owned()
            },
        }
    }

    /// An error of a whole file.
    pub(crate) fn of_file(path: &Path, message: impl Into<String>) -> Self {
        Self::new(path, "", &(0..0), message, None)
    }
}

/// The last boundary of a character at or before a byte.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(0)
}

/// What is written before the parts of an error, and after each of them. By default nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiagnosticColours {
    pub error: &'static str,
    pub mark: &'static str,
    pub help: &'static str,
    pub end: &'static str,
}

impl DiagnosticColours {
    fn painted(self, colour: &str, text: &str) -> String {
        format!("{colour}{text}{}", self.end)
    }
}

impl Diagnostic {
    /// Writes what is wrong and where, the line with its mark, and what to do.
    fn write(&self, out: &mut impl fmt::Write, colours: DiagnosticColours) -> fmt::Result {
        let Self { line, column, .. } = self;
        write!(out, "{}\n  {}:{line}:{column}", self.message, self.path.display())?;
        let help = self.help.as_deref().unwrap_or_default();
        let help = if help.is_empty() {
            String::new()
        } else {
            colours.painted(colours.help, help)
        };
        if self.text.trim().is_empty() {
            return if help.is_empty() {
                Ok(())
            } else {
                write!(out, "\n  {help}")
            };
        }
        let text = self.text.replace('\t', " ");
        let width = |from: usize, to: usize| {
            let part: String = text.chars().skip(from).take(to - from).collect();
            part.width()
        };
        let before = " ".repeat(width(0, column - 1));
        let mark = "^".repeat(width(column - 1, self.end_column - 1).max(1));
        let mark = colours.painted(colours.mark, &mark);
        write!(out, "\n{line:>5} | {text}\n      | {before}{mark}")?;
        if !help.is_empty() {
            write!(out, " {help}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(formatter, DiagnosticColours::default())
    }
}

/// All errors of the files of a command, at least one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// The errors one after the other, each after the word `error`.
    pub fn text(&self, colours: DiagnosticColours) -> String {
        let word = colours.painted(colours.error, "error:");
        let mut text = String::new();
        for (number, one) in self.0.iter().take(MOST_PRINTED).enumerate() {
            text.push_str(if number > 0 { "\n\n" } else { "" });
            text.push_str(&word);
            text.push(' ');
            let _ = one.write(&mut text, colours);
        }
        match self.0.len().saturating_sub(MOST_PRINTED) {
            0 => {}
            1 => text.push_str("\n\nand one more error"),
            more => {
                let _ = write!(text, "\n\nand {more} more errors");
            }
        }
        text
    }

    /// The errors in one line: the first one and the number of others.
    pub fn summary(&self) -> String {
        let Some(first) = self.0.first() else {
            return String::new();
        };
        let more = match self.0.len() {
            0 | 1 => String::new(),
            2 => "; and one more error".to_owned(),
            several => format!("; and {} more errors", several - 1),
        };
        let Diagnostic {
            path, line, column, ..
        } = first;
        format!("{}:{line}:{column}: {}{more}", path.display(), first.message)
    }

    /// The same errors with paths relative to a folder, where they are below it.
    #[must_use]
    pub fn relative_to(mut self, folder: &Path) -> Self {
        for one in &mut self.0 {
            if let Ok(relative) = one.path.strip_prefix(folder) {
                one.path = relative.to_owned();
            }
        }
        self
    }

    /// The errors as annotations of GitHub Actions, a line for each.
    pub fn github(&self) -> String {
        let escaped = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
        let mut lines = String::new();
        for one in &self.0 {
            let help = one
                .help
                .as_deref()
                .map_or_else(String::new, |help| format!(": {help}"));
            let path = escaped(&one.path.display().to_string())
                .replace(':', "%3A")
                .replace(',', "%2C");
            let _ = writeln!(
                lines,
                "::error file={path},line={},col={},endColumn={}::{}",
                one.line,
                one.column,
                one.end_column,
                escaped(&format!("{}{help}", one.message))
            );
        }
        lines
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text(DiagnosticColours::default());
        formatter.write_str(text.strip_prefix("error: ").unwrap_or(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "format = 1\nname = \"größe 王\"\nexpects = { status = 201 }\n";

    fn at(part: &str, help: Option<&str>) -> Diagnostic {
        let start = TEXT.find(part).expect("part of the text");
        let span = start..start + part.len();
        Diagnostic::new(
            Path::new("shop/contract.toml"),
            TEXT,
            &span,
            "wrong",
            help.map(str::to_owned),
        )
    }

    #[test]
    fn the_line_is_shown_with_a_mark() {
        assert_eq!(
            at("expects", Some("did you mean `expect`?")).to_string(),
            "wrong\n  shop/contract.toml:3:1\n    3 | expects = { status = 201 }\n      | ^^^^^^^ did you mean `expect`?"
        );
        // Wide characters are marked at their width.
        assert_eq!(
            at("王", None).to_string(),
            "wrong\n  shop/contract.toml:2:15\n    2 | name = \"größe 王\"\n      |               ^^"
        );
    }

    #[test]
    fn a_range_of_several_lines_is_marked_on_its_first() {
        let whole = Diagnostic::new(Path::new("f"), TEXT, &(0..TEXT.len()), "wrong", None);
        assert_eq!((whole.line, whole.column, whole.end_column), (1, 1, 11));
        let end = Diagnostic::new(Path::new("f"), TEXT, &(TEXT.len()..TEXT.len() + 9), "wrong", None);
        assert_eq!(end.to_string(), "wrong\n  f:4:1");
    }

    #[test]
    fn an_error_in_the_carriage_returns_of_a_line_is_at_its_end() {
        let text = "a = 1\r\r\rx\r\r";
        let error = Diagnostic::new(Path::new("f"), text, &(text.len()..text.len()), "wrong", None);
        assert_eq!((error.line, error.column, error.end_column), (1, 12, 13));
        let error = Diagnostic::new(Path::new("f"), text, &(10..11), "wrong", None);
        assert_eq!(error.line, 1);
    }

    #[test]
    fn annotations_have_escaped_texts() {
        let mut one = at("expects", Some("100 %"));
        one.message = "two\nlines".into();
        assert_eq!(
            Diagnostics(vec![one]).github(),
            "::error file=shop/contract.toml,line=3,col=1,endColumn=8::two%0Alines: 100 %25\n"
        );
    }

    #[test]
    fn colours_change_no_letter() {
        let found = Diagnostics(vec![at("expects", Some("did you mean `expect`?"))]);
        let colours = DiagnosticColours {
            error: "<e>",
            mark: "<m>",
            help: "<h>",
            end: "</>",
        };
        let text = found.text(colours);
        assert!(text.starts_with("<e>error:</> wrong\n"), "{text}");
        assert!(
            text.ends_with("| <m>^^^^^^^</> <h>did you mean `expect`?</>"),
            "{text}"
        );
        let plain = ["<e>", "<m>", "<h>", "</>"]
            .iter()
            .fold(text, |text, code| text.replace(code, ""));
        assert_eq!(plain, format!("error: {found}"));
    }

    #[test]
    fn paths_are_relative_to_a_folder_above_them() {
        let found = Diagnostics(vec![at("name", None)]);
        let summary = |folder: &str| found.clone().relative_to(Path::new(folder)).summary();
        assert_eq!(summary("shop"), "contract.toml:2:1: wrong");
        assert_eq!(summary("other"), "shop/contract.toml:2:1: wrong");
    }

    #[test]
    fn at_most_twenty_errors_are_printed() {
        let text = Diagnostics(vec![at("expects", None); 23]).to_string();
        assert_eq!(text.matches("wrong").count(), 20);
        assert!(text.ends_with("and 3 more errors"), "{text}");
    }
}
