//! A table column as text, with each cell as wide as the widest.

use super::text::right;
use crate::GroupReport;
use crate::formats::columns::Column;
use unicode_width::UnicodeWidthStr as _;

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
        let cells: Vec<String> = group.services.iter().map(|row| column.cell(row)).collect();
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
