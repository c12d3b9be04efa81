//! Changes from one run of a suite to the next.

use super::order::Study;
use super::run::{SiteRun, day};
use super::{SiteFile, html, paths};
use crate::ReportError;
use crate::formats::{escaped, head_of, title_of};
use crate::model::describe_load;
use crate::number::{Unit, percent, ratio};
use prony_records::ServiceId;
use prony_statistics::{Change, ChangeOptions, Estimate, GroupChange, Mismatch, RunChange, Verdict, compare};

/// Two successive runs of a suite.
pub(super) struct RunComparison<'a> {
    before: &'a SiteRun,
    pub(super) now: &'a SiteRun,
    differs: Vec<Mismatch>,
    change: RunChange,
    confidence: f64,
}

/// Every run that has a previous one in its suite.
pub(super) fn all<'a>(studies: &[Study<'a>]) -> Result<Vec<RunComparison<'a>>, ReportError> {
    let pairs = studies.iter().flat_map(|study| study.runs.windows(2));
    pairs.map(|pair| RunComparison::of(pair[0], pair[1])).collect()
}

impl<'a> RunComparison<'a> {
    fn of(before: &'a SiteRun, now: &'a SiteRun) -> Result<Self, ReportError> {
        let options = ChangeOptions::default();
        Ok(Self {
            before,
            now,
            differs: now.differs(before),
            change: compare(&before.summary(), &now.summary(), &options)?,
            confidence: options.confidence,
        })
    }

    /// How many services changed in the ranking metric: `3 higher, 1 lower, 11 without a proven change`.
    pub(super) fn words(&self) -> String {
        words(&self.change.groups)
    }

    pub(super) fn page(&self) -> SiteFile {
        let run = |run: &SiteRun| {
            let page = format!("../{}", paths::run_page(&run.run));
            format!("{} ({})", html::link(&page, &run.run), day(&run.started_at))
        };
        let mut body = format!(
            "<p class=\"facts\">from {} to {}</p>\n<p class=\"answer\">{}.</p>\n",
            run(self.before),
            run(self.now),
            escaped(&self.words())
        );
        body += &self.warning();
        for group in &self.change.groups {
            body += &self.section(group);
        }
        if !self.change.missing.is_empty() {
            let lines = self.change.missing.iter();
            let lines: String = lines
                .map(|text| format!("<li>{}</li>\n", escaped(text)))
                .collect();
            body += &format!("<h2>Not compared</h2>\n<ul>\n{lines}</ul>\n");
        }
        body += &format!(
            "<p class=\"quiet\">A ratio is the new value over the old one, with its interval; those of all ranking metrics hold \
             together at {} confidence, and so do those of all other metrics.</p>\n",
            percent(self.confidence)
        );
        body += "<p class=\"quiet\">The runs were made at different times: how the machine varies from run to run is not in the \
                 intervals.</p>\n";
        SiteFile {
            path: paths::changes_page(&self.now.run),
            text: html::page(&format!("What changed: {}", self.now.title), "../", &body),
        }
    }

    fn warning(&self) -> String {
        if self.differs.is_empty() {
            return String::new();
        }
        let lines = self.differs.iter();
        let lines: String = lines
            .map(|mismatch| format!("<li>{}</li>\n", escaped(&mismatch.to_string())))
            .collect();
        format!(
            "<div class=\"doubt\"><p>The two runs differ in more than the services, which may explain a change:</p>\n<ul>\n{lines}</ul></div>\n"
        )
    }

    fn section(&self, group: &GroupChange) -> String {
        let load = describe_load(&group.load, group.is_of_sequences());
        let title = title_of(&group.contract, &group.workload, &load);
        let mut rows = Vec::new();
        for service in &group.services {
            let moved = |change: &&Change| matches!(change.verdict, Verdict::Faster | Verdict::Slower);
            for change in service.changes.iter().filter(moved) {
                rows.push(self.row(&service.service, change));
            }
        }
        let counted = words(std::slice::from_ref(group));
        let shown = if rows.is_empty() {
            "<p class=\"quiet\">The data proves no change of any service.</p>\n".to_owned()
        } else {
            let heads = ["service", "metric", "now ÷ before", "verdict", "before", "now"];
            html::table(&format!("What changed in {title}"), &heads, &rows)
        };
        format!(
            "<h2>{}</h2>\n<p>{}.</p>\n{shown}",
            escaped(&title),
            escaped(&counted)
        )
    }

    fn row(&self, service: &str, change: &Change) -> Vec<String> {
        let (name, variant) = service.split_once('/').unwrap_or((service, ""));
        let id = ServiceId {
            service: name.to_owned(),
            variant: variant.to_owned(),
        };
        let unit = Unit::for_metric(change.metric, &[change.base.point, change.new.point]);
        let shown = |estimate: &Estimate| {
            let ends = format!("{}–{}", unit.show(estimate.low), unit.show_with(estimate.high));
            html::number(Some(ends))
        };
        let times = format!("{}–{}", ratio(change.ratio.low), ratio(change.ratio.high));
        let page = format!("../{}", paths::service_page(name));
        let class = if change.verdict == Verdict::Faster {
            "better"
        } else {
            "worse"
        };
        let verdict = if is_higher(change) { "higher" } else { "lower" };
        vec![
            html::link(&page, &self.now.display_name(&id)),
            escaped(head_of(change.metric)),
            html::number(Some(times)),
            format!("<b class=\"{class}\">{verdict}</b>"),
            shown(&change.base),
            shown(&change.new),
        ]
    }
}

/// Runs made at different times are higher or lower than each other. Whether a service is better or worse, two of them cannot say.
fn is_higher(change: &Change) -> bool {
    change.ratio.point > 1.0
}

fn words(groups: &[GroupChange]) -> String {
    let services = groups.iter().flat_map(|group| &group.services);
    // Only the ranking metric can fail a comparison.
    let ranked: Vec<&Change> = services
        .filter_map(|service| service.changes.iter().find(|change| change.gated))
        .collect();
    let moved = |change: &&&Change| matches!(change.verdict, Verdict::Faster | Verdict::Slower);
    let changed: Vec<&&Change> = ranked.iter().filter(moved).collect();
    let higher = changed.iter().filter(|change| is_higher(change)).count();
    format!(
        "{higher} higher, {} lower, {} without a proven change",
        changed.len() - higher,
        ranked.len() - changed.len()
    )
}
