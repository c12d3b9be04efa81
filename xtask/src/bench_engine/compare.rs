//! One comparison: the tools run alternately on one server.

use super::cases::{Case, RatioTarget, Row, Table};
use super::output::{ToolCounts, Unit};
use super::{EngineBenchmark, Target, grouped};
use crate::median::median;
use anyhow::{Context as _, Result};

/// One run of a tool.
struct Run {
    counted: ToolCounts,
    per_cpu_s: f64,
    peak_mib: f64,
}

impl EngineBenchmark<'_> {
    pub(super) fn compare(&mut self, table: &Table, case: &Case, row: &Row) -> Result<()> {
        self.set("load", &case.load);
        for (name, value) in &row.values {
            self.set(name, value);
        }
        let mut title = self.fill(&case.title);
        if row.values["c"].parse::<u64>().context("c is a number")? > self.connections {
            println!(
                "\n{title}: left out, this machine allows {} connections",
                self.connections
            );
            return Ok(());
        }
        let _server = self.serve(&table.servers[&case.server])?;
        let wanted = || case.wanted.iter().chain(&row.wanted);
        let mut default_transport = String::new();
        if wanted().any(|wanted| wanted.ours.is_empty()) {
            default_transport = self.default_transport()?;
            title = format!("{title}: auto selects {default_transport}");
        }
        let runs = self.run_alternately(table, case, &title)?;
        print(case, &title, &runs, self.arguments.seconds);
        for RatioTarget { ours, rival, ratio } in wanted() {
            let ours = if ours.is_empty() {
                std::slice::from_ref(&default_transport)
            } else {
                ours
            };
            let measured = ours
                .iter()
                .map(|name| ratio_of(case, &runs, name, rival))
                .fold(f64::NAN, f64::max);
            let what = format!("{title}, {} × {rival}", ours.join(" or "));
            self.targets.push(Target {
                what,
                measured,
                wanted: *ratio,
            });
        }
        Ok(())
    }

    /// The transport that prony selects by default.
    fn default_transport(&self) -> Result<String> {
        let used = self.generate(&self.words("{prony} load {url} -c {c} -d 50ms --json"))?;
        let recording: serde_json::Value = serde_json::from_str(&used.output)?;
        let name = recording["generator"]["transport"]
            .as_str()
            .context("prony names no transport")?;
        Ok(format!("prony {name}"))
    }

    fn run_alternately(&self, table: &Table, case: &Case, title: &str) -> Result<Vec<Vec<Run>>> {
        let mut runs: Vec<Vec<Run>> = case.tools.iter().map(|_| Vec::new()).collect();
        let rounds = self.arguments.rounds as usize;
        for round in 0..rounds {
            // The order rotates, so that no tool always follows the same one.
            for place in (0..runs.len()).map(|place| (place + round) % case.tools.len()) {
                let tool = &table.tools[&case.tools[place]];
                let words = self.words(&tool.command);
                let used = self.generate(&words)?;
                let counted = tool.output.read(&used.output, case.unit, case.messages_in_reply);
                let counted = counted.with_context(|| format!("{}\n{}", words.join(" "), used.output))?;
                let per_cpu_s = counted.count / used.cpu_s;
                runs[place].push(Run {
                    counted,
                    per_cpu_s,
                    peak_mib: used.peak_mib,
                });
            }
            eprintln!("{title}: round {} of {rounds}", round + 1);
        }
        Ok(runs)
    }
}

/// The median of the ratios within a round, since a slowdown of the machine affects both tools.
fn ratio_of(case: &Case, runs: &[Vec<Run>], ours: &str, rival: &str) -> f64 {
    let of = |name: &str| {
        case.tools
            .iter()
            .position(|tool| tool == name)
            .map_or(&[][..], |place| &runs[place])
    };
    median(
        of(ours)
            .iter()
            .zip(of(rival))
            .map(|(ours, theirs)| ours.per_cpu_s / theirs.per_cpu_s),
    )
}

fn print(case: &Case, title: &str, runs: &[Vec<Run>], seconds: u32) {
    let unit = if case.unit == Unit::Messages {
        "messages"
    } else {
        "replies"
    };
    let columns = format!(" × {} |", case.rivals.join(" | × "));
    println!(
        "\n### {title}\n\n| generator | {unit} per CPU-second |{columns} lowest–highest | {unit}/s | p50, p99 | memory |"
    );
    println!("|{}", "---|".repeat(6 + case.rivals.len()));
    for (tool, all) in case.tools.iter().zip(runs) {
        let speeds = || all.iter().map(|run| run.per_cpu_s);
        let ratios = case
            .rivals
            .iter()
            .map(|rival| format!(" {:.2} |", ratio_of(case, runs, tool, rival)));
        let times =
            [0, 1].map(|place| median(all.iter().filter_map(|run| Some(run.counted.times_us?[place]))));
        println!(
            "| {tool} | {} |{} {}–{} | {} | {} | {:.0} MiB |",
            grouped(median(speeds())),
            ratios.collect::<String>(),
            grouped(speeds().fold(f64::INFINITY, f64::min)),
            grouped(speeds().fold(0.0, f64::max)),
            grouped(median(all.iter().map(|run| run.counted.count)) / f64::from(seconds)),
            if times[0].is_nan() {
                String::new()
            } else {
                times.map(|us| format!("{} µs", grouped(us))).join(", ")
            },
            all.iter().map(|run| run.peak_mib).fold(0.0, f64::max),
        );
    }
}
