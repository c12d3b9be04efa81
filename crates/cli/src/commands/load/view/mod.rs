//! The live view of a load: one line, rewritten each interval.

pub(super) mod result;

use crate::colour::{self, Paint, RED};
use crate::output::plain_letters;
use crate::text::{duration, sparkline};
use prony_load::{Job, WarmUp};
use prony_records::{Event, Interval, Phase};
use prony_runner::{number, percent_down};
use std::io::{IsTerminal as _, Write as _};

/// Maximum number of intervals in the sparkline.
const BARS: usize = 30;
/// Assumed width of a terminal that does not report its width.
const USUAL_WIDTH: usize = 80;

/// How often a line is written if standard error is not a terminal, s.
const SELDOM_S: f64 = 30.0;

pub(super) struct View {
    /// Whether standard error is a terminal, on which the line can be overwritten.
    terminal: bool,
    colour: bool,
    /// Length of the load, if it is known.
    total_s: Option<f64>,
    recent: Vec<f64>,
    valid: u64,
    errors: u64,
    written: bool,
    /// When the last permanent line was written, s.
    last_s: f64,
}

impl View {
    pub(super) fn new(job: &Job) -> Self {
        let warm_up = match job.phases.warm_up {
            WarmUp::FixedNs(ns) => ns,
            WarmUp::UntilTold { limit_ns } => limit_ns,
        };
        Self {
            terminal: std::io::stderr().is_terminal(),
            colour: colour::is_wanted(&std::io::stderr()),
            total_s: (job.limits.requests.is_none())
                .then(|| warm_up.saturating_add(job.phases.measurement_ns) as f64 / 1e9),
            recent: Vec::with_capacity(BARS),
            valid: 0,
            errors: 0,
            written: false,
            last_s: 0.0,
        }
    }

    pub(super) fn show(&mut self, event: &Event) {
        match event {
            Event::Interval { phase, interval, .. } => self.interval(*phase, interval),
            Event::Phase {
                phase: Phase::Measurement,
                ..
            } => (self.valid, self.errors, self.last_s) = (0, 0, 0.0),
            _ => {}
        }
    }

    fn interval(&mut self, phase: Phase, interval: &Interval) {
        // A long stream delivers messages long before it is complete.
        let counted = interval.messages.unwrap_or(interval.completed);
        let rate = counted as f64 / interval.length_s.max(1e-9);
        if self.recent.len() == BARS {
            self.recent.remove(0);
        }
        self.recent.push(rate);
        self.valid += interval.valid;
        self.errors += interval.errors;
        let end_s = interval.start_s + interval.length_s;
        if self.terminal {
            let width = terminal_size::terminal_size_of(std::io::stderr())
                .map_or(USUAL_WIDTH, |(width, _)| width.0.into());
            let alarming = self.errors > 0 && self.colour;
            let line = line(&self.texts(phase, interval), &self.recent, width, alarming);
            // A lost terminal is no reason to stop measuring.
            let stream = std::io::stderr();
            let _ = write!(&stream, "\r\x1b[2K{}", plain_letters(&line, &stream));
            self.written = true;
        } else if end_s - self.last_s >= SELDOM_S {
            self.last_s = end_s;
            eprintln!("{}", self.texts(phase, interval).join("  "));
        }
    }

    /// The parts of the line, the most important first.
    fn texts(&self, phase: Phase, interval: &Interval) -> [String; 5] {
        let rate = self.recent.last().copied().unwrap_or(0.0);
        let unit = if interval.messages.is_some() {
            " messages/s"
        } else {
            "/s"
        };
        let time = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), duration);
        let name = match phase {
            Phase::WarmUp => "warm-up",
            Phase::Measurement | Phase::Drain => "measuring",
        };
        let all = self.valid + self.errors;
        let share = if all > 0 {
            percent_down(self.valid as f64 / all as f64)
        } else {
            "–".to_owned()
        };
        let total = self.total_s.map(|total| format!("/{total:.0}"));
        [
            format!(
                "{name} {:.0}{} s",
                interval.start_s + interval.length_s,
                total.unwrap_or_default()
            ),
            format!("{}{unit}", number(rate)),
            format!("{share} ok"),
            format!("p50 {}", time(interval.response_time_ns_p50)),
            format!("p99 {}", time(interval.response_time_ns_p99)),
        ]
    }

    /// Prints a permanent line.
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

/// The index of the text with the share of requests that succeeded.
const SUCCESS: usize = 2;

/// The texts, with the success in red if `alarming`, and a sparkline, in less than `width` columns: a line that wraps could
/// not be overwritten. What does not fit is left out, from the right.
fn line(texts: &[String], values: &[f64], width: usize, alarming: bool) -> String {
    let room = width.saturating_sub(1);
    let columns = |text: &String| text.chars().count();
    let mut line = String::new();
    let mut used = 0;
    for (place, text) in texts.iter().enumerate() {
        let gap = if place == 0 { 0 } else { 2 };
        if used + gap + columns(text) > room {
            if place == 0 {
                line.extend(text.chars().take(room));
            }
            return line;
        }
        line.push_str(&" ".repeat(gap));
        if alarming && place == SUCCESS {
            line.push_str(&Paint(true).with(RED, text));
        } else {
            line.push_str(text);
        }
        used += gap + columns(text);
    }
    let bars = room.saturating_sub(used + 2).min(values.len());
    if bars > 0 {
        line.push_str("  ");
        line.push_str(&sparkline(&values[values.len() - bars..]));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The visible part of a line.
    fn shown(line: &str) -> String {
        line.replace("\x1b[31m", "").replace("\x1b[0m", "")
    }

    #[test]
    fn a_line_never_fills_its_terminal() {
        let texts = [
            "measuring 3/10 s",
            "123,456/s",
            "99.9 % ok",
            "p50 1.23 ms",
            "p99 4.56 ms",
        ]
        .map(str::to_owned);
        let values: Vec<f64> = (0..BARS).map(|value| value as f64).collect();
        for width in 0..200 {
            let line = line(&texts, &values, width, true);
            assert!(shown(&line).chars().count() < width.max(1), "{width}: {line}");
            assert_eq!(line.matches("\x1b[31m").count(), line.matches("\x1b[0m").count());
        }
        let whole = line(&texts, &values, 120, false);
        assert!(whole.starts_with("measuring 3/10 s  123,456/s  99.9 % ok  p50 1.23 ms  p99 4.56 ms  ▁"));
        assert!(whole.ends_with('█') && !whole.contains('\x1b'), "{whole}");
        assert_eq!(line(&texts, &values, 30, false), "measuring 3/10 s  123,456/s");
        assert_eq!(line(&texts, &values, 5, true), "meas");
    }
}
