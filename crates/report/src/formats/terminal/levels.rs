//! Tables of workloads under several numbers of connections.

use super::text::GAP;
use super::text::{left, right};
use super::{LEAST_SERVICE, SERVICE, Style, TerminalStyle, named};
use crate::Report;
use crate::formats::levels::Levels;
use crate::formats::one_line;
use unicode_width::UnicodeWidthStr as _;

pub(super) fn tables(report: &Report, look: TerminalStyle) -> String {
    let all = Levels::of(report);
    all.iter().map(|levels| table(report, levels, look)).collect()
}

fn table(report: &Report, levels: &Levels<'_>, look: TerminalStyle) -> String {
    let names: Vec<String> = levels
        .rows
        .iter()
        .map(|(id, _)| one_line(&report.name(id)))
        .collect();
    let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let service = widest.clamp(LEAST_SERVICE, SERVICE);
    let title = left(&one_line(&levels.title), look.columns);
    let mut out = format!("\n{}\n", look.paint(Style::Bold, title.trim_end()));
    for part in parts(levels, look.columns.saturating_sub(service)) {
        let line = |name: &str, cells: &dyn Fn(usize) -> String| {
            let cells: String = part
                .iter()
                .map(|&(place, width)| right(&cells(place), width))
                .collect();
            format!("{}{cells}", left(&named(name, service), service))
        };
        let head = line("service", &|place| levels.heads[place].clone());
        out += &format!("\n{}\n", look.paint(Style::Dim, &head));
        for (name, (_, cells)) in names.iter().zip(&levels.rows) {
            out += &line(name, &|place| cells[place].clone());
            out.push('\n');
        }
    }
    out
}

/// The columns and their widths, in as many parts as the width requires.
fn parts(levels: &Levels<'_>, room: usize) -> Vec<Vec<(usize, usize)>> {
    let mut parts: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut used = usize::MAX;
    for (place, head) in levels.heads.iter().enumerate() {
        let cells = levels.rows.iter().map(|(_, cells)| cells[place].width());
        let width = GAP + cells.max().unwrap_or(0).max(head.width());
        if used.saturating_add(width) > room {
            parts.push(Vec::new());
            used = 0;
        }
        used += width;
        parts
            .last_mut()
            .expect("invariant: never empty")
            .push((place, width));
    }
    parts
}
