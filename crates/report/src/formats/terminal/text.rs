//! Text measured in terminal columns.

use crate::GroupReport;
use crate::formats::columns::Column;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Minimum width of a title that is shortened to fit its variant, columns.
const LEAST_TITLE: usize = 6;

/// Breaks text at spaces so that no line is wider than `width`; later lines start with `indent`.
pub(super) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut out = String::new();
    let mut used = 0;
    // A number and its `%` stay together.
    let glued = text.replace(" %", "\u{a0}%").replace("± ", "±\u{a0}");
    for word in glued.split(' ') {
        let wide = word.width();
        if used > 0 && used + 1 + wide > width {
            out += "\n";
            out += indent;
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out += word;
        used += wide;
    }
    out.push('\n');
    out.replace('\u{a0}', " ")
}

/// Pads on the left.
pub(super) fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

/// A name shortened to fit. A variant in parentheses is kept, because it distinguishes the name from others.
pub(in crate::formats) fn named(name: &str, width: usize) -> String {
    let variant = name
        .rfind(" (")
        .filter(|_| name.ends_with(')'))
        .map(|at| name.split_at(at));
    match variant {
        Some((title, variant)) if name.width() > width && variant.width() + LEAST_TITLE <= width => {
            left(title, width - variant.width()) + variant
        }
        _ => name.to_owned(),
    }
}

/// Pads, or shortens with `…`.
pub(in crate::formats) fn left(text: &str, width: usize) -> String {
    if text.width() <= width {
        return format!("{text}{}", " ".repeat(width - text.width()));
    }
    let mut out = String::new();
    let mut used = 0;
    for character in text.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        out.push(character);
        used += wide;
    }
    format!("{out}…{}", " ".repeat(width.saturating_sub(used + 1)))
}

/// A heading in fewer letters: `CPU/req, µs`, `goodput/s`.
fn narrow(head: &str) -> String {
    head.replace("CPU/request", "CPU/req")
        .replace("memory, ", "mem, ")
        .replace(", /s", "/s")
}

/// Spaces before a column.
pub(super) const GAP: usize = 2;

/// A column as text: its head, and the cell of each row.
pub(super) struct Texts {
    pub(super) head: String,
    cells: Vec<String>,
    pub(super) width: usize,
}

impl Texts {
    /// The cells of a row, joined.
    pub(super) fn row(columns: &[Self], index: usize) -> String {
        let cell = |texts: &Self| right(&texts.cells[index], texts.width);
        columns.iter().map(cell).collect()
    }

    /// Uses the short heading if the full one takes more than `room`.
    pub(super) fn of(column: Column, group: &GroupReport, room: usize) -> Self {
        let whole = column.head(group);
        let head = if GAP + whole.width() > room {
            column.short_head()
        } else {
            whole
        };
        // A lower bound may come first; ratios are then to the first service with an exact value.
        let first = group.services.first();
        let is_to_first = first.is_some_and(|row| row.summary.ratio_to_first.is_some());
        let head = if column.is_ratio() && is_to_first {
            "to first".to_owned()
        } else {
            narrow(&head)
        };
        let cell = |row: &crate::Row| match column.cell(row) {
            first if column.is_ratio() && first == "1.00" => "1×".to_owned(),
            other => other,
        };
        let cells: Vec<String> = group.services.iter().map(cell).collect();
        let shown = group
            .services
            .iter()
            .zip(&cells)
            .filter(|(row, _)| row.summary.excluded.is_none());
        let widest = shown.map(|(_, cell)| cell.width()).max().unwrap_or(0);
        Self {
            width: GAP + widest.max(head.width()),
            head,
            cells,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_padded_shortened_and_wrapped_by_width() {
        assert_eq!(left("ab", 4), "ab  ");
        assert_eq!(left("abcdef", 4), "abc…");
        assert_eq!(left("速い速い", 5), "速い…");
        assert_eq!(right("ab", 4), "  ab");
        assert_eq!(wrapped("one two three", 8, "> "), "one two\n> three\n");
        assert_eq!(wrapped("off by 19 %", 9, ""), "off by\n19 %\n");
        assert_eq!(
            named("Node.js filter (cluster)", 20),
            "Node.js fi… (cluster)".replace("fi…", "f…")
        );
        assert_eq!(named("Node.js (cluster)", 17), "Node.js (cluster)");
        assert_eq!(
            named("Node.js (a very long variant)", 20),
            "Node.js (a very long variant)"
        );
    }
}
