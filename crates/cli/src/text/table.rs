//! Aligned tables for the terminal.

use comfy_table::{ContentArrangement, Table, presets};

/// A table without lines, as wide as the terminal allows; columns are two spaces apart.
pub(crate) fn plain(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
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
