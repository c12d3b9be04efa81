//! Text for a terminal of some width: wrapped between words, with a hanging indent.

use crate::colour::{GREEN, Paint, RED, YELLOW, is_wanted};
use crate::output::print;
use prony_records::Quantile;
pub(crate) use prony_records::plural;
use prony_runner::number;
use std::fmt::Write as _;
use std::os::fd::AsFd;
use unicode_width::UnicodeWidthStr as _;

/// Width without a terminal.
const USUAL: usize = 80;
/// Maximum width of text: longer lines are hard to read.
pub(crate) const WIDEST: usize = 120;

/// Width of text on standard output.
pub(crate) fn columns() -> usize {
    columns_of(&std::io::stdout())
}

/// Width of text on a stream.
pub(crate) fn columns_of(stream: &impl AsFd) -> usize {
    let size = terminal_size::terminal_size_of(stream);
    size.map_or(USUAL, |(width, _)| usize::from(width.0)).min(WIDEST)
}

/// The width of a text, in columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Breaks a text between words, so that each line but the first is indented by `hanging`. On the first line `used` columns are
/// taken already. A word is never broken: it may be a name or a URL.
pub(crate) fn wrapped(text: &str, columns: usize, used: usize, hanging: usize) -> String {
    fill(words(text), columns, used, hanging)
}

/// The same for a text whose parts end with `;` or `,`: it breaks between these if they fit in a line.
pub(crate) fn clauses(text: &str, columns: usize, used: usize, hanging: usize) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = text;
    // Numbers and URLs have commas without a space after them, at which a line must not break.
    let next = |rest: &str| [rest.find("; "), rest.find(", ")].into_iter().flatten().min();
    while let Some(at) = next(rest) {
        parts.push(&rest[..=at]);
        rest = rest[at + 1..].trim_start();
    }
    parts.push(rest);
    let pieces = parts.into_iter().flat_map(|part| {
        if width(part) + hanging <= columns {
            vec![part]
        } else {
            words(part)
        }
    });
    fill(pieces, columns, used, hanging)
}

/// A headline, whose further lines are indented by two columns.
pub(crate) fn headline(text: &str, columns: usize) -> String {
    clauses(text, columns, 0, 2)
}

/// Units, which stay on the line of their number.
const UNITS: [&str; 11] = ["%", "s", "ms", "µs", "ns", "min", "B", "KiB", "MiB", "GiB", "TiB"];

/// The words of a text, each number together with its unit.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(' ') {
        let next = text[at + 1..].split([' ', '/']).next().unwrap_or_default();
        let unit = next.trim_end_matches(['.', ',', ';', ':', ')']);
        let is_after_number = text[..at].ends_with(|letter: char| letter.is_ascii_digit());
        if !(is_after_number && UNITS.contains(&unit)) {
            words.push(&text[start..at]);
            start = at + 1;
        }
    }
    words.push(&text[start..]);
    words
}

