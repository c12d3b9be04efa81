//! A badge: the ranking on the left, rank range and value on the right.

use super::run::{Ranking, SiteRun, value};
use crate::formats::{escaped, title_of};
use crate::model::ranks;
use crate::palette::light;
use prony_statistics::ServiceSummary;
use unicode_width::UnicodeWidthStr as _;

/// Average width of a character at this size, px; the text is fitted to the resulting width, whatever the font.
const CHARACTER: f64 = 6.6;
/// Space on either side of a text, px.
const ROOM: f64 = 7.0;
const HEIGHT: f64 = 20.0;
/// Maximum width of a label, columns.
const LONGEST: usize = 72;

/// The text of the badge of a service in a ranking.
pub(super) fn words(board: &Ranking, row: &ServiceSummary) -> String {
    if row.excluded.is_some() {
        return "excluded".to_owned();
    }
    let shown = value(row, board.group.ranked_by).unwrap_or_else(|| "no number".to_owned());
    match ranks(row) {
        Some(_) => format!("rank {} · {shown}", board.rank(row)),
        None => format!("not ranked · {shown}"),
    }
}

/// The name of the colour. A service that may have any rank is not shown as one of the first.
fn colour(board: &Ranking, row: &ServiceSummary) -> &'static str {
    let compared = board.compared();
    match (row.rank_low, row.rank_high) {
        (Some(1), Some(high)) if compared == 1 || (high as usize) < compared => "badge-first",
        (Some(_), _) => "badge-other",
        (None, _) => "badge-none",
    }
}

/// The SVG. Its colour shows whether the service is among the first, which the text says too.
pub(super) fn badge(run: &SiteRun, board: &Ranking, row: &ServiceSummary) -> String {
    let ranking = name(run, board);
    let label = shortened(&ranking);
    let words = words(board, row);
    let width = |text: &str| (text.width() as f64 * CHARACTER + 2.0 * ROOM).round();
    let (left, right) = (width(&label), width(&words));
    let colour = light(colour(board, row));
    let text = |at: f64, wide: f64, text: &str| {
        format!(
            "<text x=\"{:.0}\" y=\"14\" textLength=\"{:.0}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>",
            at + ROOM,
            wide - 2.0 * ROOM,
            escaped(text)
        )
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all:.0}\" height=\"{HEIGHT:.0}\" viewBox=\"0 0 {all:.0} {HEIGHT:.0}\" role=\"img\">\
         <title>{title}</title><rect width=\"{left:.0}\" height=\"{HEIGHT:.0}\" fill=\"{background}\"/>\
         <rect x=\"{left:.0}\" width=\"{right:.0}\" height=\"{HEIGHT:.0}\" fill=\"{colour}\"/>\
         <g fill=\"#fff\" font-family=\"Verdana,'DejaVu Sans',Geneva,sans-serif\" font-size=\"11\">{label}{words}</g></svg>\n",
        all = left + right,
        background = light("badge-label"),
        title = escaped(&format!("{ranking}: {words}")),
        label = text(0.0, left, &label),
        words = text(left, right, &words),
    )
}

/// The name of a ranking among those of all suites, with its load in few words.
fn name(run: &SiteRun, board: &Ranking) -> String {
    let load = board.load_text.replace("closed loop on ", "");
    let load = load
        .replace("open loop: ", "")
        .replace(" requests per second", "/s");
    let title = title_of(&board.group.contract, &board.group.workload, &load);
    format!("{}: {title}", run.suite)
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}
