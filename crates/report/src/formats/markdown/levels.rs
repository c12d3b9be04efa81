//! Tables of workloads under several numbers of connections.

use super::safe;
use crate::Report;
use crate::formats::levels::Levels;

pub(super) fn section(report: &Report) -> String {
    let mut out = String::new();
    for levels in Levels::of(report) {
        out += &format!("\n## {}\n\n| service |", safe(&levels.title));
        for head in &levels.heads {
            out += &format!(" {head} |");
        }
        out += &format!("\n|---|{}\n", "---:|".repeat(levels.heads.len()));
        for (id, cells) in &levels.rows {
            out += &format!("| {} | {} |\n", safe(&report.name(id)), cells.join(" | "));
        }
    }
    out
}
