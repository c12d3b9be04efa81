//! The results of prony for servers and rates with a known truth, and its memory usage.

use super::output::{number, recording};
use super::{EngineBenchmark, Target, grouped};
use anyhow::Result;
use serde_json::Value;

/// The server freezes for 200 ms in each second, so that a fifth of the requests wait, uniformly distributed, for 0 to 200 ms.
const FREEZE_MS: f64 = 200.0;
const FROZEN_RATE: f64 = 2_000.0;
const FROZEN_SECONDS: f64 = 20.0;
/// Quantiles, and their true values in ms.
const TRUTH: [(&str, f64); 3] = [("p90", 100.0), ("p99", 190.0), ("p99_9", 199.0)];
const RATES: [f64; 7] = [10.0, 100.0, 1_000.0, 5_000.0, 10_000.0, 20_000.0, 50_000.0];
const RATE_SECONDS: f64 = 5.0;
const TRANSPORTS: [&str; 2] = ["io-uring", "epoll"];

/// Connections or streams that are open at the same time.
pub(super) struct Open {
    what: &'static str,
    server: &'static str,
    count: u64,
    load: &'static str,
    /// The field of a recording with their number.
    number: &'static str,
    most_mib: Option<f64>,
}

/// A single request, so that all connections but one are idle.
pub(super) const CONNECTIONS: Open = Open {
    what: "idle connections",
    server: "{server} {host}",
    count: 20_000,
    load: "{prony} load http://{host}/ --rate 1 -c {c} -d 1s --json --transport",
    number: "/connections/established",
    most_mib: None,
};

/// Each sends one event per second.
pub(super) const STREAMS: Open = Open {
    what: "open streams of events",
    server: "{prony} toy --port {port}",
    count: 10_000,
    load: "{prony} load http://{host}/events?count=1000000&gap_us=1000000 -c {c} -d {seconds}s --for 1h --timeout 5s --json --transport",
    number: "/messages/streams/cut",
    most_mib: Some(150.0),
};

impl EngineBenchmark<'_> {
    /// p90 includes the time that the server needs to answer the queued requests.
    pub(super) fn truth(&mut self) -> Result<()> {
        println!(
            "\n### A server that freezes for {FREEZE_MS} ms in each second: {FROZEN_RATE} requests per second on 50 connections\n"
        );
        let columns = TRUTH.map(|(name, ms)| format!(" {name}, truth {ms} ms |"));
        println!(
            "| arrivals | transport |{}\n|---|---|---|---|---|",
            columns.concat()
        );
        for (arrivals, more) in [("constant", ""), ("Poisson", "--poisson")] {
            for transport in TRANSPORTS {
                let options =
                    format!("--rate {FROZEN_RATE} -c 50 -d {FROZEN_SECONDS}s --transport {transport} {more}");
                let recording = self.load(&format!("{{server}} {{host}} 13 {FREEZE_MS}"), &options)?;
                print!("| {arrivals} | {transport} |");
                for (name, ms) in TRUTH {
                    let found = number(&recording, &format!("/response_time_ns/{name}"))? / 1e6;
                    print!(" {found:.2} ms ({:+.2} %) |", (found / ms - 1.0) * 100.0);
                }
                println!();
            }
        }
        let shown = TRUTH.map(|(name, ms)| format!("{name} {:.2} %", deviation_ms(ms) / ms * 100.0));
        println!(
            "\nPoisson arrivals coincide with the freezes by chance, one standard deviation: {}.",
            shown.join(", ")
        );
        Ok(())
    }

    /// Whether the offered rate is sent and answered.
    pub(super) fn rates(&mut self) -> Result<()> {
        println!("\n### Rates, 64 connections, {RATE_SECONDS} s each\n");
        println!(
            "| offered, 1/s | transport | due | answered within the measurement | error | lag p99 |\n|---|---|---|---|---|---|"
        );
        for (rate, transport) in RATES
            .iter()
            .flat_map(|rate| TRANSPORTS.map(|transport| (*rate, transport)))
        {
            let options = format!("--rate {rate} -c 64 -d {RATE_SECONDS}s --transport {transport}");
            let recording = self.load("{server} {host}", &options)?;
            let of = |pointer| number(&recording, pointer);
            let answered = of("/throughput_per_s")? * of("/duration_s")?;
            let error = (answered / (rate * RATE_SECONDS) - 1.0) * 100.0;
            let [due, lag] = [of("/requests/offered")?, of("/schedule_lag_ns/p99")? / 1e3].map(grouped);
            println!(
                "| {} | {transport} | {due} | {} | {error:+.3} % | {lag} µs |",
                grouped(rate),
                grouped(answered)
            );
        }
        Ok(())
    }

    /// One load by prony on its own server.
    fn load(&mut self, server: &str, options: &str) -> Result<Value> {
        let _server = self.serve(server)?;
        let words = self.words(&format!("{{prony}} load http://{{host}}/ --json {options}"));
        Ok(serde_json::from_str(&self.generate(&words)?.output)?)
    }

    /// Peak resident memory while they are open, compared with that for one.
    pub(super) fn memory(&mut self, open: &Open) -> Result<()> {
        let count = open.count.min(self.connections);
        let title = format!("{} {}", grouped(count as f64), open.what);
        println!(
            "\n### Memory of {title}\n\n| transport | open | messages/s | peak memory | each |\n|---|---|---|---|---|"
        );
        for transport in TRANSPORTS {
            let mut runs = Vec::new();
            for _ in 0..self.arguments.rounds {
                let _server = self.serve(open.server)?;
                self.set("c", 1);
                let few = self.generate(&self.words(&format!("{} {transport}", open.load)))?;
                self.set("c", count);
                let many = self.generate(&self.words(&format!("{} {transport}", open.load)))?;
                runs.push((many.peak_mib, few.peak_mib, recording(&many.output)?));
            }
            runs.sort_by(|one, other| one.0.total_cmp(&other.0));
            let (many, few, recording) = &runs[runs.len() / 2];
            let messages = number(recording, "/messages/per_s").map_or_else(|_| String::new(), grouped);
            let each = grouped((many - few) * f64::from(1 << 20) / count as f64);
            let found = grouped(number(recording, open.number)?);
            println!("| {transport} | {found} | {messages} | {many:.1} MiB | {each} B |");
            if let Some(most) = open.most_mib.filter(|_| count == open.count) {
                let what = format!("{title}, {transport}: {most} MiB ÷ memory");
                self.targets.push(Target {
                    what,
                    measured: most / many,
                    wanted: 1.0,
                });
            }
        }
        Ok(())
    }
}

/// The number of requests beyond a quantile is binomial; the density of the waits is constant.
fn deviation_ms(ms: f64) -> f64 {
    let share = FREEZE_MS / 1e3;
    let beyond = share * (1.0 - ms / FREEZE_MS);
    (beyond * (1.0 - beyond) / (FROZEN_RATE * FROZEN_SECONDS)).sqrt() * FREEZE_MS / share
}

#[cfg(test)]
mod tests {
    #[test]
    fn chance_is_largest_where_most_requests_are_beyond() {
        // A tenth of 40,000 requests is beyond p90: ±60 of them, with 40 per millisecond.
        assert!((super::deviation_ms(100.0) - 1.5).abs() < 1e-9);
    }
}
