//! The first page: the studies, and for each ranking its result in words and its first few bars.

use super::changes::RunComparison;
use super::order::Study;
use super::run::{Ranking, SiteRun, day};
use super::{SiteFile, html, paths};
use crate::formats::{escaped, head_of, one_line};
use crate::model::ranks;
use crate::number::plural;
use prony_records::{Level, Warning};
use prony_statistics::{Better, Quantity, ServiceSummary};
use std::collections::BTreeSet;

/// Number of services shown per ranking.
const SHOWN: usize = 5;

pub(super) fn page(studies: &[Study<'_>], changes: &[RunComparison<'_>]) -> SiteFile {
    let latest = || studies.iter().map(Study::latest);
    let services: BTreeSet<&str> = latest()
        .flat_map(|run| &run.boards)
        .flat_map(|board| &board.group.services)
        .map(|row| row.id.service.as_str())
        .collect();
    let boards: usize = latest().map(|run| run.boards.len()).sum();
    let mut body = format!(
        "<p class=\"facts\"><span>{}</span> · <span>{}</span> · <a href=\"{}\">{}</a></p>\n",
        match studies.len() {
            1 => "1 study".to_owned(),
            count => format!("{count} studies"),
        },
        plural(boards, "ranking"),
        paths::SERVICES,
        plural(services.len(), "service")
    );
    if studies.len() > 1 {
        body += &contents(studies);
    }
    for (at, study) in studies.iter().enumerate() {
        body += &format!(
            "<section id=\"study-{}\">\n{}</section>\n",
            at + 1,
            section(study, changes)
        );
    }
    if studies.is_empty() {
        body += "<p>Nothing was measured yet.</p>\n";
    }
    SiteFile {
        path: paths::FIRST.to_owned(),
        text: html::page("What was measured", "", &body),
    }
}

fn contents(studies: &[Study<'_>]) -> String {
    let links = studies.iter().enumerate().map(|(at, study)| {
        let link = html::link(&format!("#study-{}", at + 1), &study.latest().title);
        format!("<li>{link}</li>\n")
    });
    format!(
        "<nav aria-label=\"Studies\"><ul class=\"contents\">\n{}</ul></nav>\n",
        links.collect::<String>()
    )
}

fn section(study: &Study<'_>, changes: &[RunComparison<'_>]) -> String {
    let run = study.latest();
    let report = paths::run_page(&run.run);
    let mut out = format!("<h2>{}</h2>\n{}", escaped(&run.title), facts(run, &report));
    out += &doubts(&run.warnings);
    if let Some(step) = changes.iter().find(|step| std::ptr::eq(step.now, run)) {
        let page = paths::changes_page(&run.run);
        out += &format!(
            "<p>{}: {}.</p>\n",
            html::link(&page, "Since the previous run"),
            escaped(&step.words())
        );
    }
    for board in &run.boards {
        out += &shown(run, board);
    }
    if run.boards.is_empty() {
        out += "<p class=\"quiet\">No trial has ended.</p>\n";
    }
    out + &earlier(study, changes)
}

fn facts(run: &SiteRun, report: &str) -> String {
    let cpu = &run.environment.cpu;
    let machine = format!(
        "{}, {}",
        one_line(cpu.model.as_deref().unwrap_or("unknown CPU")),
        plural(cpu.online as usize, "CPU")
    );
    let ended = if run.ended_at.is_some() {
        ""
    } else {
        " (did not end)"
    };
    format!(
        "<p class=\"facts\"><span>{}{ended}</span> · <span>{}</span> · {}</p>\n",
        day(&run.started_at),
        escaped(&machine),
        html::link(report, "the report, with every number")
    )
}

fn shown(run: &SiteRun, board: &Ranking) -> String {
    let metric = board.group.ranked_by;
    let ranked: Vec<&ServiceSummary> = board
        .group
        .services
        .iter()
        .filter(|row| row.rank.is_some())
        .collect();
    let position = |row: &ServiceSummary| row.metrics.get(metric).and_then(Quantity::position);
    let first = &ranked[..ranked.len().min(SHOWN)];
    let most = first.iter().filter_map(|row| position(row)).fold(0.0, f64::max);
    let mut bars = String::new();
    for row in first {
        let share = position(row)
            .filter(|_| most > 0.0)
            .map_or(0.0, |value| 100.0 * value / most);
        bars += &format!(
            "<li><span class=\"rank\"><span class=\"hidden\">rank </span>{}</span> {} <span class=\"track\"><span style=\"width:{share:.1}%\"></span></span> \
             <span class=\"figure\">{}</span></li>\n",
            ranks(row).unwrap_or_default(),
            html::link(&paths::service_page(&row.id.service), &run.display_name(&row.id)),
            escaped(&board.own_value(row, metric).unwrap_or_default())
        );
    }
    let shorter = if metric.better() == Better::Lower {
        "; shorter is better"
    } else {
        ""
    };
    let others = board.group.services.len() - first.len();
    let more = if others > 0 {
        format!(", {} in the report", plural(others, "more service"))
    } else {
        String::new()
    };
    let bars = if bars.is_empty() {
        String::new()
    } else {
        format!("<ul class=\"bars\">\n{bars}</ul>\n")
    };
    format!(
        "<article>\n<h3>{}</h3>\n<p class=\"finding\">{}</p>\n{}{bars}<p class=\"quiet\">By {}{shorter}{more}.</p>\n</article>\n",
        html::link(&board.address(run), &board.title()),
        escaped(&board.finding),
        doubts(&board.group.warnings),
        head_of(metric)
    )
}

/// Warnings that affect all numbers of a ranking or of a run.
fn doubts(warnings: &[Warning]) -> String {
    let told = warnings.iter().filter(|warning| warning.level() != Level::Note);
    told.map(|warning| format!("<p class=\"doubt\">⚠ {}</p>\n", escaped(&warning.whole())))
        .collect()
}

/// The runs before the newest one, newest first.
fn earlier(study: &Study<'_>, changes: &[RunComparison<'_>]) -> String {
    let before = study.runs.iter().rev().skip(1);
    let lines: String = before
        .map(|run| {
            let step = changes.iter().find(|step| std::ptr::eq(step.now, *run));
            let words = step.map_or_else(String::new, |step| {
                let page = paths::changes_page(&run.run);
                format!(" ({})", html::link(&page, &step.words()))
            });
            let report = html::link(&paths::run_page(&run.run), &run.run);
            format!("<li>{}: {report}{words}</li>\n", day(&run.started_at))
        })
        .collect();
    if lines.is_empty() {
        return lines;
    }
    format!(
        "<details>\n<summary>{}</summary>\n<ul>\n{lines}</ul>\n</details>\n",
        plural(study.runs.len() - 1, "earlier run")
    )
}
