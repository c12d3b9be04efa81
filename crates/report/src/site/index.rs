//! The first page: the studies, and for each ranking its result in words and its first few bars.

use super::changes::RunComparison;
use super::order::Study;
use super::run::{Ranking, SiteRun, day};
use super::{SiteFile, html, paths};
use crate::formats::{escaped, head_of, one_line};
use crate::number::{FARTHEST, plural};
use prony_records::{Level, Warning};
use prony_statistics::{Better, Metric, Quantity, ServiceSummary};
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
    match run.boards.split_first() {
        None => out += "<p class=\"quiet\">No trial has ended.</p>\n",
        Some((first, others)) => {
            out += &shown(run, first);
            if !others.is_empty() {
                let others: String = others.iter().map(|board| shown(run, board)).collect();
                let count = plural(run.boards.len() - 1, "more ranking");
                out += &format!("<details>\n<summary>{count}</summary>\n{others}</details>\n");
            }
        }
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
        html::link(report, "the whole report")
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
    let first = &ranked[..ranked.len().min(SHOWN)];
    let scale = Scale::of(first, metric);
    let bars: String = first
        .iter()
        .map(|row| {
            format!(
                "<li class=\"{}\"><span class=\"rank\">{}</span> {} {} <span class=\"figure\">{}</span></li>\n",
                tie_class(&ranked, row),
                rank_label(&ranked, row),
                html::link(&paths::service_page(&row.id.service), &run.display_name(&row.id)),
                scale.track(row),
                escaped(&board.own_value(row, metric).unwrap_or_default())
            )
        })
        .collect();
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
        html::prose(&board.finding),
        doubts(&board.group.warnings),
        head_of(metric)
    )
}

/// The rank of a service, in words that tied services share: `1`, `tied for 2`.
fn rank_label(ranked: &[&ServiceSummary], row: &ServiceSummary) -> String {
    let rank = row.rank.unwrap_or_default();
    let tied = ranked.iter().filter(|other| other.rank == row.rank).count() > 1;
    if tied {
        format!("tied for {rank}")
    } else {
        format!("<span class=\"hidden\">rank </span>{rank}")
    }
}

/// Tied services share a colour. The first ones have a colour of their own; two others alternate after it.
fn tie_class(ranked: &[&ServiceSummary], row: &ServiceSummary) -> &'static str {
    let ranks: BTreeSet<Option<u32>> = ranked.iter().map(|other| other.rank).collect();
    match ranks.iter().position(|rank| *rank == row.rank) {
        None | Some(0) => "first",
        Some(place) if place.is_multiple_of(2) => "even",
        Some(_) => "odd",
    }
}

/// The scale of the bars of a ranking, which start at 0.
struct Scale {
    metric: Metric,
    most: f64,
}

impl Scale {
    fn of(rows: &[&ServiceSummary], metric: Metric) -> Self {
        let quantities = || rows.iter().filter_map(|row| row.metrics.get(metric));
        let most = quantities().filter_map(Quantity::position).fold(0.0, f64::max);
        let high = quantities()
            .filter_map(Quantity::estimate)
            .map(|estimate| estimate.high);
        Self {
            metric,
            most: high.fold(most, f64::max).min(FARTHEST * most),
        }
    }

    /// A bar up to the value, and its interval as a line.
    fn track(&self, row: &ServiceSummary) -> String {
        let quantity = row.metrics.get(self.metric);
        let at = |value: f64| match self.most {
            most if most > 0.0 => 100.0 * (value / most).clamp(0.0, 1.0),
            _ => 0.0,
        };
        let bar = quantity.and_then(Quantity::position).map_or(0.0, at);
        let interval = quantity
            .and_then(Quantity::estimate)
            .map_or_else(String::new, |estimate| {
                let (low, high) = (at(estimate.low), at(estimate.high));
                format!("<i style=\"left:{low:.1}%;width:{:.1}%\"></i>", high - low)
            });
        format!("<span class=\"track\"><b style=\"width:{bar:.1}%\"></b>{interval}</span>")
    }
}

/// Warnings that affect all numbers of a ranking or of a run.
fn doubts(warnings: &[Warning]) -> String {
    let told: Vec<String> = warnings
        .iter()
        .filter(|warning| warning.level() != Level::Note)
        .map(|warning| format!("<p>{}</p>\n", html::prose(&warning.whole())))
        .collect();
    if told.is_empty() {
        return String::new();
    }
    format!(
        "<details class=\"doubt\">\n<summary>⚠ {}</summary>\n{}</details>\n",
        plural(told.len(), "warning"),
        told.concat()
    )
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
