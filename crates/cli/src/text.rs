//! Text for a terminal of some width: wrapped between words, with a hanging indent.

use crate::colour::{GREEN, Paint, RED, YELLOW};
use crate::output::print;
use comfy_table::{ContentArrangement, Table, presets};
use prony_records::{Quantile, count};
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// Width without a terminal.
const USUAL: usize = 80;
/// Maximum width of text: longer lines are hard to read.
const WIDEST: usize = 120;

/// Width of text on standard output.
pub(crate) fn columns() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map_or(USUAL, |(width, _)| usize::from(width.0)).min(WIDEST)
}

/// The width of a text, in columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Breaks a text between words, so that each line but the first is indented by `hanging`. On the first line `used` columns are
/// taken already. A word is never broken: it may be a name or a URL.
pub(crate) fn wrapped(text: &str, columns: usize, used: usize, hanging: usize) -> String {
    fill(text.split(' '), columns, used, hanging)
}

/// The same for a headline, which breaks after `;` or `,` if the parts fit in a line.
pub(crate) fn headline(text: &str, columns: usize) -> String {
    const HANGING: usize = 2;
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = text;
    // Numbers and URLs have commas without a space after them, at which a line must not break.
    let next = |rest: &str| [rest.find("; "), rest.find(", ")].into_iter().flatten().min();
    while let Some(at) = next(rest) {
        parts.push(&rest[..=at]);
        rest = rest[at + 1..].trim_start();
    }
    parts.push(rest);
    let fits = |part: &str| width(part) + HANGING <= columns;
    let pieces = parts.into_iter().flat_map(|part| {
        // A part that does not fit in a line is broken between its words.
        let most = if fits(part) { 1 } else { usize::MAX };
        part.splitn(most, ' ')
    });
    fill(pieces, columns, 0, HANGING)
}

/// Joins pieces with spaces, or with a newline and an indent if the next one does not fit.
fn fill<'a>(pieces: impl Iterator<Item = &'a str>, columns: usize, used: usize, hanging: usize) -> String {
    let mut out = String::new();
    let mut at = used;
    for (number, piece) in pieces.enumerate() {
        let wide = width(piece);
        if number > 0 {
            if at + 1 + wide > columns {
                out.push('\n');
                out.push_str(&" ".repeat(hanging));
                at = hanging;
            } else {
                out.push(' ');
                at += 1;
            }
        }
        out.push_str(piece);
        at += wide;
    }
    out
}

/// A row of a result: a label, a value, and a detail.
pub(crate) fn row(label: &str, value: &str, detail: &str, columns: usize) -> String {
    const VALUE: usize = 15;
    const DETAIL: usize = 27;
    let mut line = format!("  {label}");
    pad(&mut line, VALUE);
    line.push_str(value);
    if detail.is_empty() {
        return line;
    }
    pad(&mut line, DETAIL);
    let used = width(&line);
    line + &wrapped(detail, columns, used, DETAIL)
}

/// Adds spaces up to a column, at least one.
fn pad(line: &mut String, column: usize) {
    let missing = column.saturating_sub(width(line)).max(1);
    line.extend(std::iter::repeat_n(' ', missing));
}

/// A count with its noun: `1 user`, `20 users`.
pub(crate) fn plural(number: u64, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {one}{ending}", count(number))
}

/// A text after a mark, and its advice after an arrow.
pub(crate) fn marked(mark: char, text: &str, advice: Option<&str>, columns: usize) -> String {
    let mut out = format!("  {mark} {}", wrapped(text, columns, 4, 4));
    if let Some(advice) = advice {
        let _ = write!(out, "\n    → {}", wrapped(advice, columns, 6, 6));
    }
    out
}