/// Joins pieces with spaces, or with a newline and an indent if the next one does not fit.
fn fill<'a>(
    pieces: impl IntoIterator<Item = &'a str>,
    columns: usize,
    used: usize,
    hanging: usize,
) -> String {
    let mut out = String::new();
    let mut at = used;
    for (number, piece) in pieces.into_iter().enumerate() {
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
    line + &clauses(detail, columns, used, DETAIL)
}

/// Adds spaces up to a column, at least one.
fn pad(line: &mut String, column: usize) {
    let missing = column.saturating_sub(width(line)).max(1);
    line.extend(std::iter::repeat_n(' ', missing));
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
    if is_wanted(&std::io::stdout()) {
        print(&coloured(text))
    } else {
        print(text)
    }
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column<'a> {
    title: &'a str,
    /// Whether its cells are numbers, which end below each other.
    is_number: bool,
    /// In a narrow terminal the columns of the highest levels are left out. Those of level 0 always stay.
    level: u8,
}

impl<'a> Column<'a> {
    pub(crate) const fn text(title: &'a str, level: u8) -> Self {
        Self {
            title,
            is_number: false,
            level,
        }
    }

    pub(crate) const fn number(title: &'a str, level: u8) -> Self {
        Self {
            title,
            is_number: true,
            level,
        }
    }
}

/// Spaces between two columns.
const GAP: usize = 3;

/// A table without lines, indented by `indent`. No cell is cut: if the table is too wide, its last column wraps between words, and
/// columns are left out.
pub(crate) fn table(headings: &[Column<'_>], rows: &[Vec<String>], indent: usize, columns: usize) -> String {
    let widths: Vec<usize> = (0..headings.len())
        .map(|place| {
            let cells = rows.iter().map(|row| width(&row[place]));
            cells.max().unwrap_or(0).max(width(headings[place].title))
        })
        .collect();
    let mut shown: Vec<usize> = (0..headings.len()).collect();
    while least(headings, rows, &shown, &widths) + indent > columns {
        let highest = shown.iter().map(|&place| headings[place].level).max();
        let Some(highest @ 1..) = highest else { break };
        shown.retain(|&place| headings[place].level < highest);
    }
    let line = |cell: &dyn Fn(usize) -> String| {
        let mut line = " ".repeat(indent);
        for (number, &place) in shown.iter().enumerate() {
            let (text, space) = (cell(place), " ".repeat(if number == 0 { 0 } else { GAP }));
            line += &space;
            let used = width(&line);
            if number + 1 == shown.len() && !headings[place].is_number {
                line += &wrapped(&text, columns, used, used);
                continue;
            }
            let filling = " ".repeat(widths[place].saturating_sub(width(&text)));
            line += &if headings[place].is_number {
                filling + &text
            } else {
                text + &filling
            };
        }
        line.trim_end().to_owned()
    };
    let head = line(&|place| headings[place].title.to_owned());
    let rows = rows.iter().map(|row| line(&|place| row[place].clone()));
    std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n")
}

/// The least width of these columns: the last one, if it is text, can be as narrow as its longest word.
fn least(headings: &[Column<'_>], rows: &[Vec<String>], shown: &[usize], widths: &[usize]) -> usize {
    let all = shown.iter().map(|&place| widths[place]).sum::<usize>() + GAP * shown.len().saturating_sub(1);
    match shown.last() {
        Some(&last) if !headings[last].is_number => {
            let cells = rows.iter().flat_map(|row| words(&row[last]));
            let longest = cells.map(width).max().unwrap_or(0).max(WORDS.min(widths[last]));
            all - widths[last] + longest
        }
        _ => all,
    }
}

/// Columns that a text needs to be readable.
const WORDS: usize = 24;

pub(crate) use prony_runner::duration;

/// Bytes with a unit: `7.60 MiB`.
pub(crate) fn size(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", number(value), UNITS[unit])
}

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
    fn a_number_keeps_its_unit() {
        assert_eq!(
            wrapped("a thread (61 % busy)", 13, 0, 2),
            "a thread\n  (61 % busy)"
        );
        assert_eq!(
            wrapped("in 12.0 s, 7.60 MiB/s", 10, 0, 0),
            "in 12.0 s,\n7.60 MiB/s"
        );
    }

    #[test]
    fn a_narrow_table_loses_its_least_important_columns_but_no_letter() {
        const HEADINGS: [Column<'static>; 4] = [
            Column::text("run", 0),
            Column::number("trials", 0),
            Column::text("started", 2),
            Column::text("note", 1),
        ];
        let cells = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let rows = [
            cells(["2026-11-24-quick", "5", "08:30", "a long note"]),
            cells(["b", "1,250", "09:30", ""]),
        ];
        assert_eq!(
            table(&HEADINGS, &rows, 2, 80),
            "  run                trials   started   note\n  2026-11-24-quick        5   08:30     a long note\n  b                   1,250   09:30"
        );
        assert_eq!(
            table(&HEADINGS, &rows, 2, 46),
            "  run                trials   note\n  2026-11-24-quick        5   a long note\n  b                   1,250"
        );
        assert_eq!(
            table(&HEADINGS, &rows, 0, 10),
            "run                trials\n2026-11-24-quick        5\nb                   1,250"
        );
        let wide = [cells(["b", "1", "", "one two three four five six seven eight"])];
        let text = table(&HEADINGS, &wide, 2, 50);
        assert!(text.lines().all(|line| width(line) <= 50), "{text}");
        assert!(text.ends_with("eight"), "{text}");
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
