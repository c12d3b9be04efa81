//! The list of services, and a page for each: all rankings with it, its history, and its badges.

use super::badge::badge;
use super::order::{Entry, VariantHistory};
use super::run::{day, value};
use super::{SiteFile, history, html, paths};
use crate::formats::escaped;
use crate::number::plural;
use crate::{ReportError, ServiceInfo, service_names};
use prony_statistics::Metric;
use std::collections::{BTreeMap, BTreeSet};

/// Metrics in the table of a service, in addition to the ranking metric.
const SHOWN: [(Metric, &str); 3] = [
    (Metric::ResponseTimeNsP99, "p99"),
    (Metric::CpuNsPerRequest, "CPU/request"),
    (Metric::MemoryBytesPeak, "memory"),
];

/// The page of all services.
pub(super) fn list(services: &BTreeMap<&str, Vec<VariantHistory<'_>>>) -> SiteFile {
    let heads = [
        "service",
        "language",
        "class",
        "rankings",
        "may be first on",
        "newest run",
    ];
    let rows: Vec<Vec<String>> = services
        .iter()
        .map(|(name, lines)| {
            let first = lines
                .iter()
                .filter(|line| line.latest().row.rank_low == Some(1))
                .count();
            let info = info(lines);
            let told = |of: fn(&ServiceInfo) -> &str| escaped(info.map(of).unwrap_or_default());
            vec![
                html::link(&paths::service_page(name), &title(name, lines)),
                told(|info| &info.language),
                told(|info| &info.class),
                lines.len().to_string(),
                first.to_string(),
                newest(lines).map_or_else(String::new, |entry| day(&entry.run.started_at)),
            ]
        })
        .collect();
    let body = format!(
        "<p class=\"facts\">{}</p>\n{}<p class=\"quiet\">Each variant counts its rankings separately. A service may be first if none is \
         proven better.</p>\n",
        plural(services.len(), "service"),
        html::table("All services", &heads, &rows)
    );
    SiteFile {
        path: paths::SERVICES.to_owned(),
        text: html::page("Services", "", &body),
    }
}

/// The page of a service.
pub(super) fn page(
    name: &str,
    lines: &[VariantHistory<'_>],
    base_url: Option<&str>,
) -> Result<SiteFile, ReportError> {
    let title = title(name, lines);
    let mut body = facts(name, lines);
    body += "<h2>In every ranking</h2>\n";
    body += &standings(lines, &title);
    body += "<h2>Over time</h2>\n";
    let long: Vec<&VariantHistory<'_>> = lines.iter().filter(|line| line.entries.len() > 1).collect();
    if long.is_empty() {
        body += "<p class=\"quiet\">Each ranking was measured once so far.</p>\n";
    }
    for line in long {
        body += &history::section(line, &display_name(&line.latest()))?;
    }
    body += "<h2>Badges</h2>\n";
    body += &badges(lines, base_url);
    Ok(SiteFile {
        path: paths::service_page(name),
        text: html::page(&title, "../", &body),
    })
}

/// The badge of each of its rankings.
pub(super) fn badge_files(lines: &[VariantHistory<'_>]) -> impl Iterator<Item = SiteFile> {
    lines.iter().map(|line| SiteFile {
        path: line.badge.clone(),
        text: badge(line.latest().run, line.latest().board, line.latest().row),
    })
}

fn newest<'a>(lines: &[VariantHistory<'a>]) -> Option<Entry<'a>> {
    let all = lines.iter().map(VariantHistory::latest);
    all.max_by_key(|entry| entry.run.began())
}

/// Metadata of the service from the newest run that has any.
fn info<'a>(lines: &[VariantHistory<'a>]) -> Option<&'a ServiceInfo> {
    let entry = newest(lines)?;
    service_names::info(&entry.run.services, &entry.row.id)
}

fn title(name: &str, lines: &[VariantHistory<'_>]) -> String {
    let title = info(lines).map(|info| info.title.clone());
    title
        .filter(|title| !title.trim().is_empty())
        .unwrap_or_else(|| name.to_owned())
}

/// The display name of the variant of an entry.
fn display_name(entry: &Entry<'_>) -> String {
    entry.run.display_name(&entry.row.id)
}

fn facts(name: &str, lines: &[VariantHistory<'_>]) -> String {
    let variants: BTreeSet<&str> = lines
        .iter()
        .map(|line| line.latest().row.id.variant.as_str())
        .collect();
    let mut told = vec![name.to_owned()];
    if let Some(info) = info(lines) {
        let framework = format!(
            "{} {}",
            info.framework,
            info.version.as_deref().unwrap_or_default()
        );
        told.extend([
            info.language.clone(),
            framework.trim().to_owned(),
            info.class.clone(),
        ]);
    }
    told.push(plural(variants.len(), "variant"));
    told.push(plural(lines.len(), "ranking"));
    told.retain(|fact| !fact.is_empty());
    let told: Vec<String> = told
        .iter()
        .map(|fact| format!("<span>{}</span>", escaped(fact)))
        .collect();
    format!("<p class=\"facts\">{}</p>\n", told.join(" · "))
}

fn standings(lines: &[VariantHistory<'_>], title: &str) -> String {
    // Rank and value first: a phone shows them without scrolling.
    let mut heads = vec!["ranking", "rank", "ranked by"];
    heads.extend(SHOWN.map(|(_, head)| head));
    heads.extend(["variant", "study", "measured"]);
    let row = |line: &VariantHistory<'_>| {
        let entry = line.latest();
        let address = format!("../{}", entry.board.address(entry.run));
        let mut cells = vec![
            html::link(&address, &entry.board.title()),
            html::number(Some(entry.board.rank(entry.row))),
        ];
        let known = |metric| html::number(value(entry.row, metric));
        if let Some(excluded) = &entry.row.excluded {
            cells.push(format!("excluded: {}", html::prose(&excluded.reason)));
            cells.extend(SHOWN.map(|_| "–".to_owned()));
        } else {
            cells.push(known(entry.board.group.ranked_by));
            cells.extend(SHOWN.map(|(metric, _)| known(metric)));
        }
        cells.push(escaped(&entry.row.id.variant));
        cells.push(escaped(&entry.run.title));
        cells.push(day(&entry.run.started_at));
        cells
    };
    let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
    html::table(&format!("Rankings of {title}"), &heads, &rows)
        + "<p class=\"quiet\">⚠ marks a number in doubt; the details of the service in the report say why.</p>\n"
}

/// Each badge with the Markdown for a README.
fn badges(lines: &[VariantHistory<'_>], base_url: Option<&str>) -> String {
    let shown = lines.iter().map(|line| {
        let entry = line.latest();
        let address = match base_url {
            Some(base) => format!(
                "![{}]({base}{})",
                display_name(&entry).replace(['[', ']'], ""),
                line.badge
            ),
            None => line.badge.clone(),
        };
        format!(
            "<li>{} <code>{}</code></li>\n",
            badge(entry.run, entry.board, entry.row),
            escaped(&address)
        )
    });
    format!("<ul class=\"badges\">\n{}</ul>\n", shown.collect::<String>())
}