/// Colours a result: the verdict, and the marks at the start of lines.
pub(crate) fn coloured(text: &str) -> String {
    let paint = |colour: &str, part: &str| Paint(true).with(colour, part);
    let mut out = String::new();
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let word = line.split_once(':').map(|(word, _)| word).filter(|_| number == 0);
        let colour = match word {
            Some("OK" | "NO REGRESSION" | "CAPACITY") => Some(GREEN),
            Some("LOWER BOUND" | "INTERRUPTED" | "INCONCLUSIVE" | "NOT GATED") => Some(YELLOW),
            Some(_) => Some(RED),
            None => None,
        };
        let painted = match (word, colour) {
            (Some(word), Some(colour)) => paint(colour, word) + &line[word.len()..],
            _ => line.to_owned(),
        };
        let marks = [("✓ ", GREEN), ("✗ ", RED), ("⚠ ", YELLOW)];
        let painted = marks.iter().fold(painted, |line, (mark, colour)| {
            line.replacen(mark, &paint(colour, mark), 1)
        });
        out.push_str(&painted);
    }
    out
}

/// Prints a result, in colour on a terminal unless `NO_COLOR` is set.
pub(crate) fn show(text: &str) -> anyhow::Result<()> {
    if crate::reporting::look().colour {
        print(&coloured(text))
    } else {
        print(text)
    }
}

/// A table without lines, as wide as the terminal allows; columns are two spaces apart.
pub(crate) fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    if let Some((width, _)) = terminal_size::terminal_size_of(std::io::stdout()) {
        table.set_width(width.0);
    }
    table.set_header(
        headings
            .iter()
            .map(|heading| heading.to_uppercase().replace('_', " ")),
    );
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

pub(crate) use prony_runner::duration;

/// A percentile over all requests. One that falls on a request without a valid reply has no bound.
pub(crate) fn quantile(found: Quantile) -> String {
    match found {
        Quantile::Exact(ns) => duration(ns),
        Quantile::AtLeast(ns) => format!("≥ {}", duration(ns)),
        Quantile::Unbounded => "no bound".to_owned(),
    }
}

/// The values as bars of eight heights, from 0 to the largest.
pub(crate) fn sparkline(values: &[f64]) -> String {
    let largest = values.iter().copied().fold(0.0, f64::max);
    let bars: Vec<char> = "▁▂▃▄▅▆▇█".chars().collect();
    let bar = |value: &f64| {
        let height = if largest > 0.0 { value / largest * 7.0 } else { 0.0 };
        bars[(height.round() as usize).min(7)]
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_breaks_between_words_and_hangs() {
        assert_eq!(wrapped("one two three", 10, 2, 4), "one two\n    three");
        assert_eq!(
            wrapped("http://a-long-host/path x", 10, 0, 2),
            "http://a-long-host/path\n  x"
        );
    }

    #[test]
    fn a_headline_breaks_behind_its_parts() {
        let line = "OK: 100 % success, 52,418 replies/s, p99 3.02 ms; 2 warnings";
        assert_eq!(headline(line, 80), line);
        assert_eq!(
            headline(line, 40),
            "OK: 100 % success, 52,418 replies/s,\n  p99 3.02 ms; 2 warnings"
        );
        let long = "FAILED: 0 % success: a reason that is far too long for a line of this width, really";
        assert!(headline(long, 40).lines().all(|line| width(line) <= 40));
    }

    #[test]
    fn rows_are_aligned_and_wrap_under_their_detail() {
        assert_eq!(
            row("success", "100 %", "524,180 of 524,180", 80),
            "  success      100 %       524,180 of 524,180"
        );
        assert_eq!(
            row("throughput", "1,880/s", "valid, 1,980/s in all", 40),
            "  throughput   1,880/s     valid,\n                           1,980/s in\n                           all"
        );
    }

    #[test]
    fn colours_change_no_letter() {
        let text = "FAILED: 0 %\n  ✗ GET /\n  ⚠ late";
        let painted = coloured(text);
        assert!(painted.starts_with("\x1b[31mFAILED\x1b[0m: 0 %\n  \x1b[31m✗ \x1b[0mGET"));
        let plain = ["\x1b[31m", "\x1b[33m", "\x1b[0m"]
            .iter()
            .fold(painted, |text, code| text.replace(code, ""));
        assert_eq!(plain, text);
    }

    #[test]
    fn bars_rise_with_their_values() {
        assert_eq!(sparkline(&[0.0, 50.0, 100.0]), "▁▅█");
        assert_eq!(sparkline(&[0.0]), "▁");
    }
}
