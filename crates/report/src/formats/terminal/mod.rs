//! Aligned text for a terminal of any width.

mod levels;
mod text;

use super::columns::Columns;
use super::{group_title, one_line, own_warnings};
use crate::number::plural;
use crate::{GroupReport, Report, Row, State};
use prony_records::{Environment, Level, TestbedHost, Warning};
use prony_statistics::Group;
use text::Texts;
pub(super) use text::{left, named};
use text::{right, wrapped};
use unicode_width::UnicodeWidthStr as _;

/// The appearance of text in a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalStyle {
    pub colour: bool,
    /// Width of the terminal, columns.
    pub columns: usize,
}

impl Default for TerminalStyle {
    fn default() -> Self {
        Self {
            colour: false,
            columns: 100,
        }
    }
}

/// Minimum width of the ranks.
const RANK: usize = 4;
const SERVICE: usize = 32;
/// Names are shorter in terminals that are narrower than this, columns.
const NARROW: usize = 100;
const SERVICE_IF_NARROW: usize = 24;
const LEAST_SERVICE: usize = 12;
const INDENT: &str = "     ";

#[derive(Clone, Copy)]
enum Style {
    Bold,
    Dim,
    Warn,
}

impl TerminalStyle {
    fn paint(self, style: Style, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match style {
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Warn => "33",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

pub(super) fn render(report: &Report, look: TerminalStyle) -> String {
    let cpu = &report.environment.cpu;
    let model = one_line(cpu.model.as_deref().unwrap_or("unknown CPU"));
    let suite = one_line(&report.suite);
    let head = format!(
        "{suite} · {} · {} of {} · {model}, {}",
        one_line(&report.run),
        report.trials,
        plural(report.planned_trials as usize, "trial"),
        plural(cpu.online as usize, "CPU")
    );
    let head = wrapped(&head, look.columns, "");
    // A name that was broken across lines stays plain.
    let mut out = match head.strip_prefix(&suite) {
        Some(rest) => look.paint(Style::Bold, &suite) + rest,
        None => head,
    };
    if let Some(hosts) = hosts_line(&report.environment) {
        out += &wrapped(&one_line(&hosts), look.columns, "");
    }
    match report.state {
        State::Ended => {}
        State::Running => out += "The run is still in progress; these are its numbers so far.\n",
        State::Unfinished => out += "The run did not finish; these are the trials that ended.\n",
    }
    for warning in &report.warnings {
        out += &warning_text(warning, look, "");
    }
    for group in &report.groups {
        out.push('\n');
        out += &table(report, group, look);
    }
    out += &levels::tables(report, look);
    if report.groups.is_empty() {
        out += "\nNo trial has ended yet.\n";
    }
    for agreement in &report.agreement {
        if let Some(correlation) = agreement.rank_correlation {
            let text = format!(
                "Published by {}: rank correlation {correlation:.2} with ours over {} ({}).",
                one_line(&agreement.source),
                plural(agreement.services as usize, "service"),
                one_line(&agreement.workload)
            );
            out.push('\n');
            out += &wrapped(&text, look.columns, "");
        }
    }
    out
}

/// The hosts of a testbed and their roles.
fn hosts_line(environment: &Environment) -> Option<String> {
    let hosts = &environment.hosts;
    let one = |(name, host): (&String, &TestbedHost)| format!("{name} ({})", host.roles.join(" and "));
    let each: Vec<String> = hosts.iter().map(one).collect();
    (!each.is_empty()).then(|| format!("{}: {}", plural(hosts.len(), "host"), each.join(", ")))
}

fn table(report: &Report, group: &GroupReport, look: TerminalStyle) -> String {
    let title = wrapped(&one_line(&group_title(group)), look.columns, "");
    let mut out = look.paint(Style::Bold, title.trim_end()) + "\n";
    out += &wrapped(&one_line(&group.finding), look.columns, "");
    if let Some(ceiling) = &group.ceiling_text {
        out += &wrapped(&one_line(ceiling), look.columns, "");
    }
    for warning in &group.warnings {
        out += &warning_text(warning, look, "");
    }
    let names: Vec<String> = group
        .services
        .iter()
        .map(|row| one_line(&report.name(&row.summary.id)))
        .collect();
    let class = |row: &Row| {
        report
            .info(&row.summary.id)
            .map_or("", |info| info.class.as_str())
    };
    let classes = group.services.iter().map(|row| one_line(class(row))).collect();
    let frame = Frame::of(group, names, classes, look);
    for (part, columns) in frame.parts().iter().enumerate() {
        out += &frame.part(columns, part == 0);
    }
    out
}

/// The table of a group for a live view while its run is in progress: its title, as many columns as fit on one line,
/// and the first `most` services. Services are named after their folders.
pub fn standings(group: &Group, look: TerminalStyle, most: usize) -> Vec<String> {
    let mut shown = GroupReport::bare(group);
    let all = shown.services.len();
    shown.services.truncate(most);
    let names: Vec<String> = shown
        .services
        .iter()
        .map(|row| one_line(&row.summary.id.to_string()))
        .collect();
    // A live view has the names of the folders, and no more.
    let classes = vec![String::new(); names.len()];
    let frame = Frame::of(&shown, names, classes, look);
    let title = format!(
        "{}, {}",
        group_title(&shown),
        plural(shown.rounds as usize, "round")
    );
    let mut lines = vec![look.paint(Style::Bold, left(&one_line(&title), look.columns).trim_end())];
    if let Some(columns) = frame.parts().first() {
        lines.push(frame.head(columns));
        let rows = shown.services.iter().enumerate();
        lines.extend(rows.map(|(index, row)| match &row.summary.excluded {
            Some(excluded) => {
                let text = format!(
                    "{}  excluded: {}",
                    frame.place(index, row),
                    one_line(&excluded.reason)
                );
                left(&text, look.columns).trim_end().to_owned()
            }
            None => frame.place(index, row) + &Texts::row(columns, index),
        }));
    }
    if all > most {
        lines.push(look.paint(
            Style::Dim,
            &format!("{INDENT}and {} more", plural(all - most, "service")),
        ));
    }
    lines
}

/// The table of a group, before it is fitted to the width of the terminal.
struct Frame<'a> {
    group: &'a GroupReport,
    names: Vec<String>,
    /// Class of each service; empty if it is not known.
    classes: Vec<String>,
    rank: usize,
    service: usize,
    look: TerminalStyle,
}

fn service_width(names: &[String], look: TerminalStyle) -> usize {
    let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let most = if look.columns < NARROW {
        SERVICE_IF_NARROW
    } else {
        SERVICE
    };
    widest.clamp(LEAST_SERVICE, most)
}

fn rank_width(group: &GroupReport) -> usize {
    let widths = group
        .services
        .iter()
        .filter_map(Row::ranks)
        .map(|ranks| ranks.width());
    widths.max().unwrap_or(0).max(RANK)
}

impl<'a> Frame<'a> {
    fn of(group: &'a GroupReport, names: Vec<String>, classes: Vec<String>, look: TerminalStyle) -> Self {
        Self {
            group,
            rank: rank_width(group),
            service: service_width(&names, look),
            names,
            classes,
            look,
        }
    }

    /// The columns, in as many parts as the width requires; an optional column never adds a part.
    fn parts(&self) -> Vec<Vec<Texts>> {
        let room = self.look.columns.saturating_sub(self.before());
        let columns = Columns::of(self.group);
        let mut parts: Vec<Vec<Texts>> = vec![Vec::new()];
        let mut used = 0;
        // The ratio is what a ranking is about.
        let (ratio, others): (Vec<_>, Vec<_>) = columns.first.into_iter().partition(|one| one.is_ratio());
        for column in ratio.into_iter().chain(others) {
            let texts = Texts::of(column, self.group, room);
            if used > 0 && used + texts.width > room {
                parts.push(Vec::new());
                used = 0;
            }
            used += texts.width;
            parts.last_mut().expect("invariant: never empty").push(texts);
        }
        for column in columns.more {
            let texts = Texts::of(column, self.group, room);
            if used + texts.width > room {
                break;
            }
            used += texts.width;
            parts.last_mut().expect("invariant: never empty").push(texts);
        }
        if self
            .group
            .services
            .iter()
            .all(|row| row.summary.excluded.is_some())
        {
            // Further parts would be headings without rows.
            parts.truncate(1);
        }
        parts
    }

    /// One part; only the first one has reasons and warnings.
    fn part(&self, columns: &[Texts], first: bool) -> String {
        let mut out = format!("\n{}\n", self.head(columns));
        for (index, row) in self.group.services.iter().enumerate() {
            if row.summary.excluded.is_none() || first {
                out += &self.line(index, row, columns, first);
            }
        }
        out
    }

    fn head(&self, columns: &[Texts]) -> String {
        let heads: String = columns
            .iter()
            .map(|texts| right(&texts.head, texts.width))
            .collect();
        let head = format!(
            "{}  {}{}{heads}",
            right("rank", self.rank),
            left("service", self.service),
            self.class("class")
        );
        self.look.paint(Style::Dim, &head)
    }

    /// A class as a column; empty if no service has one.
    fn class(&self, class: &str) -> String {
        match self.class_width() {
            0 => String::new(),
            width => format!(" {}", left(class, width)),
        }
    }

    fn class_width(&self) -> usize {
        let widest = self.classes.iter().map(|class| class.width()).max();
        widest
            .filter(|&widest| widest > 0)
            .map_or(0, |widest| widest.max("class".len()))
    }

    /// Width of rank, name and class, columns.
    fn before(&self) -> usize {
        let class = self.class_width();
        self.rank + 2 + self.service + class + usize::from(class > 0)
    }

    fn place(&self, index: usize, row: &Row) -> String {
        let rank = row.ranks().unwrap_or_else(|| "–".to_owned());
        format!(
            "{}  {}{}",
            right(&rank, self.rank),
            left(&named(&self.names[index], self.service), self.service),
            self.class(&self.classes[index])
        )
    }

    fn line(&self, index: usize, row: &Row, columns: &[Texts], first: bool) -> String {
        let mut out = self.place(index, row);
        if let Some(excluded) = &row.summary.excluded {
            let stage = format!("{:?}", excluded.stage).to_lowercase();
            let reason = format!("excluded at {stage}: {}", one_line(&excluded.reason));
            let before = self.before() + 2;
            out += "  ";
            out += &wrapped(
                &reason,
                self.look.columns.saturating_sub(before).max(20),
                &" ".repeat(before),
            );
            return out;
        }
        out += &Texts::row(columns, index);
        out.push('\n');
        if first {
            for warning in own_warnings(self.group, row) {
                out += &warning_text(warning, self.look, INDENT);
            }
        }
        out
    }
}

fn warning_text(warning: &Warning, look: TerminalStyle, indent: &str) -> String {
    let lines = |text: &str, taken: usize| {
        let width = look.columns.saturating_sub(indent.len() + taken).max(30);
        let text = wrapped(&one_line(text), width, &format!("{indent}{}", " ".repeat(taken)));
        text.trim_end().to_owned()
    };
    let body = lines(&warning.text, 2);
    let mut out = if warning.level() == Level::Note {
        format!("{indent}· {body}\n")
    } else {
        format!("{indent}{}\n", look.paint(Style::Warn, &format!("⚠ {body}")))
    };
    if let Some(advice) = &warning.advice {
        out += &format!("{indent}  → {}\n", lines(advice, 4));
    }
    out
}
