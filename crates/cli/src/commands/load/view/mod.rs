//! What is shown on a terminal while a load runs: one line, written again each interval.

pub(super) mod answer;
mod llm;
pub(super) mod summary;

use crate::shown::{duration, sparkline};
use prony_load::{Job, WarmUp};
use prony_measurement::{Event, Interval, Phase};
use std::io::{IsTerminal as _, Write as _};

/// Intervals in the sparkline, at most.
const BARS: usize = 30;
/// Columns of a terminal that does not say how wide it is.
const USUAL_WIDTH: usize = 80;

/// The view. Where standard error is no terminal it shows nothing.
pub(super) struct View {
    shown: bool,
    colour: bool,
    /// How long it lasts, where that is known.
    total_s: Option<f64>,
    recent: Vec<f64>,
    errors: u64,
    written: bool,
}

impl View {
    pub(super) fn new(job: &Job) -> Self {
        let shown = std::io::stderr().is_terminal();
        let warm_up = match job.phases.warm_up {
            WarmUp::FixedNs(ns) => ns,
            WarmUp::UntilTold { limit_ns } => limit_ns,
        };
        Self {
            shown,
            colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            total_s: (job.limits.requests.is_none())
                .then(|| warm_up.saturating_add(job.phases.measurement_ns) as f64 / 1e9),
            recent: Vec::with_capacity(BARS),
            errors: 0,
            written: false,
        }
    }

    pub(super) fn show(&mut self, event: &Event) {
        if !self.shown {
            return;
        }
        match event {
            Event::Interval { phase, interval, .. } => self.interval(*phase, interval),
            Event::Phase {
                phase: Phase::Measurement,
                ..
            } => self.errors = 0,
            _ => {}
        }
    }

    fn interval(&mut self, phase: Phase, interval: &Interval) {
        // A stream that lasts gives messages long before it is a reply.
        let counted = interval.messages.unwrap_or(interval.completed);
        let rate = counted as f64 / interval.length_s.max(1e-9);
        let unit = if interval.messages.is_some() {
            " messages/s"
        } else {
            "/s"
        };
        if self.recent.len() == BARS {
            self.recent.remove(0);
        }
        self.recent.push(rate);
        self.errors += interval.errors;
        let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), duration);
        let name = match phase {
            Phase::WarmUp => "warm-up",
            Phase::Measurement | Phase::Drain => "measuring",
        };
        let texts = [
            format!(
                "{name} {:.0}{} s",
                interval.start_s + interval.length_s,
                self.total_s
                    .map(|total| format!("/{total:.0}"))
                    .unwrap_or_default()
            ),
            format!("p50 {}", time(interval.response_time_ns_p50)),
            format!("p99 {}", time(interval.response_time_ns_p99)),
            format!("{rate:.0}{unit}"),
            format!("{} errors", self.errors),
        ];
        let width = terminal_size::terminal_size_of(std::io::stderr())
            .map_or(USUAL_WIDTH, |(width, _)| width.0.into());
        let line = line(&texts, &self.recent, width, self.errors > 0 && self.colour);
        // A terminal that is gone is no reason to stop measuring.
        let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
        self.written = true;
    }

    /// A line that stays.
    pub(super) fn says(&mut self, text: &str) {
        self.finish();
        eprintln!("{text}");
    }

    /// Clears the line.
    pub(super) fn finish(&mut self) {
        if std::mem::take(&mut self.written) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

/// The texts, the last of them in red where it is `alarming`, and a sparkline, in less than `width` columns: a line that
/// wraps could not be written over. What does not fit is left out, the first text first.
fn line(texts: &[String], values: &[f64], width: usize, alarming: bool) -> String {
    let room = width.saturating_sub(1);
    let columns = |texts: &[String]| -> usize {
        let gaps = 2 * texts.len().saturating_sub(1);
        texts.iter().map(|text| text.chars().count()).sum::<usize>() + gaps
    };
    let fitting = (0..texts.len()).find(|&from| columns(&texts[from..]) <= room);
    let Some((last, others)) = fitting.and_then(|from| texts[from..].split_last()) else {
        return texts
            .last()
            .map_or_else(String::new, |text| text.chars().take(room).collect());
    };
    let mut line: String = others.iter().flat_map(|text| [text.as_str(), "  "]).collect();
    if alarming {
        line.push_str("\x1b[31m");
        line.push_str(last);
        line.push_str("\x1b[0m");
    } else {
        line.push_str(last);
    }
    let from = texts.len() - others.len() - 1;
    let bars = room.saturating_sub(columns(&texts[from..]) + 2).min(values.len());
    if bars > 0 {
        line.push_str("  ");
        line.push_str(&sparkline(&values[values.len() - bars..]));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a terminal shows of a line.
    fn shown(line: &str) -> String {
        line.replace("\x1b[31m", "").replace("\x1b[0m", "")
    }

    #[test]
    fn a_line_never_fills_its_terminal() {
        let texts = [
            "measuring 3/10 s",
            "p50 1.23 ms",
            "p99 4.56 ms",
            "123456/s",
            "7 errors",
        ]
        .map(str::to_owned);
        let values: Vec<f64> = (0..BARS).map(|value| value as f64).collect();
        for width in 0..200 {
            let line = line(&texts, &values, width, true);
            assert!(shown(&line).chars().count() < width.max(1), "{width}: {line}");
            assert_eq!(line.matches("\x1b[31m").count(), line.matches("\x1b[0m").count());
        }
        let whole = line(&texts, &values, 120, false);
        assert!(whole.starts_with("measuring 3/10 s  p50 1.23 ms  p99 4.56 ms  123456/s  7 errors  ▁"));
        assert!(whole.ends_with('█') && !whole.contains('\x1b'), "{whole}");
        assert_eq!(line(&texts, &values, 20, false), "123456/s  7 errors");
        assert_eq!(line(&texts, &values, 5, true), "7 er");
    }
}
